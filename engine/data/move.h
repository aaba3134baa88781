/* move.h - the data plane of one job: the call, observing it, aborting it, and reading the
 * outcome from both hosts. Pure: it appends effects, the shell carries them out. */
#ifndef ENGINE_DATA_MOVE_H
#define ENGINE_DATA_MOVE_H

#include "engine/model/turn/input.h"
#include "engine/model/turn/step.h"

/* The target was checked: records the intent and orders the call. */
void move_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Records the intent and orders the call: the first time, and again after proof that an earlier
 * process never made it. */
void move_call(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Data was seen moving: a sample, an iteration, the target's start. */
void move_seen(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The mode changed on the hosts (post-copy started). */
void move_mode(struct job *job, enum mode mode, const char *cause, struct moment now,
               struct effects *fx);
/* Has the collector sample it, on its source. */
void move_watch(const struct job *job, struct moment now, struct effects *fx);
/* The migrate call was answered. */
void move_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* The abort call was answered. */
void move_abort_called(struct job *job, const struct err *err, struct moment now,
                       struct effects *fx);
/* A requester asks to stop, in any phase. */
void move_ask_abort(struct job *job, const char *requester, enum abort_cause cause, const char *why,
                    struct moment now, struct effects *fx);
/* Moves a handed-off job as far as the facts allow. */
void move_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Was the target connected, without a missed message, since the call was made? */
bool move_saw_target(struct fleet *f, const struct job *job);
/* May the migration that runs on the source be given orders? Ferry's is the one of this process's
 * call, or one that the target was seen to receive; any other is somebody else's. */
bool move_is_ours(const struct job *job);
/* A job from the store whose call was recorded: this process made no call for it. */
void move_adopt(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
