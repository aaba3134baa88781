/* wake.h - makes jobs ready that a change may affect: a node with a free slot, room in a quota,
 * a guest that came or went. Never walks over all waiting jobs. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_WAKE_H
#define ENGINE_CONTROL_SCHEDULING_WAKE_H

#include "engine/model/fleet/fleet.h"

/* Did nodes or quotas change since the last wake_changed()? */
bool wake_any(const struct fleet *f);
void wake_changed(struct fleet *f);
/* Jobs in `ready` that waited for the store wait for their turn again. */
void wake_by_store(struct fleet *f);
/* A job that was to leave the node does not: makes the next one ready, if there is a slot. */
void wake_next_leaving(struct fleet *f, struct node *node);

#endif
