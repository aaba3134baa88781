/* page_check.c - see page_check.h. */
#include "tests/page_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 256, LABELS_MAX_BYTES = 4096, SERIES_MAX = 400000, FAMILIES_MAX = 512 };

struct check {
    bool open, failed;
    size_t line;
    char *why;
    size_t why_bytes;
    char family[NAME_MAX_BYTES], type[32];
    bool has_help, has_type, has_samples, ended;
    char *families[FAMILIES_MAX], **series;
    size_t n_series;
    struct page_totals totals;
    /* the histogram that is being read */
    char of[LABELS_MAX_BYTES];
    double bound, cumulated, infinite;
    bool in_histogram, has_infinite, has_sum, has_count;
};

static bool wrong(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct check *c, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!c->failed)
        (void)snprintf(c->why, c->why_bytes, "line %zu: %s", c->line, text);
    c->failed = true;
    return false;
}

/* ---- families ---- */

static bool histogram_is_whole(struct check *c)
{
    if (!c->in_histogram)
        return true;
    c->in_histogram = false;
    if (!c->has_infinite)
        return wrong(c, "histogram %s{%s} has no bucket +Inf", c->family, c->of);
    return c->has_sum && c->has_count ? true
                                      : wrong(c, "histogram %s lacks sum or count", c->family);
}

