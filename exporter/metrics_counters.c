/* metrics_counters.c - what happened since start: counters and histograms through prom_*.
 *
 * Their labels come from closed vocabularies only, so the number of series is known at compile
 * time and every one of them exists, with zero, before anything happens. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdict.h"
#include "engine/data/monitor.h"
#include "exporter/metrics.h"
#include "exporter/promx.h"

struct metrics_counters {
    prom_collector_registry_t *registry;
    prom_counter_t *migrations, *transitions, *aborts, *verdicts;
    prom_counter_t *mode_changes, *recoveries, *irrecoverable;
    prom_histogram_t *duration, *phase_time;
};

/* Makes the metric of a row and gives it to the registry's collector; NULL when that fails. */
static prom_metric_t *add_metric(prom_collector_t *collector, enum metric metric,
                                 prom_histogram_buckets_t *buckets)
{
    const struct metric_row *row = metric_row(metric);
    char labels[128], *rest = labels;
    const char *keys[PROMX_LABELS_MAX];
    size_t n = 0;
    TEXT_SET(labels, row->labels);
    for (char *key; n < PROMX_LABELS_MAX && (key = strsep(&rest, ",")) != NULL;)
        if (*key != '\0')
            keys[n++] = key;
    prom_metric_t *made = row->type == METRIC_TYPE_HISTOGRAM
                              ? prom_histogram_new(row->name, row->help, buckets, n, keys)
                              : prom_counter_new(row->name, row->help, n, keys);
    if (made == NULL)
        (void)prom_histogram_buckets_destroy(buckets);
    if (made == NULL || prom_collector_add_metric(collector, made) == 0)
        return made;
    (void)prom_counter_destroy(made);
    return NULL;
}

static void touch_one(prom_metric_t *metric, const char *value)
{
    const char *values[] = {value};
    (void)promx_metric_touch(metric, values);
}

static void touch_verdicts(struct metrics_counters *c, enum outcome outcome, enum cause cause)
{
    for (enum plane plane = 0; plane < PLANE_COUNT; plane++) {
        const char *values[] = {outcome_name(outcome), plane_name(plane), cause_row(cause)->name};
        if (cause_has_plane(cause, plane))
            (void)promx_metric_touch(c->verdicts, values);
    }
}

/* ---- modes ---- */

/* Causes that are no decision of the monitor. */
static const char began[] = "post-copy began", other[] = "other";

/* What can make memory move that way: decisions that order it, or a pause long enough to end it. */
static bool decision_leads_to(enum decision why, enum mode to)
{
    if (to == MODE_POSTCOPY)
        return decision_action(why) == MONITOR_POSTCOPY;
    return to == MODE_PAUSED &&
           (decision_action(why) == MONITOR_PAUSE || why == DECISION_STALLED_HARD ||
            why == DECISION_LATE_HARD || why == DECISION_LATE_VFIO);
}

/* The word that is counted: a text that is none of ours would make a series of its own. */
static const char *mode_cause(const char *cause, enum mode to)
{
    enum decision why = decision_from_name(cause);
    if (why < DECISION_COUNT && decision_leads_to(why, to))
        return decision_name(why);
    return to == MODE_POSTCOPY && strcmp(cause, began) == 0 ? began : other;
}

static void touch_mode(struct metrics_counters *c, enum mode from, enum mode to)
{
    const char *values[] = {mode_name(from), mode_name(to), other};
    (void)promx_metric_touch(c->mode_changes, values);
    values[2] = began;
    if (to == MODE_POSTCOPY)
        (void)promx_metric_touch(c->mode_changes, values);
    for (enum decision why = 0; why < DECISION_COUNT; why++) {
        values[2] = decision_name(why);
        if (decision_leads_to(why, to))
            (void)promx_metric_touch(c->mode_changes, values);
    }
}

