/* recorded.c - see recorded.h. */
#include "analyzer/record/recorded.h"

#include <string.h>

#include "base/text.h"

bool recorded_is_plain(const struct gathered *job)
{
    return job->outcome == OUTCOME_SUCCEEDED && (!job->has_error || job->recovered) &&
           !job->crashed;
}

/* The engine's outcome: copied, never changed. */
static void copy_outcome(const struct gathered *job, struct verdict *verdict)
{
    verdict->outcome = job->outcome;
    verdict->guest = job->guest_at;
    verdict->irrecoverable = verdict_is_irrecoverable(job->outcome, job->guest_at);
    if (verdict->irrecoverable || job->outcome == OUTCOME_LOST)
        verdict->recoverable = RECOVERABLE_NO;
    verdict->failed_at = verdict->cause == CAUSE_NONE ? FAILED_AT_NONE
                         : job->handed_off            ? FAILED_AT_AFTER
                                                      : FAILED_AT_BEFORE;
}

void recorded_plain(const struct gathered *job, const struct ruleset *rules,
                    struct verdict *out_verdict)
{
    memset(out_verdict, 0, sizeof *out_verdict);
    out_verdict->cause = CAUSE_NONE;
    out_verdict->plane = PLANE_NONE;
    out_verdict->family = FAMILY_NO_FAULT;
    out_verdict->confidence = out_verdict->family_confidence = 1;
    out_verdict->action = "";
    TEXT_SET(out_verdict->rules_version, ruleset_version(rules));
    copy_outcome(job, out_verdict);
}

/* It arrived: messages from before explain no failure. */
static void drop_failure(struct verdict *verdict)
{
    verdict->cause = verdict->resembles = CAUSE_NONE;
    verdict->family = FAMILY_NO_FAULT;
    verdict->plane = PLANE_NONE;
    verdict->recoverable = RECOVERABLE_UNKNOWN;
    verdict->action = "";
    verdict->rule[0] = '\0';
    for (unsigned i = 0; i < verdict->n_points; i++)
        verdict->points[i].role = POINT_FALLOUT;
}

/* It arrived and has ended, unless the evidence shows that its owner wanted that. A data plane
 * cause from its log is better than "crashed"; messages from before the arrival are not. */
static bool is_crashed(const struct gathered *job, struct verdict *verdict)
{
    const enum cause crash = CAUSE_DESTINATION_CRASH_AFTER_SWITCHOVER;
    bool crashed = false;
    for (unsigned i = 0; job->crashed && i < verdict->n_points; i++)
        crashed = crashed || verdict->points[i].cause == crash;
    if (crashed && verdict->plane != PLANE_DATA) {
        verdict->cause = crash;
        verdict->resembles = CAUSE_NONE;
        verdict->family = cause_row(crash)->family;
        verdict->plane = PLANE_DATA;
        verdict->action = cause_row(crash)->action;
    }
    return crashed;
}

static bool find_log_of_target(struct store *store, const struct notes *notes, struct gathered *job,
                               struct err *err)
{
    if (notes == NULL)
        return gather_has_target_log(store, job->uid, &job->target_logged, err);
    for (size_t i = 0; i < notes->n && !job->target_logged; i++)
        job->target_logged = gather_is_target_log(&notes->rows[i]);
    return true;
}

bool recorded_judge(struct store *store, const struct gathered *job, const struct notes *notes,
                    struct judge *judge, struct verdict *out_verdict, struct err *err)
{
    judge_reset(judge);
    struct evidence_sink sink = judge_sink(judge);
    struct gathered with_logs = *job;
    if (!find_log_of_target(store, notes, &with_logs, err) ||
        !gather_record(store, &with_logs, &sink, err))
        return false;
    if (notes != NULL)
        notes_emit(notes, &sink);
    else if (!gather_stored(store, job->uid, &sink, err))
        return false;
    judge_give(judge, out_verdict);
    if (cause_row(out_verdict->cause)->plane == PLANE_OPEN && job->called_ms == 0)
        out_verdict->plane = PLANE_CONTROL; /* no call to a hypervisor had been made */
    bool crashed = is_crashed(job, out_verdict);
    bool stays = crashed || (job->has_error && out_verdict->cause == CAUSE_FALSE_FAILURE_REPORT);
    if (job->outcome == OUTCOME_SUCCEEDED && !stays)
        drop_failure(out_verdict);
    copy_outcome(job, out_verdict);
    if (crashed)
        out_verdict->guest = GUEST_AT_CRASHED;
    return true;
}

void recorded_fill(const struct verdict *verdict, const struct gathered *job,
                   const struct notes *notes, int64_t judged_ms, struct recorded_rows *out_rows,
                   struct verdict_rows *out_verdict_rows)
{
    const struct cause_row *cause = cause_row(verdict->cause);
    *out_verdict_rows = (struct verdict_rows){
        .verdict = {.job_uid = job->uid,
                    .at_ms = job->ended_ms,
                    .outcome = outcome_name(verdict->outcome),
                    .plane = plane_name(verdict->plane),
                    .cause = cause->name,
                    .family = family_name(verdict->family),
                    .family_percent = (int64_t)(verdict->family_confidence * 100 + 0.5),
                    .resembles =
                        verdict->resembles != CAUSE_NONE ? cause_row(verdict->resembles)->name : "",
                    .failed_at = failed_at_name(verdict->failed_at),
                    .recoverable = recoverable_name(verdict->recoverable),
                    .guest_at = guest_at_name(verdict->guest),
                    .irrecoverable = verdict->irrecoverable,
                    .confidence_percent = (int64_t)(verdict->confidence * 100 + 0.5),
                    .rule = verdict->rule,
                    .rules_version = verdict->rules_version,
                    .action = verdict->action,
                    .runbook = cause->runbook,
                    .judged_ms = judged_ms},
        .about = {.ns = job->ns,
                  .migration = job->name,
                  .guest = job->guest,
                  .source = job->source,
                  .target = job->target,
                  .ended_by = job->ended_by,
                  .handed_off = job->handed_off},
        .points = out_rows->points,
        .numbers = out_rows->numbers,
        .evidence = notes->rows,
        .n_points = verdict->n_points,
        .n_numbers = verdict->n_numbers,
        .n_evidence = notes->n,
    };
    for (unsigned i = 0; i < verdict->n_points; i++) {
        const struct verdict_point *point = &verdict->points[i];
        out_rows->points[i] = (struct store_point){.standing = point_role_name(point->role),
                                                   .rule = point->rule,
                                                   .side = side_name(point->side),
                                                   .origin = point->origin,
                                                   .at_ms = point->at_ms,
                                                   .quote = point->quote,
                                                   .note = point->proves};
    }
    for (unsigned i = 0; i < verdict->n_numbers; i++)
        out_rows->numbers[i] = (struct store_number){.name = verdict->numbers[i].name,
                                                     .value = verdict->numbers[i].value,
                                                     .unit = verdict->numbers[i].unit};
}
