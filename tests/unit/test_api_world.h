/* test_api_world.h - a small fleet made by hand, for tests of what leaves the process: three nodes
 * (b is cordoned, c is lost), guests in two namespaces, jobs Pending, Running, Running to an abort,
 * Succeeded, and documents. */
#ifndef TESTS_UNIT_TEST_API_WORLD_H
#define TESTS_UNIT_TEST_API_WORLD_H

#include "tests/unit/test_api_world_control.h"

#define WORLD_VERDICT_MS (WORLD_WALL_BASE_S * INT64_C(1000))
/* What the analyser said of the one that is done. */
static const struct verdict_rows world_good = {
    .verdict = {.job_uid = "",
                .outcome = "succeeded",
                .plane = "none",
                .cause = "none",
                .family = "no-fault",
                .resembles = "",
                .failed_at = "",
                .recoverable = "unknown",
                .guest_at = "running-on-target",
                .confidence_percent = 100,
                .rule = "",
                .rules_version = "1",
                .action = "",
                .runbook = "",
                .at_ms = WORLD_VERDICT_MS,
                .judged_ms = WORLD_VERDICT_MS},
};
static const struct store_point world_points[] = {
    {.standing = "for",
     .rule = "closed",
     .side = "unknown",
     .origin = "migrate call on a",
     .at_ms = WORLD_VERDICT_MS,
     .quote = "client socket is closed",
     .note = "They lost each other."},
    {.standing = "fallout",
     .rule = "failed",
     .side = "source",
     .origin = "libvirtd.log:3",
     .quote = "operation failed",
     .note = ""},
};
static const struct store_number world_numbers[] = {
    {.name = "stalled_ms", .value = 7200, .unit = "ms"},
    {.name = "iteration", .value = 3, .unit = ""}};
static const struct verdict_rows world_bad = {
    .verdict = {.job_uid = "",
                .outcome = "failed",
                .plane = "control",
                .cause = "control-connection-lost",
                .family = "control-connection",
                .family_percent = 90,
                .resembles = "",
                .failed_at = "after-hand-off",
                .recoverable = "unknown",
                .guest_at = "running-on-source",
                .confidence_percent = 87,
                .rule = "closed",
                .rules_version = "1",
                .action = "Look at the guest on both nodes first.",
                .runbook = "docs/causes.md#control-connection-lost",
                .at_ms = WORLD_VERDICT_MS,
                .judged_ms = WORLD_VERDICT_MS},
    .points = world_points,
    .n_points = 2,
    .numbers = world_numbers,
    .n_numbers = 2,
};

static inline void world_jobs(struct world *w)
{
    struct snapshot_job *job = world_job(w, 0, "done", "vm1", PHASE_SUCCEEDED);
    world_start(job);
    job->result.outcome = OUTCOME_SUCCEEDED;
    job->result.verdict = &world_good;
    job->resolution.guest_at = GUEST_AT_TARGET;
    job->times.ended_ms = job->times.created_ms + 31500;
    job->history.steps[job->history.n_steps++] =
        (struct job_step){PHASE_SUCCEEDED, job->times.ended_ms};
    job = world_job(w, 1, "moving", "vm2", PHASE_RUNNING);
    world_start(job);
    world_sample(job);
    job->request.metadata_json =
        "{\"labels\":{\"team\":\"blue\"},\"annotations\":{\"note\":\"x\"}}";
    job = world_job(w, 2, "stopping", "we\"ird\\na\nme", PHASE_RUNNING);
    world_start(job);
    job->abort.asked = job->resolving = true;
    job->abort.status = ABORT_ABORTING;
    job->times.delete_asked_ms = world_wall_ms - 2000;
    TEXT_SET(job->abort.requester, "bob");
    static char error[] = "operation failed: migration out job: canceled by client";
    job->result.error = (struct job_error){ERR_HYPERVISOR, 10, 9, error};
    job = world_job(w, 3, "waiting", "vm3", PHASE_PENDING);
    TEXT_SET(job->source, "");
    TEXT_SET(job->wait.reason, "waiting for a slot on node a");
}

