/* test_api_world_parts.h - what the fleet of test_api_world.h is made of: nodes, guests, jobs. */
#ifndef TESTS_UNIT_TEST_API_WORLD_PARTS_H
#define TESTS_UNIT_TEST_API_WORLD_PARTS_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/snapshot.h"

enum {
    WORLD_WALL_BASE_S = 1763269659,
    WORLD_NODES = 3,
    WORLD_GUESTS = 5,
    WORLD_JOBS = 4,
    WORLD_OBJECTS_MAX = 16,
    WORLD_NAMESPACES = 2,
    WORLD_INCIDENTS = 2,
    WORLD_SPEC_MAX = 1024,
};
static const int64_t world_wall_ms = WORLD_WALL_BASE_S * INT64_C(1000);

struct world {
    struct snapshot snapshot; /* first: a pointer to it is a pointer to this */
    atomic_int refs;
    struct snapshot_node nodes[WORLD_NODES];
    struct snapshot_guest guests[WORLD_GUESTS];
    struct snapshot_job jobs[WORLD_JOBS];
    const struct snapshot_job *job_list[WORLD_JOBS], *newest[WORLD_GUESTS];
    struct rejections rejections;
    struct snapshot_object objects[WORLD_OBJECTS_MAX];
    char specs[WORLD_OBJECTS_MAX][WORLD_SPEC_MAX], metadata[WORLD_OBJECTS_MAX][WORLD_SPEC_MAX];
    const struct snapshot_object *object_list[WORLD_OBJECTS_MAX];
    struct snapshot_namespace namespaces[WORLD_NAMESPACES];
    struct snapshot_drain drains[1];
    struct incident incidents[WORLD_INCIDENTS];
};

/* In place of the engine's, which knows its own snapshots only. */
__attribute__((weak)) const struct snapshot *snapshot_ref(const struct snapshot *snapshot)
{
    struct world *world = (struct world *)(uintptr_t)snapshot;
    if (world != NULL)
        (void)atomic_fetch_add(&world->refs, 1);
    return snapshot;
}
__attribute__((weak)) void snapshot_unref(const struct snapshot *snapshot)
{
    struct world *world = (struct world *)(uintptr_t)snapshot;
    if (world != NULL && atomic_fetch_sub(&world->refs, 1) == 1)
        free(world);
}

static inline void world_node(struct world *w, unsigned i, const char *name, bool connected)
{
    struct snapshot_node *node = &w->nodes[i];
    TEXT_SET(node->name, name);
    (void)snprintf(node->uri, sizeof node->uri, "qemu+tcp://%s/system", name);
    TEXT_SET(node->migration_host, "192.0.2.1");
    node->connected = connected;
    node->since_ms = node->created_ms = world_wall_ms - 7200 * 1000;
    if (!connected) {
        TEXT_SET(node->error, "connection refused");
        return;
    }
    node->has_facts = true;
    TEXT_SET(node->facts.hostname, name);
    (void)snprintf(node->facts.uuid, sizeof node->facts.uuid,
                   "00000000-0000-4000-8000-00000000000%u", i);
    TEXT_SET(node->facts.cpu_model, "EPYC-Milan");
    TEXT_SET(node->facts.arch, "x86_64");
    node->facts.libvirt_version = 9000000;
    node->facts.hypervisor_version = 7002022;
    node->facts.cpus = 8;
    node->facts.memory_kib = 16777216;
    node->facts.free_memory_kib = 8388608;
    node->guests = 2;
}

static inline void world_guest(struct world *w, unsigned i, const char *ns, const char *name,
                               const char *node, int state)
{
    struct snapshot_guest *guest = &w->guests[i];
    (void)snprintf(guest->uuid, sizeof guest->uuid, "10000000-0000-4000-8000-00000000000%u", i);
    TEXT_SET(guest->ns, ns);
    TEXT_SET(guest->name, name);
    TEXT_SET(guest->node, node);
    guest->state = state;
    guest->reason = HV_RUNNING_BOOTED;
    guest->persistent = guest->node_reachable = true;
    guest->memory_kib = 1048576;
    guest->vcpus = 2;
    guest->seen_ms = world_wall_ms - 1000;
}

static inline struct snapshot_job *world_job(struct world *w, unsigned i, const char *name,
                                             const char *guest, enum phase phase)
{
    struct snapshot_job *job = &w->jobs[i];
    w->job_list[i] = job;
    (void)snprintf(job->uid, sizeof job->uid, "20000000-0000-4000-8000-00000000000%u", i);
    TEXT_SET(job->ns, "default");
    TEXT_SET(job->name, name);
    TEXT_SET(job->guest_name, guest);
    TEXT_SET(job->request.requester, "alice");
    TEXT_SET(job->request.wanted, "b");
    TEXT_SET(job->source, "a");
    job->phase = phase;
    job->times.created_ms = world_wall_ms - 60 * 1000;
    job->progress.eta_ms = -1;
    job->history.steps[job->history.n_steps++] =
        (struct job_step){PHASE_PENDING, job->times.created_ms};
    return job;
}

static inline void world_start(struct snapshot_job *job)
{
    TEXT_SET(job->target, "b");
    job->stream.target_address = "192.0.2.1";
    job->mode = MODE_PRECOPY;
    job->epoch = 1;
    job->times.handed_off_ms = job->times.created_ms + 500;
    job->times.started_ms = job->times.created_ms + 1500;
    job->history.steps[job->history.n_steps++] =
        (struct job_step){PHASE_RUNNING, job->times.started_ms};
    job->resolution.source = (struct snapshot_observation){
        HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, job->times.started_ms};
    job->resolution.target =
        (struct snapshot_observation){.presence = HV_UNREACHABLE, .at_ms = job->times.started_ms};
}

static inline void world_sample(struct snapshot_job *job)
{
    job->progress.has_sample = true;
    job->progress.eta_ms = 12345;
    job->progress.sample.bandwidth_bps = 104857600;
    job->progress.sample.stats = (struct hv_job_stats){.time_elapsed_ms = 58500,
                                                       .downtime_ms = 300,
                                                       .data_total = 2147483648,
                                                       .data_processed = 1073741824,
                                                       .data_remaining = 536870912,
                                                       .memory_total = 1073741824,
                                                       .memory_processed = 805306368,
                                                       .memory_remaining = 268435456,
                                                       .disk_total = 1073741824,
                                                       .disk_processed = 268435456,
                                                       .disk_remaining = 268435456,
                                                       .memory_dirty_rate = 2500,
                                                       .memory_page_size = 4096,
                                                       .memory_iteration = 3,
                                                       .auto_converge_throttle = 20,
                                                       .memory_postcopy_requests = 7};
}

#endif
