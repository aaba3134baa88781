/* prom_buckets.c - bounds of histograms: given, linear or exponential. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "exporter/prom/prom_impl.h"

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
