/* backoff.c - see backoff.h. */
#include "engine/model/job/backoff.h"

static bool is_counted(const struct job *job)
{
    bool cancelled_early = job->result.outcome == OUTCOME_ABORTED && !job->call.moved;
    return job->result.outcome != OUTCOME_NONE && origin_is_automatic(job->request.origin) &&
           !cancelled_early && !job->request.remove_when_final;
}

void backoff_of(const struct job *newest, struct backoff *out_backoff)
{
    struct backoff backoff = {0};
    int64_t last_end_ms = 0;
    for (const struct job *job = newest; job != NULL && job->result.outcome != OUTCOME_SUCCEEDED;
         job = job->links.older) {
        if (!is_counted(job))
            continue;
        if (backoff.failures++ == 0)
            last_end_ms = job->entered_ms; /* a final phase: its end */
        if (job->request.streak > 0) {     /* counted when it ended; older jobs may be forgotten */
            backoff.failures += job->request.streak - 1;
            break;
        }
    }
    if (backoff.failures > 0) {
        unsigned doublings = backoff.failures - 1;
        if (doublings > BACKOFF_DOUBLINGS_MAX)
            doublings = BACKOFF_DOUBLINGS_MAX;
        backoff.until_ms = last_end_ms + ((int64_t)BACKOFF_FIRST_MS << doublings);
    }
    backoff.exhausted = backoff.failures >= BACKOFF_ATTEMPTS_MAX;
    *out_backoff = backoff;
}
