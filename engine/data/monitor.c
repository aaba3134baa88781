/* monitor.c - what both algorithms share: digesting a sample, texts, and the consequences of an
 * accepted order. See monitor.h. */
#include "engine/data/monitor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/data/monitor_rules.h"

#define TIME_MAX_MS INT64_C(1000000000000000) /* 30,000 years: sums of these never overflow */
#define SIZE_MAX_BYTES (UINT64_C(1) << 60)    /* numbers of a hypervisor are not trusted */
enum { SIZE_TEXT = 32 };

int64_t monitor_ms(double seconds)
{
    double ms = seconds * 1000;
    return ms < 0 ? 0 : ms > (double)TIME_MAX_MS ? TIME_MAX_MS : (int64_t)ms;
}

double monitor_units(uint64_t bytes, uint64_t unit)
{
    return (double)(bytes / unit + (bytes % unit != 0));
}

static int64_t bounded_ms(int64_t ms)
{
    return ms < 0 ? 0 : ms > TIME_MAX_MS ? TIME_MAX_MS : ms;
}

static uint64_t bounded(uint64_t bytes)
{
    return bytes > SIZE_MAX_BYTES ? SIZE_MAX_BYTES : bytes;
}

/* "812 MiB". Not human_bytes(): a replay compares this text with the stored one, so the rounding of
 * each division stays. */
static const char *size_text(char out[SIZE_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (unit + 1 < COUNT(units) && bytes >= 10240) {
        bytes = (bytes + 512) / 1024;
        unit++;
    }
    (void)snprintf(out, SIZE_TEXT, "%" PRIu64 " %s", bytes, units[unit]);
    return out;
}

/* The end of every text: the numbers from which a reader can check the decision. */
static void add_numbers(const struct monitor *m, char *out, size_t n)
{
    char left_text[SIZE_TEXT], moved[SIZE_TEXT], dirty[SIZE_TEXT], budget[SIZE_TEXT] = "none";
    if (m->budget_ms > 0)
        (void)snprintf(budget, sizeof budget, "%" PRId64 " s", m->budget_ms / 1000);
    bool known = m->dirty_bps > 0 || m->iteration > 1;
    (void)snprintf(out, n, "; remaining %s, bandwidth %s/s, dirty rate %s%s, completion timeout %s",
                   size_text(left_text, m->remaining),
                   size_text(moved, (uint64_t)m->flow.bandwidth),
                   known ? size_text(dirty, m->dirty_bps) : "not known yet", known ? "/s" : "",
                   budget);
}

void monitor_decide(const struct monitor *m, const struct monitor_digest *digest,
                    struct monitor_decision *out, enum decision why, int64_t downtime_ms,
                    const char *fmt, ...)
{
    *out = (struct monitor_decision){
        .why = why,
        .action = decision_action(why),
        .downtime_ms = downtime_ms,
        .elapsed_ms = m->now_ms,
        .budget_ms = m->budget_ms,
        .estimate_ms = digest->estimate_ms,
        .remaining = m->remaining,
        .low_water = m->watermark,
        .bandwidth_bps = (uint64_t)m->flow.bandwidth,
        .dirty_bps = m->dirty_bps,
        .iteration = m->iteration,
    };
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out->text, sizeof out->text, fmt, args);
    va_end(args);
    size_t length = strlen(out->text);
    add_numbers(m, out->text + length, sizeof out->text - length);
}

bool monitor_wants_ramp(const struct migration_config *config)
{
    struct migration_config plain;
    migration_config_default(&plain);
    return config->downtime_initial_ms != plain.downtime_initial_ms ||
           config->downtime_steps != plain.downtime_steps ||
           config->downtime_after != plain.downtime_after ||
           config->downtime_cooldown != plain.downtime_cooldown;
}

void monitor_begin(struct monitor *m, enum monitor_kind kind, const struct migration_config *config,
                   const struct monitor_facts *facts)
{
    memset(m, 0, sizeof *m);
    m->kind = kind;
    m->config = *config;
    m->facts = *facts;
    m->facts.memory_bytes = bounded(facts->memory_bytes);
    m->facts.disk_bytes = bounded(facts->disk_bytes);
    if (kind == MONITOR_LEGACY)
        legacy_begin(m);
    else
        stall_begin(m);
}

/* Bandwidth, smoothed. Zeros count: in a stall it must fall. */
static void measure(struct monitor *m, uint64_t processed)
{
    if (!m->sampled ||
        processed < m->flow.rate_processed) { /* the first sample, or counters that restarted */
        m->flow.rate_processed = processed;
        m->flow.rate_ms = m->now_ms;
        return;
    }
    int64_t span_ms = m->now_ms - m->flow.rate_ms;
    if (span_ms < MONITOR_RATE_MS)
        return;
    double rate = (double)(processed - m->flow.rate_processed) * 1000 / (double)span_ms;
    double alpha = m->config.ewma_alpha;
    m->flow.bandwidth =
        m->flow.bandwidth > 0 ? alpha * rate + (1 - alpha) * m->flow.bandwidth : rate;
    if (m->flow.bandwidth < 1)
        m->flow.bandwidth = 0;
    m->flow.rate_processed = processed;
    m->flow.rate_ms = m->now_ms;
}

/* Mirrored disks change the remaining bytes all the time; iterations are about memory. */
static uint64_t left(const struct monitor *m, const struct hv_job_stats *stats)
{
    bool has_iterations = m->kind == MONITOR_STALL && stats->memory_iteration > 0;
    return bounded(has_iterations && stats->memory_total > 0 ? stats->memory_remaining
                                                             : stats->data_remaining);
}

