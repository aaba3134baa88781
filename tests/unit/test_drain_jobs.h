/* test_drain_jobs.h - the jobs of test_drain_world.h.
 *
 * Admission and stopping are small fakes that do what a drain relies on, no more: a job waits in
 * Pending until the story moves it, a store that cannot be written refuses new ones, a stopped job
 * that waits ends at once and one that moves is asked to. */
#ifndef TESTS_UNIT_TEST_DRAIN_JOBS_H
#define TESTS_UNIT_TEST_DRAIN_JOBS_H

#include "engine/control/admission.h"
#include "engine/control/advance.h"
#include "tests/unit/test_drain_world.h"

struct job *admission_automatic(struct fleet *f, struct guest *guest, enum origin origin,
                                enum priority priority, const char *requester,
                                const char *name_stem, struct moment now, struct effects *fx,
                                struct err *err)
{
    (void)fx;
    if (!f->store_ok)
        return err_set(err, ERR_REFUSED, "the store cannot be written"), NULL;
    if (fleet_active_job(f, guest->uuid) != NULL)
        return err_set(err, ERR_REFUSED, "in-flight migration detected"), NULL;
    struct job *job = job_new(err);
    assert_non_null(job);
    fleet_make_uid(f, job->uid);
    (void)snprintf(job->name, sizeof job->name, "%s%s", name_stem, job->uid);
    TEXT_SET(job->ns, guest->ns);
    TEXT_SET(job->guest_uuid, guest->uuid);
    TEXT_SET(job->guest_name, guest->name);
    TEXT_SET(job->requester, requester);
    TEXT_SET(job->evacuates, origin == ORIGIN_EVACUATION ? guest->owner->node->name : "");
    job->origin = origin;
    job->priority = priority;
    job->pending = PENDING_SLOT_FLEET;
    job->created_ms = now.wall_ms;
    fleet_add_job(f, job);
    return job;
}

static void world_step(struct fleet *f, struct job *job, enum trigger why, struct moment now)
{
    enum phase from = job->phase;
    assert_true(job_step(job, why, now));
    fleet_job_moved(f, job, from);
    fleet_settle_job(f, job);
}

void advance_stop(struct fleet *f, struct job *job, const char *who, enum abort_cause cause,
                  const char *why, struct moment now, struct effects *fx)
{
    (void)fx;
    job->abort_cause = cause;
    TEXT_SET(job->abort_requester, who);
    TEXT_SET(job->abort_why, why);
    job->abort_asked = true;
    if (phase_is_busy(job->phase))
        return;
    job->outcome = OUTCOME_ABORTED;
    world_step(f, job, TRIGGER_CANCELLED, now);
}

/* The job holds its places and its call runs. */
static inline void world_start(struct world *w, const char *name, int target)
{
    struct job *job = world_job(w, name);
    assert_non_null(job);
    TEXT_SET(job->source, world_node_name(w->at[world_index(w, name)]));
    world_step(w->f, job, TRIGGER_ADMITTED, w->now);
    world_step(w->f, job, TRIGGER_PLACED, w->now);
    TEXT_SET(job->target, world_node_name(target));
    fleet_count_inbound(w->f, world_node(w, target), 1);
    job->epoch = 1;
    job->handed_off_ms = w->now.wall_ms;
    world_step(w->f, job, TRIGGER_HANDED_OFF, w->now);
    world_step(w->f, job, TRIGGER_TARGET_CHECKED, w->now);
    world_step(w->f, job, TRIGGER_MOVING, w->now);
    job->moved = true;
}

static inline void world_end(struct world *w, const char *name, enum trigger why,
                             enum outcome outcome, const char *reason)
{
    struct job *job = world_job(w, name);
    assert_non_null(job);
    job->outcome = outcome;
    TEXT_SET(job->failure_reason, reason);
    world_step(w->f, job, why, w->now);
}

/* The guest is on the target and the job says so. */
static inline void world_arrive(struct world *w, const char *name)
{
    int i = world_index(w, name), from = w->at[i], to = 0;
    while (strcmp(world_node_name(to), world_job(w, name)->target) != 0)
        to++;
    w->at[i] = to;
    world_list(w, to);
    world_list(w, from);
    world_end(w, name, TRIGGER_ON_TARGET, OUTCOME_SUCCEEDED, "");
}

static inline void world_move(struct world *w, const char *name, int target)
{
    world_start(w, name, target);
    world_sleep(w, 10000);
    world_arrive(w, name);
}

static inline void world_fail(struct world *w, const char *name)
{
    world_start(w, name, 1);
    world_end(w, name, TRIGGER_ON_SOURCE, OUTCOME_FAILED, "the target's QEMU died");
}

#endif
