/* step.c - see step.h. */
#include "engine/model/turn/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void step_launcher(struct job *job, enum launcher launcher, struct moment now)
{
    if (job->placement.launcher == launcher)
        return;
    job->placement.launcher = launcher;
    job->placement.launcher_since_ms = now.wall_ms;
    job->changed = true;
}

void step_take(struct fleet *f, struct job *job, enum trigger why, struct moment now,
               struct effects *fx)
{
    enum phase from = job->phase;
    int64_t spent_ms = now.mono_ms - job->entered_ms;
    if (job->frozen)
        return;
    if (!job_step(job, why, now)) {
        fleet_freeze_job(f, job, "there is no step '%s' from %s", trigger_name(why),
                         phase_name(from));
        return;
    }
    const char *flaw = job_flaw(job);
    if (flaw != NULL) { /* before anything else follows from the step */
        fleet_freeze_job(f, job, "after the step '%s' from %s: %s", trigger_name(why),
                         phase_name(from), flaw);
        job->phase = from;
        return;
    }
    step_wait_over(job, now);
    fleet_job_moved(f, job, from);
    job->queue.wake_ms = now.mono_ms;

    struct effect *effect = effects_add(fx, EFFECT_STEP, job, now.wall_ms);
    effect->of.step.from = from;
    effect->of.step.to = job->phase;
    effect->of.step.why = why;
    effect->of.step.seq = job->history.n_steps;
    effect->of.step.spent_ms = spent_ms > 0 ? spent_ms : 0;
}

void step_wait(struct job *job, enum pending pending, struct moment now, const char *fmt, ...)
{
    char text[JOB_REASON_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (job->wait.pending != pending) {
        step_wait_over(job, now);
        job->wait.pending = pending;
        job->wait.since_ms = now.wall_ms;
        job->wait.mono_ms = now.mono_ms;
        job->wait.until_ms = 0;
        job->changed = true;
    }
    if (strcmp(job->wait.reason, text) == 0)
        return;
    TEXT_SET(job->wait.reason, text);
    job->changed = true;
}

void step_wait_over(struct job *job, struct moment now)
{
    if (job->wait.pending == PENDING_NONE)
        return;
    if (now.mono_ms > job->wait.mono_ms)
        job->wait.waited_ms[job->wait.pending] += now.mono_ms - job->wait.mono_ms;
    job->wait.pending = PENDING_NONE;
    job->wait.reason[0] = '\0';
}

static void end_event(const struct job *job, struct moment now, struct effects *fx)
{
    enum guest_at at = job->resolution.guest_at;
    if (job->result.outcome == OUTCOME_SUCCEEDED && at == GUEST_AT_TARGET)
        effects_event(fx, job, now.wall_ms, false, "SuccessfulMigration",
                      "The guest runs on %s and is gone from %s.", job->target, job->source);
    else if (job->result.outcome == OUTCOME_SUCCEEDED)
        effects_event(fx, job, now.wall_ms, false, "SuccessfulMigration",
                      "The guest arrived on %s and %s.", job->target,
                      at == GUEST_AT_ELSEWHERE ? "was moved on from there" : "has ended there");
    else
        effects_event(fx, job, now.wall_ms, true, "FailedMigration", "%s; guest: %s",
                      job->result.failure_reason, guest_at_name(job->resolution.guest_at));
}

void step_finish(struct fleet *f, struct job *job, enum trigger why,
                 const struct step_ending *ending, struct moment now, struct effects *fx)
{
    job->result.outcome = ending->outcome;
    if (job->placement.launcher != LAUNCHER_NONE)
        step_launcher(job, ending->outcome == OUTCOME_SUCCEEDED ? LAUNCHER_GONE : LAUNCHER_FAILED,
                      now);
    job->resolution.guest_at = ending->guest_at;
    TEXT_SET(job->result.failure_reason, ending->reason);
    job->wait.at_end = job->wait.pending;
    step_take(f, job, why, now, fx);
    if (!job->frozen)
        end_event(job, now, fx);
}