static uint64_t dirtied(const struct hv_job_stats *stats)
{
    uint64_t page = stats->memory_page_size > 0 ? stats->memory_page_size : 4096;
    return stats->memory_dirty_rate > SIZE_MAX_BYTES / page ? SIZE_MAX_BYTES
                                                            : stats->memory_dirty_rate * page;
}

static void take_sample(struct monitor *m, struct monitor_digest *digest)
{
    const struct hv_job_stats *stats = &digest->in->stats;
    uint64_t processed = bounded(stats->data_processed);
    uint64_t iteration = bounded(stats->memory_iteration);
    measure(m, processed);
    bool grew = processed > m->flow.processed;
    digest->moved = grew && m->sampled && m->iteration > 0;
    if (grew || !m->sampled) /* before the first sample quiet is not measured: hosts prepare */
        m->flow.processed_ms = m->now_ms;
    digest->boundary = iteration > m->iteration || (iteration == 0 && digest->in->at_iteration);
    if (stats->auto_converge_throttle > m->throttle)
        m->throttle_ms = m->now_ms;
    m->throttle = bounded(stats->auto_converge_throttle);
    m->flow.processed = processed;
    m->iteration = iteration;
    m->remaining = left(m, stats);
    m->dirty_bps = dirtied(stats);
    m->sampled = true;
}

static int64_t estimate(const struct monitor *m)
{
    if (m->remaining == 0)
        return 0;
    return m->flow.bandwidth > 0 ? monitor_ms((double)m->remaining / m->flow.bandwidth) : -1;
}

/* An accepted abort counts until it was seen to end without ending the migration. */
static bool is_aborting(struct monitor *m, const struct monitor_input *input)
{
    if (input->abort_under_way) {
        m->abort_seen = m->aborting;
        return true;
    }
    if (m->aborting && (m->abort_seen || m->now_ms - m->abort_ms > MONITOR_ABORT_GUARD_MS))
        m->aborting = false;
    return m->aborting;
}

void monitor_step(struct monitor *m, const struct monitor_input *input,
                  struct monitor_decision *out_decision)
{
    struct monitor_digest digest = {.in = input};
    int64_t now_ms = bounded_ms(input->elapsed_ms);
    if (now_ms > m->now_ms)
        m->now_ms = now_ms;
    if (input->has_stats)
        take_sample(m, &digest);
    digest.flows = m->flow.processed > 0 && m->now_ms - m->flow.processed_ms <= MONITOR_FLOW_MS;
    digest.estimate_ms = estimate(m);
    bool aborting = is_aborting(m, input);
    if (m->postcopy || input->mode == MODE_POSTCOPY)
        monitor_decide(m, &digest, out_decision, DECISION_IN_POSTCOPY, 0, "in post-copy, no limit");
    else if (aborting)
        monitor_decide(m, &digest, out_decision, DECISION_ABORTING, 0, "being aborted");
    else if (m->kind == MONITOR_LEGACY)
        legacy_step(m, &digest, out_decision);
    else
        stall_step(m, &digest, out_decision);
    m->past.has_before = m->past.decided;
    m->past.before = m->past.last;
    m->past.before_downtime_ms = m->past.last_downtime_ms;
    m->past.last = out_decision->why;
    m->past.last_downtime_ms = out_decision->downtime_ms;
    m->past.decided = true;
}

void monitor_continue(struct monitor *m, int64_t elapsed_ms)
{
    if (bounded_ms(elapsed_ms) > m->now_ms)
        m->now_ms = bounded_ms(elapsed_ms);
    m->progress_ms = m->flow.processed_ms = m->now_ms;
    if (m->kind ==
        MONITOR_STALL) /* what stands is not known: an earlier process may have held it */
        m->downtime_ms = 0;
}

bool monitor_decision_changed(const struct monitor *m, const struct monitor_decision *decision)
{
    return !m->past.has_before || decision->why != m->past.before ||
           decision->downtime_ms != m->past.before_downtime_ms;
}

static void set_downtime(struct monitor *m, int64_t downtime_ms)
{
    m->downtime_ms = downtime_ms;
    m->downtime_set_ms = m->now_ms;
}

static void stretch(struct monitor *m, double factor, bool *done)
{
    if (!*done)
        m->budget_ms = monitor_ms((double)m->budget_ms / 1000 * factor);
    *done = true;
}

static void switch_over(struct monitor *m)
{
    m->switching = true;
    m->switch_deadline_ms = m->now_ms + monitor_ms((double)m->config.switchover_timeout);
}

void monitor_done(struct monitor *m, const struct monitor_decision *decision, bool accepted,
                  int64_t elapsed_ms)
{
    if (!accepted)
        return;
    if (bounded_ms(elapsed_ms) > m->now_ms)
        m->now_ms = bounded_ms(elapsed_ms);
    if (decision->action == MONITOR_SET_DOWNTIME)
        set_downtime(m, decision->downtime_ms);
    if (decision->action == MONITOR_POSTCOPY)
        m->postcopy = true;
    if (decision->action == MONITOR_ABORT) {
        m->aborting = true;
        m->abort_seen = false;
        m->abort_ms = m->now_ms;
    }
    switch (decision->why) {
    case DECISION_FIRST_DOWNTIME:
    case DECISION_MORE_DOWNTIME: m->level_ms = decision->downtime_ms; break;
    case DECISION_LATE_VFIO:
    case DECISION_LATE_PAUSE: stretch(m, 2, &m->paused); break;
    case DECISION_STALLED_HARD:
    case DECISION_LATE_HARD:
        stretch(m, m->config.completion_factor, &m->extended);
        __attribute__((fallthrough));
    case DECISION_STALLED_SOFT: switch_over(m); break;
    default: break;
    }
}
