/* prom_metric.c - metrics and their series: the hash table behind label values and the arithmetic.
 * See prom.h and promx.h.
 *
 * A series is identified by its labels as rendered, so that a page cannot hold a duplicate.
 */
#include "exporter/prom/prom_impl.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { LINE_TEXT_MAX = 64 * 1024, FIRST_SLOTS = 16 };

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

static struct prom_metric *metric_new(enum promx_type type, const char *name, const char *help,
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
    metric->name_bytes = strlen(name);
    metric->help = strdup(help);
    metric->unit = "";
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

static size_t exemplars_of(const struct prom_metric *metric)
{
    return metric->type == PROMX_HISTOGRAM ? metric->buckets->count + 1 : 1;
}

static void series_free(struct prom_metric_sample *series)
{
    for (size_t i = 0; series->exemplars != NULL && i < exemplars_of(series->metric); i++)
        free(series->exemplars[i].labels);
    free(series->exemplars);
    free(series->in_bucket);
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
    uint64_t hash = hash_text(HASH_START, text);
    return hash ^ (hash >> 32);
}

/* The text before the value; NULL without memory or beyond the length limit. */
static char *line_text(const struct prom_metric *metric, const char **values, size_t *out_bytes)
{
    struct buf out;
    buf_init(&out, LINE_TEXT_MAX);
    buf_add_bytes(&out, metric->name, metric->name_bytes);
    for (size_t i = 0; i < metric->n_labels; i++) {
        buf_add(&out, i == 0 ? "{" : ",");
        buf_add(&out, metric->labels[i]);
        buf_add(&out, "=\"");
        promx_add_label_value(&out, values[i]);
        buf_add(&out, "\"");
    }
    buf_add(&out, metric->n_labels > 0 ? "} " : " ");
    *out_bytes = out.length;
    return buf_take(&out);
}

const char *prom_series_labels(const struct prom_metric_sample *series, size_t *out_bytes)
{
    const struct prom_metric *metric = series->metric;
    *out_bytes = metric->n_labels == 0 ? 0 : series->line_bytes - metric->name_bytes - 3;
    return series->line + metric->name_bytes + (metric->n_labels > 0);
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

static struct prom_metric_sample *find(struct prom_metric *metric, uint64_t hash, const char *line)
{
    if (metric->n_slots == 0)
        return NULL;
    struct prom_metric_sample *s = *slot_of(metric, hash);
    while (s != NULL && (s->hash != hash || strcmp(s->line, line) != 0))
        s = s->chain;
    return s;
}

static struct prom_metric_sample *series_new(struct prom_metric *metric, uint64_t hash,
                                             const char *line, size_t bytes)
{
    struct prom_metric_sample *s = calloc(1, sizeof *s + bytes + 1);
    if (s == NULL)
        return NULL;
    if (metric->type == PROMX_HISTOGRAM) {
        s->in_bucket = calloc(metric->buckets->count + 1, sizeof *s->in_bucket);
        if (s->in_bucket == NULL) {
            free(s);
            return NULL;
        }
    }
    s->metric = metric;
    s->hash = hash;
    s->created_ms = metric->clock != NULL ? clock_wall_ms(metric->clock) : 0;
    s->line_bytes = bytes;
    memcpy(s->line, line, bytes + 1);
    return s;
}

static struct prom_metric_sample *append(struct prom_metric *metric, uint64_t hash,
                                         const char *line, size_t bytes)
{
    if (metric->n_series >= PROMX_SERIES_MAX || !grow(metric))
        return NULL;
    struct prom_metric_sample *s = series_new(metric, hash, line, bytes);
    if (s == NULL)
        return NULL;
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
    size_t bytes;
    OWNED_TEXT line = line_text(metric, values, &bytes);
    if (line == NULL)
        return NULL;
    uint64_t hash = hash_of(line);
    struct prom_metric_sample *s = find(metric, hash, line);
    return s != NULL ? s : append(metric, hash, line, bytes);
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

bool promx_metric_has(prom_metric_t *self, const char **label_values)
{
    size_t bytes;
    OWNED_TEXT line = values_fit(self, label_values) ? line_text(self, label_values, &bytes) : NULL;
    if (line == NULL)
        return false;
    (void)pthread_mutex_lock(&self->lock);
    bool has = find(self, hash_of(line), line) != NULL;
    (void)pthread_mutex_unlock(&self->lock);
    return has;
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
    size_t bytes;
    OWNED_TEXT line = line_text(self, label_values, &bytes);
    if (line == NULL)
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    struct prom_metric_sample *s = find(self, hash_of(line), line);
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
    if (self == NULL || self->type == PROMX_HISTOGRAM)
        return NULL;
    return locked_series_of(self, label_values);
}

int prom_metric_sample_add(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || (self->metric->type == PROMX_COUNTER && !(r_value >= 0)))
        return 1;
    double before = atomic_load(&self->value);
    while (!atomic_compare_exchange_weak(&self->value, &before, before + r_value))
        ;
    return 0;
}

int prom_metric_sample_sub(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || self->metric->type != PROMX_GAUGE)
        return 1;
    return prom_metric_sample_add(self, -r_value);
}

int prom_metric_sample_set(prom_metric_sample_t *self, double r_value)
{
    if (self == NULL || self->metric->type != PROMX_GAUGE)
        return 1;
    atomic_store(&self->value, r_value);
    return 0;
}

static size_t bucket_of(const struct prom_metric *metric, double value)
{
    const struct prom_histogram_buckets *buckets = metric->buckets;
    size_t i = 0;
    while (i < buckets->count && value > buckets->bounds[i])
        i++;
    return i;
}

/* Lock held. Without memory the previous exemplar stays. */
static void keep_exemplar(prom_metric_sample_t *series, double value,
                          const struct promx_exemplar *by)
{
    const struct prom_metric *metric = series->metric;
    if (strlen(by->labels) > PROMX_EXEMPLAR_MAX)
        return;
    if (series->exemplars == NULL)
        series->exemplars = calloc(exemplars_of(metric), sizeof *series->exemplars);
    char *labels = strdup(by->labels);
    if (series->exemplars == NULL || labels == NULL) {
        free(labels);
        return;
    }
    struct prom_exemplar *slot =
        &series->exemplars[metric->type == PROMX_HISTOGRAM ? bucket_of(metric, value) : 0];
    free(slot->labels);
    *slot = (struct prom_exemplar){labels, value, by->at_ms};
}

typedef int change_fn(prom_metric_sample_t *series, double value);

/* Every change by label values happens under the metric's lock, so that a concurrent delete cannot
 * free the series. */
static int change_by(prom_metric_t *self, enum promx_type type, const char **values, double value,
                     change_fn *fn, const struct promx_exemplar *by)
{
    if (self == NULL || self->type != type || !values_fit(self, values))
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    struct prom_metric_sample *series = series_of(self, values);
    int refused = fn(series, value);
    if (refused == 0 && by != NULL)
        keep_exemplar(series, value, by);
    (void)pthread_mutex_unlock(&self->lock);
    return refused;
}

static int change(prom_metric_t *self, enum promx_type type, const char **values, double value,
                  change_fn *fn)
{
    return change_by(self, type, values, value, fn, NULL);
}

prom_counter_t *prom_counter_new(const char *name, const char *help, size_t label_key_count,
                                 const char **label_keys)
{
    return metric_new(PROMX_COUNTER, name, help, label_key_count, label_keys);
}

int prom_counter_destroy(prom_counter_t *self)
{
    return prom_metric_destroy(self);
}

int prom_counter_inc(prom_counter_t *self, const char **label_values)
{
    return prom_counter_add(self, 1, label_values);
}

int promx_counter_add_by(prom_counter_t *self, double r_value, const char **label_values,
                         const struct promx_exemplar *by)
{
    if (!(r_value >= 0)) /* before a series is made for it */
        return 1;
    return change_by(self, PROMX_COUNTER, label_values, r_value, prom_metric_sample_add, by);
}

int prom_counter_add(prom_counter_t *self, double r_value, const char **label_values)
{
    return promx_counter_add_by(self, r_value, label_values, NULL);
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
    return change(self, PROMX_COUNTER, label_values, r_value, raise_to);
}

prom_gauge_t *prom_gauge_new(const char *name, const char *help, size_t label_key_count,
                             const char **label_keys)
{
    return metric_new(PROMX_GAUGE, name, help, label_key_count, label_keys);
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
    return change(self, PROMX_GAUGE, label_values, r_value, prom_metric_sample_add);
}

int prom_gauge_sub(prom_gauge_t *self, double r_value, const char **label_values)
{
    return change(self, PROMX_GAUGE, label_values, r_value, prom_metric_sample_sub);
}

int prom_gauge_set(prom_gauge_t *self, double r_value, const char **label_values)
{
    return change(self, PROMX_GAUGE, label_values, r_value, prom_metric_sample_set);
}

/* ---- histograms ---- */

prom_histogram_t *prom_histogram_new(const char *name, const char *help,
                                     prom_histogram_buckets_t *buckets, size_t label_key_count,
                                     const char **label_keys)
{
    for (size_t i = 0; label_keys != NULL && i < label_key_count; i++)
        if (label_keys[i] != NULL && strcmp(label_keys[i], "le") == 0)
            return NULL;
    struct prom_metric *metric =
        metric_new(PROMX_HISTOGRAM, name, help, label_key_count, label_keys);
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
    series->in_bucket[bucket_of(series->metric, value)]++;
    series->observed++;
    series->sum += value;
    return 0;
}

int promx_histogram_observe_by(prom_histogram_t *self, double value, const char **label_values,
                               const struct promx_exemplar *by)
{
    if (isnan(value))
        return 1;
    return change_by(self, PROMX_HISTOGRAM, label_values, value, observe, by);
}

int prom_histogram_observe(prom_histogram_t *self, double value, const char **label_values)
{
    return promx_histogram_observe_by(self, value, label_values, NULL);
}

void promx_metric_describe(prom_metric_t *self, const char *unit, const struct clock *clock)
{
    self->unit = unit;
    self->clock = clock;
}

/* True when other's name is name or one of the sample names of a histogram called name. */
static bool name_covers(const struct prom_metric *metric, const char *other)
{
    if (strncmp(metric->name, other, metric->name_bytes) != 0)
        return false;
    const char *rest = other + metric->name_bytes;
    return *rest == '\0' || (metric->type == PROMX_HISTOGRAM &&
                             (strcmp(rest, "_bucket") == 0 || strcmp(rest, "_sum") == 0 ||
                              strcmp(rest, "_count") == 0));
}

/* OpenMetrics calls counter x_total the family x: a gauge x beside it would be a second one. */
static bool shares_family(const struct prom_metric *a, const struct prom_metric *b)
{
    size_t n = promx_family_bytes(a->name, a->type), m = promx_family_bytes(b->name, b->type);
    return n == m && memcmp(a->name, b->name, n) == 0;
}

bool prom_metric_collides(const struct prom_metric *a, const struct prom_metric *b)
{
    return name_covers(a, b->name) || name_covers(b, a->name) || shares_family(a, b);
}