/* One that is open and one that bob took, of migrations that are no longer in view. */
static inline void world_incidents(struct world *w)
{
    static const char *const names[WORLD_INCIDENTS] = {"broke", "slow"};
    for (unsigned i = 0; i < WORLD_INCIDENTS; i++) {
        struct incident *incident = &w->incidents[i];
        (void)snprintf(incident->uid, sizeof incident->uid, "60000000-0000-4000-8000-00000000000%u",
                       i);
        TEXT_SET(incident->ns, "default");
        TEXT_SET(incident->guest, "vm3");
        TEXT_SET(incident->node, "a");
        TEXT_SET(incident->source, "a");
        TEXT_SET(incident->target, "b");
        TEXT_SET(incident->guest_at, "running-on-source");
        TEXT_SET(incident->migration, names[i]);
        TEXT_SET(incident->plane, "data");
        TEXT_SET(incident->cause, "progress-stall");
        incident->opened_ms = world_wall_ms - 300 * 1000;
    }
    w->incidents[1].end = INCIDENT_END_ACKNOWLEDGED;
    w->incidents[1].closed_ms = world_wall_ms - 200 * 1000;
    TEXT_SET(w->incidents[1].by, "bob");
    w->snapshot.incidents = w->incidents;
    w->snapshot.n_incidents = w->snapshot.n_incidents_closed = 1;
}

/* That job becomes the newest of the guest. */
static inline void world_newest(struct world *w, size_t guest, const char *uid)
{
    TEXT_SET(w->guests[guest].job_uid, uid);
    for (size_t i = 0; i < WORLD_JOBS; i++)
        if (strcmp(w->job_list[i]->uid, uid) == 0)
            w->newest[guest] = w->job_list[i];
}

/* A fresh snapshot with one reference, the caller's. */
static inline struct world *world_new(uint64_t generation)
{
    struct world *w = calloc(1, sizeof *w);
    if (w == NULL)
        abort();
    atomic_init(&w->refs, 1);
    world_node(w, 0, "a", true);
    world_node(w, 1, "b", true);
    world_node(w, 2, "c", false);
    world_guest(w, 0, "default", "vm1", "b", HV_STATE_RUNNING);
    world_guest(w, 1, "default", "vm2", "a", HV_STATE_RUNNING);
    world_guest(w, 2, "default", "vm3", "a", HV_STATE_PAUSED);
    world_guest(w, 3, "prod", "db", "c", HV_STATE_RUNNING);
    world_guest(w, 4, "prod", "stray", "", HV_STATE_NONE);
    w->guests[0].labels = "{\"app\":\"web\"}";
    w->guests[3].node_reachable = false;
    w->guests[0].migratable = (struct migratable){
        .known = true,
        .rows = 1U << UNMOVABLE_SEV | 1U << UNMOVABLE_DISKS | 1U << UNMOVABLE_RESERVATIONS,
        .disk = "vdb"};
    w->guests[1].migratable.known = true;
    world_jobs(w);
    world_newest(w, 1, "20000000-0000-4000-8000-000000000001");
    w->snapshot = (struct snapshot){.generation = generation,
                                    .wall_ms = world_wall_ms,
                                    .n_nodes = WORLD_NODES,
                                    .n_guests = WORLD_GUESTS,
                                    .n_jobs = WORLD_JOBS,
                                    .n_namespaces = WORLD_NAMESPACES,
                                    .nodes = w->nodes,
                                    .guests = w->guests,
                                    .jobs = w->job_list,
                                    .newest = w->newest,
                                    .objects = w->object_list,
                                    .namespaces = w->namespaces,
                                    .n_drains = COUNT(w->drains),
                                    .drains = w->drains};
    world_control(w);
    world_placement(w);
    world_documents(w);
    world_incidents(w);
    return w;
}

#endif
