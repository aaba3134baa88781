/* prom.h - the public names of libprom (digitalocean/prometheus-client-c 0.1.3), written from its
 * documented interface, for a library that stands in for it in a test: see stub.c. */
#ifndef TESTS_LIBPROM_PROM_H
#define TESTS_LIBPROM_PROM_H

#include <stddef.h>

typedef struct prom_collector_registry prom_collector_registry_t;
typedef struct prom_collector prom_collector_t;
typedef struct prom_metric prom_metric_t;
typedef prom_metric_t prom_counter_t;
typedef prom_metric_t prom_gauge_t;
typedef prom_metric_t prom_histogram_t;
typedef struct prom_metric_sample prom_metric_sample_t;
typedef struct prom_metric_sample_histogram prom_metric_sample_histogram_t;
typedef struct prom_histogram_buckets prom_histogram_buckets_t;

extern prom_collector_registry_t *PROM_COLLECTOR_REGISTRY_DEFAULT;
int prom_collector_registry_default_init(void);
prom_collector_registry_t *prom_collector_registry_new(const char *name);
int prom_collector_registry_destroy(prom_collector_registry_t *self);
int prom_collector_registry_register_metric(prom_metric_t *metric);
prom_metric_t *prom_collector_registry_must_register_metric(prom_metric_t *metric);
int prom_collector_registry_register_collector(prom_collector_registry_t *self,
                                               prom_collector_t *collector);
const char *prom_collector_registry_bridge(prom_collector_registry_t *self);
prom_collector_t *prom_collector_new(const char *name);
int prom_collector_destroy(prom_collector_t *self);
int prom_collector_add_metric(prom_collector_t *self, prom_metric_t *metric);
prom_counter_t *prom_counter_new(const char *name, const char *help, size_t label_key_count,
                                 const char **label_keys);
int prom_counter_destroy(prom_counter_t *self);
int prom_counter_inc(prom_counter_t *self, const char **label_values);
int prom_counter_add(prom_counter_t *self, double r_value, const char **label_values);
prom_gauge_t *prom_gauge_new(const char *name, const char *help, size_t label_key_count,
                             const char **label_keys);
int prom_gauge_destroy(prom_gauge_t *self);
int prom_gauge_inc(prom_gauge_t *self, const char **label_values);
int prom_gauge_dec(prom_gauge_t *self, const char **label_values);
int prom_gauge_add(prom_gauge_t *self, double r_value, const char **label_values);
int prom_gauge_sub(prom_gauge_t *self, double r_value, const char **label_values);
int prom_gauge_set(prom_gauge_t *self, double r_value, const char **label_values);
prom_histogram_buckets_t *prom_histogram_buckets_new(size_t count, double bucket, ...);
prom_histogram_buckets_t *prom_histogram_buckets_linear(double start, double width, size_t count);
prom_histogram_buckets_t *prom_histogram_buckets_exponential(double start, double factor,
                                                             size_t count);
int prom_histogram_buckets_destroy(prom_histogram_buckets_t *self);
size_t prom_histogram_buckets_count(prom_histogram_buckets_t *self);
prom_histogram_t *prom_histogram_new(const char *name, const char *help,
                                     prom_histogram_buckets_t *buckets, size_t label_key_count,
                                     const char **label_keys);
int prom_histogram_destroy(prom_histogram_t *self);
int prom_histogram_observe(prom_histogram_t *self, double value, const char **label_values);
prom_metric_sample_t *prom_metric_sample_from_labels(prom_metric_t *self,
                                                     const char **label_values);
int prom_metric_sample_add(prom_metric_sample_t *self, double r_value);
int prom_metric_sample_sub(prom_metric_sample_t *self, double r_value);
int prom_metric_sample_set(prom_metric_sample_t *self, double r_value);

#endif
