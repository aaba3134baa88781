/* wait.h - a job that is not handed off yet: where it waits, until when, and how it ends without
 * anything having moved. Pure.
 *
 * A waiting job is in exactly one list: `ready` (only its turn keeps it back), that of the node it
 * wants to leave or to reach, that of its namespace's quota, that of the unschedulable jobs; or in
 * none, and then only its timer or an answer wakes it. */
#ifndef ENGINE_CONTROL_SCHEDULING_WAIT_H
#define ENGINE_CONTROL_SCHEDULING_WAIT_H

#include "engine/model/turn/step.h"

/* Puts the job into that list, and out of any other. */
void wait_in(struct heap *list, struct job *job);
/* It waits for time, or for an answer, only. */
void wait_for_time(struct job *job);

/* The present wait has a deadline: sets the timer, or fails the job when it has passed. False: it
 * failed. */
bool wait_until_deadline(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* How long the present wait may last; 0: it has an end of its own. */
int64_t wait_limit_ms(const struct fleet *f, const struct job *job);

/* Fails the job: no node was touched, the guest is where it was seen. */
void wait_fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
               struct moment now, struct effects *fx);
/* Ends it because somebody asked to stop. */
void wait_cancel(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
