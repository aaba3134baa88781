/* monitor_stall.c - the stall detector.
 *
 * Remaining bytes are compared where iterations begin: within an iteration they always fall to
 * zero. A migration is stalled when an iteration begins with no less (by a margin) than the
 * least of the iterations that began before the stall window. From then on it waits for a local
 * minimum, with shrinking patience, and takes the mildest allowed measure, if data flows. */
#include <inttypes.h>
#include <string.h>

#include "engine/data/monitor_rules.h"

#define GIB (UINT64_C(1) << 30)
enum { SLICES = 100, THROTTLE_MAX = 99 };
_Static_assert(SLICES + 2 <= MONITOR_MINIMA_MAX, "a window's slices fit, also one begun late");

static int64_t budget_of(const struct monitor *m, uint64_t bytes)
{
    return monitor_ms((double)m->config.completion_timeout * monitor_units(bytes, GIB));
}

/* Disks come first and have their own completion timeout; that of memory begins with the first
 * iteration. */
void stall_begin(struct monitor *m)
{
    bool disks = m->facts.disk_bytes > 0;
    m->budget_ms = budget_of(m, disks ? m->facts.disk_bytes : m->facts.memory_bytes);
}

static void note_first_iteration(struct monitor *m)
{
    if (m->facts.disk_bytes == 0 || m->begin_ms > 0 || m->iteration == 0)
        return;
    m->begin_ms = m->now_ms;
    m->budget_ms = budget_of(m, m->facts.memory_bytes);
}

static int64_t window_ms(const struct monitor *m)
{
    return monitor_ms((double)m->config.stall_timeout);
}

static double margin(const struct monitor *m)
{
    return (double)m->config.stall_margin / 100;
}

/* No measure is started that would not end by then, so that a measure that is refused again and
 * again ends too; 0: no limit. */
static int64_t end_ms(const struct monitor *m)
{
    if (m->budget_ms == 0)
        return 0;
    return m->begin_ms + monitor_ms((double)m->budget_ms / 1000 * m->config.completion_factor);
}

/* --- the window ------------------------------------------------------------------------------ */

static void let_out(struct monitor *m)
{
    size_t n = 0;
    while (n < m->n_minima && m->now_ms - m->minima[n].at_ms > window_ms(m)) {
        if (!m->has_outside || m->minima[n].remaining < m->outside)
            m->outside = m->minima[n].remaining;
        m->has_outside = true;
        n++;
    }
    m->n_minima -= n;
    memmove(m->minima, m->minima + n, m->n_minima * sizeof *m->minima);
}

/* Iterations that begin in the same slice of time are one entry: the least of them, at its
 * newest time, so that short iterations need no more room than long ones. */
static void let_in(struct monitor *m)
{
    int64_t slice_ms = window_ms(m) / SLICES + 1;
    struct monitor_minimum *newest = m->n_minima > 0 ? &m->minima[m->n_minima - 1] : NULL;
    if (newest != NULL && newest->at_ms / slice_ms == m->now_ms / slice_ms) {
        newest->remaining = m->remaining < newest->remaining ? m->remaining : newest->remaining;
        newest->at_ms = m->now_ms;
    } else if (m->n_minima < MONITOR_MINIMA_MAX)
        m->minima[m->n_minima++] = (struct monitor_minimum){m->remaining, m->now_ms};
}

static void note_low_water(struct monitor *m)
{
    bool beaten =
        !m->has_watermark || (double)m->remaining < (double)m->watermark * (1 - margin(m));
    m->flat_iterations = beaten ? 0 : m->flat_iterations + 1;
    if (m->has_watermark && m->remaining >= m->watermark)
        return;
    m->watermark = m->remaining;
    m->has_watermark = true;
    m->progress_ms = m->now_ms;
}

/* --- the stall ------------------------------------------------------------------------------- */

static void find_stall(struct monitor *m)
{
    if (m->flow.bandwidth <= 0 || !m->has_outside ||
        (double)m->remaining < (double)m->outside * (1 - margin(m)))
        return;
    m->stalled = true;
    m->best = m->outside;
    for (size_t i = 0; i < m->n_minima; i++)
        m->best = m->minima[i].remaining < m->best ? m->minima[i].remaining : m->best;
    m->patience_ms = window_ms(m);
    m->relax_ms = m->now_ms + m->patience_ms;
}