static bool begin_family(struct check *c, const char *name)
{
    if (!histogram_is_whole(c))
        return false;
    for (size_t i = 0; i < c->totals.families; i++)
        if (strcmp(c->families[i], name) == 0)
            return wrong(c, "family %s is there twice", name);
    if (c->totals.families == FAMILIES_MAX)
        return wrong(c, "too many families");
    c->families[c->totals.families++] = strdup(name);
    (void)snprintf(c->family, sizeof c->family, "%s", name);
    c->type[0] = '\0';
    c->has_help = c->has_type = c->has_samples = false;
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool read_comment(struct check *c, const char *line)
{
    char word[16], name[NAME_MAX_BYTES], rest[1024];
    if (strcmp(line, "# EOF") == 0) {
        c->ended = true;
        return c->open ? histogram_is_whole(c) : wrong(c, "an end in the text format");
    }
    if (sscanf(line, "# %15s %255s %1023[^\n]", word, name, rest) != 3)
        return wrong(c, "a comment that says nothing: %s", line);
    if (strcmp(name, c->family) != 0 && !begin_family(c, name))
        return false;
    if (c->has_samples)
        return wrong(c, "%s of %s after its samples", word, name);
    if (strcmp(word, "HELP") == 0) {
        c->has_help = true;
    } else if (strcmp(word, "TYPE") == 0) {
        c->has_type = true;
        TEXT_SET(c->type, rest);
        if (c->open && strcmp(rest, "counter") == 0 && ends_with(name, "_total"))
            return wrong(c, "a counter's family is not called %s", name);
    } else if (strcmp(word, "UNIT") == 0) {
        char suffix[64];
        (void)snprintf(suffix, sizeof suffix, "_%.60s", rest);
        return c->open && ends_with(name, suffix) ? true : wrong(c, "unit %s of %s", rest, name);
    } else {
        return wrong(c, "%s", line);
    }
    return true;
}

/* ---- samples ---- */

struct sample_line {
    char name[NAME_MAX_BYTES], labels[LABELS_MAX_BYTES], le[64];
    double value;
    bool has_exemplar;
};

/* Reads a quoted value; NULL when it is malformed. */
static const char *past_quoted(const char *at)
{
    for (at++; *at != '"'; at++) {
        if (*at == '\0' || *at == '\n')
            return NULL;
        if (*at == '\\' && *++at != '\\' && *at != '"' && *at != 'n')
            return NULL;
    }
    return at + 1;
}

/* {a="1",b="2"}: the pairs but le to labels. NULL: malformed. */
static const char *read_labels(const char *at, struct sample_line *out)
{
    size_t used = 0;
    while (*at != '}') {
        size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (key == 0 || at[key] != '=' || at[key + 1] != '"')
            return NULL;
        const char *end = past_quoted(at + key + 1);
        if (end == NULL || (*end != ',' && *end != '}'))
            return NULL;
        size_t n = (size_t)(end - at);
        if (key == 2 && strncmp(at, "le", 2) == 0) {
            (void)snprintf(out->le, sizeof out->le, "%.*s", (int)(n - 5), at + 4);
        } else if (used + n + 2 < sizeof out->labels) {
            memcpy(out->labels + used, at, n);
            used += n;
            out->labels[used++] = ',';
        }
        at = end + (*end == ',');
    }
    out->labels[used] = '\0';
    return at + 1;
}

static bool read_exemplar(struct check *c, const char *at, struct sample_line *sample)
{
    struct sample_line inside = {0};
    bool may = ends_with(sample->name, "_bucket") || ends_with(sample->name, "_total");
    const char *end = strncmp(at, " # {", 4) == 0 ? read_labels(at + 4, &inside) : NULL;
    double value, when;
    int n = 0;
    if (!c->open || !may || end == NULL || sscanf(end, " %lf %lf%n", &value, &when, &n) != 2 ||
        end[n] != '\0')
        return wrong(c, "no exemplar, and no timestamp may be there:%s", at);
    if (strlen(inside.labels) > 140)
        return wrong(c, "an exemplar that is too long");
    c->totals.exemplars++;
    return true;
}

static bool parse_sample(struct check *c, const char *line, struct sample_line *out)
{
    size_t n = strcspn(line, "{ ");
    if (n == 0 || n >= sizeof out->name)
        return wrong(c, "no name: %s", line);
    memcpy(out->name, line, n);
    const char *at = line + n;
    if (*at == '{') {
        at = read_labels(at + 1, out);
        if (at == NULL)
            return wrong(c, "labels: %s", line);
    }
    char *end;
    if (*at != ' ')
        return wrong(c, "no value: %s", line);
    out->value = strtod(at + 1, &end);
    if (end == at + 1 || strncmp(at + 1, "-nan", 4) == 0)
        return wrong(c, "value: %s", line);
    return *end == '\0' || read_exemplar(c, end, out);
}

/* What stands after the family's name, and is it one of the type's? */
static bool suffix_fits(struct check *c, const struct sample_line *sample, const char **out_suffix)
{
    static const struct {
        const char *type, *text, *open;
    } suffixes[] = {{"gauge", "||", "||"},
                    {"counter", "||", "|_total|_created|"},
                    {"info", "|none|", "|_info|"},
                    {"histogram", "|_bucket|_sum|_count|", "|_bucket|_sum|_count|_created|"}};
    size_t n = strlen(c->family);
    if (strncmp(sample->name, c->family, n) != 0)
        return wrong(c, "%s among the samples of %s", sample->name, c->family);
    *out_suffix = sample->name + n;
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "|%.60s|", *out_suffix);
    for (size_t i = 0; i < COUNT(suffixes); i++)
        if (strcmp(suffixes[i].type, c->type) == 0)
            return strstr(c->open ? suffixes[i].open : suffixes[i].text, wanted) != NULL
                       ? true
                       : wrong(c, "%s is no sample of a %s", sample->name, c->type);
    return wrong(c, "type %s of %s", c->type, c->family);
}

static bool read_bucket(struct check *c, const struct sample_line *sample)
{
    double bound = strtod(sample->le, NULL);
    if (!c->in_histogram || strcmp(c->of, sample->labels) != 0) {
        if (!histogram_is_whole(c))
            return false;
        (void)snprintf(c->of, sizeof c->of, "%s", sample->labels);
        c->in_histogram = true;
        c->has_infinite = c->has_sum = c->has_count = false;
        c->cumulated = 0;
        c->bound = -INFINITY;
    }
    if (sample->le[0] == '\0' || c->has_infinite || bound <= c->bound)
        return wrong(c, "bound %s of %s", sample->le, sample->name);
    if (sample->value < c->cumulated)
        return wrong(c, "bucket %s of %s falls", sample->le, sample->name);
    c->bound = bound;
    c->cumulated = sample->value;
    c->has_infinite = isinf(bound) != 0;
    return true;
}

