/* prom_impl.h - private part of prom.h, for the files prom*.c. */
#ifndef EXPORTER_PROM_PROM_IMPL_H
#define EXPORTER_PROM_PROM_IMPL_H

#include <pthread.h>
#include <stdint.h>

#include "base/own.h"
#include "exporter/prom/promx.h"

struct prom_histogram_buckets {
    size_t count;
    double bounds[]; /* ascending, finite */
};

struct prom_exemplar {
    char *labels; /* owned; NULL: none */
    double value;
    int64_t at_ms;
};

/* One series. The value of a counter or gauge is atomic, so a handle needs no lock; the parts of a
 * histogram change together, under the metric's. The text before the value is stored rendered. */
struct prom_metric_sample {
    struct prom_metric *metric;
    struct prom_metric_sample *chain;       /* same hash slot */
    struct prom_metric_sample *prev, *next; /* in order of creation, which is the page's order */
    uint64_t hash;
    _Atomic double value;
    double sum;
    uint64_t observed;
    uint64_t *in_bucket; /* not cumulative; bounds.count + 1, the last is above all bounds */
    struct prom_exemplar *exemplars; /* one, or one per bucket; NULL until there is one */
    int64_t created_ms;              /* wall; 0: no clock */
    size_t line_bytes;
    char line[]; /* name{a="1",b="2"} with a space; the identity of the series */
};

struct prom_metric {
    enum promx_type type;
    char *name, *help;
    const char *unit; /* a literal */
    const struct clock *clock;
    size_t n_labels, name_bytes;
    char *labels[PROMX_LABELS_MAX];
    struct prom_histogram_buckets *buckets;
    struct prom_metric *next; /* in its collector */

    pthread_mutex_t lock; /* everything below */
    struct prom_metric_sample *first, *last;
    struct prom_metric_sample **slots; /* n_slots is a power of two, or 0 */
    size_t n_slots, n_series;
};

int prom_metric_destroy(struct prom_metric *metric);
void prom_metric_render(struct prom_metric *metric, struct promx_page *page);
/* The text between the braces of a series, and its length. */
const char *prom_series_labels(const struct prom_metric_sample *series, size_t *out_bytes);
#ifdef FERRY_LIBPROM_SYSTEM
struct prom_system;
bool prom_system_add(struct prom_system *system, struct prom_metric *metric);
#endif
/* True when both would write a sample of one name: x_count beside a histogram x. */
bool prom_metric_collides(const struct prom_metric *a, const struct prom_metric *b);

#endif
