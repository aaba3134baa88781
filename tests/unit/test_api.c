/* test_api.c - the API over the wire: objects, lists, tables. */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

static const char as_table[] =
    "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json\r\n";

static void a_migration_has_kubevirts_fields(void **state)
{
    struct answer a = get(*state, VMIM_PATH "/moving");
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"apiVersion", "kubevirt.io/v1"},
        {"kind", "VirtualMachineInstanceMigration"},
        {"metadata.name", "moving"},
        {"metadata.namespace", "default"},
        {"metadata.uid", "20000000-0000-4000-8000-000000000001"},
        {"metadata.creationTimestamp", "2025-11-16T05:06:39Z"},
        {"metadata.labels.team", "blue"},
        {"metadata.annotations.note", "x"},
        {"metadata.finalizers.0", "kubevirt.io/migrationJobFinalize"},
        {"spec.vmiName", "vm2"},
        {"spec.addedNodeSelector.zone", "z1"},
        {"status.migrationState.sourcePod", "virt-launcher-vm2-abcde"},
        {"status.migrationState.targetPod", "virt-launcher-vm2-fghij"},
        {"status.migrationState.migrationPolicyName", "gentle"},
        {"status.migrationState.migrationConfiguration.allowPostCopy", "false"},
        {"status.ferry.policy", "gentle"},
        {"status.ferry.flags.0", "live"},
        {"status.ferry.flags.1", "post-copy"},
        {"status.ferry.flags.2", ""},
        {"status.ferry.flagsLeftOut.0", "parallel streams left out: post-copy is allowed"},
        {"status.ferry.flagsLeftOut.1", ""},
        {"status.ferry.origin", "evacuation"},
        {"status.ferry.launcher.state", "Ready"},
        {"status.ferry.launcher.since", "2025-11-16T05:06:40Z"},
        {"status.ferry.launcher.pod", "virt-launcher-vm2-fghij"},
        {"status.ferry.rejections", ""},
        {"status.phase", "Running"},
        {"status.phaseTransitionTimestamps.1.phase", "Running"},
        {"status.phaseTransitionTimestamps.1.phaseTransitionTimestamp", "2025-11-16T05:06:40Z"},
        {"status.conditions", ""},
        {"status.migrationState.migrationUid", "20000000-0000-4000-8000-000000000001"},
        {"status.migrationState.sourceNode", "a"},
        {"status.migrationState.targetNode", "b"},
        {"status.migrationState.targetNodeAddress", "192.0.2.1"},
        {"status.migrationState.mode", "PreCopy"},
        {"status.migrationState.startTimestamp", "2025-11-16T05:06:40Z"},
        {"status.migrationState.completed", ""},
        {"status.ferry.guestAt", "unknown"},
        {"status.ferry.requester", "alice"},
        {"status.ferry.epoch", "1"},
        {"status.ferry.source.state", "running"},
        {"status.ferry.source.reason", "booted"},
        {"status.ferry.target.presence", "unreachable"},
        {"status.ferry.target.state", ""},
        {"status.ferry.sample.remainingBytes", "536870912"},
        {"status.ferry.sample.dirtyRateBytesPerSecond", "10240000"},
        {"status.ferry.sample.transferRateBytesPerSecond", "104857600"},
        {"status.ferry.sample.throttlePercent", "20"},
        {"status.ferry.sample.iteration", "3"},
        {"status.ferry.sample.elapsedMs", "58500"},
        {"status.ferry.sample.expectedDowntimeMs", "300"},
        {"status.ferry.etaMs", "12345"},
        {"status.ferry.verdict", ""},
    };
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Type: application/json"));
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i].path), rows[i].want);
    struct json_object *labels = json_at(a.json, "metadata.labels");
    assert_string_equal(
        json_object_get_string(json_object_object_get(labels, "kubevirt.io/vmi-name")), "vm2");
    answer_fini(&a);
}

