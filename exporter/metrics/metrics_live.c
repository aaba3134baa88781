/* metrics_live.c - the series of active migrations, from one snapshot.
 *
 * A series exists only while its migration is active, so that nothing is cleaned up. Labels are
 * escaped once and reused in every family.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/metrics/counters.h"
#include "exporter/metrics/metrics.h"

/* The active jobs of a snapshot, each with its labels as the page shows them. */
struct active {
    const struct snapshot *snapshot;
    size_t n, n_waiting; /* migrations that hold a slot first, then waiting ones */
    struct active_job {
        const struct snapshot_job *job;
        char *labels;
    } * jobs;
};

static char *job_labels(const struct snapshot_job *job)
{
    const struct metric_pair pairs[] = {{"namespace", job->ns},
                                        {"name", job->guest_name},
                                        {"source", job->source},
                                        {"target", job->target},
                                        {"migration", job->name}};
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_pairs(&labels, pairs, COUNT(pairs));
    return buf_take(&labels);
}

static void active_fini(struct active *active)
{
    for (size_t i = 0; i < active->n + active->n_waiting; i++)
        free(active->jobs[i].labels);
    free(active->jobs);
}

static bool add_job(struct active *active, const struct snapshot_job *job, size_t *count)
{
    char *labels = job_labels(job);
    if (labels == NULL)
        return false;
    active->jobs[active->n + active->n_waiting] = (struct active_job){job, labels};
    ++*count;
    return true;
}

/* Migrations that hold a slot are bounded by the limits; waiting ones by METRICS_WAITING_MAX. */
static bool active_init(struct active *active, const struct snapshot *snapshot)
{
    *active = (struct active){.snapshot = snapshot};
    active->jobs = calloc(snapshot->n_jobs + 1, sizeof *active->jobs);
    if (active->jobs == NULL)
        return false;
    for (size_t i = 0; i < snapshot->n_jobs; i++)
        if (phase_is_busy(snapshot->jobs[i]->phase) &&
            !add_job(active, snapshot->jobs[i], &active->n))
            return false;
    for (size_t i = 0; i < snapshot->n_jobs && active->n_waiting < METRICS_WAITING_MAX; i++) {
        enum phase phase = snapshot->jobs[i]->phase;
        if (!phase_is_busy(phase) && !phase_is_final(phase) &&
            !add_job(active, snapshot->jobs[i], &active->n_waiting))
            return false;
    }
    return true;
}

/* ---- values ---- */

/* A field of the newest sample and its factor to the metric's unit. */
static const struct measure {
    enum metric metric;
    size_t offset; /* in struct hv_job_stats */
    double divisor;
} measures[] = {
#define MEASURE(metric, field, divisor)                                          \
    {                                                                            \
        METRIC_MIGRATION_##metric, offsetof(struct hv_job_stats, field), divisor \
    }
    MEASURE(DATA_TOTAL, data_total, 1),
    MEASURE(DATA_PROCESSED, data_processed, 1),
    MEASURE(DATA_REMAINING, data_remaining, 1),
    MEASURE(MEMORY_TOTAL, memory_total, 1),
    MEASURE(MEMORY_PROCESSED, memory_processed, 1),
    MEASURE(MEMORY_REMAINING, memory_remaining, 1),
    MEASURE(DISK_TOTAL, disk_total, 1),
    MEASURE(DISK_PROCESSED, disk_processed, 1),
    MEASURE(DISK_REMAINING, disk_remaining, 1),
    MEASURE(ITERATION, memory_iteration, 1),
    MEASURE(THROTTLE, auto_converge_throttle, 100),
    MEASURE(DOWNTIME, downtime_ms, 1000),
    MEASURE(POSTCOPY_REQUESTS, memory_postcopy_requests, 1),
#undef MEASURE
};

static void render_measure(const struct active *active, const struct measure *measure,
                           struct promx_page *page)
{
    metric_add_header(page, measure->metric);
    for (size_t i = 0; i < active->n; i++) {
        const struct snapshot_job *job = active->jobs[i].job;
        if (!job->progress.has_sample)
            continue;
        uint64_t value;
        memcpy(&value, (const char *)&job->progress.sample.stats + measure->offset, sizeof value);
        metric_add_sample(page, measure->metric, active->jobs[i].labels,
                          (double)value / measure->divisor);
    }
}

/* A value computed from several fields. False: no value. */
typedef bool number_fn(const struct snapshot *snapshot, const struct snapshot_job *job,
                       double *out_value);

static bool dirty_rate(const struct snapshot *snapshot, const struct snapshot_job *job,
                       double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->progress.sample.stats.memory_dirty_rate *
                 (double)job->progress.sample.stats.memory_page_size;
    return job->progress.has_sample;
}

static bool transfer_rate(const struct snapshot *snapshot, const struct snapshot_job *job,
                          double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->progress.sample.bandwidth_bps;
    return job->progress.has_sample;
}