static void push_later(struct monitor *m)
{
    size_t at = m->n_later;
    while (at > 0 && m->later[at - 1] > m->remaining)
        at--;
    if (at == MONITOR_LATER_MAX)
        return;
    size_t kept = m->n_later < MONITOR_LATER_MAX ? m->n_later : MONITOR_LATER_MAX - 1;
    memmove(m->later + at + 1, m->later + at, (kept - at) * sizeof *m->later);
    m->later[at] = m->remaining;
    m->n_later = kept + 1;
}

/* Patience is over: accepts the next best minimum seen since, and shrinks the patience. */
static void relax(struct monitor *m)
{
    push_later(m);
    if (m->now_ms < m->relax_ms)
        return;
    m->best = m->later[0];
    m->n_later--;
    memmove(m->later, m->later + 1, m->n_later * sizeof *m->later);
    m->patience_ms = monitor_ms((double)m->patience_ms / 1000 * m->config.patience_decay);
    m->relax_ms = m->now_ms + m->patience_ms;
}

/* --- measures --------------------------------------------------------------------------------- */

static bool may_postcopy(const struct monitor *m)
{
    return m->config.post_copy && m->config.disruption && !m->facts.vfio && m->iteration > 0;
}

static bool remaining_fits(const struct monitor *m, const struct monitor_digest *digest)
{
    return digest->estimate_ms >= 0 &&
           (m->budget_ms == 0 || digest->estimate_ms <= end_ms(m) - m->now_ms);
}

static bool path_is_well(const struct monitor *m, const struct monitor_digest *digest)
{
    return digest->flows && remaining_fits(m, digest);
}

static enum decision stalled_choice(const struct monitor *m, const struct monitor_digest *digest)
{
    double soft_ms = (double)m->config.max_downtime_ms * m->config.precopy_factor;
    bool throttles = m->config.auto_converge && m->throttle > 0 && m->throttle < THROTTLE_MAX &&
                     m->now_ms - m->throttle_ms <= window_ms(m);
    if (m->config.local_minima && (double)m->remaining > (double)m->best * (1 + margin(m)))
        return DECISION_WAITS_FOR_MINIMUM;
    if (!path_is_well(m, digest))
        return DECISION_PATH_SICK;
    if (may_postcopy(m))
        return DECISION_STALLED_POSTCOPY;
    if (m->config.disruption)
        return DECISION_STALLED_HARD;
    if ((double)digest->estimate_ms <= soft_ms)
        return DECISION_STALLED_SOFT;
    return throttles ? DECISION_THROTTLES : DECISION_STALLED_ABORT;
}

static void note_iteration(struct monitor *m, const struct monitor_digest *digest)
{
    let_out(m);
    let_in(m);
    note_low_water(m);
    if (m->stalled)
        relax(m);
    else
        find_stall(m);
    if (m->stalled)
        m->standing = stalled_choice(m, digest);
}

/* The measure chosen at the last boundary, until it is accepted or the next boundary chooses
 * anew. */
static bool decide_stalled(const struct monitor *m, const struct monitor_digest *digest,
                           struct monitor_decision *out)
{
    static const char *const leads[DECISION_COUNT] = {
        [DECISION_STALLED_POSTCOPY] = "switching to post-copy",
        [DECISION_STALLED_HARD] = "switching over at any downtime",
        [DECISION_STALLED_SOFT] = "switching over within the max downtime",
        [DECISION_STALLED_ABORT] = "aborting",
    };
    if (!m->stalled || m->switching || leads[m->standing] == NULL || !path_is_well(m, digest))
        return false;
    int64_t downtime_ms = m->standing == DECISION_STALLED_HARD   ? MONITOR_DOWNTIME_MAX_MS
                          : m->standing == DECISION_STALLED_SOFT ? m->config.max_downtime_ms
                                                                 : 0;
    monitor_decide(m, digest, out, m->standing, downtime_ms,
                   "%s: no convergence for %" PRId64 " s, the remaining data needs %" PRId64 " ms",
                   leads[m->standing], (m->now_ms - m->progress_ms) / 1000, digest->estimate_ms);
    return true;
}

