/* prom_text.c - parts of both formats: names, numbers, escapes, headers.
 *
 * Numbers are most of a page, so integers and those of few decimals (milliseconds as seconds,
 * ratios) are written without printf. Both ways give the shortest text that reads back as the same
 * double: for k/1000 with few digits that text is its plain decimal form.
 */
#include "exporter/prom/promx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *name, bool colon)
{
    if (name == NULL || *name == '\0')
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!is_letter(*c) && !(colon && *c == ':') && !(c > name && *c >= '0' && *c <= '9'))
            return false;
    return true;
}

bool promx_is_metric_name(const char *name)
{
    return is_name(name, true);
}

bool promx_is_label_name(const char *name)
{
    return is_name(name, false) && !(name[0] == '_' && name[1] == '_'); /* __x is Prometheus' own */
}

static const char two_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233"
    "34353637383940414243444546474849505152535455565758596061626364656667"
    "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes digits backwards, ending before `end`; returns their start. */
static char *digits_before(char *end, uint64_t value)
{
    char *at = end;
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, two_digits + value % 100 * 2, 2);
    if (value >= 10)
        memcpy(at -= 2, two_digits + value * 2, 2);
    else
        *--at = (char)('0' + value);
    return at;
}

static char *put_whole(char *at, uint64_t value)
{
    char text[PROMX_VALUE_MAX], *end = text + sizeof text;
    char *start = digits_before(end, value);
    size_t n = (size_t)(end - start);
    memcpy(at, start, n);
    return at + n;
}

/* value = whole + parts / 10^decimals, parts not 0. */
static char *put_decimal(char *at, uint64_t whole, uint64_t parts, unsigned decimals)
{
    for (; parts % 10 == 0; decimals--)
        parts /= 10;
    at = put_whole(at, whole);
    *at++ = '.';
    for (char *digit = at + decimals; digit > at; parts /= 10)
        *--digit = (char)('0' + parts % 10);
    return at + decimals;
}

static char *put_shortest(char *at, double value)
{
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(at, PROMX_VALUE_MAX, "%.*g", precision, value);
        if (strtod(at, NULL) == value)
            break;
    }
    return at + strlen(at);
}

/* A number of up to six decimals; NULL when it is none. The quotient of two exact numbers is
 * rounded once, as reading the text back does: equal here, equal there. */
static char *put_few_decimals(char *at, double value)
{
    static const struct {
        unsigned decimals;
        double scale, max;
    } tries[] = {{3, 1e3, 1e12}, {6, 1e6, 1e9}};
    for (size_t i = 0; i < COUNT(tries); i++) {
        if (!(value < tries[i].max))
            return NULL;
        uint64_t scaled = (uint64_t)(value * tries[i].scale + 0.5),
                 scale = (uint64_t)tries[i].scale;
        if (scaled % scale != 0 && (double)scaled / tries[i].scale == value && value >= 1e-4)
            return put_decimal(at, scaled / scale, scaled % scale, tries[i].decimals);
    }
    return NULL;
}

char *promx_put_value(char *at, double value)
{
    const double exact_max = 9007199254740992.0; /* 2^53: integers up to here are exact */
    double size = fabs(value);
    if (isnan(value))
        return mempcpy(at, "NaN", 3); /* never -nan, which Prometheus rejects */
    if (isinf(value))
        return mempcpy(at, value > 0 ? "+Inf" : "-Inf", 4);
    if (value < 0)
        *at++ = '-';
    if (size <= exact_max && size == (double)(uint64_t)size)
        return put_whole(at, (uint64_t)size);
    char *end = put_few_decimals(at, size);
    return end != NULL ? end : put_shortest(at, size);
}

void promx_add_value(struct buf *out, double value)
{
    char *at = buf_room(out, PROMX_VALUE_MAX);
    if (at != NULL)
        buf_wrote(out, (size_t)(promx_put_value(at, value) - at));
}

void promx_add_bound(struct buf *out, double bound)
{
    char text[PROMX_VALUE_MAX + 1];
    *promx_put_value(text, bound) = '\0';
    buf_add(out, text);
    if (strpbrk(text, ".eIN") == NULL)
        buf_add(out, ".0");
}

void promx_add_line(struct promx_page *page, const char *prefix, size_t bytes, double value)
{
    char *at = buf_room(&page->out, bytes + PROMX_VALUE_MAX + 1);
    if (at == NULL)
        return;
    char *end = promx_put_value(mempcpy(at, prefix, bytes), value);
    *end++ = '\n';
    buf_wrote(&page->out, (size_t)(end - at));
}

/* The escape of one byte, NULL when it stands for itself. A quote is special in labels, and in
 * OpenMetrics also in help. */
static const char *escape_of(unsigned char c, bool quoted)
{
    if (c == '\\')
        return "\\\\";
    if (c == '\n')
        return "\\n";
    return c == '"' && quoted ? "\\\"" : NULL;
}

static void add_escaped(struct buf *out, const char *text, bool quoted)
{
    const char *plain = text; /* not copied yet */
    const char *at = text;
    while (*at != '\0') {
        size_t length = text_utf8_bytes(at);
        const char *escape = length == 0 ? "\xef\xbf\xbd" : escape_of((unsigned char)*at, quoted);
        if (escape == NULL) {
            at += length;
            continue;
        }
        buf_add_bytes(out, plain, (size_t)(at - plain));
        buf_add(out, escape);
        plain = ++at;
    }
    buf_add_bytes(out, plain, (size_t)(at - plain));
}

void promx_add_label_value(struct buf *out, const char *text)
{
    add_escaped(out, text, true);
}

/* ---- pages and families ---- */

void promx_page_init(struct promx_page *page, enum promx_format format, size_t limit)
{
    buf_init(&page->out, limit);
    page->format = format;
    page->created_s = 0;
}

void promx_page_end(struct promx_page *page)
{
    if (page->format == PROMX_OPENMETRICS)
        buf_add(&page->out, "# EOF\n");
}

const char *promx_content_type(enum promx_format format)
{
    return format == PROMX_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

size_t promx_family_bytes(const char *name, enum promx_type type)
{
    const char *suffix = type == PROMX_COUNTER ? "_total" : type == PROMX_INFO ? "_info" : "";
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0 ? n - m : n;
}

/* The text format has no info type: written as a gauge. */
static const char *type_name(enum promx_format format, enum promx_type type)
{
    static const char *const names[] = {"gauge", "counter", "histogram", "info"};
    return format == PROMX_TEXT && type == PROMX_INFO ? names[PROMX_GAUGE] : names[type];
}

void promx_add_family(struct promx_page *page, const struct promx_family *family)
{
    struct buf *out = &page->out;
    bool open = page->format == PROMX_OPENMETRICS;
    size_t bytes = open ? promx_family_bytes(family->name, family->type) : strlen(family->name);
    buf_add(out, "# HELP ");
    buf_add_bytes(out, family->name, bytes);
    buf_add(out, " ");
    add_escaped(out, family->help, open);
    buf_add(out, "\n# TYPE ");
    buf_add_bytes(out, family->name, bytes);
    buf_add(out, " ");
    buf_add(out, type_name(page->format, family->type));
    buf_add(out, "\n");
    if (!open || family->unit[0] == '\0')
        return;
    buf_add(out, "# UNIT ");
    buf_add_bytes(out, family->name, bytes);
    buf_add(out, " ");
    buf_add(out, family->unit);
    buf_add(out, "\n");
}
