/* step.h - the one place where a job's phase changes, with everything that must change with it:
 * the record of the step, the fleet's counters, the event that people see. */
#ifndef ENGINE_MODEL_STEP_H
#define ENGINE_MODEL_STEP_H

#include "engine/model/effects.h"
#include "engine/model/fleet.h"

/* A step that phase.def does not list is an internal error: it is not taken, and the job is frozen
 * (fleet_freeze_job). */
void step_take(struct fleet *f, struct job *job, enum trigger why, struct moment now,
               struct effects *fx);

/* How a job ends: set before the final step. */
struct step_ending {
    enum outcome outcome;
    enum guest_at guest_at;
    char reason[JOB_REASON_MAX]; /* empty for success */
};
/* Takes a final step: outcome, sightings of both sides, end of the watch. */
void step_finish(struct fleet *f, struct job *job, enum trigger why,
                 const struct step_ending *ending, struct moment now, struct effects *fx);

/* The numbers of a move that ended well; from is a literal: event, target. The event's count. */
void step_final(struct fleet *f, struct job *job, const struct hv_job_stats *stats,
                const char *from);

/* Says what a job waits for; "since" is when that reason began. */
void step_wait(struct job *job, enum pending pending, struct moment now, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* It does not wait any more; how long it did is kept. */
void step_wait_over(struct job *job, struct moment now);
/* The target launcher's state. */
void step_launcher(struct job *job, enum launcher launcher, struct moment now);

/* A final job whose time has come: both sides are asked once more. What they say is recorded and
 * changes nothing (moment: later). True if the answer was to that. */
void step_look_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
bool step_seen_later(struct fleet *f, struct job *job, uint64_t id, const struct hv_sight *sight,
                     struct moment now, struct effects *fx);

/* Records both sides as last seen. moment is a literal: before, outcome, adoption. */
void step_record_sides(struct job *job, const char *moment, struct moment now, struct effects *fx);

/* Starts a round of looks at both sides unless one is out. */
void step_look(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* True when both sides answered the newest round, and neither answer has grown old while the
 * other was awaited: then the old one is asked for again first. */
bool step_looked(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
