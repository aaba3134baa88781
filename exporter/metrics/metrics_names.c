/* metrics_names.c - creates every known series of the counters with zero, so that the first event
 * is an increase; bounds the labels of the others. */
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "engine/data/monitor.h"
#include "exporter/metrics/counters.h"

static void touch_one(prom_metric_t *metric, const char *value)
{
    const char *values[] = {value};
    (void)promx_metric_touch(metric, values);
}

/* ---- modes ---- */

/* Causes other than decisions of the monitor. */
static const char began[] = "post-copy began", other[] = "other";

/* What can change the mode: decisions that order it, or a pause. */
static bool decision_leads_to(enum decision why, enum mode to)
{
    if (to == MODE_POSTCOPY)
        return decision_action(why) == MONITOR_POSTCOPY;
    return to == MODE_PAUSED &&
           (decision_action(why) == MONITOR_PAUSE || why == DECISION_STALLED_HARD ||
            why == DECISION_LATE_HARD || why == DECISION_LATE_VFIO);
}

/* The label value: an unknown text must not create a series. */
const char *counters_mode_cause(const char *cause, enum mode to)
{
    enum decision why = decision_from_name(cause);
    if (why < DECISION_COUNT && decision_leads_to(why, to))
        return decision_name(why);
    return to == MODE_POSTCOPY && strcmp(cause, began) == 0 ? began : other;
}

static void touch_mode(struct metrics_counters *c, enum mode from, enum mode to)
{
    const char *values[] = {mode_name(from), mode_name(to), other};
    (void)promx_metric_touch(c->of[METRIC_MODE_CHANGES], values);
    values[2] = began;
    if (to == MODE_POSTCOPY)
        (void)promx_metric_touch(c->of[METRIC_MODE_CHANGES], values);
    for (enum decision why = 0; why < DECISION_COUNT; why++) {
        values[2] = decision_name(why);
        if (decision_leads_to(why, to))
            (void)promx_metric_touch(c->of[METRIC_MODE_CHANGES], values);
    }
}

/* ---- recovery ---- */

static const char recovered[] = "recovered", irrecoverable[] = "irrecoverable",
                  unrecovered[] = "unrecovered";

const char *counters_recovery_result(const struct snapshot_job *job)
{
    if (job->result.outcome == OUTCOME_IRRECOVERABLE)
        return irrecoverable;
    if (job->recovery.state == RECOVERY_NONE)
        return NULL;
    return job->recovery.state == RECOVERY_RECOVERED ? recovered : unrecovered;
}

static void touch_moves(struct metrics_counters *c)
{
    touch_mode(c, MODE_PRECOPY, MODE_POSTCOPY);
    touch_mode(c, MODE_PRECOPY, MODE_PAUSED);
    touch_mode(c, MODE_PAUSED, MODE_POSTCOPY);
    touch_one(c->of[METRIC_RECOVERIES], recovered);
    touch_one(c->of[METRIC_RECOVERIES], irrecoverable);
    touch_one(c->of[METRIC_RECOVERIES], unrecovered);
    (void)promx_metric_touch(c->of[METRIC_IRRECOVERABLE], NULL);
    for (enum mode mode = MODE_NONE + 1; mode < MODE_COUNT; mode++) {
        touch_one(c->of[METRIC_MIGRATION_FINAL_DOWNTIME], mode_name(mode));
        touch_one(c->of[METRIC_MIGRATION_SENT_RATIO], mode_name(mode));
        touch_one(c->of[METRIC_FORECAST_DURATION], mode_name(mode));
        touch_one(c->of[METRIC_FORECAST_DOWNTIME], mode_name(mode));
    }
    (void)promx_metric_touch(c->of[METRIC_MIGRATION_SETUP], NULL);
}

/* ---- decisions ---- */

static void touch_decisions(struct metrics_counters *c)
{
    static const char *const monitors[][2] = {{"stall", "acting"},
                                              {"stall", "shadow"},
                                              {"legacy", "acting"},
                                              {"legacy", "shadow"},
                                              {"remedy", "acting"}};
    for (size_t i = 0; i < COUNT(monitors); i++)
        for (enum decision why = 0; why < DECISION_COUNT; why++) {
            const char *labels[] = {monitors[i][0], monitors[i][1], decision_name(why)};
            if (decision_is_remedy(why) == (strcmp(monitors[i][0], "remedy") == 0) &&
                decision_action(why) != MONITOR_RETIRED)
                (void)promx_metric_touch(c->of[METRIC_DECISIONS], labels);
        }
}

/* ---- ends ---- */

