/* gather_trends.c - rates and remaining bytes when the stream ended. See gather.h.
 *
 * One pass over the samples, in constant memory. Rates are differences of counters: the
 * hypervisor's own rate keeps its last value in a stall.
 */
#include <inttypes.h>

#include "analyzer/record/gather.h"

enum { WINDOW = 32, WINDOW_MS = 5000, QUIET_WITHIN_MS = 60000 };

struct trend {
    int64_t end_ms; /* when the stream ended */
    bool is_sparse; /* seconds may lie between two samples: only what they show counts as quiet */
    size_t n;
    struct store_sample last;
    int64_t flowed_ms; /* last growth of the counter */
    int64_t quiet_ms;  /* the longest time without growth before that */
    int64_t low_water, low_water_ms;
    int64_t dirty_bps, throttle;
    struct {
        int64_t at_ms, processed;
    } window[WINDOW]; /* ring of the newest */
};

/* A hanging statistics call yields no samples, so a stall may end with its last sample.
 */
static void see_flow(struct trend *t, int64_t at_ms)
{
    bool counts = t->n > 0 && at_ms >= t->end_ms - QUIET_WITHIN_MS;
    int64_t until_ms = t->is_sparse ? t->last.at_ms : at_ms;
    if (counts && until_ms - t->flowed_ms > t->quiet_ms)
        t->quiet_ms = until_ms - t->flowed_ms;
    t->flowed_ms = at_ms;
}

static bool see_sample(void *ctx, const struct store_sample *row)
{
    struct trend *t = ctx;
    bool is_measurement = row->data_total > 0 || row->data_processed > 0;
    if (!is_measurement || row->source[0] == 'c' || row->at_ms > t->end_ms)
        return true; /* "completed": totals, not a moment */
    if (t->n == 0 || row->data_processed > t->last.data_processed)
        see_flow(t, row->at_ms);
    if (t->n == 0 || row->data_remaining < t->low_water) {
        t->low_water = row->data_remaining;
        t->low_water_ms = row->at_ms;
    }
    if (row->memory_dirty_rate > 0)
        t->dirty_bps = row->memory_dirty_rate * row->memory_page_size;
    t->throttle = row->throttle_percent;
    t->window[t->n % WINDOW].at_ms = row->at_ms;
    t->window[t->n % WINDOW].processed = row->data_processed;
    t->last = *row;
    t->n++;
    return true;
}

/* Over the last seconds in which it was measured; -1: too few samples. */
static int64_t bandwidth(const struct trend *t)
{
    size_t have = t->n < WINDOW ? t->n : WINDOW;
    int64_t from_ms = t->last.at_ms, from = t->last.data_processed;
    for (size_t i = 0; i < have; i++)
        if (t->window[i].at_ms < from_ms && t->window[i].at_ms >= t->last.at_ms - WINDOW_MS) {
            from_ms = t->window[i].at_ms;
            from = t->window[i].processed;
        }
    int64_t spent_ms = t->last.at_ms - from_ms;
    if (spent_ms < 300 || t->last.data_processed < from)
        return -1;
    return (int64_t)((double)(t->last.data_processed - from) * 1000 / (double)spent_ms);
}

static void note(struct notes *notes, const struct trend *t, const char *key, int64_t value)
{
    notes_fact(notes, key, "samples", t->last.at_ms, "%" PRId64, value);
}

bool gather_trends(struct store *store, const struct gathered *job, struct notes *notes,
                   struct err *err)
{
    struct trend t = {.end_ms = job->answered_ms != 0 ? job->answered_ms : job->ended_ms,
                      .is_sparse = job->observed};
    if (!store->ops->each_sample(store, job->uid, see_sample, &t, err))
        return false;
    if (t.n == 0)
        return true;
    int64_t bps = bandwidth(&t), end_ms = t.is_sparse ? t.last.at_ms : t.end_ms;
    int64_t stalled_ms = end_ms - t.flowed_ms;
    note(notes, &t, "stalled_ms", stalled_ms);
    note(notes, &t, "quiet_ms", stalled_ms > t.quiet_ms ? stalled_ms : t.quiet_ms);
    note(notes, &t, "no_progress_ms", end_ms - t.low_water_ms);
    note(notes, &t, "remaining", t.last.data_remaining);
    note(notes, &t, "low_water", t.low_water);
    note(notes, &t, "iteration", t.last.memory_iteration);
    if (t.last.disk_remaining > 0)
        note(notes, &t, "disk_remaining", t.last.disk_remaining);
    if (t.throttle > 0)
        note(notes, &t, "throttle_pct", t.throttle);
    if (t.dirty_bps > 0)
        note(notes, &t, "dirty_bps", t.dirty_bps);
    if (bps >= 0)
        note(notes, &t, "bandwidth_bps", bps);
    if (bps > 0 && t.dirty_bps > 0)
        note(notes, &t, "dirty_pct", (int64_t)((double)t.dirty_bps * 100 / (double)bps));
    return true;
}