static bool elapsed(const struct snapshot *snapshot, const struct snapshot_job *job,
                    double *out_value)
{
    int64_t ms = snapshot->wall_ms - job->times.started_ms;
    *out_value = ms > 0 ? (double)ms / 1000 : 0; /* never negative after a step of the wall clock */
    return job->times.started_ms != 0;
}

static bool budget_used(const struct snapshot *snapshot, const struct snapshot_job *job,
                        double *out_value)
{
    (void)snapshot;
    const struct job_budget *budget = &job->monitor.budget;
    bool is_limited = budget->known && budget->whole_ms > 0;
    *out_value = is_limited ? (double)budget->used_ms / (double)budget->whole_ms : 0;
    return is_limited;
}

static bool low_water(const struct snapshot *snapshot, const struct snapshot_job *job,
                      double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->monitor.budget.low_water;
    return job->monitor.budget.known && job->monitor.budget.has_low_water;
}

static bool since_progress(const struct snapshot *snapshot, const struct snapshot_job *job,
                           double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->monitor.budget.still_ms / 1000;
    return job->monitor.budget.known;
}

/* Milliseconds as seconds. Below the minimum there is no value: -1 is an unknown duration, 0 an
 * unset time. */
static bool from_ms(int64_t ms, int64_t least, double *out_value)
{
    *out_value = (double)ms / 1000;
    return ms >= least;
}

#define FIELD_SECONDS(fn, field, least)                                             \
    static bool fn(const struct snapshot *snapshot, const struct snapshot_job *job, \
                   double *out_value)                                               \
    {                                                                               \
        (void)snapshot;                                                             \
        return from_ms(field, least, out_value);                                    \
    }
FIELD_SECONDS(eta, job->progress.has_sample ? job->progress.eta_ms : -1, 0)
FIELD_SECONDS(eta_low,
              job->progress.has_sample && job->progress.eta_ms >= 0 ? job->progress.eta_low_ms : -1,
              0)
FIELD_SECONDS(eta_high,
              job->progress.has_sample && job->progress.eta_ms >= 0 ? job->progress.eta_high_ms
                                                                    : -1,
              0)
FIELD_SECONDS(pending_since, job->wait.pending != PENDING_NONE ? job->wait.since_ms : 0, 1)
FIELD_SECONDS(pending_deadline, job->wait.pending != PENDING_NONE ? job->wait.until_ms : 0, 1)
FIELD_SECONDS(stalled_since, job->wait.pending == PENDING_STALLED ? job->wait.since_ms : 0, 1)
FIELD_SECONDS(stopped_since, job->stream.stopped_since_ms, 1)
#undef FIELD_SECONDS

#define FIELD_NUMBER(fn, field)                                                     \
    static bool fn(const struct snapshot *snapshot, const struct snapshot_job *job, \
                   double *out_value)                                               \
    {                                                                               \
        (void)snapshot;                                                             \
        *out_value = field;                                                         \
        return true;                                                                \
    }
FIELD_NUMBER(recovery_attempts, job->recovery.tries)
FIELD_NUMBER(resolving, job->resolving)
FIELD_NUMBER(recovering, job->recovering)
#undef FIELD_NUMBER

static const struct number {
    enum metric metric;
    number_fn *number;
    bool waiting; /* also for waiting migrations */
} numbers[] = {
    {METRIC_MIGRATION_RESOLVING, resolving, false},
    {METRIC_MIGRATION_RECOVERING, recovering, false},
    {METRIC_MIGRATION_RECOVERY_ATTEMPTS, recovery_attempts, false},
    {METRIC_MIGRATION_PENDING_SINCE, pending_since, true},
    {METRIC_MIGRATION_PENDING_DEADLINE, pending_deadline, true},
    {METRIC_MIGRATION_STALLED_SINCE, stalled_since, false},
    {METRIC_MIGRATION_STOPPED_SINCE, stopped_since, false},
    {METRIC_MIGRATION_ELAPSED, elapsed, false},
    {METRIC_MIGRATION_BUDGET_USED, budget_used, false},
    {METRIC_MIGRATION_LOW_WATER, low_water, false},
    {METRIC_MIGRATION_PROGRESS_AGE, since_progress, false},
    {METRIC_MIGRATION_ETA, eta, false},
    {METRIC_MIGRATION_ETA_LOW, eta_low, false},
    {METRIC_MIGRATION_ETA_HIGH, eta_high, false},
    {METRIC_MIGRATION_DIRTY_RATE, dirty_rate, false},
    {METRIC_MIGRATION_TRANSFER_RATE, transfer_rate, false},
};

static void render_number(const struct active *active, const struct number *number,
                          struct promx_page *page)
{
    metric_add_header(page, number->metric);
    for (size_t i = 0; i < active->n + (number->waiting ? active->n_waiting : 0); i++) {
        double value;
        if (number->number(active->snapshot, active->jobs[i].job, &value))
            metric_add_sample(page, number->metric, active->jobs[i].labels, value);
    }
}

/* ---- states ---- */