static void an_abort_and_an_ending_are_shown(void **state)
{
    struct answer a = get(*state, VMIM_PATH "/stopping");
    assert_string_equal(at(&a, "spec.vmiName"), "we\"ird\\na\nme");
    assert_string_equal(at(&a, "metadata.deletionTimestamp"), "2025-11-16T05:07:37Z");
    assert_string_equal(at(&a, "status.conditions.0.type"), "migrationAbortRequested");
    assert_string_equal(at(&a, "status.conditions.1.type"), "ferry.internal/Resolving");
    assert_string_equal(at(&a, "status.migrationState.abortRequested"), "true");
    assert_string_equal(at(&a, "status.migrationState.abortStatus"), "Aborting");
    assert_string_equal(at(&a, "status.ferry.error.code"), "9");
    assert_string_equal(at(&a, "status.ferry.error.domain"), "10");
    assert_non_null(strstr(at(&a, "status.ferry.error.text"), "canceled by client"));
    answer_fini(&a);
    a = get(*state, VMIM_PATH "/done");
    assert_string_equal(at(&a, "status.phase"), "Succeeded");
    assert_string_equal(at(&a, "status.migrationState.completed"), "true");
    assert_string_equal(at(&a, "status.migrationState.failed"), "");
    assert_string_equal(at(&a, "status.ferry.outcome"), "succeeded");
    assert_string_equal(at(&a, "status.ferry.guestAt"), "running-on-target");
    assert_string_equal(at(&a, "status.ferry.verdict.outcome"), "succeeded");
    assert_string_equal(at(&a, "status.ferry.verdict.plane"), "none");
    assert_string_equal(at(&a, "status.ferry.verdict.cause"), "none");
    assert_string_equal(at(&a, "status.ferry.verdict.failedAt"), "");
    assert_string_equal(at(&a, "status.ferry.verdict.action"), "");
    assert_string_equal(at(&a, "metadata.finalizers"), "");
    answer_fini(&a);
    a = get(*state, VMIM_PATH "/waiting");
    assert_string_equal(at(&a, "status.ferry.pendingReason"), "waiting for a slot on node a");
    assert_string_equal(at(&a, "status.migrationState"), "");
    assert_string_equal(at(&a, "status.ferry.pending.reason"), "unschedulable-now");
    assert_string_equal(at(&a, "status.ferry.pending.deadline"), "2025-11-16T05:11:49Z");
    assert_string_equal(at(&a, "status.ferry.rejections.0.reason"), "source-node");
    assert_string_equal(at(&a, "status.ferry.rejections.0.forEver"), "true");
    assert_string_equal(at(&a, "status.ferry.rejections.1.node"), "b");
    assert_string_equal(at(&a, "status.ferry.rejections.1.reason"), "memory");
    assert_string_equal(at(&a, "status.ferry.rejections.1.forEver"), "false");
    assert_string_equal(at(&a, "status.ferry.rejections.1.detail"),
                        "needs 4096 MiB, 1024 MiB are free");
    assert_string_equal(at(&a, "status.ferry.placement.nodes"), "2");
    assert_string_equal(at(&a, "status.ferry.placement.rejected.memory"), "1");
    assert_string_equal(at(&a, "status.ferry.origin"), "user");
    assert_string_equal(at(&a, "status.ferry.launcher"), "");
    answer_fini(&a);
}

static void a_pending_reason_with_a_kubevirt_condition_sets_it(void **state)
{
    (void)state;
    static const struct {
        enum pending pending;
        const char *type, *reason, *message;
    } rows[] = {
        {PENDING_QUOTA, "migrationRejectedByResourceQuota", "ExceededQuota",
         "waiting for a slot on node a"},
        {PENDING_BACKUP, "migrationBlockedByBackup", "BackupInProgress",
         "waiting for a slot on node a"},
        {PENDING_UTILITY_VOLUMES, "migrationBlockedByUtilityVolumes", "UtilityVolumesPresent",
         "Migration is waiting for utility volumes to detach. Will timeout in 300 seconds."},
        {PENDING_SLOT_FLEET, NULL, NULL, NULL},
    };
    struct world *world = world_new(1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct snapshot_job job = world->jobs[3];
        job.wait.pending = rows[i].pending;
        OWNED(json_object) object = api_job_object(&job);
        struct json_object *condition = json_at(object, "status.conditions.0");
        if (rows[i].type == NULL) {
            assert_null(condition);
            continue;
        }
        assert_string_equal(json_object_get_string(json_at(condition, "type")), rows[i].type);
        assert_string_equal(json_object_get_string(json_at(condition, "status")), "True");
        assert_string_equal(json_object_get_string(json_at(condition, "reason")), rows[i].reason);
        assert_string_equal(json_object_get_string(json_at(condition, "message")), rows[i].message);
        assert_string_equal(json_object_get_string(json_at(condition, "lastTransitionTime")),
                            "2025-11-16T05:06:49Z");
        job.phase = PHASE_FAILED; /* nothing is waited for any more */
        OWNED(json_object) over = api_job_object(&job);
        assert_null(json_at(over, "status.conditions"));
    }
    snapshot_unref(&world->snapshot);
}

