/* backoff.h - how long an automatic migration waits after earlier ones of its guest failed: 20
 * s, doubled for each failure in a row up to 320 s, from the end of the last one. Any success
 * resets it; a user's job never waits, and its failure is never counted. Pure. */
#ifndef ENGINE_MODEL_JOB_BACKOFF_H
#define ENGINE_MODEL_JOB_BACKOFF_H

#include "engine/model/job/job.h"

enum { BACKOFF_FIRST_MS = 20000, BACKOFF_DOUBLINGS_MAX = 4, BACKOFF_ATTEMPTS_MAX = 10 };

struct backoff {
    unsigned failures; /* in a row, automatic ones */
    int64_t until_ms;  /* monotonic; 0: no wait */
    bool exhausted;    /* BACKOFF_ATTEMPTS_MAX failures: no further automatic job */
};
/* newest: the guest's newest finished job, ->older leads on; NULL: none. Skips jobs that were
 * cancelled before the hand-off, and those being removed. */
void backoff_of(const struct job *newest, struct backoff *out_backoff);

#endif
