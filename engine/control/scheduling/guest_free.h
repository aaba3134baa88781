/* guest_free.h - does anything on the guest itself keep it from being migrated: a backup, a block
 * job, somebody else's migration, utility volumes? Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_GUEST_FREE_H
#define ENGINE_CONTROL_SCHEDULING_GUEST_FREE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* False: the job waits, and what it waits for was asked, or ordered to stop where that is allowed.
 */
bool guest_is_free(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                   struct effects *fx);
/* A new job: what its turn will need to know is asked at once. */
void guest_check_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Was it the order to end a backup that was answered? Then its record is closed. */
void guest_backup_answered(struct job *job, const struct err *err, struct moment now,
                           struct effects *fx);

#endif
