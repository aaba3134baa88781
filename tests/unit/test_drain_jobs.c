/* test_drain_jobs.c - admission and stopping as the drain tests have them, in place of the real
 * ones.
 *
 * They do what a drain relies on, no more: a job waits in Pending until the story moves it, a store
 * that cannot be written refuses new ones, a stopped job that waits ends at once and one that moves
 * is asked to. Part of the program test-drain only, whose files must not need the real functions.
 */
#include "tests/unit/test_drain_jobs.h"

bool admission_allows(struct fleet *f, const struct guest *guest, const char *target,
                      bool automatic, struct err *err)
{
    (void)target, (void)automatic;
    if (!f->store_ok)
        return err_set(err, ERR_REFUSED, "the store is not writable");
    return fleet_active_job(f, guest->uuid) == NULL ||
           err_set(err, ERR_REFUSED, "in-flight migration detected");
}

struct job *admission_automatic(struct fleet *f, struct guest *guest,
                                struct automatic_request request, struct moment now,
                                struct effects *fx, struct err *err)
{
    (void)fx;
    if (!f->store_ok)
        return err_set(err, ERR_REFUSED, "the store is not writable"), NULL;
    if (fleet_active_job(f, guest->uuid) != NULL)
        return err_set(err, ERR_REFUSED, "in-flight migration detected"), NULL;
    struct job *job = job_new(err);
    assert_non_null(job);
    fleet_make_uid(f, job->uid);
    (void)snprintf(job->name, sizeof job->name, "%s%s", request.name_stem, job->uid);
    TEXT_SET(job->ns, guest->ns);
    TEXT_SET(job->guest_uuid, guest->uuid);
    TEXT_SET(job->guest_name, guest->name);
    TEXT_SET(job->request.requester, request.requester);
    TEXT_SET(job->request.evacuates,
             request.origin == ORIGIN_EVACUATION ? guest->owner->node->name : "");
    job->request.origin = request.origin;
    job->request.priority = request.priority;
    job->wait.pending = PENDING_SLOT_FLEET;
    job->times.created_ms = now.wall_ms;
    fleet_add_job(f, job);
    return job;
}

void world_step(struct fleet *f, struct job *job, enum trigger why, struct moment now)
{
    enum phase from = job->phase;
    assert_true(job_step(job, why, now));
    fleet_job_moved(f, job, from);
    fleet_settle_job(f, job);
}

void advance_stop(struct fleet *f, struct job *job, struct stop stop, struct moment now,
                  struct effects *fx)
{
    (void)fx;
    job->abort.cause = stop.cause;
    TEXT_SET(job->abort.requester, stop.who);
    TEXT_SET(job->abort.why, stop.why);
    job->abort.asked = true;
    if (phase_is_busy(job->phase))
        return;
    job->result.outcome = OUTCOME_ABORTED;
    world_step(f, job, TRIGGER_CANCELLED, now);
}