static bool read_histogram(struct check *c, const struct sample_line *sample, const char *suffix)
{
    if (strcmp(suffix, "_bucket") == 0)
        return read_bucket(c, sample);
    if (!c->in_histogram || strcmp(c->of, sample->labels) != 0)
        return wrong(c, "%s without its buckets before it", sample->name);
    if (strcmp(suffix, "_sum") == 0)
        c->has_sum = true;
    if (strcmp(suffix, "_count") == 0) {
        c->has_count = true;
        if (sample->value != c->cumulated)
            return wrong(c, "%s is not its bucket +Inf", sample->name);
    }
    return true;
}

static bool keep_series(struct check *c, const struct sample_line *sample)
{
    char text[NAME_MAX_BYTES + LABELS_MAX_BYTES + 80];
    (void)snprintf(text, sizeof text, "%s{%sle=%s}", sample->name, sample->labels, sample->le);
    if (c->n_series == SERIES_MAX)
        return wrong(c, "too many series");
    c->series[c->n_series++] = strdup(text);
    return true;
}

static bool read_sample(struct check *c, const char *line)
{
    struct sample_line sample = {0};
    const char *suffix = "";
    if (!c->has_help || !c->has_type)
        return wrong(c, "a sample before HELP and TYPE: %s", line);
    if (!parse_sample(c, line, &sample) || !suffix_fits(c, &sample, &suffix))
        return false;
    c->has_samples = true;
    c->totals.samples++;
    c->totals.created += strcmp(suffix, "_created") == 0;
    if (strcmp(c->type, "counter") == 0 && sample.value < 0)
        return wrong(c, "a counter below zero: %s", line);
    if (strcmp(c->type, "histogram") != 0 && sample.le[0] != '\0')
        return wrong(c, "le outside of a histogram: %s", line);
    if (strcmp(c->type, "histogram") == 0 && !read_histogram(c, &sample, suffix))
        return false;
    return keep_series(c, &sample);
}

/* ---- pages ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool each_once(struct check *c)
{
    qsort(c->series, c->n_series, sizeof(char *), by_text);
    for (size_t i = 1; i < c->n_series; i++)
        if (strcmp(c->series[i - 1], c->series[i]) == 0)
            return wrong(c, "%s is there twice", c->series[i]);
    return true;
}

static bool read_all(struct check *c, char *page)
{
    for (char *line; (line = strsep(&page, "\n")) != NULL && page != NULL;) {
        c->line++;
        if (c->ended)
            return wrong(c, "something after the end");
        if (!(line[0] == '#' ? read_comment(c, line) : read_sample(c, line)))
            return false;
    }
    if (c->open && !c->ended)
        return wrong(c, "no end");
    return histogram_is_whole(c) && each_once(c);
}

bool prom_page_check(const char *page, bool open, struct page_totals *out_totals, char *out_why,
                     size_t why_bytes)
{
    struct check c = {.open = open, .why = out_why, .why_bytes = why_bytes};
    OWNED_TEXT copy = strdup(page);
    c.series = calloc(SERIES_MAX, sizeof(char *));
    out_why[0] = '\0';
    bool fine = copy != NULL && c.series != NULL;
    if (fine && page[0] != '\0' && !ends_with(page, "\n"))
        fine = wrong(&c, "the last line does not end");
    fine = fine && read_all(&c, copy);
    for (size_t i = 0; c.series != NULL && i < c.n_series; i++)
        free(c.series[i]);
    free(c.series);
    for (size_t i = 0; i < c.totals.families; i++)
        free(c.families[i]);
    *out_totals = c.totals;
    return fine;
}
