/* stub.c - stands in for libprom in a test: the same symbols, so that a build against an installed
 * one compiles and links. What Ferry's adapter uses works, with the habits of the original: nothing
 * is escaped, numbers are %.17g, a registry owns what it was given. The rest refuses. */
#include "tests/libprom/prom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES_MAX = 64, LABELS_MAX = 16 };

struct prom_metric {
    const char *type, *name, *help;
    size_t n;
    char *keys[LABELS_MAX];
    char *page; /* its samples, as they are on the page */
    size_t bytes;
};
struct prom_collector {
    struct prom_metric *metrics[FAMILIES_MAX];
    size_t n;
};
struct prom_collector_registry {
    struct prom_collector *collector;
};

prom_collector_registry_t *PROM_COLLECTOR_REGISTRY_DEFAULT = NULL;

/* ---- what the adapter uses ---- */

prom_collector_registry_t *prom_collector_registry_new(const char *name)
{
    return name == NULL ? NULL : calloc(1, sizeof(struct prom_collector_registry));
}

prom_collector_t *prom_collector_new(const char *name)
{
    return name == NULL ? NULL : calloc(1, sizeof(struct prom_collector));
}

int prom_collector_registry_register_collector(prom_collector_registry_t *self,
                                               prom_collector_t *collector)
{
    self->collector = collector;
    return 0;
}

int prom_collector_add_metric(prom_collector_t *self, prom_metric_t *metric)
{
    if (self->n == FAMILIES_MAX)
        return 1;
    self->metrics[self->n++] = metric;
    return 0;
}

static prom_metric_t *metric_new(const char *type, const char *name, const char *help, size_t n,
                                 const char **keys)
{
    struct prom_metric *metric = calloc(1, sizeof *metric);
    if (metric == NULL || n > LABELS_MAX) {
        free(metric);
        return NULL;
    }
    metric->type = type;
    metric->name = name; /* kept, not copied, as the original does */
    metric->help = help;
    metric->n = n;
    for (size_t i = 0; i < n; i++)
        metric->keys[i] = strdup(keys[i]);
    return metric;
}

prom_counter_t *prom_counter_new(const char *name, const char *help, size_t label_key_count,
                                 const char **label_keys)
{
    return metric_new("counter", name, help, label_key_count, label_keys);
}

prom_gauge_t *prom_gauge_new(const char *name, const char *help, size_t label_key_count,
                             const char **label_keys)
{
    return metric_new("gauge", name, help, label_key_count, label_keys);
}

static int add_sample(prom_metric_t *self, double value, const char **values)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    (void)fprintf(out, "%s%s", self->page == NULL ? "" : self->page, self->name);
    for (size_t i = 0; i < self->n; i++)
        (void)fprintf(out, "%s%s=\"%s\"", i == 0 ? "{" : ",", self->keys[i], values[i]);
    (void)fprintf(out, "%s %.17g\n", self->n > 0 ? "}" : "", value);
    (void)fclose(out);
    free(self->page);
    self->page = text;
    return 0;
}

int prom_counter_add(prom_counter_t *self, double r_value, const char **label_values)
{
    return r_value < 0 ? 1 : add_sample(self, r_value, label_values);
}

int prom_gauge_set(prom_gauge_t *self, double r_value, const char **label_values)
{
    return add_sample(self, r_value, label_values);
}

const char *prom_collector_registry_bridge(prom_collector_registry_t *self)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < self->collector->n; i++) {
        const struct prom_metric *m = self->collector->metrics[i];
        (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s", m->name, m->help, m->name, m->type,
                      m->page == NULL ? "" : m->page);
    }
    (void)fclose(out);
    return text;
}

int prom_counter_destroy(prom_counter_t *self)
{
    for (size_t i = 0; i < self->n; i++)
        free(self->keys[i]);
    free(self->page);
    free(self);
    return 0;
}

int prom_collector_destroy(prom_collector_t *self)
{
    for (size_t i = 0; i < self->n; i++)
        (void)prom_counter_destroy(self->metrics[i]);
    free(self);
    return 0;
}

int prom_collector_registry_destroy(prom_collector_registry_t *self)
{
    if (self->collector != NULL)
        (void)prom_collector_destroy(self->collector);
    free(self);
    return 0;
}

/* ---- what is only there to be linked ---- */

#define REFUSES(fn, ...) \
    int fn(__VA_ARGS__)  \
    {                    \
        return 1;        \
    }
#define HAS_NONE(type, fn, ...) \
    type *fn(__VA_ARGS__)       \
    {                           \
        return NULL;            \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
REFUSES(prom_collector_registry_default_init, void)
REFUSES(prom_collector_registry_register_metric, prom_metric_t *metric)
HAS_NONE(prom_metric_t, prom_collector_registry_must_register_metric, prom_metric_t *metric)
REFUSES(prom_counter_inc, prom_counter_t *self, const char **values)
REFUSES(prom_gauge_destroy, prom_gauge_t *self)
REFUSES(prom_gauge_inc, prom_gauge_t *self, const char **values)
REFUSES(prom_gauge_dec, prom_gauge_t *self, const char **values)
REFUSES(prom_gauge_add, prom_gauge_t *self, double value, const char **values)
REFUSES(prom_gauge_sub, prom_gauge_t *self, double value, const char **values)
HAS_NONE(prom_histogram_buckets_t, prom_histogram_buckets_new, size_t count, double bucket, ...)
HAS_NONE(prom_histogram_buckets_t, prom_histogram_buckets_linear, double start, double width,
         size_t count)
HAS_NONE(prom_histogram_buckets_t, prom_histogram_buckets_exponential, double start, double factor,
         size_t count)
REFUSES(prom_histogram_buckets_destroy, prom_histogram_buckets_t *self)
HAS_NONE(prom_histogram_t, prom_histogram_new, const char *name, const char *help,
         prom_histogram_buckets_t *buckets, size_t count, const char **keys)
REFUSES(prom_histogram_destroy, prom_histogram_t *self)
REFUSES(prom_histogram_observe, prom_histogram_t *self, double value, const char **values)
HAS_NONE(prom_metric_sample_t, prom_metric_sample_from_labels, prom_metric_t *self,
         const char **values)
REFUSES(prom_metric_sample_add, prom_metric_sample_t *self, double value)
REFUSES(prom_metric_sample_sub, prom_metric_sample_t *self, double value)
REFUSES(prom_metric_sample_set, prom_metric_sample_t *self, double value)
size_t prom_histogram_buckets_count(prom_histogram_buckets_t *self)
{
    return 0;
}