/* --- limits ---------------------------------------------------------------------------------- */

/* Deadline; 0: no limit. A guest that is stopped without an order gets the switch-over timeout,
 * whatever the completion timeout: a long downtime must be worth it. */
static int64_t deadline_ms(struct monitor *m, const struct monitor_digest *digest)
{
    bool stopped = digest->in->stopped_by_migration || digest->in->mode == MODE_PAUSED;
    if (digest->in->stopped_by_migration && m->switch_deadline_ms == 0)
        m->switch_deadline_ms = m->now_ms + monitor_ms((double)m->config.switchover_timeout);
    if (!digest->in->stopped_by_migration && !m->switching)
        m->switch_deadline_ms = 0;
    if (m->switch_deadline_ms > 0 && !(m->extended && stopped))
        return m->switch_deadline_ms;
    return m->budget_ms > 0 ? m->begin_ms + m->budget_ms : 0;
}

static void abort_late(const struct monitor *m, const struct monitor_digest *digest,
                       struct monitor_decision *out)
{
    int64_t now_s = m->now_ms / 1000;
    if (m->switching || digest->in->stopped_by_migration)
        monitor_decide(m, digest, out, DECISION_LATE, 0,
                       "aborting after %" PRId64 " s: the switch-over did not end in time", now_s);
    else if (digest->estimate_ms >= 0 && !remaining_fits(m, digest))
        monitor_decide(m, digest, out, DECISION_LATE, 0,
                       "aborting: not completed after %" PRId64
                       " s, the remaining data needs %" PRId64 " s",
                       now_s, digest->estimate_ms / 1000);
    else
        monitor_decide(m, digest, out, DECISION_LATE, 0,
                       "aborting: not completed after %" PRId64 " s", now_s);
}

static bool decide_late(const struct monitor *m, const struct monitor_digest *digest,
                        struct monitor_decision *out)
{
    int64_t still_ms = m->now_ms - m->flow.processed_ms;
    bool may = !m->switching && !digest->in->stopped_by_migration && m->iteration > 0;
    if (m->flow.bandwidth <= 0 || still_ms > MONITOR_DEAD_MS)
        monitor_decide(m, digest, out, DECISION_NO_BANDWIDTH, 0,
                       "aborting after %" PRId64 " s: no data transferred for %" PRId64 " s",
                       m->now_ms / 1000, still_ms / 1000);
    else if (may && m->config.disruption && !digest->flows)
        return false; /* for a moment: data may flow again */
    else if (may && remaining_fits(m, digest) && may_postcopy(m))
        monitor_decide(m, digest, out, DECISION_LATE_POSTCOPY, 0,
                       "switching to post-copy: not completed after %" PRId64 " s",
                       m->now_ms / 1000);
    else if (may && remaining_fits(m, digest) && m->config.disruption)
        monitor_decide(m, digest, out, DECISION_LATE_HARD, MONITOR_DOWNTIME_MAX_MS,
                       "switching over at any downtime: not completed after %" PRId64 " s",
                       m->now_ms / 1000);
    else
        abort_late(m, digest, out);
    return true;
}

static bool decide_dead(const struct monitor *m, const struct monitor_digest *digest,
                        struct monitor_decision *out)
{
    int64_t still_ms = m->now_ms - m->flow.processed_ms;
    int64_t limit_ms = window_ms(m) > MONITOR_DEAD_MS ? window_ms(m) : MONITOR_DEAD_MS;
    if (!digest->in->has_stats || still_ms <= limit_ms)
        return false;
    monitor_decide(m, digest, out, DECISION_NO_PROGRESS, 0,
                   "aborting: no data transferred for %" PRId64 " s", still_ms / 1000);
    return true;
}

/* --- downtime -------------------------------------------------------------------------------- */

