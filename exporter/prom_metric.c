/* prom_metric.c - metrics and their series: the hash table behind label values, the arithmetic,
 * the rendering of one family. See prom.h and promx.h.
 *
 * A series is identified by its labels as they appear on the page, so two values that would look
 * the same there are one series and a page cannot hold a duplicate.
 */
#include "exporter/prom_impl.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_TEXT_MAX = 64 * 1024, FIRST_SLOTS = 16 };

static const char *const type_names[] = {"counter", "gauge", "histogram"};

static bool labels_are_valid(size_t n, const char **keys)
{
    if (n > PROMX_LABELS_MAX || (n > 0 && keys == NULL))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!promx_is_label_name(keys[i]))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(keys[i], keys[j]) == 0)
                return false;
    }
    return true;
}

static struct prom_metric *metric_new(enum prom_type type, const char *name, const char *help,
                                      size_t n_labels, const char **keys)
{
    if (!promx_is_metric_name(name) || help == NULL || !labels_are_valid(n_labels, keys))
        return NULL;
    struct prom_metric *metric = calloc(1, sizeof *metric);
    if (metric == NULL)
        return NULL;
    (void)pthread_mutex_init(&metric->lock, NULL);
    metric->type = type;
    metric->name = strdup(name);
    metric->help = strdup(help);
    bool complete = metric->name != NULL && metric->help != NULL;
    for (; metric->n_labels < n_labels && complete; metric->n_labels++) {
        metric->labels[metric->n_labels] = strdup(keys[metric->n_labels]);
        complete = metric->labels[metric->n_labels] != NULL;
    }
    if (complete)
        return metric;
    (void)prom_metric_destroy(metric);
    return NULL;
}

static void series_free(struct prom_metric_sample *series)
{
    free(series->in_bucket);
    free(series->labels);
    free(series);
}

int promx_metric_clear(prom_metric_t *self)
{
    if (self == NULL)
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    struct prom_metric_sample *series = self->first;
    while (series != NULL) {
        struct prom_metric_sample *next = series->next;
        series_free(series);
        series = next;
    }
    free(self->slots);
    self->first = self->last = NULL;
    self->slots = NULL;
    self->n_slots = self->n_series = 0;
    (void)pthread_mutex_unlock(&self->lock);
    return 0;
}

int prom_metric_destroy(struct prom_metric *metric)
{
    if (metric == NULL)
        return 0;
    (void)promx_metric_clear(metric);
    (void)pthread_mutex_destroy(&metric->lock);
    for (size_t i = 0; i < metric->n_labels; i++)
        free(metric->labels[i]);
    free(metric->buckets);
    free(metric->name);
    free(metric->help);
    free(metric);
    return 0;
}

/* ---- finding a series ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
    return hash ^ (hash >> 32);
}

/* The labels as the page shows them; NULL when memory is short or they are absurdly long. */
static char *labels_text(const struct prom_metric *metric, const char **values)
{
    struct buf out;
    buf_init(&out, LABELS_TEXT_MAX);
    buf_add(&out, "");
    for (size_t i = 0; i < metric->n_labels; i++) {
        buf_add(&out, i == 0 ? "" : ",");
        buf_add(&out, metric->labels[i]);
        buf_add(&out, "=\"");
        promx_add_label_value(&out, values[i]);
        buf_add(&out, "\"");
    }
    return buf_take(&out);
}

static struct prom_metric_sample **slot_of(struct prom_metric *metric, uint64_t hash)
{
    return &metric->slots[hash & (metric->n_slots - 1)];
}

static bool grow(struct prom_metric *metric)
{
    if (metric->n_series < metric->n_slots)
        return true;
    size_t n = metric->n_slots == 0 ? FIRST_SLOTS : metric->n_slots * 2;
    struct prom_metric_sample **slots = calloc(n, sizeof(struct prom_metric_sample *));
    if (slots == NULL)
        return false;
    free(metric->slots);
    metric->slots = slots;
    metric->n_slots = n;
    for (struct prom_metric_sample *s = metric->first; s != NULL; s = s->next) {
        s->chain = *slot_of(metric, s->hash);
        *slot_of(metric, s->hash) = s;
    }
    return true;
}

static struct prom_metric_sample *find(struct prom_metric *metric, uint64_t hash,
                                       const char *labels)
{
    if (metric->n_slots == 0)
        return NULL;
    struct prom_metric_sample *s = *slot_of(metric, hash);
    while (s != NULL && (s->hash != hash || strcmp(s->labels, labels) != 0))
        s = s->chain;
    return s;
}

