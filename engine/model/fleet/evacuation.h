/* evacuation.h - the mark of a guest that was asked to leave its node. Pure.
 *
 * It outlives a restart in the status of the guest's document, and goes when the guest has left, is
 * gone, or somebody takes it back. What follows from it is in engine/control/drain.h. */
#ifndef ENGINE_MODEL_FLEET_EVACUATION_H
#define ENGINE_MODEL_FLEET_EVACUATION_H

#include "engine/model/fleet/fleet.h"

/* False: no memory. */
bool evacuation_set(struct fleet *f, struct guest *guest, const char *node, bool by_descheduler,
                    struct moment now);
void evacuation_unset(struct fleet *f, struct guest *guest);
/* After a restart: what the overlay object says. */
void evacuation_restore(struct fleet *f, struct guest *guest);

#endif
