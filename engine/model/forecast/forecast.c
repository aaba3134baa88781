/* forecast.c - see forecast.h. */
#include "engine/model/forecast/forecast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "engine/model/forecast/forecast_run.h"

#define MIB (UINT64_C(1) << 20)
/* Overhead of every call: connecting, starting and finishing. */
enum { CALL_LOW_MS = 300, CALL_MS = 900, CALL_HIGH_MS = 2500, SCENARIOS_MAX = 256 };

#define ENDING(id, name, help) name,
static const char *const end_names[] = {
#include "engine/model/forecast/forecast.def"
};
#undef ENDING
#define DIRTY(id, name, help) name,
static const char *const dirty_names[] = {
#include "engine/model/forecast/forecast.def"
};
#undef DIRTY
#define BANDWIDTH(id, name, help) name,
static const char *const bandwidth_names[] = {
#include "engine/model/forecast/forecast.def"
};
#undef BANDWIDTH

const char *forecast_end_name(enum forecast_end end)
{
    return end < FORECAST_END_COUNT ? end_names[end] : "unknown";
}

const char *dirty_from_name(enum dirty_from from)
{
    return from < DIRTY_FROM_COUNT ? dirty_names[from] : "unknown";
}

const char *bandwidth_from_name(enum bandwidth_from from)
{
    return from < BANDWIDTH_FROM_COUNT ? bandwidth_names[from] : "unknown";
}

/* ---- assumptions where nothing is known ---- */

/* One percent of its memory in a second, half of it in a minute. */
static void assume_dirty(uint64_t memory_bytes, struct dirty_curve *out)
{
    *out = (struct dirty_curve){.from = DIRTY_ASSUMED, .n = 2};
    out->at[0].seconds = 1;
    out->at[0].bps = memory_bytes / 100;
    out->at[1].seconds = 60;
    out->at[1].bps = memory_bytes / 2 / 60;
}

/* Something between 1 and 10 Gbit/s. */
static void assume_path(struct path_speed *path)
{
    path->from = BANDWIDTH_ASSUMED;
    path->low = 100 * MIB;
    path->likely = 300 * MIB;
    path->high = 1100 * MIB;
}

static void complete(const struct forecast_input *from, struct forecast_input *out)
{
    *out = *from;
    if (out->dirty.n == 0)
        assume_dirty(out->memory_bytes, &out->dirty);
    if (out->path.likely == 0)
        assume_path(&out->path);
    if (out->path.low == 0 || out->path.low > out->path.likely)
        out->path.low = out->path.likely;
    if (out->path.high < out->path.likely)
        out->path.high = out->path.likely;
    if (out->used_bytes > out->memory_bytes)
        out->used_bytes = out->memory_bytes;
}

/* ---- scenarios ---- */

struct share {
    double value, weight;
};
struct shares {
    struct share list[4];
    size_t n;
};

/* A guest whose longer window shows hardly more than its first dirtied its working set within
 * the first: how soon is not known. */
static bool seems_full(const struct dirty_curve *curve)
{
    if (curve->n < 2)
        return false;
    double first = (double)curve->at[0].seconds * (double)curve->at[0].bps;
    double second = (double)curve->at[1].seconds * (double)curve->at[1].bps;
    return first > 0 && second < 1.5 * first;
}

static struct shares paths_of(const struct path_speed *path)
{
    return (struct shares){.n = 3,
                           .list = {{(double)path->low, 0.25},
                                    {(double)path->likely, 0.5},
                                    {(double)path->high, 0.25}}};
}

static struct shares speeds_of(const struct dirty_curve *curve)
{
    double rise = curve->rise < 0.7 ? 0.7 : curve->rise > 3 ? 3 : curve->rise;
    switch (curve->from) {
    case DIRTY_MEASURED: /* outside of a migration; during one the guest dirties more */
        if (curve->rise > 0)
            return (struct shares){.n = 3,
                                   .list = {{rise * 0.8, 0.25}, {rise, 0.5}, {rise * 1.4, 0.25}}};
        return (struct shares){.n = 4, .list = {{1, 0.3}, {1.5, 0.25}, {2, 0.25}, {3, 0.2}}};
    case DIRTY_LAST_MOVE: /* as seen during a migration */
        return (struct shares){.n = 3, .list = {{0.6, 0.25}, {1, 0.5}, {1.5, 0.25}}};
    default: return (struct shares){.n = 4, .list = {{0.1, 0.3}, {0.5, 0.2}, {1, 0.3}, {4, 0.2}}};
    }
}

/* One window says nothing about the time after it. */
static struct shares bends_of(const struct dirty_curve *curve)
{
    if (curve->from == DIRTY_LAST_MOVE)
        return (struct shares){.n = 2, .list = {{0.3, 0.4}, {1, 0.6}}};
    return (struct shares){.n = 3, .list = {{0, 0.25}, {0.5, 0.35}, {1, 0.4}}};
}

static struct shares bursts_of(const struct dirty_curve *curve)
{
    if (seems_full(curve))
        return (struct shares){.n = 3, .list = {{1, 0.4}, {4, 0.3}, {1000, 0.3}}};
    return (struct shares){.n = 1, .list = {{1, 1}}};
}