/* Takes labels when it succeeds. */
static struct prom_metric_sample *append(struct prom_metric *metric, uint64_t hash, char *labels)
{
    if (metric->n_series >= PROMX_SERIES_MAX || !grow(metric))
        return NULL;
    struct prom_metric_sample *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    if (metric->type == PROM_HISTOGRAM) {
        s->in_bucket = calloc(metric->buckets->count + 1, sizeof *s->in_bucket);
        if (s->in_bucket == NULL) {
            free(s);
            return NULL;
        }
    }
    s->metric = metric;
    s->hash = hash;
    s->labels = labels;
    s->chain = *slot_of(metric, hash);
    *slot_of(metric, hash) = s;
    s->prev = metric->last;
    *(metric->last == NULL ? &metric->first : &metric->last->next) = s;
    metric->last = s;
    metric->n_series++;
    return s;
}

/* Lock held. */
static struct prom_metric_sample *series_of(struct prom_metric *metric, const char **values)
{
    OWNED_TEXT labels = labels_text(metric, values);
    if (labels == NULL)
        return NULL;
    uint64_t hash = hash_of(labels);
    struct prom_metric_sample *s = find(metric, hash, labels);
    if (s != NULL)
        return s;
    s = append(metric, hash, labels);
    if (s != NULL)
        (void)TAKE(labels);
    return s;
}

static bool values_fit(const struct prom_metric *metric, const char **values)
{
    if (metric == NULL || (metric->n_labels > 0 && values == NULL))
        return false;
    for (size_t i = 0; i < metric->n_labels; i++)
        if (values[i] == NULL)
            return false;
    return true;
}

static struct prom_metric_sample *locked_series_of(struct prom_metric *metric, const char **values)
{
    if (!values_fit(metric, values))
        return NULL;
    (void)pthread_mutex_lock(&metric->lock);
    struct prom_metric_sample *s = series_of(metric, values);
    (void)pthread_mutex_unlock(&metric->lock);
    return s;
}

int promx_metric_touch(prom_metric_t *self, const char **label_values)
{
    return locked_series_of(self, label_values) == NULL;
}

size_t promx_metric_series(prom_metric_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    size_t n = self->n_series;
    (void)pthread_mutex_unlock(&self->lock);
    return n;
}

static void unlink_series(struct prom_metric *metric, struct prom_metric_sample *s)
{
    struct prom_metric_sample **link = slot_of(metric, s->hash);
    while (*link != s)
        link = &(*link)->chain;
    *link = s->chain;
    *(s->prev == NULL ? &metric->first : &s->prev->next) = s->next;
    *(s->next == NULL ? &metric->last : &s->next->prev) = s->prev;
    metric->n_series--;
}

int promx_metric_delete(prom_metric_t *self, const char **label_values)
{
    if (!values_fit(self, label_values))
        return 1;
    OWNED_TEXT labels = labels_text(self, label_values);
    if (labels == NULL)
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    struct prom_metric_sample *s = find(self, hash_of(labels), labels);
    if (s != NULL)
        unlink_series(self, s);
    (void)pthread_mutex_unlock(&self->lock);
    if (s == NULL)
        return 1;
    series_free(s);
    return 0;
}

/* ---- counters and gauges ---- */

prom_metric_sample_t *prom_metric_sample_from_labels(prom_metric_t *self, const char **label_values)
{
    if (self == NULL || self->type == PROM_HISTOGRAM)
        return NULL;
    return locked_series_of(self, label_values);
}

int prom_metric_sample_add(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || (self->metric->type == PROM_COUNTER && !(r_value >= 0)))
        return 1;
    double before = atomic_load(&self->value);
    while (!atomic_compare_exchange_weak(&self->value, &before, before + r_value))
        ;
    return 0;
}

int prom_metric_sample_sub(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || self->metric->type != PROM_GAUGE)
        return 1;
    return prom_metric_sample_add(self, -r_value);
}

int prom_metric_sample_set(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || self->metric->type != PROM_GAUGE)
        return 1;
    atomic_store(&self->value, r_value);
    return 0;
}

/* Every change by label values happens under the metric's lock, so that a delete beside it
 * cannot free the series in between. */
static int change(prom_metric_t *self, enum prom_type type, const char **values, double value,
                  int (*fn)(prom_metric_sample_t *, double))
{
    if (self == NULL || self->type != type || !values_fit(self, values))
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    int refused = fn(series_of(self, values), value);
    (void)pthread_mutex_unlock(&self->lock);
    return refused;
}

