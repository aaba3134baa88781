/* pending_changes.h - guests whose definition was changed
 * (engine/model/definition/pending_change.h): how long that is left to others, the migration that
 * makes it come true, and where none can, who is told. Pure. */
#ifndef ENGINE_CONTROL_PENDING_CHANGES_H
#define ENGINE_CONTROL_PENDING_CHANGES_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* The definition where the guest lives was read again. */
void pending_changes_update(struct fleet *f, struct guest *guest, struct moment now);
/* Makes the jobs that are due. */
void pending_changes_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
