/* split.h - a guest that runs on two nodes without an active migration, as seen in lists or in
 * the last observation of both hosts after a job ended. Such observations are of different
 * moments, so both nodes are observed again, twice, before the split is reported: as an incident
 * of the migration between the two nodes, or of the guest where there is none. The incident
 * closes when only one copy is left. Nothing is changed on a host. Pure. */
#ifndef ENGINE_CONTROL_SPLIT_H
#define ENGINE_CONTROL_SPLIT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

void split_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
