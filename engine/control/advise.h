/* advise.h - what Ferry would do about a migration that somebody else started, if it were Ferry's.
 *
 * By the same rules as for its own: the recovery plan of a broken post-copy, the remedies for a
 * stalled stream, and a monitor under the policy that would apply. Nothing is ordered; an operator
 * gets the reason and the command (engine/model/job/advice.def). Pure. */
#ifndef ENGINE_CONTROL_ADVISE_H
#define ENGINE_CONTROL_ADVISE_H

#include "collector/sample.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A sample of it came. */
void advise_sample(struct fleet *f, struct job *job, const struct sample *sample, struct moment now,
                   struct effects *fx);
/* Time passed, or a host answered. */
void advise_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
