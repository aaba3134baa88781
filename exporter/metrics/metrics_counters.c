/* metrics_counters.c - counters and histograms since start, through prom_*. Updated at every
 * transition and every end, so that migrations between two scrapes are counted. Exemplars name the
 * newest migration of a series. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "exporter/metrics/counters.h"

/* ---- life ---- */

static prom_histogram_buckets_t *buckets_of(enum metric metric)
{
    switch (metric) {
    case METRIC_MIGRATION_DURATION:
        return prom_histogram_buckets_new(14, .5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 150.0,
                                          300.0, 600.0, 1200.0, 3600.0, 7200.0);
    case METRIC_MIGRATION_FINAL_DOWNTIME:
        return prom_histogram_buckets_new(15, .01, .025, .05, .1, .2, .3, .5, .75, 1.0, 2.0, 3.0,
                                          5.0, 10.0, 30.0, 60.0);
    case METRIC_MIGRATION_SENT_RATIO:
        return prom_histogram_buckets_new(12, .05, .1, .25, .5, .75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0,
                                          10.0);
    case METRIC_FORECAST_DURATION:
    case METRIC_FORECAST_DOWNTIME:
        return prom_histogram_buckets_new(14, .1, .25, .5, .67, .8, .9, 1.0, 1.1, 1.25, 1.5, 2.0,
                                          4.0, 10.0, 100.0);
    case METRIC_VERDICT_CONFIDENCE: return prom_histogram_buckets_linear(.1, .1, 10);
    case METRIC_VERDICT_LATENCY:
        return prom_histogram_buckets_new(10, .01, .05, .1, .25, .5, 1.0, 2.0, 5.0, 10.0, 60.0);
    case METRIC_KV_PHASE_TIME: /* KubeVirt's buckets */
        return prom_histogram_buckets_new(18, .5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0,
                                          90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0);
    default:
        return prom_histogram_buckets_new(12, .01, .05, .1, .5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0,
                                          900.0, 3600.0);
    }
}

/* Creates the metric of a row; NULL on failure. */
static prom_metric_t *new_metric(enum metric metric)
{
    const struct metric_row *row = metric_row(metric);
    char labels[128], *rest = labels;
    const char *keys[PROMX_LABELS_MAX];
    size_t n = 0;
    TEXT_SET(labels, row->labels);
    for (char *key; n < PROMX_LABELS_MAX && (key = strsep(&rest, ",")) != NULL;)
        if (*key != '\0')
            keys[n++] = key;
    if (row->type != PROMX_HISTOGRAM)
        return prom_counter_new(row->name, row->help, n, keys);
    prom_histogram_buckets_t *buckets = buckets_of(metric);
    prom_metric_t *made = prom_histogram_new(row->name, row->help, buckets, n, keys);
    if (made == NULL)
        (void)prom_histogram_buckets_destroy(buckets);
    return made;
}

/* Rows counted here; the other counters mirror totals kept elsewhere. */
static bool is_counted(enum metric metric, bool kubevirt)
{
    const struct metric_row *row = metric_row(metric);
    if (row->type != PROMX_COUNTER && row->type != PROMX_HISTOGRAM)
        return false;
    if (row->plane == METRIC_PLANE_KUBEVIRT)
        return kubevirt;
    return row->plane == METRIC_PLANE_COUNT && metric != METRIC_UNKNOWN_STATUSES;
}

static bool fill(struct metrics_counters *c, prom_collector_t *collector, const struct clock *clock,
                 bool kubevirt)
{
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        if (!is_counted(metric, kubevirt))
            continue;
        prom_metric_t *made = new_metric(metric);
        if (made == NULL || prom_collector_add_metric(collector, made) != 0) {
            (void)prom_counter_destroy(made);
            return false;
        }
        promx_metric_describe(made, metric_row(metric)->unit, clock);
        c->of[metric] = made;
    }
    return true;
}

struct metrics_counters *metrics_counters_new(const struct clock *clock, bool kubevirt,
                                              struct err *err)
{
    struct metrics_counters *c = calloc(1, sizeof *c);
    prom_collector_t *collector = prom_collector_new("migrations");
    if (c != NULL)
        (void)pthread_mutex_init(&c->lock, NULL);
    if (c != NULL && collector != NULL && fill(c, collector, clock, kubevirt)) {
        counters_touch(c);
        c->registry = prom_collector_registry_new("ferry");
        if (prom_collector_registry_register_collector(c->registry, collector) == 0)
            return c;
    }
    (void)prom_collector_destroy(collector);
    metrics_counters_free(c);
    err_set(err, ERR_NOMEM, "no memory for the counters");
    return NULL;
}

