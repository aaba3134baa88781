/* backoff.h - how long an automatic migration waits after its guest's earlier ones failed: 20 s,
 * doubled for each failure in a row up to 320 s, from the end of the last one. Success, anybody's,
 * resets it; a human's job never waits, and its failure is never counted. Pure. */
#ifndef ENGINE_MODEL_JOB_BACKOFF_H
#define ENGINE_MODEL_JOB_BACKOFF_H

#include "engine/model/job/job.h"

enum { BACKOFF_FIRST_MS = 20000, BACKOFF_DOUBLINGS_MAX = 4, BACKOFF_ATTEMPTS_MAX = 10 };

struct backoff {
    unsigned failures; /* in a row, automatic ones */
    int64_t until_ms;  /* monotonic; 0: no wait */
    bool exhausted;    /* BACKOFF_ATTEMPTS_MAX failures: no automatic job any more */
};
/* newest: the guest's newest finished job, ->older leads on; NULL: none. Jobs that were cancelled
 * before anything moved are passed over, as are those being removed. */
void backoff_of(const struct job *newest, struct backoff *out_backoff);

#endif
