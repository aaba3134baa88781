/* typed.c - see typed.h. */
#include "analyzer/judge/typed.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/text.h"

const char *typed_key_name(enum typed_key key)
{
    static const char *const names[TYPED_COUNT] = {
#define TYPED(id, key, help) [TYPED_##id] = key,
#include "analyzer/judge/typed.def"
#undef TYPED
    };
    assert(key < TYPED_COUNT);
    return names[key];
}

static void set(struct typed *typed, enum typed_key key, const char *value)
{
    if (typed->value[key][0] == '\0')
        TEXT_SET(typed->value[key], value);
}

/* ---- rates ---- */

/* The unit behind a number, as bytes a second; 0: none that is a rate. */
static double unit_of(const char *text, double page_bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"kib/s", 1024},     {"mib/s", 1048576}, {"gib/s", 1073741824}, {"kb/s", 1e3},
                 {"mb/s", 1e6},       {"gb/s", 1e9},      {"kbps", 125},         {"mbps", 125000},
                 {"gbps", 125000000}, {"mbit/s", 125000}, {"gbit/s", 125000000}, {"bytes/s", 1},
                 {"byte/s", 1},       {"b/s", 1}};
    while (*text == ' ')
        text++;
    if (strncasecmp(text, "pages", 5) == 0)
        return page_bytes > 0 ? page_bytes : 4096;
    for (size_t i = 0; i < COUNT(units); i++)
        if (strncasecmp(text, units[i].name, strlen(units[i].name)) == 0)
            return units[i].bytes;
    return 0;
}

/* "word ...: 12.5 MiB/s" within a few characters of the word. */
static bool rate_after(const char *text, const char *word, double page_bytes, double *out_bps)
{
    const char *at = strcasestr(text, word);
    if (at == NULL)
        return false;
    at += strlen(word);
    size_t gap = strcspn(at, "0123456789\n");
    if (gap > 24 || !isdigit((unsigned char)at[gap]))
        return false;
    char *end = NULL;
    double number = strtod(at + gap, &end);
    double unit = unit_of(end, page_bytes);
    if (unit == 0 || !(number >= 0 && number < 1e15))
        return false;
    *out_bps = number * unit;
    return true;
}

static void see_rates(struct typed *typed, const char *text)
{
    static const char *const speeds[] = {"bandwidth", "throughput", "speed"};
    double bps = 0;
    if (typed->dirty_bps == 0 && rate_after(text, "dirty", typed->page_bytes, &bps))
        typed->dirty_bps = bps;
    for (size_t i = 0; i < COUNT(speeds) && typed->bandwidth_bps == 0; i++)
        if (rate_after(text, speeds[i], typed->page_bytes, &bps))
            typed->bandwidth_bps = bps;
}

/* ---- ends of processes ---- */

static const char *end_of(long number)
{
    long signal = number >= 128 ? number - 128 : number;
    if (signal == 9)
        return "kill";
    return signal == 4 || signal == 6 || signal == 7 || signal == 8 || signal == 11 ? "crash"
                                                                                    : NULL;
}

static void see_end(struct typed *typed, const char *text)
{
    static const char *const words[] = {"signal", "exit code", "exit status", "exited with status",
                                        "exitcode"};
    for (size_t i = 0; i < COUNT(words); i++) {
        const char *at = strcasestr(text, words[i]);
        if (at == NULL)
            continue;
        at += strlen(words[i]);
        at += strspn(at, " :=(\"'");
        long number = isdigit((unsigned char)*at) ? strtol(at, NULL, 10) : -1;
        const char *end = number >= (i == 0 ? 0 : 128) ? end_of(number) : NULL;
        if (end != NULL || (i > 0 && number >= 0))
            set(typed, TYPED_DIED_OF, end != NULL ? end : "exit");
    }
}

/* ---- blocks of memory ---- */

/* Those of devices have their address or path in the name. */
static void see_ram_block(struct typed *typed, const char *text)
{
    char name[80];
    const char *at = strcasestr(text, "ramblock");
    if (at == NULL && (at = strcasestr(text, "ram block")) == NULL)
        return;
    at += strcspn(at, "\"'");
    if (*at == '\0')
        return;
    size_t n = strcspn(at + 1, "\"'");
    (void)snprintf(name, sizeof name, "%.*s", (int)(n < 79 ? n : 79), at + 1);
    bool is_table = text_has_prefix(name, "/rom@") || strcasestr(name, "bios") != NULL;
    bool is_device = strchr(name, ':') != NULL && strchr(name, '/') != NULL;
    set(typed, TYPED_RAM_BLOCK, is_table ? "rom" : is_device ? "device" : "system");
}

void typed_see(struct typed *typed, const char *text)
{
    see_rates(typed, text);
    see_end(typed, text);
    see_ram_block(typed, text);
}

void typed_see_fact(struct typed *typed, const char *key, const char *value)
{
    char line[160];
    if (strcasestr(key, "dirty") == NULL && strcasestr(key, "bandwidth") == NULL &&
        strcasestr(key, "throughput") == NULL && strcasestr(key, "exit") == NULL &&
        strcasestr(key, "signal") == NULL)
        return;
    (void)snprintf(line, sizeof line, "%.60s=%.80s", key, value);
    for (char *c = line; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    see_rates(typed, line);
    see_end(typed, line);
}

/* ---- versions ---- */

static bool version_of(const char *text, long out[3])
{
    text += strcspn(text, "0123456789");
    if (*text == '\0')
        return false;
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        out[i] = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
        text = end != NULL && *end == '.' ? end + 1 : "";
    }
    return true;
}

const char *typed_version_order(const char *source, const char *target)
{
    long from[3], to[3];
    if (!version_of(source, from) || !version_of(target, to))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (from[i] != to[i])
            return from[i] > to[i] ? "target-older" : "target-newer";
    return "equal";
}

void typed_conclude(struct typed *typed)
{
    char text[TYPED_VALUE_MAX];
    if (typed->dirty_bps <= 0 || typed->bandwidth_bps <= 0)
        return;
    double share = 100 * typed->dirty_bps / typed->bandwidth_bps;
    (void)snprintf(text, sizeof text, "%.0f", share < 1e9 ? share : 1e9);
    set(typed, TYPED_DIRTY_PCT, text);
}
