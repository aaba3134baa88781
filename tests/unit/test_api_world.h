/* test_api_world.h - a small fleet made by hand, for tests of what leaves the process: three nodes
 * (b is cordoned, c is lost), guests in two namespaces, jobs Pending, Running, Running to an abort,
 * Succeeded, and documents. */
#ifndef TESTS_UNIT_TEST_API_WORLD_H
#define TESTS_UNIT_TEST_API_WORLD_H

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
    WORLD_SPACES = 2,
    WORLD_SPEC_MAX = 1024,
};
static const int64_t world_wall_ms = WORLD_WALL_BASE_S * INT64_C(1000);

struct world {
    struct snapshot snapshot; /* first: a pointer to it is a pointer to this */
    atomic_int refs;
    struct snapshot_node nodes[WORLD_NODES];
    struct snapshot_guest guests[WORLD_GUESTS];
    struct snapshot_job jobs[WORLD_JOBS];
    const struct snapshot_job *job_list[WORLD_JOBS];
    struct rejections rejections;
    struct snapshot_object objects[WORLD_OBJECTS_MAX];
    char specs[WORLD_OBJECTS_MAX][WORLD_SPEC_MAX], metadata[WORLD_OBJECTS_MAX][WORLD_SPEC_MAX];
    const struct snapshot_object *object_list[WORLD_OBJECTS_MAX];
    struct snapshot_space spaces[WORLD_SPACES];
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
    node->resource_version = 3;
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
    guest->resource_version = 4;
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
    TEXT_SET(job->requester, "alice");
    TEXT_SET(job->wanted, "b");
    TEXT_SET(job->source, "a");
    job->phase = phase;
    job->created_ms = world_wall_ms - 60 * 1000;
    job->eta_ms = -1;
    job->resource_version = 10 + i;
    job->steps[job->n_steps++] = (struct snapshot_step){PHASE_PENDING, job->created_ms};
    return job;
}

static inline void world_start(struct snapshot_job *job)
{
    TEXT_SET(job->target, "b");
    TEXT_SET(job->target_address, "192.0.2.1");
    job->mode = MODE_PRECOPY;
    job->epoch = 1;
    job->handed_off_ms = job->created_ms + 500;
    job->started_ms = job->created_ms + 1500;
    job->steps[job->n_steps++] = (struct snapshot_step){PHASE_RUNNING, job->started_ms};
    job->source_sight =
        (struct snapshot_sight){HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, job->started_ms};
    job->target_sight =
        (struct snapshot_sight){.presence = HV_UNREACHABLE, .at_ms = job->started_ms};
}

