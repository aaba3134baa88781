/* room.h - room for one more job: in its namespace's quota, on a node. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_ROOM_H
#define ENGINE_CONTROL_SCHEDULING_ROOM_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* The configuration and policy that apply to the job now. */
void room_configure(struct fleet *f, struct job *job, const struct guest *guest);
/* Chooses a node and reserves it; false: none, f->queue.scratch and job->rejections have the
 * reasons. */
bool room_reserve(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                  struct effects *fx);
/* After room_reserve() found no node: sets the pending reason, or fails the job if no node can
 * ever take the guest. */
void room_none(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