/* The condition of that type, NULL when there is none. */
static struct json_object *condition_of(const struct answer *a, const char *type)
{
    struct json_object *list = json_at(a->json, "status.conditions");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (strcmp(json_object_get_string(json_at(item, "type")), type) == 0)
            return item;
    }
    return NULL;
}

static void a_guest_shows_what_is_wanted_of_it(void **state)
{
    static const struct {
        const char *guest, *type, *status, *reason, *message;
    } rows[] = {
        {"default/virtualmachineinstances/vm2", "EvictionRequested", "True", "EvictionRequested",
         "VMI is marked for eviction"},
        {"default/virtualmachineinstances/vm2", "MigrationRequired", "False",
         "AutoMigrationPending", "interface moved"},
        {"prod/virtualmachineinstances/db", "MigrationRequired", "True",
         "AutoMigrationDueToLiveUpdate", "moved to another network"},
        {"default/virtualmachineinstances/vm2", "ferry.internal/NodeSelectorMet", "False",
         "NodeLabelMissing", "node a does not have the required label zone=z1"},
        {"default/virtualmachineinstances/vm3", "EvictionRequested", NULL, NULL, NULL},
        {"default/virtualmachineinstances/vm3", "MigrationRequired", NULL, NULL, NULL},
        {"default/virtualmachineinstances/vm3", "ferry.internal/NodeSelectorMet", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "/apis/kubevirt.io/v1/namespaces/%s", rows[i].guest);
        struct answer a = get(*state, path);
        struct json_object *condition = condition_of(&a, rows[i].type);
        assert_int_equal(condition != NULL, rows[i].status != NULL);
        if (condition != NULL) {
            assert_string_equal(json_object_get_string(json_at(condition, "status")),
                                rows[i].status);
            assert_string_equal(json_object_get_string(json_at(condition, "reason")),
                                rows[i].reason);
            assert_string_equal(json_object_get_string(json_at(condition, "message")),
                                rows[i].message);
        }
        answer_fini(&a);
    }
    struct answer a = get(*state, VMI_PATH "/vm2");
    assert_string_equal(at(&a, "status.evacuationNodeName"), "a");
    assert_string_equal(at(&a, "spec.evictionStrategy"), "LiveMigrate");
    assert_string_equal(at(&a, "spec.nodeSelector.zone"), "z1");
    assert_string_equal(at(&a, "status.ferry.evictionStrategy"), "LiveMigrate");
    assert_string_equal(json_object_get_string(
                            json_at(condition_of(&a, "MigrationRequired"), "lastTransitionTime")),
                        "2025-11-16T05:07:34Z");
    answer_fini(&a);
}

static void active_pods_name_both_sides_while_they_coexist(void **state)
{
    struct answer a = get(*state, VMI_PATH "/vm2");
    assert_string_equal(at(&a, "status.activePods.50000000-0000-4000-8000-000000000001"), "a");
    assert_string_equal(at(&a, "status.activePods.50000000-0000-4000-8000-000000000009"), "b");
    answer_fini(&a);
    a = get(*state, VMI_PATH "/vm3");
    assert_int_equal(json_object_object_length(json_at(a.json, "status.activePods")), 1);
    answer_fini(&a);
    a = get(*state, "/apis/kubevirt.io/v1/namespaces/prod/virtualmachineinstances/stray");
    assert_string_equal(at(&a, "status.activePods"), "");
    answer_fini(&a);
}