void metrics_counters_free(struct metrics_counters *counters)
{
    if (counters == NULL)
        return;
    (void)prom_collector_registry_destroy(counters->registry);
    (void)pthread_mutex_destroy(&counters->lock);
    free(counters);
}

void metrics_counters_render(struct metrics_counters *counters, const struct snapshot *snapshot,
                             struct promx_page *page)
{
    if (snapshot != NULL)
        counters_preset(counters, snapshot);
    promx_registry_render(counters->registry, page);
}

/* ---- one event ---- */

/* The exemplar of a migration. A name that is too long is replaced by the uid. */
struct by {
    struct promx_exemplar exemplar;
    char text[COUNTERS_EXEMPLAR_MAX];
};

static void by_job(const struct snapshot_job *job, int64_t at_ms, struct by *out)
{
    const struct metric_pair pairs[] = {
        {"uid", job->uid}, {"namespace", job->ns}, {"migration", job->name}};
    struct buf labels;
    buf_init(&labels, sizeof out->text - 1);
    metric_add_pairs(&labels, pairs, COUNT(pairs));
    if (labels.failed || labels.length > PROMX_EXEMPLAR_MAX) {
        buf_fini(&labels);
        metric_add_pairs(&labels, pairs, 1);
    }
    TEXT_SET(out->text, labels.data == NULL ? "" : labels.data);
    buf_fini(&labels);
    out->exemplar = (struct promx_exemplar){out->text, at_ms};
}

static double seconds(int64_t ms)
{
    return ms > 0 ? (double)ms / 1000 : 0; /* the wall clock may have been set back */
}

static void count(struct metrics_counters *c, enum metric metric, const char **labels, double by,
                  const struct by *who)
{
    (void)promx_counter_add_by(c->of[metric], by, labels, &who->exemplar);
}

static void observe(struct metrics_counters *c, enum metric metric, const char **labels,
                    double value, const struct by *who)
{
    (void)promx_histogram_observe_by(c->of[metric], value, labels, &who->exemplar);
}

/* ---- transitions ---- */

static int64_t step_ms(const struct snapshot_job *job, enum phase phase)
{
    for (unsigned i = 0; i < job->history.n_steps; i++)
        if (job->history.steps[i].phase == phase)
            return job->history.steps[i].wall_ms;
    return job->times.created_ms;
}

/* Scheduling has ended: counts every rejected host once. */
static void count_rejections(struct metrics_counters *c, const struct snapshot_job *job,
                             const struct by *by)
{
    for (enum reject why = REJECT_NONE + 1; job->placement.rejections != NULL && why < REJECT_COUNT;
         why++) {
        const char *reason[] = {reject_name(why)};
        if (job->placement.rejections->counts[why] > 0)
            count(c, METRIC_REJECTED, reason, (double)job->placement.rejections->counts[why], by);
    }
}

static void count_preparation(struct metrics_counters *c, const struct snapshot_job *job,
                              enum phase to, const struct by *by)
{
    bool cancelled = job->result.outcome == OUTCOME_ABORTED;
    const char *labels[] = {job->target, to == PHASE_TARGET_READY ? "ready"
                                         : cancelled              ? "cancelled"
                                                                  : "failed"};
    count(c, METRIC_PREPARATIONS, labels, 1, by);
}

void metrics_count_step(struct metrics_counters *counters, const struct snapshot_job *job,
                        enum phase from, enum phase to, int64_t spent_ms)
{
    if (from == PHASE_NONE || to == PHASE_NONE)
        return; /* creation is not a transition */
    struct by by;
    const char *step[] = {phase_name(from), phase_name(to)};
    const char *priority[] = {priority_name(job->request.priority)};
    by_job(job, step_ms(job, to), &by);
    count(counters, METRIC_MIGRATION_TRANSITIONS, step, 1, &by);
    observe(counters, METRIC_MIGRATION_PHASE_TIME, step, seconds(spent_ms), &by);
    if (from == PHASE_PENDING)
        observe(counters, METRIC_MIGRATION_QUEUE_WAIT, priority,
                seconds(step_ms(job, to) - job->times.created_ms), &by);
    if (from == PHASE_SCHEDULING || (from == PHASE_PENDING && phase_is_final(to)))
        count_rejections(counters, job, &by);
    if (to == PHASE_PREPARING_TARGET)
        counters_touch_job(counters, job);
    if (from == PHASE_PREPARING_TARGET)
        count_preparation(counters, job, to, &by);
    if (counters->of[METRIC_KV_PHASE_TIME] != NULL)
        observe(counters, METRIC_KV_PHASE_TIME, step + 1,
                seconds(step_ms(job, to) - job->times.created_ms), &by);
}

