/* test_monitor_world.h - a guest on a link, as QEMU migrates it: iterations over dirty memory, a
 * switch-over as soon as the remaining memory fits the downtime; a monitor whose orders are obeyed.
 * Small steps of time, no randomness. And one-line inputs for stories about single rows. */
#ifndef TESTS_UNIT_TEST_MONITOR_WORLD_H
#define TESTS_UNIT_TEST_MONITOR_WORLD_H

#include <string.h>

#include "engine/data/monitor.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
enum { WORLD_TICK_MS = 100, WORLD_POLL_MS = 400, WORLD_NEWS_MAX = 256 };

struct plan { /* of a guest and its link; bytes and bytes per second */
    const char *name;
    uint64_t memory, link, dirty, working_set;
    int64_t wave_ms;           /* its dirtying rises and falls with this period; 0: steady */
    int64_t cut_ms, mended_ms; /* the link is dead between these; 0: never */
    int64_t slow_ms;           /* from then on the link does a thousandth; 0: never */
};
enum ending { RUNS, MOVED, MOVED_POSTCOPY, MOVED_STOPPED, GAVE_UP };
struct world {
    const struct plan *plan;
    struct monitor monitor;
    struct monitor_decision decision;
    int64_t now_ms, limit_ms;
    double remaining, dirty, processed;
    uint64_t iteration;
    bool stopped, boundary;
    enum mode mode;
    enum ending ending;
    size_t n_news;
    struct monitor_decision news[WORLD_NEWS_MAX];
};

static inline void world_begin(struct world *w, const struct plan *plan, enum monitor_kind kind,
                               const struct migration_config *config)
{
    memset(w, 0, sizeof *w);
    struct monitor_facts facts = {.memory_bytes = plan->memory};
    w->plan = plan;
    w->remaining = (double)plan->memory;
    w->limit_ms = MONITOR_DOWNTIME_FIRST_MS;
    w->iteration = 1;
    w->mode = MODE_PRECOPY;
    monitor_begin(&w->monitor, kind, config, &facts);
}

static inline double world_link(const struct world *w)
{
    const struct plan *p = w->plan;
    if (p->cut_ms > 0 && w->now_ms >= p->cut_ms && (p->mended_ms == 0 || w->now_ms < p->mended_ms))
        return 0;
    return p->slow_ms > 0 && w->now_ms >= p->slow_ms ? (double)p->link / 1000 : (double)p->link;
}

/* What was dirtied is to be sent again; what is not yet sent is not sent twice. */
static inline void world_sync(struct world *w)
{
    double most = (double)w->plan->working_set, all = w->remaining + w->dirty;
    most = w->remaining > most ? w->remaining : most;
    w->remaining = all < most ? all : most;
    w->dirty = 0;
}

/* Memory moves, memory is dirtied. */
static inline void world_tick(struct world *w)
{
    const struct plan *p = w->plan;
    double can = world_link(w) * WORLD_TICK_MS / 1000;
    double moved = can < w->remaining ? can : w->remaining;
    w->now_ms += WORLD_TICK_MS;
    w->remaining -= moved;
    w->processed += moved;
    if (!w->stopped && w->mode == MODE_PRECOPY) {
        bool calm = p->wave_ms > 0 && w->now_ms / p->wave_ms % 2 == 1;
        w->dirty += (double)p->dirty * (calm ? 0.5 : 1) * WORLD_TICK_MS / 1000;
        if (w->dirty > (double)p->working_set)
            w->dirty = (double)p->working_set;
    }
    double fits = world_link(w) * (double)w->limit_ms / 1000;
    if (w->mode != MODE_POSTCOPY && !w->stopped && w->remaining <= fits && moved > 0) {
        world_sync(w);
        w->stopped = w->remaining <= fits;
        w->boundary = !w->stopped;
        w->iteration += w->boundary;
    }
    if (w->remaining <= 0 && (w->stopped || w->mode == MODE_POSTCOPY))
        w->ending = w->mode == MODE_POSTCOPY ? MOVED_POSTCOPY
                    : w->mode == MODE_PAUSED || w->limit_ms == MONITOR_DOWNTIME_MAX_MS
                        ? MOVED_STOPPED
                        : MOVED;
}

