/* userpause.h - a guest that its user pauses during the migration. Pure.
 *
 * libvirt runs such a guest on the target, and reports for the source the same state as in a
 * switch-over, "paused for the migration". To pause a guest by mistake is worse than to let one
 * run, so it counts as a user's pause only if far more remained a moment before than fits the
 * max downtime, and the source is still paused a second later. A pause without a committed
 * intent of Ferry is then the user's: Ferry pauses the guest on the target at once, and reports
 * how long it ran. When the migration fails or is aborted, libvirt lets the guest run on the
 * source, as before the migration: Ferry pauses it there again. */
#ifndef ENGINE_DATA_USERPAUSE_H
#define ENGINE_DATA_USERPAUSE_H

#include "engine/model/turn/step.h"

/* The source or the target paused or resumed the guest. */
void userpause_event(struct fleet *f, struct job *job, bool at_source, const struct hv_event *event,
                     struct moment now, struct effects *fx);
/* An iteration began on the source. */
void userpause_iteration(struct job *job, struct moment now);
/* Time passed, or the guest was observed on the source, in mid-migration. */
void userpause_seen(struct job *job, struct moment now, struct effects *fx);
/* The guest is on the target. True: it is being paused there, the outcome waits for it. */
bool userpause_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The guest stayed on the source, where libvirt may have let it run again. True: it is being paused
 * there again, the outcome waits for it. */
bool userpause_holds_source(struct fleet *f, struct job *job, struct moment now,
                            struct effects *fx);
void userpause_called(struct job *job, const struct err *err, struct moment now,
                      struct effects *fx);

#endif
