/* orphans.h - guests that carry the mark of a migration (hypervisor/mark.h) which no unfinished job
 * of this appliance accounts for. Pure.
 *
 * Such a guest is an orphan: its appliance lost its store, or another appliance works on the same
 * hosts. The mark cannot tell the two apart, so Ferry reports the guest, refuses to migrate it, and
 * gives no order about it until an operator adopts it (`ferry adopt`): a running job is made from
 * the mark, which goes on like one that a restart adopted, recovery of a broken post-copy included.
 *
 * A mark of a migration that this appliance saw end is removed from the guest, on the node that
 * owns it.
 *
 * After a restore from a backup (store/sqlite/backup.h) the marks also confirm: a job that the
 * backup holds gets no order until its guest is seen with the job's mark. One that was not begun
 * when the backup was made is begun never: it is adopted if the mark shows that it was begun later,
 * else it fails.
 */
#ifndef ENGINE_CONTROL_ORPHANS_H
#define ENGINE_CONTROL_ORPHANS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* The mark that makes the guest an orphan; NULL: it is none. */
const struct hv_mark *orphans_mark(struct fleet *f, const struct guest *guest);
/* False with the reason: the guest is an orphan and must not be touched. */
MUST_CHECK bool orphans_check(struct fleet *f, const struct guest *guest, struct err *err);

/* A definition of a guest was applied: confirms or ends its unconfirmed job. */
void orphans_definition(struct fleet *f, const struct node *node, const char *guest_uuid,
                        struct moment now, struct effects *fx);
/* Removes marks that are over, reports new orphans. */
void orphans_tick(struct fleet *f, struct moment now, struct effects *fx);

/* The guest of a migrate order could not be marked, for that reason; empty: it was. */
void orphans_unmarked(const struct job *job, const char *why, struct moment now,
                      struct effects *fx);

/* Makes a running, adopted job of an orphan. *out_job is set on success. */
MUST_CHECK bool orphans_adopt(struct fleet *f, const struct resolve_request *request,
                              struct moment now, struct effects *fx, struct job **out_job,
                              struct err *err);

#endif