static const char *name_of_phase(unsigned i)
{
    return phase_name((enum phase)i);
}
static unsigned phase_now(const struct snapshot_job *job)
{
    return job->phase;
}
static const char *name_of_mode(unsigned i)
{
    return mode_name((enum mode)i);
}
static unsigned mode_now(const struct snapshot_job *job)
{
    return job->mode;
}
static const char *name_of_abort(unsigned i)
{
    return abort_status_name((enum abort_status)i);
}
static unsigned abort_now(const struct snapshot_job *job)
{
    return job->abort.status;
}

static const char *name_of_recovery(unsigned i)
{
    return recovery_name((enum recovery)i);
}
static unsigned recovery_now(const struct snapshot_job *job)
{
    return job->recovery.state;
}

/* An active migration holds a slot: it is in one of these phases. */
static bool is_shown(enum metric metric, unsigned word)
{
    return metric != METRIC_MIGRATION_PHASE || phase_is_busy((enum phase)word);
}

/* An enum as a state set: one series per value, 1 for the present value. Value 0 is "none" and has
 * no series. */
static const struct state_set {
    enum metric metric;
    const char *label;
    unsigned count;
    const char *(*name)(unsigned i);
    unsigned (*now)(const struct snapshot_job *job);
} state_sets[] = {
    {METRIC_MIGRATION_PHASE, "phase", PHASE_COUNT, name_of_phase, phase_now},
    {METRIC_MIGRATION_MODE, "mode", MODE_COUNT, name_of_mode, mode_now},
    {METRIC_MIGRATION_ABORT_STATUS, "status", ABORT_COUNT, name_of_abort, abort_now},
    {METRIC_MIGRATION_RECOVERY_STATE, "state", RECOVERY_COUNT, name_of_recovery, recovery_now},
};

static void render_state_set(const struct active *active, const struct state_set *set,
                             struct promx_page *page)
{
    metric_add_header(page, set->metric);
    for (size_t i = 0; i < active->n; i++)
        for (unsigned word = 1; word < set->count; word++)
            if (is_shown(set->metric, word))
                metric_add_labelled(page, set->metric, active->jobs[i].labels, set->label,
                                    set->name(word), set->now(active->jobs[i].job) == word);
}

/* ---- labels ---- */

static void render_pending(const struct active *active, struct promx_page *page)
{
    metric_add_header(page, METRIC_MIGRATION_PENDING);
    for (size_t i = 0; i < active->n + active->n_waiting; i++)
        if (active->jobs[i].job->wait.pending != PENDING_NONE)
            metric_add_labelled(page, METRIC_MIGRATION_PENDING, active->jobs[i].labels, "reason",
                                pending_name(active->jobs[i].job->wait.pending), 1);
}

static void render_advice(const struct active *active, struct promx_page *page)
{
    metric_add_header(page, METRIC_MIGRATION_ADVICE);
    for (size_t i = 0; i < active->n; i++)
        if (active->jobs[i].job->advice.is != ADVICE_NONE)
            metric_add_labelled(page, METRIC_MIGRATION_ADVICE, active->jobs[i].labels, "advice",
                                advice_name(active->jobs[i].job->advice.is), 1);
}

static void render_decision(const struct active *active, struct promx_page *page)
{
    metric_add_header(page, METRIC_MIGRATION_DECISION);
    for (size_t i = 0; i < active->n; i++) {
        const struct snapshot_job *job = active->jobs[i].job;
        if (job->monitor.decision_ms != 0)
            metric_add_labelled(page, METRIC_MIGRATION_DECISION, active->jobs[i].labels, "decision",
                                job->monitor.decision, (double)job->monitor.decision_ms / 1000);
    }
}

static void render_info(const struct active *active, struct promx_page *page)
{
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_MIGRATION_INFO);
    for (size_t i = 0; i < active->n; i++) {
        const struct snapshot_job *job = active->jobs[i].job;
        const struct metric_pair more[] = {{"trigger", origin_name(job->request.origin)},
                                           {"priority", priority_name(job->request.priority)},
                                           {"policy", job->request.policy},
                                           {"monitor",
                                            job->monitor.name == NULL ? "" : job->monitor.name},
                                           {"managed_by", counters_manager(job)}};
        labels.length = 0;
        buf_add(&labels, active->jobs[i].labels);
        metric_add_pairs(&labels, more, COUNT(more));
        if (!labels.failed)
            metric_add_sample(page, METRIC_MIGRATION_INFO, labels.data, 1);
    }
    buf_fini(&labels);
}

void metrics_render_migrations(const struct snapshot *snapshot, struct promx_page *page)
{
    struct active active;
    if (active_init(&active, snapshot)) {
        render_info(&active, page);
        for (size_t i = 0; i < COUNT(state_sets); i++)
            render_state_set(&active, &state_sets[i], page);
        render_advice(&active, page);
        render_pending(&active, page);
        render_decision(&active, page);
        for (size_t i = 0; i < COUNT(numbers); i++)
            render_number(&active, &numbers[i], page);
        for (size_t i = 0; i < COUNT(measures); i++)
            render_measure(&active, &measures[i], page);
    } else {
        page->out.failed = true;
    }
    active_fini(&active);
}
