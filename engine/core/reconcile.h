/* reconcile.h - the pure core that joins control and data plane: an input -> what to record and
 * do.
 *
 * reconcile(fleet, input, now) changes the fleet in place and appends effects. It reads no
 * clock, does no I/O and uses no thread: the same function serves two real hosts, ten thousand
 * simulated ones, and a test that replays a story. */
#ifndef ENGINE_CORE_RECONCILE_H
#define ENGINE_CORE_RECONCILE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"
#include "engine/model/turn/input.h"

/* For requests: *out_ref names the object on success; a refusal is in err and nothing changed.
 * Other inputs never fail. The fleet may take over what the input owns. */
bool reconcile(struct fleet *f, struct input *input, struct moment now, struct effects *fx,
               struct migration_ref *out_ref, struct err *err);

/* Adds an unfinished job from the store. */
void reconcile_restore(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The same of one that is over: when it ended, on this process's clock. */
void reconcile_restore_final(struct job *job, struct moment now);

/* When the core must be called next without an input. */
int64_t reconcile_next_ms(const struct fleet *f, int64_t now_ms);

#endif
