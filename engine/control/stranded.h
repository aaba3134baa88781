/* stranded.h - a guest that is broken in post-copy, or paused for a migration, while no job of
 * Ferry's is about it: somebody else's migration failed, or the job's record is gone. After a
 * minute its nodes are observed again, then an incident is opened; it closes when the guest runs or
 * is gone. Nothing is changed on a host. Pure. */
#ifndef ENGINE_CONTROL_STRANDED_H
#define ENGINE_CONTROL_STRANDED_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

void stranded_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
