/* looks.h - what both sides of a job say of its guest: rounds of questions, their answers, and the
 * record of them. Pure.
 *
 * A round asks both sides and is complete when both answered, or could not be asked. It says what
 * was seen, not what follows from it: that is ownership.h and whoever began the round. */
#ifndef ENGINE_DATA_LOOKS_H
#define ENGINE_DATA_LOOKS_H

#include "engine/model/effects.h"
#include "engine/model/fleet.h"

/* A final job whose time has come: both sides are asked once more. What they say is recorded and
 * changes nothing (moment: later). True if the answer was to that. */
void looks_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
bool looks_seen_later(struct fleet *f, struct job *job, uint64_t id, const struct hv_sight *sight,
                      struct moment now, struct effects *fx);

/* Records both sides as last seen. moment is a literal: before, outcome, adoption. */
void looks_record_sides(struct job *job, const char *moment, struct moment now, struct effects *fx);

/* Starts a round of looks at both sides unless one is out. */
void looks_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* True when both sides answered the newest round, and neither answer has grown old while the
 * other was awaited: then the old one is asked for again first. */
bool looks_answered(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
