/* step.h - the only place where a job's phase changes, with everything that must change with it:
 * the record of the step, the fleet's counters, the event. */
#ifndef ENGINE_MODEL_TURN_STEP_H
#define ENGINE_MODEL_TURN_STEP_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A step that phase.def does not list is an internal error: it is not taken, and the job is
 * frozen (fleet_freeze_job). */
void step_take(struct fleet *f, struct job *job, enum trigger why, struct moment now,
               struct effects *fx);

/* How a job ends: set before the final step. */
struct step_ending {
    enum outcome outcome;
    enum guest_at guest_at;
    char reason[JOB_REASON_MAX]; /* empty for success */
};
/* Takes a final step with its outcome and emits its event. engine/data/final.h, which calls it,
 * does what else belongs to the end of a job. */
void step_finish(struct fleet *f, struct job *job, enum trigger why,
                 const struct step_ending *ending, struct moment now, struct effects *fx);

/* Sets the pending reason; "since" is when that reason began. */
void step_wait(struct job *job, enum pending pending, struct moment now, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Clears the pending reason; the time waited is kept. */
void step_wait_over(struct job *job, struct moment now);
/* The target launcher's state. */
void step_launcher(struct job *job, enum launcher launcher, struct moment now);

#endif
