/* observe.h - what both sides of a job say of its guest: rounds of questions, their answers, and
 * the record of them. Pure.
 *
 * A round asks both sides and is complete when both answered, or could not be asked. It says what
 * was seen, not what follows from it: that is ownership.h and whoever began the round. */
#ifndef ENGINE_DATA_OBSERVE_H
#define ENGINE_DATA_OBSERVE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A final job whose time has come: both sides are asked once more. What they say is recorded and
 * changes nothing (moment: later). True if the answer was to that. */
void observe_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
bool observe_answered_later(struct fleet *f, struct job *job, uint64_t id,
                            const struct hv_observation *observation, struct moment now,
                            struct effects *fx);

/* Records both sides as last seen. moment is a literal: before, outcome, adoption. */
void observe_record_sides(struct job *job, const char *moment, struct moment now,
                          struct effects *fx);

/* Starts a round of looks at both sides unless one is out. */
void observe_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* True when both sides answered the newest round, and neither answer has grown old while the
 * other was awaited: then the old one is asked for again first. */
bool observe_answered(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
