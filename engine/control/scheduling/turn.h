/* turn.h - the phase Pending: the turn of one job. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_TURN_H
#define ENGINE_CONTROL_SCHEDULING_TURN_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* The fleet has a slot for this job: it starts, or waits in the list that wakes it. */
void turn_try(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The job is ready and the fleet has no slot. */
void turn_wait(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