void metrics_count_decision(struct metrics_counters *counters, const char *monitor, bool shadow,
                            const char *decision)
{
    const char *labels[] = {monitor, shadow ? "shadow" : "acting", decision};
    (void)prom_counter_inc(counters->of[METRIC_DECISIONS], labels);
}

/* ---- ends ---- */

static void count_modes(struct metrics_counters *c, const struct snapshot_job *job,
                        const struct by *by)
{
    for (unsigned i = 1; i < job->history.n_modes; i++) {
        enum mode to = job->history.modes[i].mode;
        const char *values[] = {mode_name(job->history.modes[i - 1].mode), mode_name(to),
                                counters_mode_cause(job->history.modes[i].cause, to)};
        count(c, METRIC_MODE_CHANGES, values, 1, by);
    }
}

static void count_recovery(struct metrics_counters *c, const struct snapshot_job *job,
                           const struct by *by)
{
    const char *result[] = {counters_recovery_result(job)};
    if (result[0] != NULL)
        count(c, METRIC_RECOVERIES, result, 1, by);
    if (job->result.outcome == OUTCOME_IRRECOVERABLE)
        count(c, METRIC_IRRECOVERABLE, NULL, 1, by);
}

static void count_abort(struct metrics_counters *c, const struct snapshot_job *job,
                        const struct by *by)
{
    if (job->abort.status == ABORT_NONE && !job->abort.asked)
        return;
    enum abort_cause asked =
        job->abort.cause == ABORT_CAUSE_NONE ? ABORT_CAUSE_OPERATOR : job->abort.cause;
    /* An abort without an answer counts as failed, whatever the outcome. */
    const char *labels[] = {abort_cause_name(asked),
                            abort_status_name(job->abort.status == ABORT_SUCCEEDED ? ABORT_SUCCEEDED
                                                                                   : ABORT_FAILED)};
    count(c, METRIC_MIGRATION_ABORTS, labels, 1, by);
}

static void count_waits(struct metrics_counters *c, const struct snapshot_job *job,
                        const struct by *by)
{
    for (enum pending why = PENDING_NONE + 1; why < PENDING_COUNT; why++) {
        const char *reason[] = {pending_name(why)};
        if (job->wait.waited_ms[why] > 0)
            observe(c, METRIC_MIGRATION_WAIT, reason, seconds(job->wait.waited_ms[why]), by);
    }
}

/* Unknown values, from a store of a later version, must not create series. */
void metrics_count_judged(struct metrics_counters *counters,
                          const struct verdict_rows *verdict_rows, int64_t now_ms)
{
    const struct store_verdict *verdict = &verdict_rows->verdict;
    const char *said[] = {verdict->outcome, verdict->plane, verdict->cause};
    bool is_known = (cause_from_name(verdict->cause) < CAUSE_COUNT ||
                     strcmp(verdict->cause, cause_row(CAUSE_NONE)->name) == 0) &&
                    outcome_from_name(verdict->outcome) < OUTCOME_COUNT;
    if (!is_known || now_ms - verdict->at_ms >= METRICS_OLD_MS)
        return;
    struct by by = {.exemplar = {by.text, verdict->at_ms}};
    (void)snprintf(by.text, sizeof by.text, "uid=\"%.36s\"", verdict->job_uid);
    count(counters, METRIC_MIGRATION_VERDICTS, said, 1, &by);
    if (guest_at_from_name(verdict->guest_at) != GUEST_AT_CRASHED) /* observed later */
        observe(counters, METRIC_VERDICT_LATENCY, NULL,
                seconds(verdict->judged_ms - verdict->at_ms), &by);
    if (strcmp(verdict->outcome, outcome_name(OUTCOME_SUCCEEDED)) != 0)
        observe(counters, METRIC_VERDICT_CONFIDENCE, NULL,
                (double)verdict->confidence_percent / 100, &by);
}

/* ---- statistics of successful migrations ---- */

/* Actual over forecast; without a forecast no ratio. */
static void count_forecast(struct metrics_counters *c, const struct snapshot_job *job,
                           const char **mode, const struct by *by)
{
    if (!job->forecast.made)
        return;
    if (job->forecast.total_ms > 0)
        observe(c, METRIC_FORECAST_DURATION, mode,
                (double)job->final.total_ms / (double)job->forecast.total_ms, by);
    if (job->forecast.downtime_ms > 0)
        observe(c, METRIC_FORECAST_DOWNTIME, mode,
                (double)job->final.downtime_ms / (double)job->forecast.downtime_ms, by);
}