static inline void world_sample(struct snapshot_job *job)
{
    job->has_sample = true;
    job->eta_ms = 12345;
    job->sample.bandwidth_bps = 104857600;
    job->sample.stats = (struct hv_job_stats){.time_elapsed_ms = 58500,
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

static inline int world_order(const struct snapshot_object *object, enum object_kind kind,
                              const char *ns, const char *name)
{
    if (object->kind != kind)
        return object->kind < kind ? -1 : 1;
    int order = strcmp(object->ns, ns);
    return order != 0 ? order : strcmp(object->name, name);
}

/* A document more, or another text of one that is there; they stay sorted. */
static inline struct snapshot_object *world_put(struct world *w, enum object_kind kind,
                                                const char *ns, const char *name, const char *spec,
                                                const char *metadata)
{
    size_t n = w->snapshot.n_objects, at = 0;
    while (at < n && world_order(w->object_list[at], kind, ns, name) < 0)
        at++;
    bool is_new = at == n || world_order(w->object_list[at], kind, ns, name) != 0;
    size_t slot = is_new ? n : (size_t)(w->object_list[at] - w->objects);
    struct snapshot_object *object = &w->objects[slot];
    TEXT_SET(w->specs[slot], spec);
    TEXT_SET(w->metadata[slot], metadata);
    if (is_new) {
        memmove(&w->object_list[at + 1], &w->object_list[at], (n - at) * sizeof *w->object_list);
        w->object_list[at] = object;
        w->snapshot.n_objects = n + 1;
        *object = (struct snapshot_object){.kind = kind,
                                           .spec_json = w->specs[slot],
                                           .created_ms = world_wall_ms - 300 * 1000,
                                           .resource_version = 20 + n};
        (void)snprintf(object->uid, sizeof object->uid, "40000000-0000-4000-8000-00000000000%zu",
                       n % 10);
        TEXT_SET(object->ns, ns);
        TEXT_SET(object->name, name);
    }
    object->metadata_json = metadata == NULL ? NULL : w->metadata[slot];
    return object;
}

static inline void world_documents(struct world *w)
{
    (void)world_put(w, OBJECT_POLICY, "", "gentle",
                    "{\"selectors\":{\"virtualMachineInstanceSelector\":{\"app\":\"web\"}},"
                    "\"allowPostCopy\":false}",
                    "{\"labels\":{\"team\":\"blue\"},\"annotations\":{\"why\":\"x\"}}");
    (void)world_put(w, OBJECT_QUOTA, "prod", "small",
                    "{\"hard\":{\"pods\":\"4\",\"requests.memory\":\"8Gi\",\"cpu\":8}}", NULL);
    (void)world_put(w, OBJECT_NAMESPACE, "", "empty", "{\"labels\":{\"env\":\"test\"}}", NULL);
    (void)world_put(w, OBJECT_NAMESPACE, "", "prod", "{\"labels\":{\"env\":\"prod\"}}", NULL);
    (void)world_put(w, OBJECT_NODE, "", "b",
                    "{\"labels\":{\"zone\":\"z1\"},\"unschedulable\":true}",
                    "{\"annotations\":{\"note\":\"by hand\"}}");
    struct snapshot_object *drain =
        world_put(w, OBJECT_DRAIN, "", "b-now", "{\"nodeName\":\"b\",\"shutdown\":true}", NULL);
    drain->status_json = "{\"state\":\"Draining\",\"total\":5,\"moved\":2,\"blocked\":1,"
                         "\"etaSeconds\":125,\"guests\":[]}";
    TEXT_SET(w->nodes[1].drain, "b-now");
    TEXT_SET(w->spaces[0].name, "default");
    w->spaces[0].launchers = 4;
    w->spaces[0].memory_kib = 4194304;
    w->spaces[0].vcpus = 8;
    TEXT_SET(w->spaces[1].name, "prod");
    w->spaces[1].labels = "{\"env\":\"prod\"}";
    w->spaces[1].launchers = 1;
    w->spaces[1].memory_kib = 1048576;
    w->spaces[1].vcpus = 2;
}

/* What the control plane adds to guests and nodes. */
static inline void world_control(struct world *w)
{
    for (size_t i = 0; i < WORLD_GUESTS; i++) {
        struct snapshot_guest *guest = &w->guests[i];
        guest->up = guest->node[0] != '\0';
        guest->strategy = STRATEGY_NONE;
        if (!guest->up)
            continue;
        (void)snprintf(guest->pod, sizeof guest->pod, "virt-launcher-%.40s-abcde", guest->name);
        (void)snprintf(guest->pod_uid, sizeof guest->pod_uid,
                       "50000000-0000-4000-8000-00000000000%u", (unsigned)i);
    }
    TEXT_SET(w->guests[1].evacuation_node, "a");
    w->guests[1].strategy = STRATEGY_LIVE_MIGRATE;
    w->guests[1].settings =
        "{\"evictionStrategy\":\"LiveMigrate\",\"nodeSelector\":{\"zone\":\"z1\"}}";
    TEXT_SET(w->guests[1].unmet_selector, "zone=z1");
    w->guests[1].required = (struct required){REQUIRED_SOON, 7, "interface added"};
    w->guests[1].required_since_ms = world_wall_ms - 5000;
    w->guests[3].required = (struct required){REQUIRED_NOW, 8, "moved to another network"};
    w->nodes[0].labels = "{\"kubernetes.io/hostname\":\"a\",\"rack\":\"r1\"}";
    w->nodes[0].taints = "[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]";
    w->nodes[0].outbound = 2;
    w->nodes[0].running_kib = 2097152;
    w->nodes[0].running_vcpus = 4;
    w->nodes[1].labels = "{\"zone\":\"z1\",\"rack\":\"r2\"}";
    w->nodes[1].cordoned = true;
    w->nodes[1].inbound = 2;
    w->nodes[1].reserved_kib = 1048576;
    w->nodes[1].reserved_vcpus = 2;
}

/* And to jobs: one has a place at its target, one finds none. */
static inline void world_placement(struct world *w)
{
    struct snapshot_job *moving = &w->jobs[1];
    TEXT_SET(moving->guest_uuid, w->guests[1].uuid);
    TEXT_SET(moving->source_pod, w->guests[1].pod);
    TEXT_SET(moving->target_pod, "virt-launcher-vm2-fghij");
    TEXT_SET(moving->target_pod_uid, "50000000-0000-4000-8000-000000000009");
    TEXT_SET(moving->policy, "gentle");
    moving->config_json = "{\"allowPostCopy\":false,\"bandwidthPerMigration\":\"0\"}";
    moving->selector_json = "{\"zone\":\"z1\"}";
    moving->launcher = LAUNCHER_READY;
    moving->launcher_since_ms = world_wall_ms - 59 * 1000;
    moving->origin = ORIGIN_EVACUATION;
    w->jobs[0].launcher = LAUNCHER_GONE;
    struct snapshot_job *waiting = &w->jobs[3];
    waiting->pending = PENDING_UNSCHEDULABLE;
    waiting->waits_since_ms = world_wall_ms - 50 * 1000;
    waiting->waits_until_ms = world_wall_ms + 250 * 1000;
    waiting->rejections = &w->rejections;
    w->rejections = (struct rejections){.at_ms = world_wall_ms - 1000, .n_nodes = 2, .n = 2};
    w->rejections.counts[REJECT_SOURCE] = w->rejections.counts[REJECT_MEMORY] = 1;
    w->rejections.list[0] = (struct rejection){"a", REJECT_SOURCE, ""};
    w->rejections.list[1] =
        (struct rejection){"b", REJECT_MEMORY, "needs 4096 MiB, 1024 MiB are left"};
}

static inline void world_jobs(struct world *w)
{
    struct snapshot_job *job = world_job(w, 0, "done", "vm1", PHASE_SUCCEEDED);
    world_start(job);
    job->outcome = OUTCOME_SUCCEEDED;
    job->guest_at = GUEST_AT_TARGET;
    job->ended_ms = job->created_ms + 31500;
    job->steps[job->n_steps++] = (struct snapshot_step){PHASE_SUCCEEDED, job->ended_ms};
    job = world_job(w, 1, "moving", "vm2", PHASE_RUNNING);
    world_start(job);
    world_sample(job);
    job->metadata_json = "{\"labels\":{\"team\":\"blue\"},\"annotations\":{\"note\":\"x\"}}";
    job = world_job(w, 2, "stopping", "we\"ird\\na\nme", PHASE_RUNNING);
    world_start(job);
    job->abort_asked = job->resolving = true;
    job->abort_status = ABORT_ABORTING;
    job->delete_asked_ms = world_wall_ms - 2000;
    TEXT_SET(job->abort_requester, "bob");
    job->error = (struct err){.code = ERR_HYPERVISOR, .hv_domain = 10, .hv_code = 9};
    TEXT_SET(job->error.text, "operation failed: migration out job: canceled by client");
    job = world_job(w, 3, "waiting", "vm3", PHASE_PENDING);
    TEXT_SET(job->source, "");
    TEXT_SET(job->pending_reason, "waiting for a slot on node a");
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
        true, 1U << UNMOVABLE_SEV | 1U << UNMOVABLE_DISKS | 1U << UNMOVABLE_RESERVATIONS, "vdb"};
    w->guests[1].migratable.known = true;
    TEXT_SET(w->guests[1].job_uid, "20000000-0000-4000-8000-000000000001");
    world_jobs(w);
    w->snapshot = (struct snapshot){.generation = generation,
                                    .wall_ms = world_wall_ms,
                                    .n_nodes = WORLD_NODES,
                                    .n_guests = WORLD_GUESTS,
                                    .n_jobs = WORLD_JOBS,
                                    .n_spaces = WORLD_SPACES,
                                    .nodes = w->nodes,
                                    .guests = w->guests,
                                    .jobs = w->job_list,
                                    .objects = w->object_list,
                                    .spaces = w->spaces};
    world_control(w);
    world_placement(w);
    world_documents(w);
    return w;
}

#endif
