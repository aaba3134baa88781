/* guest_free.h - whether anything on the guest itself blocks a migration: a backup, a block job,
 * a migration of somebody else, utility volumes. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_GUEST_FREE_H
#define ENGINE_CONTROL_SCHEDULING_GUEST_FREE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* False: the job waits; the blocker was queried, or ordered to stop where that is allowed. */
bool guest_is_free(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                   struct effects *fx);
/* A new job: asks at once for the facts that its turn will need. */
void guest_check_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Does the answer belong to the order that aborts a backup? Then closes its record. */
void guest_backup_answered(struct job *job, const struct err *err, struct moment now,
                           struct effects *fx);

#endif