static void count_numbers(struct metrics_counters *c, const struct snapshot_job *job,
                          const struct by *by)
{
    const char *mode[] = {mode_name(job->mode == MODE_NONE ? MODE_PRECOPY : job->mode)}, *path[2];
    uint64_t whole = job->final.whole_bytes != 0 ? job->final.whole_bytes
                     : job->progress.has_sample  ? job->progress.sample.stats.data_total
                                                 : 0;
    observe(c, METRIC_MIGRATION_FINAL_DOWNTIME, mode, (double)job->final.downtime_ms / 1000, by);
    observe(c, METRIC_MIGRATION_SETUP, NULL, (double)job->final.setup_ms / 1000, by);
    if (whole > 0)
        observe(c, METRIC_MIGRATION_SENT_RATIO, mode, (double)job->final.bytes / (double)whole, by);
    count_forecast(c, job, mode, by);
    counters_path(c, job->source, job->target, path);
    count(c, METRIC_PATH_BYTES, path, (double)job->final.bytes, by);
    count(c, METRIC_PATH_TIME, path, (double)job->final.total_ms / 1000, by);
    count(c, METRIC_PATH_DOWNTIME, path, (double)job->final.downtime_ms / 1000, by);
}

/* Statistics may arrive from the target after the end. */
static void await_numbers(struct metrics_counters *c, const struct snapshot_job *job)
{
    (void)pthread_mutex_lock(&c->lock);
    if (c->n_late < COUNTERS_LATE_MAX)
        TEXT_SET(c->late[c->n_late++], job->uid);
    (void)pthread_mutex_unlock(&c->lock);
}

static void count_move(struct metrics_counters *c, const struct snapshot_job *job,
                       const struct by *by)
{
    const char *path[3];
    if (job->epoch == 0)
        return; /* never handed off */
    counters_path(c, job->source, job->target, path);
    path[2] = counters_outcome(job);
    count(c, METRIC_PATH_MIGRATIONS, path, 1, by);
    if (job->result.outcome != OUTCOME_SUCCEEDED)
        return;
    if (job->final.known)
        count_numbers(c, job, by);
    else
        await_numbers(c, job);
}

static const struct snapshot_job *find_job(const struct snapshot *snapshot, const char *uid)
{
    for (size_t i = snapshot->n_jobs; i-- > 0;) /* newest last */
        if (strcmp(snapshot->jobs[i]->uid, uid) == 0)
            return snapshot->jobs[i];
    return NULL;
}

void metrics_count_late(struct metrics_counters *counters, const struct snapshot *snapshot)
{
    (void)pthread_mutex_lock(&counters->lock);
    size_t left = 0, n = counters->n_late;
    for (size_t i = 0; i < n; i++) {
        const struct snapshot_job *job = find_job(snapshot, counters->late[i]);
        if (job == NULL || snapshot->wall_ms - job->times.ended_ms > COUNTERS_LATE_MS)
            continue; /* no update will follow */
        if (!job->final.known) {
            memmove(counters->late[left++], counters->late[i], sizeof counters->late[i]);
            continue;
        }
        struct by by;
        by_job(job, job->times.ended_ms, &by);
        count_numbers(counters, job, &by);
    }
    counters->n_late = left;
    (void)pthread_mutex_unlock(&counters->lock);
}

void metrics_count_finished(struct metrics_counters *counters, const struct snapshot_job *job)
{
    if (job->result.outcome == OUTCOME_NONE)
        return;
    const char *kind[] = {counters_outcome(job), origin_name(job->request.origin),
                          counters_policy(counters, job->request.policy)};
    int64_t began_ms = job->times.started_ms != 0 ? job->times.started_ms : job->times.created_ms;
    struct by by;
    by_job(job, job->times.ended_ms, &by);
    const char *end[] = {kind[0], kind[1], kind[2], counters_manager(job)};
    count(counters, METRIC_MIGRATIONS, end, 1, &by);
    observe(counters, METRIC_MIGRATION_DURATION, kind, seconds(job->times.ended_ms - began_ms),
            &by);
    count_modes(counters, job, &by);
    count_recovery(counters, job, &by);
    count_abort(counters, job, &by);
    count_waits(counters, job, &by);
    count_move(counters, job, &by);
}
