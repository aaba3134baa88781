/* wait.h - a job before its hand-off: where it waits, until when, and how it ends without a
 * migration. Pure.
 *
 * A waiting job is in exactly one list: `ready` (waits for its turn), the list of its source or
 * its requested target, of its namespace's quota, of the unschedulable jobs; or in none, and
 * then only its timer or an answer wakes it. */
#ifndef ENGINE_CONTROL_SCHEDULING_WAIT_H
#define ENGINE_CONTROL_SCHEDULING_WAIT_H

#include "engine/model/turn/step.h"

/* Moves the job into that list, out of any other. */
void wait_in(struct heap *list, struct job *job);
/* The job waits only for time or an answer. */
void wait_for_time(struct job *job);

/* Applies the deadline of the present wait: sets the timer, or fails the job when it has passed.
 * False: the job failed. */
bool wait_until_deadline(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Limit of the present wait; 0: the wait has its own end. */
int64_t wait_limit_ms(const struct fleet *f, const struct job *job);

/* A job from a backup waits until its guest's definition confirms or ends it (orphans.h). True: it
 * waits. */
bool wait_unconfirmed(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* Fails the job: no host was changed, the guest is where it was last seen. */
void wait_fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
               struct moment now, struct effects *fx);
/* Ends a job that was asked to stop. */
void wait_cancel(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