static void count_modes(struct metrics_counters *c, const struct snapshot_job *job)
{
    for (unsigned i = 1; i < job->n_modes; i++) {
        enum mode to = job->modes[i].mode;
        const char *values[] = {mode_name(job->modes[i - 1].mode), mode_name(to),
                                mode_cause(job->modes[i].cause, to)};
        (void)prom_counter_inc(c->mode_changes, values);
    }
}

/* ---- recovery ---- */

static const char recovered[] = "recovered", irrecoverable[] = "irrecoverable",
                  unrecovered[] = "unrecovered";

static void count_recovery(struct metrics_counters *c, const struct snapshot_job *job)
{
    const char *result[] = {job->outcome == OUTCOME_IRRECOVERABLE ? irrecoverable
                            : job->recovery == RECOVERY_RECOVERED ? recovered
                                                                  : unrecovered};
    if (job->recovery != RECOVERY_NONE || job->outcome == OUTCOME_IRRECOVERABLE)
        (void)prom_counter_inc(c->recoveries, result);
    if (job->outcome == OUTCOME_IRRECOVERABLE)
        (void)prom_counter_inc(c->irrecoverable, NULL);
}

static void touch_moves(struct metrics_counters *c)
{
    touch_mode(c, MODE_PRECOPY, MODE_POSTCOPY);
    touch_mode(c, MODE_PRECOPY, MODE_PAUSED);
    touch_mode(c, MODE_PAUSED, MODE_POSTCOPY);
    touch_one(c->recoveries, recovered);
    touch_one(c->recoveries, irrecoverable);
    touch_one(c->recoveries, unrecovered);
    (void)promx_metric_touch(c->irrecoverable, NULL);
}

/* Migrations of every kind of origin, under no policy: a policy's are there with its first. */
static void touch_migrations(struct metrics_counters *c, enum outcome outcome)
{
    for (enum origin origin = 0; origin < ORIGIN_COUNT; origin++) {
        const char *values[] = {outcome_name(outcome), origin_name(origin), ""};
        (void)promx_metric_touch(c->migrations, values);
    }
}

static void touch_aborts(struct metrics_counters *c)
{
    for (enum abort_cause cause = ABORT_CAUSE_NONE + 1; cause < ABORT_CAUSE_COUNT; cause++) {
        const char *values[] = {abort_cause_name(cause), abort_status_name(ABORT_SUCCEEDED)};
        (void)promx_metric_touch(c->aborts, values);
        values[1] = abort_status_name(ABORT_FAILED);
        (void)promx_metric_touch(c->aborts, values);
    }
}

static void touch_all(struct metrics_counters *c)
{
    touch_moves(c);
    touch_aborts(c);
    for (enum outcome outcome = OUTCOME_NONE + 1; outcome < OUTCOME_COUNT; outcome++) {
        touch_migrations(c, outcome);
        touch_one(c->duration, outcome_name(outcome));
        for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
            if ((cause == CAUSE_NONE) == (outcome == OUTCOME_SUCCEEDED))
                touch_verdicts(c, outcome, cause);
    }
    for (enum phase from = PHASE_NONE + 1; from < PHASE_COUNT; from++) {
        if (!phase_is_final(from))
            touch_one(c->phase_time, phase_name(from));
        for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
            const char *step[] = {phase_name(from), phase_name(phase_next(from, why))};
            if (phase_next(from, why) != PHASE_NONE)
                (void)promx_metric_touch(c->transitions, step);
        }
    }
}