static bool decide_hold(const struct monitor *m, const struct monitor_digest *digest,
                        struct monitor_decision *out)
{
    bool unset = m->downtime_ms == 0 && !digest->moved;
    bool still = m->downtime_ms != MONITOR_DOWNTIME_HELD_MS &&
                 m->now_ms - m->flow.processed_ms > MONITOR_STILL_MS;
    if (!unset && !still)
        return false;
    monitor_decide(m, digest, out, DECISION_HOLDS_DOWNTIME, MONITOR_DOWNTIME_HELD_MS,
                   unset ? "max downtime held until data is transferred"
                         : "max downtime held while no data is transferred");
    return true;
}

/* The next step only for a guest that does not converge by itself. */
static int64_t next_level(const struct monitor *m, int64_t first_ms)
{
    int64_t max = m->config.max_downtime_ms;
    int64_t cooldown_ms = monitor_ms((double)m->config.downtime_cooldown);
    if (m->flat_iterations == 0 || m->iteration < (uint64_t)m->config.downtime_after ||
        m->now_ms - m->downtime_set_ms < cooldown_ms)
        return m->downtime_ms;
    int64_t more = (max - first_ms) / m->config.downtime_steps;
    int64_t next = m->downtime_ms + (more > 1 ? more : 1);
    return next < max ? next : max;
}

static bool decide_downtime(const struct monitor *m, const struct monitor_digest *digest,
                            struct monitor_decision *out)
{
    int64_t max = m->config.max_downtime_ms;
    int64_t first = max < MONITOR_DOWNTIME_FIRST_MS ? max : MONITOR_DOWNTIME_FIRST_MS;
    if (!digest->in->has_stats || m->iteration == 0 || m->switching ||
        digest->in->stopped_by_migration || digest->in->mode == MODE_PAUSED)
        return false;
    if (decide_hold(m, digest, out))
        return true;
    if (!digest->moved)
        return false;
    int64_t level = m->level_ms > 0 ? m->level_ms : first;
    int64_t next = m->downtime_ms < level ? level : next_level(m, first);
    if (next <= m->downtime_ms)
        return false;
    enum decision why = m->level_ms == 0 ? DECISION_FIRST_DOWNTIME : DECISION_MORE_DOWNTIME;
    monitor_decide(m, digest, out, why, next,
                   "max downtime %" PRId64 " ms from iteration %" PRIu64 " on", next, m->iteration);
    return true;
}

/* Why no action is taken now. */
static void decide_nothing(const struct monitor *m, const struct monitor_digest *digest, bool late,
                           struct monitor_decision *out)
{
    bool wants = m->stalled && !m->switching && !digest->in->stopped_by_migration &&
                 m->standing != DECISION_GOES_ON;
    bool acts = decision_action(m->standing) != MONITOR_NOTHING;
    if (!digest->in->has_stats)
        monitor_decide(m, digest, out, DECISION_NO_STATS, 0, "no statistics");
    else if (late || (wants && (acts || m->standing == DECISION_PATH_SICK)))
        monitor_decide(m, digest, out, DECISION_PATH_SICK, 0,
                       "%s, but no switch: %s; the remaining data needs %" PRId64 " ms",
                       late ? "not completed in time" : "not converging",
                       digest->flows ? "the remaining data does not fit the time"
                                     : "no data is transferred",
                       digest->estimate_ms);
    else if (wants)
        monitor_decide(m, digest, out, m->standing, 0, "not converging, %s",
                       m->standing == DECISION_THROTTLES
                           ? "auto-converge throttles the guest further"
                           : "waiting for an iteration with less remaining data");
    else
        monitor_decide(m, digest, out, DECISION_GOES_ON, 0, "goes on");
}

void stall_step(struct monitor *m, const struct monitor_digest *digest,
                struct monitor_decision *out)
{
    note_first_iteration(m);
    if (digest->boundary && !digest->in->stopped_by_migration && digest->in->mode != MODE_PAUSED)
        note_iteration(m, digest);
    int64_t limit_ms = deadline_ms(m, digest);
    bool late = limit_ms > 0 && m->now_ms > limit_ms;
    if (!digest->in->stopped_by_migration && decide_stalled(m, digest, out))
        return;
    else if (late && decide_late(m, digest, out))
        return;
    else if (decide_dead(m, digest, out) || decide_downtime(m, digest, out))
        return;
    else
        decide_nothing(m, digest, late, out);
}
