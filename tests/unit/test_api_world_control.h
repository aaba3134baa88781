/* test_api_world_control.h - what the control plane adds to the fleet of test_api_world.h:
 * launchers, placement, cordons, documents. */
#ifndef TESTS_UNIT_TEST_API_WORLD_CONTROL_H
#define TESTS_UNIT_TEST_API_WORLD_CONTROL_H

#include "engine/data/flags.h"
#include "tests/unit/test_api_world_parts.h"

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
    TEXT_SET(w->drains[0].node, "b");
    w->drains[0].deadline_ms = world_wall_ms + 3600 * 1000;
    w->snapshot.drain_states[DRAIN_DRAINING] = 1;
    w->drains[0].guests[DRAIN_GUEST_MOVED] = w->drains[0].guests[DRAIN_GUEST_MOVING] = 2;
    w->drains[0].guests[DRAIN_GUEST_BLOCKED] = w->drains[0].blocked[BLOCK_NOT_MIGRATABLE] = 1;
    TEXT_SET(w->namespaces[0].name, "default");
    w->namespaces[0].launchers = 4;
    w->namespaces[0].memory_kib = 4194304;
    w->namespaces[0].vcpus = 8;
    TEXT_SET(w->namespaces[1].name, "prod");
    w->namespaces[1].labels = "{\"env\":\"prod\"}";
    w->namespaces[1].launchers = 1;
    w->namespaces[1].memory_kib = 1048576;
    w->namespaces[1].vcpus = 2;
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
    w->guests[1].pending_change = (struct pending_change){
        .is = PENDING_CHANGE_SOON, .hash = 7, .detail = "interface moved", .cures = true};
    w->guests[1].change_since_ms = world_wall_ms - 5000;
    w->guests[3].pending_change = (struct pending_change){
        .is = PENDING_CHANGE_NOW, .hash = 8, .detail = "moved to another network", .cures = true};
    w->guests[3].change_is_due = true;
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
    TEXT_SET(moving->placement.source_pod, w->guests[1].pod);
    TEXT_SET(moving->placement.target_pod, "virt-launcher-vm2-fghij");
    TEXT_SET(moving->placement.target_pod_uid, "50000000-0000-4000-8000-000000000009");
    TEXT_SET(moving->request.policy, "gentle");
    moving->call.config_json = "{\"allowPostCopy\":false,\"bandwidthPerMigration\":\"0\"}";
    moving->request.selector_json = "{\"zone\":\"z1\"}";
    moving->call.shown = 1U << FLAG_LIVE | 1U << FLAG_POSTCOPY;
    moving->call.left_out = 1U << FLAG_RULE_PARALLEL_POSTCOPY;
    moving->placement.launcher = LAUNCHER_READY;
    moving->placement.launcher_since_ms = world_wall_ms - 59 * 1000;
    moving->request.origin = ORIGIN_EVACUATION;
    w->jobs[0].placement.launcher = LAUNCHER_GONE;
    struct snapshot_job *waiting = &w->jobs[3];
    waiting->wait.pending = PENDING_UNSCHEDULABLE;
    waiting->wait.since_ms = world_wall_ms - 50 * 1000;
    waiting->wait.until_ms = world_wall_ms + 250 * 1000;
    waiting->placement.rejections = &w->rejections;
    w->rejections = (struct rejections){.at_ms = world_wall_ms - 1000, .n_nodes = 2, .n = 2};
    w->rejections.counts[REJECT_SOURCE] = w->rejections.counts[REJECT_MEMORY] = 1;
    w->rejections.list[0] = (struct rejection){"a", REJECT_SOURCE, ""};
    w->rejections.list[1] =
        (struct rejection){"b", REJECT_MEMORY, "needs 4096 MiB, 1024 MiB are free"};
}

#endif