static void guests_and_nodes_are_shown(void **state)
{
    struct answer a = get(*state, VMI_PATH "/vm2");
    assert_string_equal(at(&a, "status.phase"), "Running");
    assert_string_equal(at(&a, "status.nodeName"), "a");
    assert_string_equal(at(&a, "status.migrationState.targetNode"), "b");
    assert_string_equal(at(&a, "spec.domain.memory.guest"), "1048576Ki");
    assert_string_equal(at(&a, "status.ferry.state"), "running");
    answer_fini(&a);
    a = get(*state, "/apis/kubevirt.io/v1/namespaces/prod/virtualmachineinstances/db");
    assert_string_equal(at(&a, "status.phase"), "Unknown"); /* its host does not answer */
    answer_fini(&a);
    a = get(*state, "/api/v1/nodes/a");
    assert_string_equal(at(&a, "kind"), "Node");
    assert_string_equal(at(&a, "status.conditions.0.status"), "True");
    assert_string_equal(at(&a, "status.ferry.libvirtVersion"), "9.0.0");
    assert_string_equal(at(&a, "status.ferry.qemuVersion"), "7.2.22");
    assert_string_equal(at(&a, "status.capacity.memory"), "16777216Ki");
    assert_string_equal(at(&a, "metadata.labels.rack"), "r1");
    assert_string_equal(at(&a, "spec.taints.0.key"), "gpu");
    assert_string_equal(at(&a, "spec.unschedulable"), "");
    assert_string_equal(at(&a, "status.ferry.outbound"), "2");
    assert_string_equal(at(&a, "status.ferry.running.memoryKiB"), "2097152");
    assert_string_equal(at(&a, "status.ferry.drain"), "");
    assert_string_equal(at(&a, "metadata.namespace"), "");
    answer_fini(&a);
    a = get(*state, "/api/v1/nodes/b");
    assert_string_equal(at(&a, "spec.unschedulable"), "true");
    assert_string_equal(at(&a, "spec.taints"), "");
    assert_string_equal(at(&a, "metadata.annotations.note"), "by hand");
    assert_string_equal(at(&a, "status.ferry.inbound"), "2");
    assert_string_equal(at(&a, "status.ferry.reserved.memoryKiB"), "1048576");
    assert_string_equal(at(&a, "status.ferry.reserved.vcpus"), "2");
    assert_string_equal(at(&a, "status.ferry.drain"), "b-now");
    answer_fini(&a);
    a = get(*state, "/api/v1/nodes/c");
    assert_string_equal(at(&a, "status.conditions.0.status"), "Unknown");
    assert_string_equal(at(&a, "status.ferry.error"), "connection refused");
    answer_fini(&a);
}

static void whether_a_guest_can_move_is_told_before_anyone_asks(void **state)
{
    struct answer a = get(*state, VMI_PATH "/vm1");
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"status.conditions.1.type", "LiveMigratable"},
        {"status.conditions.1.status", "False"},
        {"status.conditions.1.reason", "SEVNotLiveMigratable"}, /* the first, as KubeVirt */
        {"status.conditions.1.message", "VMI uses SEV"},
        {"status.conditions.2.type", "StorageLiveMigratable"},
        {"status.conditions.2.status", "False"},
        {"status.conditions.2.reason", "NotMigratable"},
        {"status.conditions.2.message", "SEVNotLiveMigratable: VMI uses SEV, "
                                        "PersistentReservationNotLiveMigratable: "
                                        "VMI uses SCSI persistent reservation"},
        {"status.ferry.reasons.0.reason", "SEVNotLiveMigratable"},
        {"status.ferry.reasons.1.reason", "DisksNotLiveMigratable"},
        {"status.ferry.reasons.1.storage", "false"},
        {"status.ferry.reasons.2.reason", "PersistentReservationNotLiveMigratable"},
        {"status.ferry.reasons.2.live", "false"},
        {"status.ferry.reasons.3", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i].path), rows[i].want);
    assert_non_null(strstr(at(&a, "status.ferry.reasons.1.message"), "disk vdb is not shared"));
    assert_non_null(strstr(at(&a, "status.ferry.reasons.1.whatToDo"), "storage.sharedPaths"));
    struct json_object *annotations = json_at(a.json, "metadata.annotations");
    assert_string_equal(
        json_object_get_string(json_object_object_get(annotations, "ferry.internal/reasons")),
        "SEVNotLiveMigratable,DisksNotLiveMigratable,PersistentReservationNotLiveMigratable");
    answer_fini(&a);
    a = get(*state, VMI_PATH "/vm2");
    assert_string_equal(at(&a, "status.conditions.1.status"), "True");
    assert_string_equal(at(&a, "status.conditions.2.status"), "True");
    assert_string_equal(at(&a, "metadata.annotations"), "");
    answer_fini(&a);
    a = get(*state, VMI_PATH "/vm3"); /* nobody read its definition: no condition, no guess */
    assert_string_equal(at(&a, "status.conditions.1.type"), "Paused");
    assert_string_equal(at(&a, "status.conditions.2"), "");
    assert_string_equal(at(&a, "status.ferry.reasons"), "");
    answer_fini(&a);
}