static bool fill(struct metrics_counters *c, prom_collector_t *collector)
{
    c->migrations = add_metric(collector, METRIC_MIGRATIONS, NULL);
    c->transitions = add_metric(collector, METRIC_MIGRATION_TRANSITIONS, NULL);
    c->aborts = add_metric(collector, METRIC_MIGRATION_ABORTS, NULL);
    c->verdicts = add_metric(collector, METRIC_MIGRATION_VERDICTS, NULL);
    c->mode_changes = add_metric(collector, METRIC_MODE_CHANGES, NULL);
    c->recoveries = add_metric(collector, METRIC_RECOVERIES, NULL);
    c->irrecoverable = add_metric(collector, METRIC_IRRECOVERABLE, NULL);
    c->duration =
        add_metric(collector, METRIC_MIGRATION_DURATION,
                   prom_histogram_buckets_new(14, .5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 150.0,
                                              300.0, 600.0, 1200.0, 3600.0, 7200.0));
    c->phase_time = add_metric(collector, METRIC_MIGRATION_PHASE_TIME,
                               prom_histogram_buckets_new(12, .01, .05, .1, .5, 1.0, 5.0, 10.0,
                                                          30.0, 60.0, 300.0, 900.0, 3600.0));
    return c->migrations != NULL && c->transitions != NULL && c->aborts != NULL &&
           c->verdicts != NULL && c->mode_changes != NULL && c->recoveries != NULL &&
           c->irrecoverable != NULL && c->duration != NULL && c->phase_time != NULL;
}

struct metrics_counters *metrics_counters_new(struct err *err)
{
    struct metrics_counters *c = calloc(1, sizeof *c);
    prom_collector_t *collector = prom_collector_new("migrations");
    if (c != NULL && collector != NULL && fill(c, collector)) {
        touch_all(c);
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
    free(counters);
}

void metrics_count_step(struct metrics_counters *counters, enum phase from, enum phase to,
                        int64_t spent_ms)
{
    if (from == PHASE_NONE || to == PHASE_NONE)
        return; /* a job's birth is not a step */
    const char *step[] = {phase_name(from), phase_name(to)};
    (void)prom_counter_inc(counters->transitions, step);
    (void)prom_histogram_observe(counters->phase_time, spent_ms > 0 ? (double)spent_ms / 1000 : 0,
                                 step);
}

void metrics_count_finished(struct metrics_counters *counters, const struct snapshot_job *job)
{
    const char *outcome[] = {outcome_name(job->outcome)};
    if (job->outcome == OUTCOME_NONE)
        return;
    int64_t began_ms = job->started_ms != 0 ? job->started_ms : job->created_ms;
    int64_t spent_ms = job->ended_ms - began_ms;
    const char *kind[] = {outcome[0], origin_name(job->origin), job->policy};
    (void)prom_counter_inc(counters->migrations, kind);
    (void)prom_histogram_observe(counters->duration, spent_ms > 0 ? (double)spent_ms / 1000 : 0,
                                 outcome);
    count_modes(counters, job);
    count_recovery(counters, job);
    if (job->abort_status == ABORT_NONE && !job->abort_asked)
        return;
    /* An answer that never came is a failure to stop, whatever the guest did. */
    enum abort_cause asked =
        job->abort_cause == ABORT_CAUSE_NONE ? ABORT_CAUSE_OPERATOR : job->abort_cause;
    const char *result[] = {abort_cause_name(asked),
                            abort_status_name(job->abort_status == ABORT_SUCCEEDED ? ABORT_SUCCEEDED
                                                                                   : ABORT_FAILED)};
    (void)prom_counter_inc(counters->aborts, result);
}

/* Words that are none of ours, from a store of a later version, would make series of their own. */
void metrics_count_judged(struct metrics_counters *counters, const struct judgement *judgement,
                          int64_t now_ms)
{
    const struct store_verdict *verdict = &judgement->verdict;
    const char *said[] = {verdict->outcome, verdict->plane, verdict->cause};
    bool is_known = (cause_from_name(verdict->cause) < CAUSE_COUNT ||
                     strcmp(verdict->cause, cause_row(CAUSE_NONE)->name) == 0) &&
                    outcome_from_name(verdict->outcome) < OUTCOME_COUNT;
    if (is_known && now_ms - verdict->at_ms < METRICS_OLD_MS)
        (void)prom_counter_inc(counters->verdicts, said);
}

void metrics_counters_render(struct metrics_counters *counters, struct buf *out)
{
    promx_registry_render(counters->registry, out);
}
