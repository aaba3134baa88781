/* prom_impl.h - the inside of prom.h, shared by prom.c, prom_metric.c and prom_text.c only. */
#ifndef EXPORTER_PROM_IMPL_H
#define EXPORTER_PROM_IMPL_H

#include <pthread.h>
#include <stdint.h>

#include "base/own.h"
#include "exporter/promx.h"

enum prom_type { PROM_COUNTER, PROM_GAUGE, PROM_HISTOGRAM };

struct prom_histogram_buckets {
    size_t count;
    double bounds[]; /* ascending, finite */
};

/* One series. The value of a counter or gauge is atomic, so a handle needs no lock; the parts
 * of a histogram change together, under the metric's. */
struct prom_metric_sample {
    struct prom_metric *metric;
    struct prom_metric_sample *chain;       /* same hash slot */
    struct prom_metric_sample *prev, *next; /* in order of birth, which is the page's order */
    uint64_t hash;
    char *labels; /* a="1",b="2", escaped; the identity of the series */
    _Atomic double value;
    double sum;
    uint64_t observed;
    uint64_t *in_bucket; /* not cumulative; bounds.count + 1, the last is above all bounds */
};

struct prom_metric {
    enum prom_type type;
    char *name, *help;
    size_t n_labels;
    char *labels[PROMX_LABELS_MAX];
    struct prom_histogram_buckets *buckets;
    struct prom_metric *next; /* in its collector */

    pthread_mutex_t lock; /* everything below */
    struct prom_metric_sample *first, *last;
    struct prom_metric_sample **slots; /* n_slots is a power of two, or 0 */
    size_t n_slots, n_series;
};

int prom_metric_destroy(struct prom_metric *metric);
void prom_metric_render(struct prom_metric *metric, struct buf *out);
/* True when both would write a sample of one name: x_count beside a histogram x. */
bool prom_metric_collides(const struct prom_metric *a, const struct prom_metric *b);

#endif