static void what_is_not_there_is_a_404_with_its_name(void **state)
{
    static const struct {
        const char *path, *message;
    } rows[] = {
        {VMIM_PATH "/none", "virtualmachineinstancemigrations.kubevirt.io \"none\" not found"},
        {VMI_PATH "/none", "virtualmachineinstances.kubevirt.io \"none\" not found"},
        {"/api/v1/nodes/none", "nodes \"none\" not found"},
        {"/api/v1/namespaces/default/pods/none", "pods \"none\" not found"},
        {"/apis/ferry.internal/v1/drains/none", "drains.ferry.internal \"none\" not found"},
        {"/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies/none",
         "migrationpolicies.migrations.kubevirt.io \"none\" not found"},
        {"/apis/kubevirt.io/v1/namespaces/prod/virtualmachineinstances/vm1",
         "virtualmachineinstances.kubevirt.io \"vm1\" not found"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = get(*state, rows[i].path);
        assert_refused(&a, 404, "NotFound");
        assert_string_equal(at(&a, "message"), rows[i].message);
        assert_true(strlen(at(&a, "details.name")) > 0);
        answer_fini(&a);
    }
}

/* The names of a list, joined by spaces. */
static void list_names(const struct answer *a, const char *items, char *out, size_t out_bytes)
{
    out[0] = '\0';
    struct json_object *array = json_at(a->json, items);
    assert_true(json_object_is_type(array, json_type_array));
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        struct json_object *name = json_at(item, "metadata.name");
        if (name == NULL)
            name = json_at(item, "cells.0");
        size_t n = strlen(out);
        (void)snprintf(out + n, out_bytes - n, "%s%s", n == 0 ? "" : " ",
                       json_object_get_string(name));
    }
}

static const struct listing {
    const char *path, *names; /* names NULL: refused with 400 */
} listings[] = {
    {VMIM_PATH, "done moving stopping waiting"},
    {VMIM_PATH "?limit=500", "done moving stopping waiting"},
    {"/apis/kubevirt.io/v1/virtualmachineinstancemigrations", "done moving stopping waiting"},
    {"/apis/kubevirt.io/v1/namespaces/prod/virtualmachineinstancemigrations", ""},
    {VMIM_PATH "?labelSelector=team%3Dblue", "moving"},
    {VMIM_PATH "?labelSelector=team%3D%3Dblue", "moving"},
    {VMIM_PATH "?labelSelector=team", "moving"},
    {VMIM_PATH "?labelSelector=%21team", "done stopping waiting"},
    {VMIM_PATH "?labelSelector=team%21%3Dblue", "done stopping waiting"},
    {VMIM_PATH "?labelSelector=kubevirt.io%2Fvmi-name%3Dvm3", "waiting"},
    {VMIM_PATH "?labelSelector=team%3Dblue,kubevirt.io%2Fvmi-name%3Dvm3", ""},
    {VMIM_PATH "?labelSelector=team+in+(blue)", "moving"},
    {VMIM_PATH "?labelSelector=team+in+(red,+blue),team", "moving"},
    {VMIM_PATH "?labelSelector=team+in(red)", ""},
    {VMIM_PATH "?labelSelector=team+notin+(blue,red)", "done stopping waiting"},
    {VMIM_PATH "?labelSelector=team+notin+(red)", "done moving stopping waiting"},
    {VMIM_PATH "?labelSelector=team+of+(blue)", NULL},
    {VMIM_PATH "?labelSelector=team+in+(blue", NULL},
    {VMIM_PATH "?labelSelector=team+in+blue)", NULL},
    {VMIM_PATH "?labelSelector=in+(blue)", NULL},
    {VMIM_PATH "?labelSelector=%3Dblue", NULL},
    {VMIM_PATH "?labelSelector=a,,b", NULL},
    {VMIM_PATH "?fieldSelector=metadata.name%3Ddone", "done"},
    {VMIM_PATH "?fieldSelector=metadata.name%21%3Ddone", "moving stopping waiting"},
    {VMIM_PATH "?fieldSelector=metadata.namespace%3Dprod", ""},
    {VMIM_PATH "?fieldSelector=status.phase%3DRunning", "moving stopping"},
    {VMIM_PATH "?fieldSelector=status.phase%21%3DSucceeded,spec.vmiName%21%3Dvm2",
     "stopping waiting"},
    {VMIM_PATH "?fieldSelector=status.reason%3DRunning", NULL},
    {"/apis/kubevirt.io/v1/virtualmachineinstances", "vm1 vm2 vm3 db stray"},
    {VMI_PATH, "vm1 vm2 vm3"},
    {VMI_PATH "?labelSelector=app%3Dweb", "vm1"},
    {"/apis/kubevirt.io/v1/virtualmachineinstances?labelSelector=kubevirt.io/nodeName%3Da",
     "vm2 vm3"},
    {"/api/v1/nodes", "a b c"},
    {"/api/v1/nodes?labelSelector=kubernetes.io/hostname%3Db", "b"},
    {"/api/v1/nodes?fieldSelector=metadata.name%3Dc", "c"},
    {"/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue", "b"},
    {"/api/v1/nodes?labelSelector=zone%3Dz1", "b"},
    {VMI_PATH "?fieldSelector=status.nodeName%3Da", "vm2 vm3"},
    {"/api/v1/pods?fieldSelector=spec.nodeName%3Da",
     "virt-launcher-vm2-abcde virt-launcher-vm3-abcde"},
    {"/api/v1/pods?fieldSelector=spec.nodeName%3Db,status.phase%21%3DFailed,"
     "status.phase%21%3DSucceeded",
     "virt-launcher-vm1-abcde virt-launcher-vm2-fghij"},
    {"/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dvirt-launcher-vm2-fghij",
     "virt-launcher-vm2-fghij"},
    {"/api/v1/pods?labelSelector=kubevirt.io/created-by%3D10000000-0000-4000-8000-000000000001",
     "virt-launcher-vm2-abcde virt-launcher-vm2-fghij"},
    {"/api/v1/pods?labelSelector=kubevirt.io/migrationJobUID", "virt-launcher-vm2-fghij"},
    {"/api/v1/pods?fieldSelector=spec.nodename%3Da", NULL},
    {"/api/v1/namespaces", "default prod empty"},
    {"/api/v1/namespaces?labelSelector=env", "prod empty"},
    {"/api/v1/resourcequotas", "small"},
    {"/api/v1/namespaces/default/resourcequotas", ""},
    {"/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies?labelSelector=team%3Dblue", "gentle"},
    {"/apis/ferry.internal/v1/drains", "b-now"},
};

