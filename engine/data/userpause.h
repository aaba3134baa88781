/* userpause.h - a guest that its user pauses while it moves. Pure.
 *
 * libvirt lets such a guest run on the target, and says of the source what it says in a
 * switch-over, "paused for the migration". To pause a guest by mistake is worse than to let one
 * run, so it counts as somebody's pause only if far more was left a moment before than the downtime
 * allows the hypervisor to move, and the source still stands a second later. A pause for which
 * Ferry has no committed intent is then the user's: Ferry pauses the guest on the target at once,
 * and says how long it ran. */
#ifndef ENGINE_DATA_USERPAUSE_H
#define ENGINE_DATA_USERPAUSE_H

#include "engine/model/turn/step.h"

/* The source or the target stopped the guest or let it run. */
void userpause_event(struct fleet *f, struct job *job, bool at_source, const struct hv_event *event,
                     struct moment now, struct effects *fx);
/* Time passed, or the guest was seen at the source, in mid-move. */
void userpause_seen(struct job *job, struct moment now, struct effects *fx);
/* The guest is on the target. True: it is being paused there, the outcome waits for it. */
bool userpause_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
void userpause_called(struct job *job, const struct err *err, struct moment now,
                      struct effects *fx);

#endif
