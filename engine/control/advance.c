/* advance.c - see advance.h. */
#include "engine/control/advance.h"

#include "engine/control/advise.h"
#include "engine/control/scheduling/scheduling.h"
#include "engine/data/move.h"

void advance_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum phase before = PHASE_NONE;
    while (!job->frozen && !phase_is_final(job->phase) && job->phase != before) {
        before = job->phase;
        if (before == PHASE_TARGET_READY || before == PHASE_RUNNING)
            move_advance(f, job, now, fx);
        else
            schedule_advance(f, job, now, fx);
    }
    if (job_is_observed(job) && !job->frozen)
        advise_advance(f, job, now, fx);
    fleet_settle_job(f, job);
}

void advance_stop(struct fleet *f, struct job *job, struct stop stop, struct moment now,
                  struct effects *fx)
{
    if (job->frozen)
        return;
    move_ask_abort(job, stop.who, stop.cause, stop.why, now, fx);
    job->version = fleet_touch(f);
    advance_job(f, job, now, fx);
}
