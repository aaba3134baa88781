/* observed.h - migrations that somebody else starts: noticed, paired, recorded.
 *
 * The record is a job of origin `observed` in the phase Running: it is sampled, its mode and both
 * hosts' states are noted, its outcome is read from both hosts and judged like that of Ferry's own,
 * but no order is ever given about it (job_is_observed). It is in an index of its own, so that a
 * guest may have a waiting job of Ferry's beside it; it takes no slot.
 *
 *   a copy starts on a node to receive the guest that another node runs ... recorded at once
 *   a list shows such a pair ........ recorded when both nodes, observed again, show it too
 *   the guest left a node by a migration, and its arrival was not seen ..... recorded when another
 *       node runs it; an event tells when none does
 *
 * What the target of Ferry's own handed-off job receives is Ferry's. Pure. */
#ifndef ENGINE_CONTROL_OBSERVED_H
#define ENGINE_CONTROL_OBSERVED_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

void observed_event(struct fleet *f, const struct hv_event *event, struct moment now,
                    struct effects *fx);
/* The guests of the node were listed. */
void observed_listed(struct fleet *f, const struct node *node, struct moment now);
void observed_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
