/* test_api.c - the API over the wire: objects, lists, tables, events, discovery. */
#include "base/log.h"
#include "exporter/api.h"
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
        {"metadata.resourceVersion", "11"},
        {"metadata.creationTimestamp", "2025-11-16T05:06:39Z"},
        {"metadata.labels.team", "blue"},
        {"metadata.annotations.note", "x"},
        {"metadata.finalizers.0", "kubevirt.io/migrationJobFinalize"},
        {"spec.vmiName", "vm2"},
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
    answer_fini(&a);
}

static void a_failure_is_shown_with_its_verdict(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct snapshot_job job = world->jobs[1];
    job.phase = PHASE_FAILED;
    job.outcome = OUTCOME_FAILED;
    job.guest_at = GUEST_AT_SOURCE;
    job.error = (struct err){.code = ERR_HYPERVISOR, .hv_code = 1, .hv_domain = 7};
    OWNED(json_object) object = api_job_object(&job);
    struct json_object *verdict = json_at(object, "status.ferry.verdict");
    static const struct {
        const char *key, *want;
    } rows[] = {
        {"outcome", "failed"},
        {"plane", "control"},
        {"cause", "control-connection-lost"},
        {"failedAt", "after-hand-off"},
        {"irrecoverable", "false"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(json_object_get_string(json_at(verdict, rows[i].key)), rows[i].want);
    assert_non_null(strstr(json_object_get_string(json_at(verdict, "action")), "both nodes"));
    snapshot_unref(&world->snapshot);
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
    assert_string_equal(at(&a, "metadata.namespace"), "");
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
    {VMIM_PATH "?labelSelector=team+in+(blue)", NULL},
    {VMIM_PATH "?labelSelector=%3Dblue", NULL},
    {VMIM_PATH "?labelSelector=a,,b", NULL},
    {VMIM_PATH "?fieldSelector=metadata.name%3Ddone", "done"},
    {VMIM_PATH "?fieldSelector=metadata.name%21%3Ddone", "moving stopping waiting"},
    {VMIM_PATH "?fieldSelector=metadata.namespace%3Dprod", ""},
    {VMIM_PATH "?fieldSelector=status.phase%3DRunning", NULL},
    {"/apis/kubevirt.io/v1/virtualmachineinstances", "vm1 vm2 vm3 db stray"},
    {VMI_PATH, "vm1 vm2 vm3"},
    {VMI_PATH "?labelSelector=app%3Dweb", "vm1"},
    {"/apis/kubevirt.io/v1/virtualmachineinstances?labelSelector=kubevirt.io/nodeName%3Da",
     "vm2 vm3"},
    {"/api/v1/nodes", "a b c"},
    {"/api/v1/nodes?labelSelector=kubernetes.io/hostname%3Db", "b"},
    {"/api/v1/nodes?fieldSelector=metadata.name%3Dc", "c"},
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
            assert_string_equal(at(&a, "metadata.resourceVersion"), "42");
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
         "Name Phase VMI Source Target Mode Remaining Age Outcome Reason"},
        {VMIM_PATH "/moving", "moving",
         "Name Phase VMI Source Target Mode Remaining Age Outcome Reason"},
        {VMI_PATH, "vm1 vm2 vm3", "Name Age Phase Node State Migration"},
        {"/api/v1/nodes", "a b c", "Name Status Guests Libvirt QEMU Age URI CPU Error"},
        {"/api/v1/namespaces/default/events", NULL, "Name Last Seen Type Reason Object Message"},
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
    struct answer a = ask(*state, "GET", VMIM_PATH "/moving?includeObject=None", as_table, NULL);
    static const char *const want[] = {"moving", "Running", "vm2", "a", "b", "PreCopy", "512MiB"};
    for (size_t i = 0; i < COUNT(want); i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "rows.0.cells.%zu", i);
        assert_string_equal(at(&a, path), want[i]);
    }
    assert_string_equal(at(&a, "rows.0.object"), "");
    answer_fini(&a);
}

static void ages_and_sizes_are_written_as_kubectl_does(void **state)
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
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0B"},
                 {1023, "1023B"},
                 {1024, "1.0KiB"},
                 {1610612736, "1.5GiB"},
                 {107374182400, "100GiB"},
                 {UINT64_MAX, "16384PiB"}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        api_bytes_text(sizes[i].bytes, text);
        assert_string_equal(text, sizes[i].text);
    }
}

/* ---- events, discovery ---- */

