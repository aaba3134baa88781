/* pending_changes.h - guests with a pending change of their definition
 * (engine/model/definition/pending_change.h): the grace period, the migration that applies the
 * change, or the event where no migration can. Pure. */
#ifndef ENGINE_CONTROL_PENDING_CHANGES_H
#define ENGINE_CONTROL_PENDING_CHANGES_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* The definition on the guest's node was read again. */
void pending_changes_update(struct fleet *f, struct guest *guest, struct moment now);
/* Creates the jobs that are due. */
void pending_changes_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
