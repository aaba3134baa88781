/* prom_text.c - the small parts of the text format 0.0.4: names, numbers, escapes.
 *
 * Numbers are most of a page, so integers and thousandths (milliseconds as seconds) are written
 * without printf. Both ways give the shortest text that reads back as the same double: for
 * k/1000 with few digits that text is its plain decimal form.
 */
#include "exporter/promx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 32 };

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

/* Writes digits backwards, ending before `end`; returns their start. */
static char *digits_before(char *end, uint64_t value, unsigned at_least)
{
    char *at = end;
    for (unsigned n = 0; value > 0 || n < at_least; n++) {
        *--at = (char)('0' + value % 10);
        value /= 10;
    }
    return at;
}

static void add_thousandths(struct buf *out, bool negative, uint64_t thousandths)
{
    char text[NUMBER_MAX], *end = text + sizeof text, *at = end;
    uint64_t fraction = thousandths % 1000;
    if (fraction != 0) {
        at = digits_before(end, fraction, 3);
        while (end[-1] == '0')
            end--;
        *--at = '.';
    }
    at = digits_before(at, thousandths / 1000, 1);
    if (negative)
        *--at = '-';
    buf_add_bytes(out, at, (size_t)(end - at));
}

static void add_shortest(struct buf *out, double value)
{
    char text[NUMBER_MAX];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_add(out, text);
}

void promx_add_value(struct buf *out, double value)
{
    const double exact_max = 9007199254740992.0; /* 2^53: integers up to here are exact */
    double size = fabs(value);
    if (isnan(value)) {
        buf_add(out, "NaN"); /* never -nan, which Prometheus cannot read */
    } else if (isinf(value)) {
        buf_add(out, value > 0 ? "+Inf" : "-Inf");
    } else if (size <= exact_max && size == (double)(uint64_t)size) {
        char text[NUMBER_MAX], *end = text + sizeof text;
        char *at = digits_before(end, (uint64_t)size, 1);
        if (value < 0)
            *--at = '-';
        buf_add_bytes(out, at, (size_t)(end - at));
    } else if (size < 1e9 && (double)(uint64_t)(size * 1000 + 0.5) / 1000 == size) {
        add_thousandths(out, value < 0, (uint64_t)(size * 1000 + 0.5));
    } else {
        add_shortest(out, value);
    }
}

/* The escape of one byte, NULL when it stands for itself. A quote is special in labels only. */
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
    const char *plain = text; /* what is still to be copied as it is */
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

void promx_add_header(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_add(out, "# HELP ");
    buf_add(out, name);
    buf_add(out, " ");
    add_escaped(out, help, false);
    buf_add(out, "\n# TYPE ");
    buf_add(out, name);
    buf_add(out, " ");
    buf_add(out, type);
    buf_add(out, "\n");
}
