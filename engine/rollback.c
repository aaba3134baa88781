/* rollback.c - after an internal error in a job: nothing of this turn is stored or ordered for
 * it.
 *
 * The core changes a job in place, so it cannot be undone there. Instead the job's records and
 * orders are removed from the turn, and the job itself is read again from the store, as of the
 * last commit (as a restart would). It is frozen then: it keeps its guest and its reservation,
 * takes no input, and gets no order, until `ferry recover` (adopts it as after a restart) or
 * `ferry resolve`, or until a restart; after a minute others may have its slots. Other jobs of
 * the same turn are not affected: each has its own records and orders. */
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/impl.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/turn/step.h"
#include "engine/persist.h"

static void drop_effects(struct engine *e, const char *uid)
{
    size_t left = 0;
    for (size_t i = 0; i < e->fx.n; i++)
        if (strcmp(e->fx.list[i].job_uid, uid) != 0 && left++ != i)
            e->fx.list[left - 1] = e->fx.list[i];
    e->fx.n = left;
}

/* Requests about it that this turn was about to accept. */
static void refuse_answers(struct engine *e, const struct job *job)
{
    for (size_t i = 0; i < e->n_answers; i++) {
        struct answer *answer = &e->answers[i];
        if (strcmp(answer->ref.uid, job->uid) == 0 && answer->err.code == ERR_NONE)
            (void)err_set(&answer->err, ERR_INTERNAL,
                          "internal error in migration %.100s: %.200s; nothing was changed",
                          job->name, job->wait.reason);
    }
}

/* Keeps its slot and its reservation, and shows the reason. */
static void add_frozen(struct engine *e, struct job *take_job, const char *why, struct moment now)
{
    struct job *job = take_job;
    struct job *next = job_is_observed(job) ? fleet_observed_job(e->fleet, job->guest_uuid)
                                            : fleet_active_job(e->fleet, job->guest_uuid);
    job->frozen = !phase_is_final(job->phase);
    job->entered_ms = now.mono_ms;
    if (job->frozen && next != NULL) { /* created in this turn because this job seemed to be over */
        drop_effects(e, next->uid);
        refuse_answers(e, next);
        fleet_drop_job(e->fleet, next);
    }
    fleet_add_job(e->fleet, job);
    if (job->frozen) {
        if (job->placement.launcher != LAUNCHER_NONE && job->target[0] != '\0')
            ledger_restore(e->fleet, job);
        job->queue.wake_ms = now.mono_ms + FLEET_SLOT_KEPT_MS;
        step_wait(job, PENDING_INTERNAL_ERROR, now, "internal error: %s", why);
        fleet_settle_job(e->fleet, job);
    }
    effects_event(&e->fx, job, now.wall_ms, true, "InternalError",
                  "%s; the changes of this turn to the migration were rolled back", why);
    incidents_internal(e->fleet, job, now.wall_ms);
}

static void roll_back(struct engine *e, struct job *broken, struct moment now)
{
    struct err err = {0};
    struct job *stored = NULL;
    char why[JOB_REASON_MAX];
    TEXT_SET(why, broken->wait.reason);
    atomic_fetch_add(&e->internal_errors, 1);
    LOG(ERROR, "internal_error", FIELD_TEXT(MIGRATION, broken->name),
        FIELD_TEXT(GUEST, broken->guest_name), FIELD_TEXT(TEXT, why));
    drop_effects(e, broken->uid);
    refuse_answers(e, broken);
    bool unsure = e->commit_hangs; /* what is stored of it depends on that commit */
    if (unsure)
        (void)err_set(&err, ERR_TIMEOUT, "a commit has not returned");
    if (unsure || !persist_read_job(e->parts.store, e->fleet, broken->uid, &stored, &err)) {
        /* It stays in memory, frozen: its guest must not look free, and its row is not written. */
        LOG(ERROR, "job_not_read", FIELD_TEXT(MIGRATION, broken->name),
            FIELD_TEXT(ERROR, err.text));
        broken->queue.wake_ms = now.mono_ms + FLEET_SLOT_KEPT_MS;
        fleet_settle_job(e->fleet, broken);
        incidents_internal(e->fleet, broken, now.wall_ms);
        return;
    }
    if (stored == NULL) /* accepted in this very turn: refused now */
        incidents_internal(e->fleet, broken, now.wall_ms);
    fleet_drop_job(e->fleet, broken);
    if (stored != NULL)
        add_frozen(e, stored, why, now);
}

void rollback_broken_jobs(struct engine *e, struct moment now)
{
    while (e->fleet->broken != NULL) {
        struct job *broken = e->fleet->broken;
        e->fleet->broken = broken->links.next_broken;
        broken->links.next_broken = NULL;
        roll_back(e, broken, now);
    }
}
