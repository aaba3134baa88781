/* turn.h - the phase Pending: it is one job's turn, or it is not. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_TURN_H
#define ENGINE_CONTROL_SCHEDULING_TURN_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* It is this waiting job's turn: the fleet has a slot for it. It starts, or waits where it will be
 * woken. */
void turn_try(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* It is ready and the fleet has no slot. */
void turn_wait(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
