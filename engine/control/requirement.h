/* requirement.h - guests whose definition was changed (engine/model/required.h): how long that is
 * left to others, the migration that makes it come true, and where none can, who is told. Pure. */
#ifndef ENGINE_CONTROL_REQUIREMENT_H
#define ENGINE_CONTROL_REQUIREMENT_H

#include "engine/model/effects.h"
#include "engine/model/fleet.h"

/* The definition where the guest lives was read again. */
void requirement_changed(struct fleet *f, struct guest *guest, struct moment now);
/* Makes the jobs that are due. */
void requirement_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
