/* promx.h - extensions of libprom's interface (prom.h): deletion of series, counters that mirror a
 * total kept elsewhere, exemplars, two formats, and their parts for pages rendered directly from a
 * snapshot. */
#ifndef EXPORTER_PROM_PROMX_H
#define EXPORTER_PROM_PROMX_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/prom/prom.h"

enum {
    PROMX_LABELS_MAX = 16,
    PROMX_BUCKETS_MAX = 128,
    PROMX_SERIES_MAX = 100000,
    PROMX_VALUE_MAX = 32,     /* bytes of a number */
    PROMX_EXEMPLAR_MAX = 128, /* characters of an exemplar's names and values: OpenMetrics' limit */
};

/* ---- pages ---- */

enum promx_format {
    PROMX_TEXT,        /* Prometheus text 0.0.4 */
    PROMX_OPENMETRICS, /* OpenMetrics 1.0: units, _created, exemplars, EOF */
    PROMX_FORMATS
};
struct promx_page {
    struct buf out; /* marked as failed when it overflows */
    enum promx_format format;
    double created_s; /* start of counters that are rendered directly; 0: unknown */
};
void promx_page_init(struct promx_page *page, enum promx_format format, size_t limit);
void promx_page_end(struct promx_page *page);
const char *promx_content_type(enum promx_format format);

enum promx_type { PROMX_GAUGE, PROMX_COUNTER, PROMX_HISTOGRAM, PROMX_INFO };
struct promx_family {
    const char *name; /* as in the text format: with _total or _info */
    enum promx_type type;
    const char *unit; /* "" none; else the name's suffix */
    const char *help;
};
/* HELP, TYPE and UNIT of a family. */
void promx_add_family(struct promx_page *page, const struct promx_family *family);
/* Bytes of the family's name in OpenMetrics: without _total or _info. */
size_t promx_family_bytes(const char *name, enum promx_type type);
/* One line: prefix (name and labels, with the space) and value. */
void promx_add_line(struct promx_page *page, const char *prefix, size_t bytes, double value);

/* Metric names may hold ':', label names may not; neither begins with a digit. */
bool promx_is_metric_name(const char *name);
bool promx_is_label_name(const char *name);
/* A value: integers plainly, others as the shortest text that reads back the same, NaN, +Inf,
 * -Inf. Writes at most PROMX_VALUE_MAX bytes and returns their end. */
char *promx_put_value(char *at, double value);
void promx_add_value(struct buf *out, double value);
/* A bucket's bound: always a float ("1.0"), in both formats, so that the series is the same in
 * both. */
void promx_add_bound(struct buf *out, double bound);
/* A label value: \ " and newline escaped, invalid UTF-8 as U+FFFD. */
void promx_add_label_value(struct buf *out, const char *text);

/* ---- series ---- */

/* Deletes one series; 1 when there is none. Handles to it become invalid. */
int promx_metric_delete(prom_metric_t *self, const char **label_values);
/* Deletes every series of a metric. */
int promx_metric_clear(prom_metric_t *self);
size_t promx_metric_series(prom_metric_t *self);
bool promx_metric_has(prom_metric_t *self, const char **label_values);
/* Creates the series of these label values with zeros, so that rate() sees its first increase. */
int promx_metric_touch(prom_metric_t *self, const char **label_values);
/* Sets a counter to a total that is kept elsewhere. Lower than before, negative or NaN: 1. */
int promx_counter_set(prom_counter_t *self, double r_value, const char **label_values);

/* For OpenMetrics: the unit, and a clock for _created (borrowed; NULL: none). Before the first
 * series. */
void promx_metric_describe(prom_metric_t *self, const char *unit, const struct clock *clock);

/* Source of the newest increase: rendered label pairs, and when. Dropped if longer than OpenMetrics
 * allows. */
struct promx_exemplar {
    const char *labels;
    int64_t at_ms; /* wall */
};
int promx_counter_add_by(prom_counter_t *self, double r_value, const char **label_values,
                         const struct promx_exemplar *by);
int promx_histogram_observe_by(prom_histogram_t *self, double value, const char **label_values,
                               const struct promx_exemplar *by);

/* Appends the whole registry. */
void promx_registry_render(prom_collector_registry_t *self, struct promx_page *page);

#endif
