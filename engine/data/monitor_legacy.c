/* monitor_legacy.c - KubeVirt's default algorithm, unchanged. Kept with its quirks, so that its
 * decisions can be compared: a GiB is 10^9 bytes, rounded up; "progress" is any decrease since
 * the sample before; whole seconds and strictly more.
 *
 * One difference: once an abort is under way nothing is decided (see monitor.c). */
#include <inttypes.h>

#include "engine/data/monitor_rules.h"

enum { GIGABYTE = 1000000000 };

void legacy_begin(struct monitor *m)
{
    double units = monitor_units(m->facts.memory_bytes + m->facts.disk_bytes, GIGABYTE);
    m->budget_ms = monitor_ms((double)m->config.completion_timeout * units);
}

static void note_progress(struct monitor *m)
{
    if (m->watermark == 0 || m->remaining < m->watermark)
        m->progress_ms = m->now_ms;
    m->watermark = m->remaining;
}

static void decide_late(const struct monitor *m, const struct monitor_digest *digest,
                        struct monitor_decision *out)
{
    int64_t late_s = m->now_ms / 1000;
    if (m->config.post_copy && !m->facts.vfio) {
        monitor_decide(m, digest, out, DECISION_LATE_POSTCOPY, 0,
                       "switching to post-copy: not completed after %" PRId64 " s", late_s);
    } else if (m->facts.vfio) {
        int64_t downtime_ms = m->budget_ms < MONITOR_DOWNTIME_MAX_MS / 2
                                  ? 2 * m->budget_ms
                                  : (int64_t)MONITOR_DOWNTIME_MAX_MS;
        monitor_decide(m, digest, out, DECISION_LATE_VFIO, downtime_ms,
                       "max downtime %" PRId64 " ms, a host device is attached: not completed "
                       "after %" PRId64 " s",
                       downtime_ms, late_s);
    } else
        monitor_decide(m, digest, out, DECISION_LATE_PAUSE, 0,
                       "pausing the guest: not completed after %" PRId64 " s", late_s);
}

static bool decide_ramp(const struct monitor *m, const struct monitor_digest *digest,
                        struct monitor_decision *out)
{
    int64_t initial = m->config.downtime_initial_ms, max = m->config.max_downtime_ms;
    if (!m->facts.tuning)
        return false;
    if (m->downtime_ms == 0) {
        int64_t first = initial < max ? initial : max;
        monitor_decide(m, digest, out, DECISION_FIRST_DOWNTIME, first,
                       "max downtime %" PRId64 " ms at first", first);
        return true;
    }
    if (m->downtime_ms >= max || m->iteration < (uint64_t)m->config.downtime_after ||
        m->now_ms - m->downtime_set_ms < monitor_ms((double)m->config.downtime_cooldown))
        return false;
    int64_t more = (max - initial) / m->config.downtime_steps;
    int64_t next = m->downtime_ms + (more > 1 ? more : 1);
    next = next < max ? next : max;
    monitor_decide(m, digest, out, DECISION_MORE_DOWNTIME, next,
                   "max downtime %" PRId64 " ms from iteration %" PRIu64 " on", next, m->iteration);
    return true;
}

void legacy_step(struct monitor *m, const struct monitor_digest *digest,
                 struct monitor_decision *out)
{
    if (digest->in->has_stats)
        note_progress(m);
    bool late = m->budget_ms > 0 && m->now_ms / 1000 > m->budget_ms / 1000;
    int64_t still_s = (m->now_ms - m->progress_ms) / 1000;
    if (late && m->config.disruption && !m->paused && digest->in->mode != MODE_PAUSED)
        decide_late(m, digest, out);
    else if (m->config.progress_timeout != 0 && still_s > m->config.progress_timeout)
        monitor_decide(m, digest, out, DECISION_NO_PROGRESS, 0,
                       "aborting: no progress for %" PRId64 " s", still_s);
    else if (late)
        monitor_decide(m, digest, out, DECISION_LATE, 0,
                       "aborting: not completed after %" PRId64 " s", m->now_ms / 1000);
    else if (decide_ramp(m, digest, out))
        return;
    else if (!digest->in->has_stats)
        monitor_decide(m, digest, out, DECISION_NO_STATS, 0, "no statistics");
    else
        monitor_decide(m, digest, out, DECISION_GOES_ON, 0, "goes on");
}
