/* scheduling.c - see scheduling.h. */
#include "engine/control/scheduling/scheduling.h"

#include "engine/control/scheduling/guest_free.h"
#include "engine/control/scheduling/prepare.h"
#include "engine/control/scheduling/room.h"
#include "engine/control/scheduling/turn.h"
#include "engine/control/scheduling/wait.h"
#include "engine/control/scheduling/wake.h"

enum { TRIES_MAX = 4096 }; /* in one call */

static bool has_slot(const struct fleet *f)
{
    return f->config.parallel_per_fleet == 0 || f->busy_jobs < f->config.parallel_per_fleet;
}

/* Jobs left in `ready` wait for a slot of the fleet: sets their pending reason. */
static void set_slot_waits(struct fleet *f, struct moment now, struct effects *fx)
{
    while (f->queue.fresh != NULL) {
        struct job *job = f->queue.fresh;
        f->queue.fresh = job->queue.next_fresh;
        job->queue.fresh = false;
        if (job->queue.wait.in == &f->queue.ready)
            turn_wait(f, job, now, fx);
        fleet_settle_job(f, job);
    }
}

void schedule_run(struct fleet *f, struct moment now, struct effects *fx)
{
    unsigned tries = 0;
    bool ended = false;
    wake_by_store(f);
    do {
        wake_changed(f);
        ended = false; /* a slot given back goes to the best job that waits for it */
        while (f->store_ok && f->queue.ready.n > 0 && has_slot(f) && tries < TRIES_MAX && !ended) {
            struct job *job = heap_take(&f->queue.ready);
            tries++;
            turn_try(f, job, now, fx);
            fleet_settle_job(f, job);
            ended = phase_is_final(job->phase);
        }
    } while ((wake_any(f) || ended) && tries < TRIES_MAX);
    set_slot_waits(f, now, fx);
    f->queue.crowded =
        f->store_ok && f->queue.ready.n > 0 && has_slot(f); /* continues with the next tick */
}

static void advance_pending(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->wait.pending != PENDING_NONE && !wait_until_deadline(f, job, now, fx))
        return;
    if (job->queue.wait.in == NULL) /* the job waited only for time or an answer */
        fleet_queue_ready(f, job);
}

void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->abort.asked)
        wait_cancel(f, job, now, fx);
    else if (wait_unconfirmed(f, job, now, fx))
        return;
    else if (job->phase == PHASE_PENDING)
        advance_pending(f, job, now, fx);
    else
        prepare_advance(f, job, now, fx);
}

void schedule_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    guest_check_first(f, job, now, fx);
}

void schedule_backup_answered(struct job *job, const struct err *err, struct moment now,
                              struct effects *fx)
{
    guest_backup_answered(job, err, now, fx);
}

void schedule_volumes_answered(struct job *job, const struct volume_facts *facts,
                               const struct err *err, struct moment now, struct effects *fx)
{
    prepare_volumes_answered(job, facts, err, now, fx);
}

void schedule_configure(struct fleet *f, struct job *job, const struct guest *guest)
{
    room_configure(f, job, guest);
}

void schedule_fail(struct fleet *f, struct job *job, const char *text, struct moment now,
                   struct effects *fx)
{
    wait_fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
}
