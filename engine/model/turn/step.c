/* step.c - see step.h. */
#include "engine/model/turn/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void step_launcher(struct job *job, enum launcher launcher, struct moment now)
{
    if (job->launcher == launcher)
        return;
    job->launcher = launcher;
    job->launcher_since_ms = now.wall_ms;
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
    job->wake_ms = now.mono_ms;

    struct effect *effect = effects_add(fx, EFFECT_STEP, job, now.wall_ms);
    effect->of.step.from = from;
    effect->of.step.to = job->phase;
    effect->of.step.why = why;
    effect->of.step.seq = job->n_steps;
    effect->of.step.spent_ms = spent_ms > 0 ? spent_ms : 0;
}

void step_wait(struct job *job, enum pending pending, struct moment now, const char *fmt, ...)
{
    char text[JOB_REASON_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (job->pending != pending) {
        step_wait_over(job, now);
        job->pending = pending;
        job->waits_since_ms = now.wall_ms;
        job->waits_mono_ms = now.mono_ms;
        job->waits_until_ms = 0;
        job->changed = true;
    }
    if (strcmp(job->pending_reason, text) == 0)
        return;
    TEXT_SET(job->pending_reason, text);
    job->changed = true;
}

void step_wait_over(struct job *job, struct moment now)
{
    if (job->pending == PENDING_NONE)
        return;
    if (now.mono_ms > job->waits_mono_ms)
        job->waited_ms[job->pending] += now.mono_ms - job->waits_mono_ms;
    job->pending = PENDING_NONE;
    job->pending_reason[0] = '\0';
}

static void end_event(const struct job *job, struct moment now, struct effects *fx)
{
    if (job->outcome == OUTCOME_SUCCEEDED)
        effects_event(fx, job, now.wall_ms, false, "SuccessfulMigration",
                      "The guest runs on %s and is gone from %s.", job->target, job->source);
    else
        effects_event(fx, job, now.wall_ms, true, "FailedMigration", "%s; guest: %s",
                      job->failure_reason, guest_at_name(job->guest_at));
}

void step_finish(struct fleet *f, struct job *job, enum trigger why,
                 const struct step_ending *ending, struct moment now, struct effects *fx)
{
    job->outcome = ending->outcome;
    if (job->launcher != LAUNCHER_NONE)
        step_launcher(job, ending->outcome == OUTCOME_SUCCEEDED ? LAUNCHER_GONE : LAUNCHER_FAILED,
                      now);
    job->guest_at = ending->guest_at;
    TEXT_SET(job->failure_reason, ending->reason);
    job->ended_waiting = job->pending;
    step_take(f, job, why, now, fx);
    if (!job->frozen)
        end_event(job, now, fx);
}
