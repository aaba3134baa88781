/* prom.h - metrics with libprom's names and prototypes, in Ferry's own implementation.
 *
 * Why hand-written: libprom (digitalocean/prometheus-client-c) is not packaged in Debian and
 * unmaintained since 2020; concurrent scrapes, or one beside a new series, crash it; it does not
 * escape label values, writes histogram buckets under the wrong name, and cannot delete a series,
 * which a daemon with series per migration needs. Code that uses only this header compiles against
 * the real one as well, hence its typedefs; what Ferry adds is in promx.h.
 *
 * Differences: every function is thread-safe; names are checked on creation; name and help are
 * copied; label values are escaped and invalid UTF-8 in them replaced; a gauge can be lowered with
 * add. Functions return 0 for done and 1 for refused, as libprom's do.
 *
 * make LIBPROM=system writes the counters and gauges of a text page with an installed libprom
 * (prom_system.h says how it is kept from crashing); histograms and OpenMetrics stay ours.
 *
 * Ownership: a registry owns its collectors, a collector its metrics; destroy only objects that
 * were never registered or added. A sample handle lives as long as its series (see
 * promx_metric_delete).
 */
#ifndef EXPORTER_PROM_PROM_H
#define EXPORTER_PROM_PROM_H

#include <stddef.h>

#ifdef FERRY_LIBPROM_SYSTEM
#include "exporter/prom/prom_own.h"
#endif

typedef struct prom_collector_registry prom_collector_registry_t;
typedef struct prom_collector prom_collector_t;
typedef struct prom_metric prom_metric_t;
typedef prom_metric_t prom_counter_t;
typedef prom_metric_t prom_gauge_t;
typedef prom_metric_t prom_histogram_t;
typedef struct prom_metric_sample prom_metric_sample_t;
typedef struct prom_histogram_buckets prom_histogram_buckets_t;

/* The registry of register_metric; NULL until default_init. Part of libprom's interface; Ferry's
 * own code makes registries of its own. */
extern prom_collector_registry_t *PROM_COLLECTOR_REGISTRY_DEFAULT;

int prom_collector_registry_default_init(void);
/* NULL when the name is empty or memory is short. */
prom_collector_registry_t *prom_collector_registry_new(const char *name);
int prom_collector_registry_destroy(prom_collector_registry_t *self);
/* Into the default registry. Refused, and still the caller's, when one of its series names is
 * taken there or there is no default registry. */
int prom_collector_registry_register_metric(prom_metric_t *metric);
/* The same, but ends the process when refused. */
prom_metric_t *prom_collector_registry_must_register_metric(prom_metric_t *metric);
int prom_collector_registry_register_collector(prom_collector_registry_t *self,
                                               prom_collector_t *collector);
/* The whole registry as text format 0.0.4; the caller frees. NULL when memory is short. */
const char *prom_collector_registry_bridge(prom_collector_registry_t *self);

prom_collector_t *prom_collector_new(const char *name);
int prom_collector_destroy(prom_collector_t *self);
int prom_collector_add_metric(prom_collector_t *self, prom_metric_t *metric);

/* NULL when a name is malformed, reserved or given twice, or memory is short. */
prom_counter_t *prom_counter_new(const char *name, const char *help, size_t label_key_count,
                                 const char **label_keys);
int prom_counter_destroy(prom_counter_t *self);
int prom_counter_inc(prom_counter_t *self, const char **label_values);
/* Refuses what would lower it, and NaN. */
int prom_counter_add(prom_counter_t *self, double r_value, const char **label_values);

prom_gauge_t *prom_gauge_new(const char *name, const char *help, size_t label_key_count,
                             const char **label_keys);
int prom_gauge_destroy(prom_gauge_t *self);
int prom_gauge_inc(prom_gauge_t *self, const char **label_values);
int prom_gauge_dec(prom_gauge_t *self, const char **label_values);
int prom_gauge_add(prom_gauge_t *self, double r_value, const char **label_values);
int prom_gauge_sub(prom_gauge_t *self, double r_value, const char **label_values);
int prom_gauge_set(prom_gauge_t *self, double r_value, const char **label_values);

/* Upper bounds, ascending and finite; +Inf is added. NULL when they are not. */
prom_histogram_buckets_t *prom_histogram_buckets_new(size_t count, double bucket, ...);
prom_histogram_buckets_t *prom_histogram_buckets_linear(double start, double width, size_t count);
prom_histogram_buckets_t *prom_histogram_buckets_exponential(double start, double factor,
                                                             size_t count);
int prom_histogram_buckets_destroy(prom_histogram_buckets_t *self);
size_t prom_histogram_buckets_count(prom_histogram_buckets_t *self);

/* Takes the buckets when it succeeds; NULL buckets are Prometheus' usual ones. */
prom_histogram_t *prom_histogram_new(const char *name, const char *help,
                                     prom_histogram_buckets_t *buckets, size_t label_key_count,
                                     const char **label_keys);
int prom_histogram_destroy(prom_histogram_t *self);
/* NaN is refused: the sum would stay NaN. */
int prom_histogram_observe(prom_histogram_t *self, double value, const char **label_values);

/* The series of these label values, made when it is new (value 0). NULL for a histogram, at
 * PROMX_SERIES_MAX, or when memory is short. */
prom_metric_sample_t *prom_metric_sample_from_labels(prom_metric_t *self,
                                                     const char **label_values);
int prom_metric_sample_add(prom_metric_sample_t *self, double r_value);
int prom_metric_sample_sub(prom_metric_sample_t *self, double r_value); /* gauges only */
int prom_metric_sample_set(prom_metric_sample_t *self, double r_value); /* gauges only */

#endif