static void lists_hold_what_was_asked_for(void **state)
{
    for (size_t i = 0; i < COUNT(listings); i++) {
        struct answer a = get(*state, listings[i].path);
        char names[512];
        if (listings[i].names == NULL) {
            assert_refused(&a, 400, "BadRequest");
        } else {
            assert_int_equal(a.status, 200);
            assert_true(strtoull(at(&a, "metadata.resourceVersion"), NULL, 10) > 0);
            list_names(&a, "items", names, sizeof names);
            assert_string_equal(names, listings[i].names);
        }
        answer_fini(&a);
    }
}

static void tables_have_a_cell_for_each_column(void **state)
{
    static const struct {
        const char *path, *names, *columns;
    } rows[] = {
        {VMIM_PATH, "done moving stopping waiting",
         "Name Phase VMI Source Target Mode Remaining Age Outcome Plane Cause Recovery Reason"},
        {VMIM_PATH "/moving", "moving",
         "Name Phase VMI Source Target Mode Remaining Age Outcome Plane Cause Recovery Reason"},
        {VMI_PATH, "vm1 vm2 vm3", "Name Age Phase Node State Migration"},
        {"/api/v1/nodes", "a b c", "Name Status Guests Libvirt QEMU Age Warnings CPU Error URI"},
        {"/api/v1/namespaces/default/events", NULL,
         "Name Last Seen Type Reason Object Count Message"},
        {"/api/v1/pods",
         "virt-launcher-vm1-abcde virt-launcher-vm2-abcde virt-launcher-vm3-abcde "
         "virt-launcher-db-abcde virt-launcher-vm2-fghij",
         "Name Ready Status Launcher VMI Node Age Migration"},
        {"/api/v1/namespaces", "default prod empty", "Name Status Launchers Memory CPU Age"},
        {"/api/v1/resourcequotas", "small", "Name Used Age"},
        {"/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies", "gentle",
         "Name Guests Namespaces Age"},
        {"/apis/ferry.internal/v1/drains", "b-now", "Name State Node Moved Blocked Left ETA Age"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(*state, "GET", rows[i].path, as_table, NULL);
        assert_string_equal(at(&a, "kind"), "Table");
        assert_string_equal(at(&a, "apiVersion"), "meta.k8s.io/v1");
        struct json_object *columns = json_at(a.json, "columnDefinitions");
        struct json_object *table = json_at(a.json, "rows");
        char names[512] = "";
        for (size_t c = 0; c < json_object_array_length(columns); c++) {
            size_t n = strlen(names);
            (void)snprintf(
                names + n, sizeof names - n, "%s%s", c == 0 ? "" : " ",
                json_object_get_string(json_at(json_object_array_get_idx(columns, c), "name")));
        }
        assert_string_equal(names, rows[i].columns);
        assert_true(json_object_array_length(table) > 0);
        for (size_t r = 0; r < json_object_array_length(table); r++) {
            struct json_object *row = json_object_array_get_idx(table, r);
            assert_int_equal(json_object_array_length(json_at(row, "cells")),
                             json_object_array_length(columns));
            assert_string_equal(json_object_get_string(json_at(row, "object.kind")),
                                "PartialObjectMetadata");
        }
        if (rows[i].names != NULL) {
            list_names(&a, "rows", names, sizeof names);
            assert_string_equal(names, rows[i].names);
        }
        answer_fini(&a);
    }
}

static void a_table_says_the_useful_things(void **state)
{
    static const struct {
        const char *path, *cells[8];
    } rows[] = {
        {VMIM_PATH "/moving", {"moving", "Running", "vm2", "a", "b", "PreCopy", "512 MiB"}},
        {"/api/v1/nodes/b", {"b", "Ready,SchedulingDisabled", "2"}},
        {"/api/v1/nodes/c", {"c", "NotReady", "0"}},
        {"/api/v1/namespaces/default/pods/virt-launcher-vm2-fghij",
         {"virt-launcher-vm2-fghij", "1/1", "Running", "Ready", "vm2", "b"}},
        {"/apis/ferry.internal/v1/drains/b-now", {"b-now", "Draining", "b", "2", "1", "3", "2m5s"}},
        {"/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies/gentle",
         {"gentle", "app=web", "<all>"}},
        {"/api/v1/namespaces/prod/resourcequotas/small",
         {"small", "pods: 1/4, requests.memory: 1048576Ki/8Gi, cpu: 2/8"}},
        {"/api/v1/namespaces/prod", {"prod", "Active", "1", "1.0 GiB", "2"}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s?includeObject=None", rows[i].path);
        struct answer a = ask(*state, "GET", path, as_table, NULL);
        for (size_t c = 0; rows[i].cells[c] != NULL; c++) {
            (void)snprintf(path, sizeof path, "rows.0.cells.%zu", c);
            assert_string_equal(at(&a, path), rows[i].cells[c]);
        }
        assert_string_equal(at(&a, "rows.0.object"), "");
        answer_fini(&a);
    }
}

static void ages_are_written_as_kubectl_does(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } ages[] = {{0, "0s"},      {-5, "0s"},       {119, "119s"},  {120, "2m"},     {125, "2m5s"},
                {600, "10m"},   {7200, "120m"},   {10800, "3h"},  {10860, "3h1m"}, {40000, "11h"},
                {172800, "2d"}, {180000, "2d2h"}, {864000, "10d"}};
    char text[API_SHORT_TEXT_MAX];
    for (size_t i = 0; i < COUNT(ages); i++) {
        api_age_text(world_wall_ms, world_wall_ms + ages[i].seconds * 1000, text);
        assert_string_equal(text, ages[i].text);
    }
    api_age_text(0, world_wall_ms, text);
    assert_string_equal(text, "<unknown>");
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_migration_has_kubevirts_fields),
        WIRE_TEST(an_abort_and_an_ending_are_shown),
        WIRE_TEST(whether_a_guest_can_move_is_told_before_anyone_asks),
        WIRE_TEST(guests_and_nodes_are_shown),
        cmocka_unit_test(a_pending_reason_with_a_kubevirt_condition_sets_it),
        WIRE_TEST(a_guest_shows_what_is_wanted_of_it),
        WIRE_TEST(active_pods_name_both_sides_while_they_coexist),
        WIRE_TEST(what_is_not_there_is_a_404_with_its_name),
        WIRE_TEST(lists_hold_what_was_asked_for),
        WIRE_TEST(tables_have_a_cell_for_each_column),
        WIRE_TEST(a_table_says_the_useful_things),
        cmocka_unit_test(ages_are_written_as_kubectl_does),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