static void events_are_found_by_object(void **state)
{
    static const struct listing rows[] = {
        {"/api/v1/events", "Running Migrated Lost"},
        {"/api/v1/namespaces/default/events", "Running Migrated"},
        {"/api/v1/events?fieldSelector=involvedObject.uid%3D10000000-0000-4000-8000-000000000001",
         "Migrated"},
        {"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dmoving,"
         "involvedObject.kind%3DVirtualMachineInstanceMigration",
         "Running"},
        {"/api/v1/namespaces/default/events?fieldSelector=type%3DWarning", "Migrated"},
        {"/api/v1/events?fieldSelector=involvedObject.name%3Dc", "Lost"},
        {"/api/v1/events?fieldSelector=involvedObject.name%3Dnobody", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = get(*state, rows[i].path);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "kind"), "EventList");
        char reasons[256] = "";
        struct json_object *items = json_at(a.json, "items");
        for (size_t e = 0; e < json_object_array_length(items); e++) {
            size_t n = strlen(reasons);
            (void)snprintf(
                reasons + n, sizeof reasons - n, "%s%s", e == 0 ? "" : " ",
                json_object_get_string(json_at(json_object_array_get_idx(items, e), "reason")));
        }
        assert_string_equal(reasons, rows[i].names);
        answer_fini(&a);
    }
}

static void discovery_names_every_kind(void **state)
{
    static const char *const documents[][2] = {
        {"/api", "APIVersions"},
        {"/apis", "APIGroupList"},
        {"/api/v1", "APIResourceList"},
        {"/apis/kubevirt.io", "APIGroup"},
        {"/apis/kubevirt.io/v1", "APIResourceList"},
    };
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct answer a = get(*state, documents[i][0]);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "kind"), documents[i][1]);
        answer_fini(&a);
    }
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_kind_row *row = api_kind_row(kind);
        bool core = strcmp(row->api_version, "v1") == 0;
        struct answer a = get(*state, core ? "/api/v1" : "/apis/kubevirt.io/v1");
        char quoted[128];
        (void)snprintf(quoted, sizeof quoted, "\"name\":\"%s\"", row->plural);
        assert_non_null(strstr(a.body, quoted));
        answer_fini(&a);
    }
    struct answer a = get(*state, "/version");
    assert_string_equal(at(&a, "ferryVersion"), "0.1.0");
    answer_fini(&a);
}

/* What discovery promises is what the routes do, and no route is dead. */
static void every_route_answers(void **state)
{
    size_t n;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct buf path;
        buf_init(&path, 1024);
        for (const char *c = routes[i].pattern; *c != '\0';) {
            if (text_has_prefix(c, "{ns}")) {
                buf_add(&path, "default");
                c += 4;
            } else if (text_has_prefix(c, "{name}")) {
                buf_add(&path, routes[i].kind == KIND_NODE       ? "a"
                               : routes[i].kind == KIND_INSTANCE ? "vm1"
                                                                 : "moving");
                c += 6;
            } else {
                buf_add_bytes(&path, c++, 1);
            }
        }
        bool writes = strcmp(routes[i].method, "GET") != 0;
        struct answer a = ask(*state, routes[i].method, path.data,
                              writes ? "Content-Type: application/json\r\n" : "",
                              writes ? "{\"spec\":{\"vmiName\":\"vm3\"}}" : NULL);
        int want = strcmp(routes[i].method, "POST") == 0       ? 201
                   : strcmp(routes[i].pattern, "/readyz") == 0 ? 503
                                                               : 200;
        if (a.status != want)
            fail_msg("%s %s: %d", routes[i].method, path.data, a.status);
        assert_true(strlen(routes[i].help) > 0);
        answer_fini(&a);
        buf_fini(&path);
    }
}

static void a_watch_is_refused_clearly(void **state)
{
    struct answer a = get(*state, VMIM_PATH "?watch=true");
    assert_refused(&a, 405, "MethodNotAllowed");
    answer_fini(&a);
    a = get(*state, VMIM_PATH "?watch=true&sendInitialEvents=true");
    assert_refused(&a, 422, "Invalid");
    answer_fini(&a);
    a = get(*state, VMIM_PATH "?watch=false");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_migration_has_kubevirts_fields),
        WIRE_TEST(an_abort_and_an_ending_are_shown),
        WIRE_TEST(a_failure_is_shown_with_its_verdict),
        WIRE_TEST(whether_a_guest_can_move_is_told_before_anyone_asks),
        WIRE_TEST(guests_and_nodes_are_shown),
        WIRE_TEST(what_is_not_there_is_a_404_with_its_name),
        WIRE_TEST(lists_hold_what_was_asked_for),
        WIRE_TEST(tables_have_a_cell_for_each_column),
        WIRE_TEST(a_table_says_the_useful_things),
        cmocka_unit_test(ages_and_sizes_are_written_as_kubectl_does),
        WIRE_TEST(events_are_found_by_object),
        WIRE_TEST(discovery_names_every_kind),
        WIRE_TEST(every_route_answers),
        WIRE_TEST(a_watch_is_refused_clearly),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
