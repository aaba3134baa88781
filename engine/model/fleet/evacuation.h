/* evacuation.h - the evacuation mark of a guest that has to leave its node. Pure.
 *
 * Stored in the status of the guest's object; cleared when the guest has left, is gone, or the
 * evacuation is cancelled. engine/control/drain.h acts on it. */
#ifndef ENGINE_MODEL_FLEET_EVACUATION_H
#define ENGINE_MODEL_FLEET_EVACUATION_H

#include "engine/model/fleet/fleet.h"

/* False: no memory. */
bool evacuation_set(struct fleet *f, struct guest *guest, const char *node, bool by_descheduler,
                    struct moment now);
void evacuation_unset(struct fleet *f, struct guest *guest);
/* After a restart: reads the mark from the overlay object. */
void evacuation_restore(struct fleet *f, struct guest *guest);

#endif