static inline void world_obey(struct world *w)
{
    const struct monitor_decision *d = &w->decision;
    switch (d->action) {
    case MONITOR_SET_DOWNTIME: w->limit_ms = d->downtime_ms; break;
    case MONITOR_POSTCOPY:
        w->mode = MODE_POSTCOPY;
        world_sync(w);
        break;
    case MONITOR_PAUSE: w->mode = MODE_PAUSED; break;
    case MONITOR_ABORT: w->ending = GAVE_UP; break;
    default: return;
    }
    monitor_done(&w->monitor, d, true, w->now_ms);
}

static inline void world_observe(struct world *w)
{
    struct monitor_input in = {.elapsed_ms = w->now_ms,
                               .has_stats = true,
                               .at_iteration = w->boundary,
                               .mode = w->mode,
                               .stopped_by_migration = w->stopped};
    in.stats.data_total = in.stats.memory_total = w->plan->memory;
    in.stats.data_processed = in.stats.memory_processed = (uint64_t)w->processed;
    in.stats.data_remaining = in.stats.memory_remaining = (uint64_t)w->remaining;
    in.stats.memory_bps = w->plan->link; /* stale, as in life */
    in.stats.memory_page_size = 4096;
    in.stats.memory_dirty_rate = w->iteration > 1 ? w->plan->dirty / 4096 : 0;
    in.stats.memory_iteration = w->iteration;
    w->boundary = false;
    monitor_step(&w->monitor, &in, &w->decision);
    if (monitor_decision_changed(&w->monitor, &w->decision) && w->n_news < WORLD_NEWS_MAX)
        w->news[w->n_news++] = w->decision;
    world_obey(w);
}

static inline void world_run(struct world *w, int64_t until_ms)
{
    while (w->ending == RUNS && w->now_ms < until_ms) {
        world_tick(w);
        if (w->ending == RUNS && (w->boundary || w->now_ms % WORLD_POLL_MS == 0))
            world_observe(w);
    }
}

/* The first decision that does more than set the ramp; NULL: none. */
static inline const struct monitor_decision *world_verdict(const struct world *w)
{
    for (size_t i = 0; i < w->n_news; i++) {
        const struct monitor_decision *d = &w->news[i];
        bool ramp = d->why == DECISION_HOLDS_DOWNTIME || d->why == DECISION_FIRST_DOWNTIME ||
                    d->why == DECISION_MORE_DOWNTIME;
        if (d->action != MONITOR_NOTHING && !ramp)
            return d;
    }
    return NULL;
}

/* --- single looks ---------------------------------------------------------------------------- */

struct rig {
    struct migration_config config;
    struct monitor_facts facts;
    struct monitor m;
    struct monitor_input in; /* kept between looks: a story changes what it is about */
    struct monitor_decision d;
};

static inline void rig_default(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    migration_config_default(&rig->config);
    rig->facts.memory_bytes = GIB;
    rig->in.has_stats = true;
    rig->in.mode = MODE_PRECOPY;
    rig->in.stats.memory_page_size = 4096;
}

static inline void rig_begin(struct rig *rig, enum monitor_kind kind)
{
    monitor_begin(&rig->m, kind, &rig->config, &rig->facts);
}

/* One look; returns why. */
static inline enum decision step(struct rig *rig, int64_t elapsed_ms)
{
    rig->in.elapsed_ms = elapsed_ms;
    monitor_step(&rig->m, &rig->in, &rig->d);
    return rig->d.why;
}

static inline void accept(struct rig *rig)
{
    monitor_done(&rig->m, &rig->d, true, rig->in.elapsed_ms);
}

static inline void refuse(struct rig *rig)
{
    monitor_done(&rig->m, &rig->d, false, rig->in.elapsed_ms);
}

#endif