prom_counter_t *prom_counter_new(const char *name, const char *help, size_t label_key_count,
                                 const char **label_keys)
{
    return metric_new(PROM_COUNTER, name, help, label_key_count, label_keys);
}

int prom_counter_destroy(prom_counter_t *self)
{
    return prom_metric_destroy(self);
}

int prom_counter_inc(prom_counter_t *self, const char **label_values)
{
    return prom_counter_add(self, 1, label_values);
}

int prom_counter_add(prom_counter_t *self, double r_value, const char **label_values)
{
    if (!(r_value >= 0)) /* before a series is made for it */
        return 1;
    return change(self, PROM_COUNTER, label_values, r_value, prom_metric_sample_add);
}

static int raise_to(prom_metric_sample_t *series, double value)
{
    if (series == NULL || value < atomic_load(&series->value))
        return 1;
    atomic_store(&series->value, value);
    return 0;
}

int promx_counter_set(prom_counter_t *self, double r_value, const char **label_values)
{
    if (!(r_value >= 0))
        return 1;
    return change(self, PROM_COUNTER, label_values, r_value, raise_to);
}

prom_gauge_t *prom_gauge_new(const char *name, const char *help, size_t label_key_count,
                             const char **label_keys)
{
    return metric_new(PROM_GAUGE, name, help, label_key_count, label_keys);
}

int prom_gauge_destroy(prom_gauge_t *self)
{
    return prom_metric_destroy(self);
}

int prom_gauge_inc(prom_gauge_t *self, const char **label_values)
{
    return prom_gauge_add(self, 1, label_values);
}

int prom_gauge_dec(prom_gauge_t *self, const char **label_values)
{
    return prom_gauge_add(self, -1, label_values);
}

int prom_gauge_add(prom_gauge_t *self, double r_value, const char **label_values)
{
    return change(self, PROM_GAUGE, label_values, r_value, prom_metric_sample_add);
}

int prom_gauge_sub(prom_gauge_t *self, double r_value, const char **label_values)
{
    return change(self, PROM_GAUGE, label_values, r_value, prom_metric_sample_sub);
}

int prom_gauge_set(prom_gauge_t *self, double r_value, const char **label_values)
{
    return change(self, PROM_GAUGE, label_values, r_value, prom_metric_sample_set);
}

/* ---- histograms ---- */

static struct prom_histogram_buckets *buckets_new(size_t count)
{
    if (count == 0 || count > PROMX_BUCKETS_MAX)
        return NULL;
    struct prom_histogram_buckets *b = calloc(1, sizeof *b + count * sizeof b->bounds[0]);
    if (b != NULL)
        b->count = count;
    return b;
}

/* Takes b; NULL when its bounds do not ascend or are not finite. */
static struct prom_histogram_buckets *buckets_checked(struct prom_histogram_buckets *take_b)
{
    for (size_t i = 0; i < take_b->count; i++)
        if (!isfinite(take_b->bounds[i]) ||
            (i > 0 && !(take_b->bounds[i] > take_b->bounds[i - 1]))) {
            free(take_b);
            return NULL;
        }
    return take_b;
}

prom_histogram_buckets_t *prom_histogram_buckets_new(size_t count, double bucket, ...)
{
    struct prom_histogram_buckets *b = buckets_new(count);
    if (b == NULL)
        return NULL;
    va_list rest;
    va_start(rest, bucket);
    for (size_t i = 0; i < count; i++)
        b->bounds[i] = i == 0 ? bucket : va_arg(rest, double);
    va_end(rest);
    return buckets_checked(b);
}

prom_histogram_buckets_t *prom_histogram_buckets_linear(double start, double width, size_t count)
{
    struct prom_histogram_buckets *b = buckets_new(count);
    for (size_t i = 0; b != NULL && i < count; i++)
        b->bounds[i] = start + width * (double)i;
    return b == NULL ? NULL : buckets_checked(b);
}

prom_histogram_buckets_t *prom_histogram_buckets_exponential(double start, double factor,
                                                             size_t count)
{
    struct prom_histogram_buckets *b = start > 0 ? buckets_new(count) : NULL;
    for (size_t i = 0; b != NULL && i < count; i++)
        b->bounds[i] = i == 0 ? start : b->bounds[i - 1] * factor;
    return b == NULL ? NULL : buckets_checked(b);
}

