/* human.c - see human.h. */
#include "base/human.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS };
#define DAY_MS (24 * (int64_t)HOUR_MS)

/* One decimal below ten, none above. */
static void scaled(uint64_t bytes, const char *suffix, char *out_text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1023.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    int decimals = unit > 0 && value < 9.95 ? 1 : 0;
    (void)snprintf(out_text, HUMAN_TEXT_MAX, "%.*f %s%s", decimals, value, units[unit], suffix);
}

void human_bytes(uint64_t bytes, char *out_text)
{
    scaled(bytes, "", out_text);
}

void human_rate(uint64_t bps, char *out_text)
{
    scaled(bps, "/s", out_text);
}

void human_duration(int64_t ms, char *out_text)
{
    const int64_t two_minutes = 2 * (int64_t)MINUTE_MS, two_hours = 2 * (int64_t)HOUR_MS;
    long long n = ms > 0 ? ms : 0, s = n / SECOND_MS + (n % SECOND_MS >= SECOND_MS / 2);
    long long tenths = n / 100 + (n % 100 >= 50);
    if (n < SECOND_MS)
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld ms", n);
    else if (n < two_minutes && tenths < 1200)
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld.%lld s", tenths / 10, tenths % 10);
    else if (n < two_hours)
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld min %02lld s", s / 60, s % 60);
    else if (n < 2 * DAY_MS)
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld h %02lld min", s / 3600, s / 60 % 60);
    else
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld d %02lld h", s / 86400, s / 3600 % 24);
}

/* "5m30s" or "5m". */
static void two_units(int64_t n, const char *unit, int64_t rest, const char *rest_unit,
                      char *out_text)
{
    if (rest > 0)
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld%s%lld%s", (long long)n, unit,
                       (long long)rest, rest_unit);
    else
        (void)snprintf(out_text, HUMAN_TEXT_MAX, "%lld%s", (long long)n, unit);
}

void human_age(int64_t ms, char *out_text)
{
    int64_t s = (ms > 0 ? ms : 0) / SECOND_MS, m = s / 60, h = m / 60, d = h / 24;
    if (s < 120)
        two_units(s, "s", 0, "", out_text);
    else if (m < 10)
        two_units(m, "m", s % 60, "s", out_text);
    else if (m < 180)
        two_units(m, "m", 0, "", out_text);
    else if (h < 8)
        two_units(h, "h", m % 60, "m", out_text);
    else if (h < 48)
        two_units(h, "h", 0, "", out_text);
    else if (d < 8)
        two_units(d, "d", h % 24, "h", out_text);
    else if (d < 2 * 365)
        two_units(d, "d", 0, "", out_text);
    else
        two_units(d / 365, "y", d < 8 * 365 ? d % 365 : 0, "d", out_text);
}

/* The unit after a number, longest spelling first; 0 when it is none. */
static int64_t duration_unit_ms(const char *text, size_t *out_length)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", SECOND_MS}, {"m", MINUTE_MS}, {"h", HOUR_MS}, {"d", 86400000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *out_length = strlen(units[i].name);
        if (strncmp(text, units[i].name, *out_length) == 0)
            return units[i].ms;
    }
    return 0;
}

bool human_read_duration(const char *text, int64_t *out_ms)
{
    const int64_t limit = 10000 * DAY_MS;
    int64_t sum = 0;
    if (*text == '\0')
        return false;
    for (const char *at = text; *at != '\0';) {
        if (!isdigit((unsigned char)*at))
            return false;
        char *end;
        errno = 0;
        long long number = strtoll(at, &end, 10);
        if (errno != 0 || number > limit)
            return false;
        size_t length = 0;
        int64_t unit = 0;
        if (*end != '\0')
            unit = duration_unit_ms(end, &length);
        else if (number == 0 && at == text)
            unit = SECOND_MS; /* nothing needs no unit; 5 could be minutes */
        if (unit == 0 || number > limit / unit)
            return false;
        sum += number * unit;
        if (sum > limit)
            return false;
        at = end + length;
    }
    *out_ms = sum;
    return true;
}

bool human_read_quantity(const char *text, uint64_t *out_bytes)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {
        {"", 1},        {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
        {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
    };
    size_t length = strspn(text, "0123456789.");
    if (length == 0 || length > 20 || !isdigit((unsigned char)*text))
        return false;
    char *end;
    double number = strtod(text, &end);
    if (end != text + length)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].suffix) != 0)
            continue;
        double bytes = number * units[i].factor;
        if (bytes > 0x1p60)
            return false;
        *out_bytes = (uint64_t)bytes;
        return true;
    }
    return false;
}

bool human_read_time(const char *text, int64_t *out_wall_ms)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == NULL)
        return false;
    int64_t ms = 0;
    if (*end == '.') {
        int64_t digit_ms = 100;
        for (end++; isdigit((unsigned char)*end); end++, digit_ms /= 10)
            ms += (*end - '0') * digit_ms;
    }
    if (strcmp(end, "Z") != 0)
        return false;
    *out_wall_ms = (int64_t)timegm(&parts) * SECOND_MS + ms;
    return true;
}
