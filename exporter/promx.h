/* promx.h - what Ferry needs beyond libprom's interface (prom.h): series that go away, counters
 * that mirror a total kept elsewhere, rendering into a bounded buffer, and the text format's
 * small parts for pages that are written straight from a snapshot. */
#ifndef EXPORTER_PROMX_H
#define EXPORTER_PROMX_H

#include <stdbool.h>

#include "base/text.h"
#include "exporter/prom.h"

enum { PROMX_LABELS_MAX = 16, PROMX_BUCKETS_MAX = 128, PROMX_SERIES_MAX = 100000 };

/* Deletes one series; 1 when there is none. Handles to it are dangling from here: who deletes
 * sees to it that nobody holds one. */
int promx_metric_delete(prom_metric_t *self, const char **label_values);
/* Deletes every series of a metric. */
int promx_metric_clear(prom_metric_t *self);
size_t promx_metric_series(prom_metric_t *self);
/* Makes the series of these label values, with zeros, so that rate() sees its first increase. */
int promx_metric_touch(prom_metric_t *self, const char **label_values);
/* Sets a counter to a total that is kept elsewhere. Lower than before, negative or NaN: 1. */
int promx_counter_set(prom_counter_t *self, double r_value, const char **label_values);

/* Appends the whole registry; the buffer says when it did not fit. */
void promx_registry_render(prom_collector_registry_t *self, struct buf *out);

/* Metric names may hold ':', label names may not; neither begins with a digit. */
bool promx_is_metric_name(const char *name);
bool promx_is_label_name(const char *name);
/* A sample value: integers plainly, others as the shortest text that reads back the same,
 * NaN, +Inf, -Inf. */
void promx_add_value(struct buf *out, double value);
/* The inside of a label's quotes: \ " and newline escaped, invalid UTF-8 as U+FFFD. */
void promx_add_label_value(struct buf *out, const char *text);
/* The HELP and TYPE lines of a family. */
void promx_add_header(struct buf *out, const char *name, const char *type, const char *help);

#endif
