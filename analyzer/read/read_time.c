/* read_time.c - see read_time.h. */
#include "analyzer/read/read_time.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

/* What is left of the text while a time is taken off its front. */
struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at >= c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* Exactly `digits` of them, in range. */
static bool take_number(struct cursor *c, int digits, int min, int max, int *out_value)
{
    int value = 0;
    if (c->end - c->at < digits)
        return false;
    for (int i = 0; i < digits; i++) {
        char digit = c->at[i];
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + (digit - '0');
    }
    if (value < min || value > max)
        return false;
    c->at += digits;
    *out_value = value;
    return true;
}

static bool take_clock(struct cursor *c, struct tm *parts)
{
    return take_number(c, 2, 0, 23, &parts->tm_hour) && take(c, ':') &&
           take_number(c, 2, 0, 59, &parts->tm_min) && take(c, ':') &&
           take_number(c, 2, 0, 60, &parts->tm_sec);
}

/* ".123456" or ",123": thousandths of a second. */
static int take_fraction(struct cursor *c)
{
    int ms = 0, scale = 100;
    bool has_one = c->end - c->at >= 2 && (*c->at == '.' || *c->at == ',') && c->at[1] >= '0' &&
                   c->at[1] <= '9';
    if (!has_one)
        return 0;
    for (c->at++; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, scale /= 10)
        ms += scale * (*c->at - '0');
    return ms;
}

/* Seconds east of UTC. A number that only looks like a zone stays. */
static int take_zone(struct cursor *c)
{
    struct cursor ahead = *c;
    int hours, minutes = 0;
    if (take(c, 'Z'))
        return 0;
    (void)take(&ahead, ' '); /* Go prints "2024-01-02 15:04:05 +0000 UTC" */
    bool had_blank = ahead.at > c->at, is_west = take(&ahead, '-');
    if (!is_west && !take(&ahead, '+'))
        return 0;
    if (!take_number(&ahead, 2, 0, 14, &hours))
        return 0;
    (void)take(&ahead, ':');
    bool has_minutes = take_number(&ahead, 2, 0, 59, &minutes);
    if (had_blank && (!has_minutes || (ahead.at < ahead.end && *ahead.at != ' ')))
        return 0;
    c->at = ahead.at;
    int east = hours * 3600 + minutes * 60;
    return is_west ? -east : east;
}

/* The seconds since 1970 of a date from 1970 on, as timegm() counts them (February 30th is a day
 * in March), without its work on zones: this is called for every line of a log. */
static int64_t seconds_of(const struct tm *parts)
{
    int64_t month = parts->tm_mon < 2 ? parts->tm_mon + 10 : parts->tm_mon - 2; /* from March */
    int64_t year = 1900 + parts->tm_year - (parts->tm_mon < 2);
    int64_t days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 +
                   parts->tm_mday - 1 - 719468;
    return ((days * 24 + parts->tm_hour) * 60 + parts->tm_min) * 60 + parts->tm_sec;
}

static int64_t to_wall(const struct tm *parts, int ms, int zone)
{
    return (seconds_of(parts) - zone) * 1000 + ms;
}

static bool take_iso(struct cursor *c, int64_t *out_wall_ms)
{
    struct tm parts = {0};
    int year, month;
    bool is_date = take_number(c, 4, 1970, 2999, &year) && (take(c, '-') || take(c, '/')) &&
                   take_number(c, 2, 1, 12, &month) && (take(c, '-') || take(c, '/')) &&
                   take_number(c, 2, 1, 31, &parts.tm_mday);
    if (!is_date || !(take(c, 'T') || take(c, ' ')) || !take_clock(c, &parts))
        return false;
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    int ms = take_fraction(c);
    *out_wall_ms = to_wall(&parts, ms, take_zone(c));
    return true;
}

static bool take_month(struct cursor *c, int *out_month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (c->end - c->at < 4 || c->at[3] != ' ')
        return false;
    for (int month = 0; month < 12; month++) {
        if (memcmp(names + 3 * month, c->at, 3) != 0)
            continue;
        c->at += 4;
        *out_month = month;
        return true;
    }
    return false;
}

/* "Jan  2 15:04:05", with the day of the week before and the year behind it or without both. */
static bool take_month_first(struct cursor *c, int64_t *out_wall_ms)
{
    static const char *const days[] = {"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "};
    struct tm parts = {0};
    int year;
    bool has_day = false;
    if (c->at >= c->end || *c->at < 'A' || *c->at > 'Z')
        return false;
    for (size_t i = 0; i < sizeof days / sizeof *days && !has_day; i++)
        has_day = c->end - c->at > 4 && memcmp(c->at, days[i], 4) == 0;
    c->at += has_day ? 4 : 0;
    if (!take_month(c, &parts.tm_mon))
        return false;
    bool is_day = take(c, ' ') ? take_number(c, 1, 1, 9, &parts.tm_mday)
                               : take_number(c, 2, 1, 31, &parts.tm_mday) ||
                                     take_number(c, 1, 1, 9, &parts.tm_mday);
    if (!is_day || !take(c, ' ') || !take_clock(c, &parts))
        return false;
    int ms = take_fraction(c);
    struct cursor ahead = *c;
    *out_wall_ms = 0;
    if (take(&ahead, ' ') && take_number(&ahead, 4, 1970, 2999, &year) &&
        (ahead.at == ahead.end || memchr(" :]", *ahead.at, 3) != NULL)) {
        parts.tm_year = year - 1900;
        *c = ahead;
        *out_wall_ms = to_wall(&parts, ms, 0);
    }
    return true;
}

/* "E0102 15:04:05.000000" */
static bool take_klog(struct cursor *c, int64_t *out_wall_ms)
{
    struct tm parts = {0};
    if (c->at >= c->end || memchr("IWEF", *c->at, 4) == NULL)
        return false;
    c->at++;
    if (!take_number(c, 2, 1, 12, &parts.tm_mon) || !take_number(c, 2, 1, 31, &parts.tm_mday) ||
        !take(c, ' ') || !take_clock(c, &parts) || c->at >= c->end || *c->at != '.')
        return false;
    (void)take_fraction(c);
    *out_wall_ms = 0;
    return true;
}

size_t read_time(const char *text, size_t n, int64_t *out_wall_ms)
{
    static bool (*const forms[])(struct cursor *, int64_t *) = {take_iso, take_month_first,
                                                                take_klog};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct cursor c = {.at = text, .end = text + n};
        if (forms[i](&c, out_wall_ms))
            return (size_t)(c.at - text);
    }
    return 0;
}

int64_t read_time_of(const char *text)
{
    int64_t wall_ms = 0;
    size_t n = text == NULL ? 0 : strlen(text);
    return n > 0 && read_time(text, n, &wall_ms) == n ? wall_ms : 0;
}