int prom_histogram_buckets_destroy(prom_histogram_buckets_t *self)
{
    free(self);
    return 0;
}

size_t prom_histogram_buckets_count(prom_histogram_buckets_t *self)
{
    return self->count;
}

prom_histogram_t *prom_histogram_new(const char *name, const char *help,
                                     prom_histogram_buckets_t *buckets, size_t label_key_count,
                                     const char **label_keys)
{
    for (size_t i = 0; label_keys != NULL && i < label_key_count; i++)
        if (label_keys[i] != NULL && strcmp(label_keys[i], "le") == 0)
            return NULL;
    struct prom_metric *metric =
        metric_new(PROM_HISTOGRAM, name, help, label_key_count, label_keys);
    if (metric == NULL)
        return NULL;
    metric->buckets = buckets != NULL ? buckets
                                      : prom_histogram_buckets_new(11, .005, .01, .025, .05, .1,
                                                                   .25, .5, 1.0, 2.5, 5.0, 10.0);
    if (metric->buckets != NULL)
        return metric;
    (void)prom_metric_destroy(metric);
    return NULL;
}

int prom_histogram_destroy(prom_histogram_t *self)
{
    return prom_metric_destroy(self);
}

static int observe(prom_metric_sample_t *series, double value)
{
    if (series == NULL)
        return 1;
    const struct prom_histogram_buckets *buckets = series->metric->buckets;
    size_t i = 0;
    while (i < buckets->count && value > buckets->bounds[i])
        i++;
    series->in_bucket[i]++;
    series->observed++;
    series->sum += value;
    return 0;
}

int prom_histogram_observe(prom_histogram_t *self, double value, const char **label_values)
{
    if (isnan(value))
        return 1;
    return change(self, PROM_HISTOGRAM, label_values, value, observe);
}

/* ---- the page ---- */

static void add_sample(struct buf *out, const struct prom_metric_sample *s, const char *suffix,
                       double value)
{
    buf_add(out, s->metric->name);
    buf_add(out, suffix);
    if (s->labels[0] != '\0') {
        buf_add(out, "{");
        buf_add(out, s->labels);
        buf_add(out, "}");
    }
    buf_add(out, " ");
    promx_add_value(out, value);
    buf_add(out, "\n");
}

static void add_bucket(struct buf *out, const struct prom_metric_sample *s, double bound,
                       uint64_t cumulated)
{
    buf_add(out, s->metric->name);
    buf_add(out, "_bucket{");
    buf_add(out, s->labels);
    buf_add(out, s->labels[0] == '\0' ? "le=\"" : ",le=\"");
    promx_add_value(out, bound);
    buf_add(out, "\"} ");
    promx_add_value(out, (double)cumulated);
    buf_add(out, "\n");
}

static void add_histogram(struct buf *out, const struct prom_metric_sample *s)
{
    const struct prom_histogram_buckets *buckets = s->metric->buckets;
    uint64_t cumulated = 0;
    for (size_t i = 0; i < buckets->count; i++) {
        cumulated += s->in_bucket[i];
        add_bucket(out, s, buckets->bounds[i], cumulated);
    }
    add_bucket(out, s, INFINITY, s->observed);
    add_sample(out, s, "_sum", s->sum);
    add_sample(out, s, "_count", (double)s->observed);
}

void prom_metric_render(struct prom_metric *metric, struct buf *out)
{
    promx_add_header(out, metric->name, type_names[metric->type], metric->help);
    (void)pthread_mutex_lock(&metric->lock);
    for (const struct prom_metric_sample *s = metric->first; s != NULL; s = s->next) {
        if (metric->type == PROM_HISTOGRAM)
            add_histogram(out, s);
        else
            add_sample(out, s, "", atomic_load(&s->value));
    }
    (void)pthread_mutex_unlock(&metric->lock);
}

/* True when other's name is name or one of the sample names of a histogram called name. */
static bool name_covers(const struct prom_metric *metric, const char *other)
{
    size_t n = strlen(metric->name);
    if (strncmp(metric->name, other, n) != 0)
        return false;
    const char *rest = other + n;
    return *rest == '\0' || (metric->type == PROM_HISTOGRAM &&
                             (strcmp(rest, "_bucket") == 0 || strcmp(rest, "_sum") == 0 ||
                              strcmp(rest, "_count") == 0));
}

bool prom_metric_collides(const struct prom_metric *a, const struct prom_metric *b)
{
    return name_covers(a, b->name) || name_covers(b, a->name);
}