static struct shares parts_of(const struct forecast_input *in)
{
    double used = (double)in->used_bytes / (double)in->memory_bytes;
    if (in->used_bytes > 0)
        return (struct shares){.n = 1, .list = {{used, 1}}};
    return (struct shares){.n = 2, .list = {{1, 0.75}, {0.3, 0.25}}};
}

/* Every combination of the values. */
static size_t run_all(const struct forecast_input *in, struct ending *endings, size_t max)
{
    const struct shares all[] = {paths_of(&in->path), speeds_of(&in->dirty), bends_of(&in->dirty),
                                 bursts_of(&in->dirty), parts_of(in)};
    size_t n = 1, done = 0;
    for (size_t i = 0; i < COUNT(all); i++)
        n *= all[i].n;
    for (size_t k = 0; k < n && done < max; k++) {
        double value[COUNT(all)];
        struct scenario s = {.weight = 1};
        size_t rest = k;
        for (size_t i = 0; i < COUNT(all); i++) {
            const struct share *share = &all[i].list[rest % all[i].n];
            rest /= all[i].n;
            value[i] = share->value;
            s.weight *= share->weight;
        }
        s.bandwidth = value[0];
        s.postcopy_bandwidth = in->path.postcopy > 0 && (double)in->path.postcopy < value[0]
                                   ? (double)in->path.postcopy
                                   : value[0];
        s.faster = value[1];
        s.bend = value[2];
        s.burst = value[3];
        s.used = value[4];
        scenario_run(in, &s, &endings[done++]);
    }
    return done;
}

/* ---- summary of the scenarios ---- */

static int by_total(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    return x->total_ms < y->total_ms ? -1 : x->total_ms > y->total_ms;
}

static int by_downtime(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    return x->downtime_ms < y->downtime_ms ? -1 : x->downtime_ms > y->downtime_ms;
}

/* Of a sorted list: the quantile by weight. */
static const struct ending *at_part(const struct ending *endings, size_t n, double part)
{
    double sum = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        all += endings[i].weight;
    for (size_t i = 0; i < n; i++) {
        sum += endings[i].weight;
        if (sum >= part * all)
            return &endings[i];
    }
    return &endings[n - 1];
}

static int64_t whole_ms(double ms)
{
    return ms > 1e12 ? (int64_t)1e12 : (int64_t)ms;
}

static void weigh(const struct ending *endings, size_t n, struct forecast *out)
{
    double weights[FORECAST_END_COUNT] = {0}, all = 0;
    for (size_t i = 0; i < n; i++) {
        weights[endings[i].end] += endings[i].weight;
        all += endings[i].weight;
    }
    out->end = FORECAST_CONVERGES;
    for (unsigned i = 0; i < FORECAST_END_COUNT; i++)
        if (weights[i] > weights[out->end])
            out->end = (enum forecast_end)i;
    int percent = (int)(weights[FORECAST_CONVERGES] * 100 / all + 0.5);
    out->percent = percent < 1    ? 1
                   : percent > 99 ? 99
                                  : percent; /* no probability of 0 or 1 before a migration */
}

static void describe(const struct forecast_input *in, struct forecast *out)
{
    char record[48] = "";
    if (in->path.from == BANDWIDTH_PATH)
        (void)snprintf(record, sizeof record, " of %u migration%s", in->path.moves,
                       in->path.moves == 1 ? "" : "s");
    (void)snprintf(out->why, sizeof out->why,
                   "%.1f GiB of memory at %.0f MiB/s (%s%s); dirty rate %.0f MiB/s (%s)",
                   (double)in->memory_bytes / (double)(1024 * MIB),
                   (double)in->path.likely / (double)MIB, bandwidth_from_name(in->path.from),
                   record, (double)in->dirty.at[0].bps / (double)MIB,
                   dirty_from_name(in->dirty.from));
}

void forecast_make(const struct forecast_input *input, struct forecast *out_forecast)
{
    struct forecast *out = out_forecast;
    struct forecast_input in;
    memset(out, 0, sizeof *out);
    if (input->memory_bytes == 0)
        return;
    complete(input, &in);
    struct ending endings[SCENARIOS_MAX];
    size_t n = run_all(&in, endings, COUNT(endings));
    out->made = true;
    weigh(endings, n, out);
    qsort(endings, n, sizeof *endings, by_total);
    out->total_ms = whole_ms(at_part(endings, n, 0.5)->total_ms + CALL_MS);
    out->low_ms = whole_ms(at_part(endings, n, 0.05)->total_ms + CALL_LOW_MS);
    out->high_ms = whole_ms(at_part(endings, n, 0.95)->total_ms + CALL_HIGH_MS);
    qsort(endings, n, sizeof *endings, by_downtime);
    out->downtime_ms = whole_ms(at_part(endings, n, 0.5)->downtime_ms);
    out->downtime_high_ms = whole_ms(at_part(endings, n, 0.95)->downtime_ms);
    out->bandwidth_bps = in.path.likely;
    out->dirty_bps = in.dirty.at[0].bps;
    describe(&in, out);
}
