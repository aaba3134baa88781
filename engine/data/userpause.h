/* userpause.h - a guest that its user pauses while it moves. Pure.
 *
 * libvirt lets such a guest run on the target, and says of the source what it says in a
 * switch-over, "paused for the migration". So it was somebody's pause if far more is left than the
 * downtime allows QEMU to move, or if another pass begins after it. A pause for which Ferry has no
 * committed intent is the user's, so Ferry pauses the guest there at once, and says how long it
 * ran. */
#ifndef ENGINE_DATA_USERPAUSE_H
#define ENGINE_DATA_USERPAUSE_H

#include "engine/model/step.h"

/* The source or the target stopped the guest or let it run. */
void userpause_event(struct fleet *f, struct job *job, bool at_source, const struct hv_event *event,
                     struct moment now, struct effects *fx);
/* The guest was seen at the source, in mid-move. */
void userpause_seen(struct job *job, struct moment now, struct effects *fx);
/* The guest is on the target. True: it is being paused there, the outcome waits for it. */
bool userpause_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
bool userpause_called(struct job *job, uint64_t id, const struct err *err, struct moment now,
                      struct effects *fx);

#endif
