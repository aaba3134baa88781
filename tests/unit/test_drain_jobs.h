/* test_drain_jobs.h - the jobs of test_drain_world.h, moved by hand.
 *
 * Admission and stopping are the small fakes of test_drain_jobs.c, so that nothing else of the
 * control plane acts on the jobs. */
#ifndef TESTS_UNIT_TEST_DRAIN_JOBS_H
#define TESTS_UNIT_TEST_DRAIN_JOBS_H

#include "engine/control/admission.h"
#include "engine/control/advance.h"
#include "tests/unit/test_drain_world.h"

void world_step(struct fleet *f, struct job *job, enum trigger why, struct moment now);

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
    job->times.handed_off_ms = w->now.wall_ms;
    world_step(w->f, job, TRIGGER_HANDED_OFF, w->now);
    world_step(w->f, job, TRIGGER_TARGET_CHECKED, w->now);
    world_step(w->f, job, TRIGGER_MOVING, w->now);
    job->call.moved = true;
}

static inline void world_end(struct world *w, const char *name, enum trigger why,
                             enum outcome outcome, const char *reason)
{
    struct job *job = world_job(w, name);
    assert_non_null(job);
    job->result.outcome = outcome;
    TEXT_SET(job->result.failure_reason, reason);
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