/* Without a requester Ferry itself decided to abort. */
static bool is_given_up(const struct snapshot_job *job)
{
    if (job->result.outcome != OUTCOME_ABORTED)
        return false;
    switch (job->abort.cause) {
    case ABORT_CAUSE_PROGRESS:
    case ABORT_CAUSE_COMPLETION:
    case ABORT_CAUSE_STALLED:
    case ABORT_CAUSE_IDLE: return true;
    case ABORT_CAUSE_NONE:
    case ABORT_CAUSE_OPERATOR:
    case ABORT_CAUSE_DRAIN:
    case ABORT_CAUSE_COUNT: break;
    }
    return false;
}

/* The outcomes and "gave-up". */
enum { FIRST_WORD = OUTCOME_NONE + 1, GIVEN_UP = OUTCOME_COUNT, N_WORDS };

static const char *outcome_word(unsigned i)
{
    return i == GIVEN_UP ? "gave-up" : outcome_name((enum outcome)i);
}

static const char by_ferry[] = "ferry";

const char *counters_manager(const struct snapshot_job *job)
{
    return job->request.origin == ORIGIN_OBSERVED ? job->request.managed_by : by_ferry;
}

const char *counters_outcome(const struct snapshot_job *job)
{
    return outcome_word(is_given_up(job) ? GIVEN_UP : (unsigned)job->result.outcome);
}

static void touch_verdicts(struct metrics_counters *c, enum outcome outcome, enum cause cause)
{
    for (enum plane plane = 0; plane < PLANE_COUNT; plane++) {
        const char *values[] = {outcome_name(outcome), plane_name(plane), cause_row(cause)->name};
        if (cause_has_plane(cause, plane))
            (void)promx_metric_touch(c->of[METRIC_MIGRATION_VERDICTS], values);
    }
}

static void touch_migrations(struct metrics_counters *c, const char *policy)
{
    for (unsigned word = FIRST_WORD; word < N_WORDS; word++)
        for (enum origin origin = 0; origin < ORIGIN_COUNT; origin++) {
            const char *values[] = {outcome_word(word), origin_name(origin), policy,
                                    origin == ORIGIN_OBSERVED ? "unknown" : by_ferry};
            (void)promx_metric_touch(c->of[METRIC_MIGRATIONS], values);
        }
}

static void touch_ends(struct metrics_counters *c)
{
    touch_migrations(c, "");
    for (unsigned word = FIRST_WORD; word < N_WORDS; word++)
        touch_one(c->of[METRIC_MIGRATION_DURATION], outcome_word(word));
    for (enum outcome outcome = OUTCOME_NONE + 1; outcome < OUTCOME_COUNT; outcome++)
        for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
            if ((cause == CAUSE_NONE) == (outcome == OUTCOME_SUCCEEDED))
                touch_verdicts(c, outcome, cause);
    touch_verdicts(c, OUTCOME_SUCCEEDED,
                   CAUSE_FALSE_FAILURE_REPORT); /* analyzer/record/recorded.c */
    for (enum abort_cause cause = ABORT_CAUSE_NONE + 1; cause < ABORT_CAUSE_COUNT; cause++) {
        const char *values[] = {abort_cause_name(cause), abort_status_name(ABORT_SUCCEEDED)};
        (void)promx_metric_touch(c->of[METRIC_MIGRATION_ABORTS], values);
        values[1] = abort_status_name(ABORT_FAILED);
        (void)promx_metric_touch(c->of[METRIC_MIGRATION_ABORTS], values);
    }
    (void)promx_metric_touch(c->of[METRIC_VERDICT_LATENCY], NULL);
    (void)promx_metric_touch(c->of[METRIC_VERDICT_CONFIDENCE], NULL);
}

static void touch_steps(struct metrics_counters *c)
{
    for (enum phase from = PHASE_NONE + 1; from < PHASE_COUNT; from++) {
        if (!phase_is_final(from))
            touch_one(c->of[METRIC_MIGRATION_PHASE_TIME], phase_name(from));
        for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
            const char *step[] = {phase_name(from), phase_name(phase_next(from, why))};
            if (phase_next(from, why) != PHASE_NONE)
                (void)promx_metric_touch(c->of[METRIC_MIGRATION_TRANSITIONS], step);
        }
        if (c->of[METRIC_KV_PHASE_TIME] != NULL)
            touch_one(c->of[METRIC_KV_PHASE_TIME], phase_name(from));
    }
    for (enum priority priority = 0; priority < PRIORITY_COUNT; priority++)
        touch_one(c->of[METRIC_MIGRATION_QUEUE_WAIT], priority_name(priority));
    for (enum pending why = PENDING_NONE + 1; why < PENDING_COUNT; why++)
        touch_one(c->of[METRIC_MIGRATION_WAIT], pending_name(why));
    for (enum reject why = REJECT_NONE + 1; why < REJECT_COUNT; why++)
        touch_one(c->of[METRIC_REJECTED], reject_name(why));
}

