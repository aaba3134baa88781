/* schedule.h - a job's way from Pending to the migrate call: its turn, a target, the hand-off,
 * the checks. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULE_H
#define ENGINE_CONTROL_SCHEDULE_H

#include "engine/model/step.h"

/* Moves a job that has not been handed to the data plane as far as the facts allow. */
void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
