/* core_move.h - the data plane in a core_world: streams that flow or stall, orders to hosts
 * and their answers, a post-copy that breaks. */
#ifndef TESTS_CORE_MOVE_H
#define TESTS_CORE_MOVE_H

#include "tests/core_world.h"

extern const struct hv_observation CORE_SWITCHING;                 /* source and target: waits */
extern const struct hv_observation CORE_PC_SOURCE, CORE_PC_TARGET; /* in post-copy, alive */
extern const struct hv_observation CORE_PC_BROKEN_SOURCE,
    CORE_PC_BROKEN_TARGET; /* ... and broken */

enum { CORE_SUSPENDED_PAUSED = 0, CORE_SUSPENDED_MIGRATED = 1, CORE_SUSPENDED_POSTCOPY = 7 };

/* Memory moves, and is seen to; disks: one of them is copied along. */
struct core_world *core_flowing(const char *policy, bool disks);
struct core_world *core_in_postcopy(void); /* ... and it went to post-copy */
/* The call comes back with an error, and the two sides look like that. */
void core_breaks(struct core_world *w, struct hv_observation source, struct hv_observation target);

/* Time passes with a measurement every 400 ms, of a stream that moves, or does not. core_advance():
 * none come. */
void core_flow(struct core_world *w, int64_t ms);
void core_stall(struct core_world *w, int64_t ms);
/* The same until that many orders of the call were given; fails after limit_ms. */
void core_stall_until(struct core_world *w, enum hv_call call, unsigned n, int64_t limit_ms);
void core_lifecycle_event(struct core_world *w, const char *host, int lifecycle, int detail);

/* Orders given so far; MIGRATE counts those that take up a broken post-copy, nothing else. */
unsigned core_orders(const struct core_world *w, enum hv_call call);
unsigned core_remedies(const struct core_world *w); /* YANK, DROP_COPY, KILL_STREAM, pauses */
const struct effect *core_newest(const struct core_world *w, enum hv_call call);
/* The newest order of that call is answered. */
void core_answers(struct core_world *w, enum hv_call call, enum err_code code);
bool core_override(struct core_world *w, enum override_kind word); /* refused: w->err says why */
/* The order to end a backup is counted and, unless its answer gets lost, answered. */
void core_answer_stop(struct core_world *w, const struct effect *effect);
/* The source's QEMU answers as w->migration says. */
void core_answer_stream(struct core_world *w, const struct effect *effect);
void core_stop_answered(struct core_world *w, enum err_code code); /* the newest one, late */
/* Intents whose end was never recorded. */
unsigned core_open_intents(const struct core_world *w);
unsigned core_intents(const struct core_world *w, const char *action);

#endif
