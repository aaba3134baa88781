/* prom_render.c - renders one family of prom.h in both formats. The text before a value was stored
 * with the series: most lines are one copy and one number. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "exporter/prom/prom_impl.h"

/* name, suffix, labels and one more pair, up to the space before the value. */
static void add_start(struct buf *out, const struct prom_metric_sample *s, size_t name_bytes,
                      const char *suffix)
{
    size_t bytes;
    const char *labels = prom_series_labels(s, &bytes);
    buf_add_bytes(out, s->metric->name, name_bytes);
    buf_add(out, suffix);
    if (bytes == 0)
        return;
    buf_add_bytes(out, "{", 1);
    buf_add_bytes(out, labels, bytes);
    buf_add_bytes(out, "}", 1);
}

static void add_end(struct buf *out, double value)
{
    buf_add_bytes(out, " ", 1);
    promx_add_value(out, value);
    buf_add_bytes(out, "\n", 1);
}

static void add_created(struct promx_page *page, const struct prom_metric_sample *s)
{
    if (page->format != PROMX_OPENMETRICS || s->created_ms == 0)
        return;
    add_start(&page->out, s, promx_family_bytes(s->metric->name, s->metric->type), "_created");
    add_end(&page->out, (double)s->created_ms / 1000);
}

/* Before the end of a line. */
static void add_exemplar(struct promx_page *page, const struct prom_metric_sample *s, size_t i)
{
    if (page->format != PROMX_OPENMETRICS || s->exemplars == NULL || s->exemplars[i].labels == NULL)
        return;
    const struct prom_exemplar *exemplar = &s->exemplars[i];
    buf_add(&page->out, " # {");
    buf_add(&page->out, exemplar->labels);
    buf_add(&page->out, "} ");
    promx_add_value(&page->out, exemplar->value);
    buf_add_bytes(&page->out, " ", 1);
    promx_add_value(&page->out, (double)exemplar->at_ms / 1000);
}

static void add_bucket(struct promx_page *page, const struct prom_metric_sample *s, size_t i,
                       double bound, uint64_t cumulated)
{
    size_t bytes;
    const char *labels = prom_series_labels(s, &bytes);
    struct buf *out = &page->out;
    buf_add_bytes(out, s->metric->name, s->metric->name_bytes);
    buf_add(out, "_bucket{");
    buf_add_bytes(out, labels, bytes);
    buf_add(out, bytes == 0 ? "le=\"" : ",le=\"");
    promx_add_bound(out, bound);
    buf_add(out, "\"} ");
    promx_add_value(out, (double)cumulated);
    add_exemplar(page, s, i);
    buf_add_bytes(out, "\n", 1);
}

static void add_histogram(struct promx_page *page, const struct prom_metric_sample *s)
{
    const struct prom_histogram_buckets *buckets = s->metric->buckets;
    size_t name_bytes = s->metric->name_bytes;
    uint64_t cumulated = 0;
    for (size_t i = 0; i < buckets->count; i++) {
        cumulated += s->in_bucket[i];
        add_bucket(page, s, i, buckets->bounds[i], cumulated);
    }
    add_bucket(page, s, buckets->count, INFINITY, s->observed);
    add_start(&page->out, s, name_bytes, "_sum");
    add_end(&page->out, s->sum);
    add_start(&page->out, s, name_bytes, "_count");
    add_end(&page->out, (double)s->observed);
    add_created(page, s);
}

static void add_counter(struct promx_page *page, const struct prom_metric_sample *s)
{
    if (s->exemplars == NULL || page->format != PROMX_OPENMETRICS) {
        promx_add_line(page, s->line, s->line_bytes, atomic_load(&s->value));
    } else {
        buf_add_bytes(&page->out, s->line, s->line_bytes);
        promx_add_value(&page->out, atomic_load(&s->value));
        add_exemplar(page, s, 0);
        buf_add_bytes(&page->out, "\n", 1);
    }
    add_created(page, s);
}

static void add_gauges(struct promx_page *page, const struct prom_metric *metric)
{
    for (const struct prom_metric_sample *s = metric->first; s != NULL; s = s->next) {
        __builtin_prefetch(s->next);
        promx_add_line(page, s->line, s->line_bytes,
                       atomic_load_explicit(&s->value, memory_order_relaxed));
    }
}

void prom_metric_render(struct prom_metric *metric, struct promx_page *page)
{
    const struct promx_family family = {metric->name, metric->type, metric->unit, metric->help};
    promx_add_family(page, &family);
    (void)pthread_mutex_lock(&metric->lock);
    if (metric->type == PROMX_GAUGE)
        add_gauges(page, metric);
    else
        for (const struct prom_metric_sample *s = metric->first; s != NULL; s = s->next)
            (metric->type == PROMX_HISTOGRAM ? add_histogram : add_counter)(page, s);
    (void)pthread_mutex_unlock(&metric->lock);
}