void counters_touch(struct metrics_counters *counters)
{
    touch_steps(counters);
    touch_ends(counters);
    touch_moves(counters);
    touch_decisions(counters);
}

/* ---- labels bounded by number ---- */

const char *counters_policy(struct metrics_counters *counters, const char *policy)
{
    if (policy[0] == '\0')
        return policy;
    (void)pthread_mutex_lock(&counters->lock);
    size_t i = 0;
    while (i < counters->n_policies && strcmp(counters->policies[i], policy) != 0)
        i++;
    if (i == counters->n_policies && i < METRICS_POLICIES_MAX)
        TEXT_SET(counters->policies[counters->n_policies++], policy);
    (void)pthread_mutex_unlock(&counters->lock);
    return i < METRICS_POLICIES_MAX ? policy : other;
}

void counters_path(struct metrics_counters *counters, const char *source, const char *target,
                   const char *out_path[static 2])
{
    prom_metric_t *metric = counters->of[METRIC_PATH_BYTES];
    out_path[0] = source;
    out_path[1] = target;
    if (promx_metric_has(metric, out_path) || promx_metric_series(metric) < METRICS_PATHS_MAX)
        (void)promx_metric_touch(metric, out_path);
    else
        out_path[0] = out_path[1] = other;
}

static void touch_node(struct metrics_counters *c, const char *node)
{
    static const char *const results[] = {"failed", "ready", "cancelled"};
    for (size_t i = 0; i < COUNT(results); i++) {
        const char *labels[] = {node, results[i]};
        (void)promx_metric_touch(c->of[METRIC_PREPARATIONS], labels);
    }
}

static void touch_path(struct metrics_counters *c, const char *source, const char *target)
{
    const char *path[3];
    counters_path(c, source, target, path);
    (void)promx_metric_touch(c->of[METRIC_PATH_TIME], path);
    (void)promx_metric_touch(c->of[METRIC_PATH_DOWNTIME], path);
    for (unsigned word = FIRST_WORD; word < N_WORDS; word++) {
        path[2] = outcome_word(word);
        (void)promx_metric_touch(c->of[METRIC_PATH_MIGRATIONS], path);
    }
}

void counters_touch_job(struct metrics_counters *counters, const struct snapshot_job *job)
{
    touch_migrations(counters, counters_policy(counters, job->request.policy));
    touch_node(counters, job->target);
    touch_path(counters, job->source, job->target);
}

/* ---- series of the present fleet ---- */

/* Checks one series for all: there are many nodes, and every page asks. */
static bool knows_node(struct metrics_counters *c, const char *node)
{
    const char *labels[] = {node, "cancelled"}; /* created last */
    return promx_metric_has(c->of[METRIC_PREPARATIONS], labels);
}

static bool knows_path(struct metrics_counters *c, const char *source, const char *target)
{
    const char *path[] = {source, target};
    return promx_metric_has(c->of[METRIC_PATH_BYTES], path);
}

static void preset_policies(struct metrics_counters *c, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_objects; i++) {
        const struct snapshot_object *object = snapshot->objects[i];
        if (object->kind != OBJECT_POLICY)
            continue;
        (void)pthread_mutex_lock(&c->lock);
        size_t n = c->n_policies, at = 0;
        while (at < n && strcmp(c->policies[at], object->name) != 0)
            at++;
        (void)pthread_mutex_unlock(&c->lock);
        if (at == n && n < METRICS_POLICIES_AHEAD)
            touch_migrations(c, counters_policy(c, object->name));
    }
}

void counters_preset(struct metrics_counters *counters, const struct snapshot *snapshot)
{
    size_t n = snapshot->n_nodes;
    for (size_t i = 0; i < n; i++)
        if (!knows_node(counters, snapshot->nodes[i].name))
            touch_node(counters, snapshot->nodes[i].name);
    for (size_t i = 0; i < n * n && n * n <= METRICS_PATHS_AHEAD; i++) {
        const char *from = snapshot->nodes[i / n].name, *to = snapshot->nodes[i % n].name;
        if (i / n != i % n && !knows_path(counters, from, to))
            touch_path(counters, from, to);
    }
    preset_policies(counters, snapshot);
}
