/* test_api_pod.c - launchers as pods, and what is asked of a guest through them: evictions, their
 * cancelling, KubeVirt's migrate, checks. */
#include "base/log.h"
#include "tests/unit/test_api_http.h"

#define PODS "/api/v1/namespaces/default/pods"
#define SOURCE_POD PODS "/virt-launcher-vm2-abcde"
#define TARGET_POD PODS "/virt-launcher-vm2-fghij"
#define SUB "/apis/subresources.kubevirt.io/v1/namespaces/default"
#define EVICTION(rest) \
    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{" rest "}}"

/* A label or annotation; their keys have dots, which paths cannot. */
static const char *of(const struct answer *a, const char *where, const char *key)
{
    struct json_object *value = json_object_object_get(json_at(a->json, where), key);
    return value == NULL ? "" : json_object_get_string(value);
}

static void a_guest_that_is_up_has_a_pod(void **state)
{
    struct answer a = get(*state, SOURCE_POD);
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata.name", "virt-launcher-vm2-abcde"},
        {"metadata.namespace", "default"},
        {"metadata.uid", "50000000-0000-4000-8000-000000000001"},
        {"metadata.ownerReferences.0.kind", "VirtualMachineInstance"},
        {"metadata.ownerReferences.0.name", "vm2"},
        {"metadata.ownerReferences.0.uid", "10000000-0000-4000-8000-000000000001"},
        {"metadata.ownerReferences.0.controller", "true"}, /* or kubectl drain refuses it */
        {"spec.nodeName", "a"},
        {"spec.volumes", ""}, /* a local one would stop kubectl drain */
        {"spec.containers.0.resources.requests.memory", "1048576Ki"},
        {"spec.containers.0.resources.requests.cpu", "2"},
        {"status.phase", "Running"},
        {"status.conditions.1.type", "Ready"},
        {"status.conditions.1.status", "True"},
    };
    assert_int_equal(a.status, 200);
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i].path), rows[i].want);
    assert_string_equal(of(&a, "metadata.labels", "kubevirt.io"), "virt-launcher");
    assert_string_equal(of(&a, "metadata.labels", "kubevirt.io/created-by"),
                        "10000000-0000-4000-8000-000000000001");
    assert_string_equal(of(&a, "metadata.labels", "kubevirt.io/migrationJobUID"), "");
    assert_string_equal(of(&a, "metadata.annotations",
                           "descheduler.alpha.kubernetes.io/eviction-in-progress"),
                        "kubevirt");
    answer_fini(&a);
    a = get(*state, "/api/v1/namespaces/prod/pods/virt-launcher-db-abcde");
    assert_string_equal(at(&a, "status.phase"), "Unknown"); /* its node does not answer */
    answer_fini(&a);
}

static void the_place_at_the_target_is_a_pod_too(void **state)
{
    struct answer a = get(*state, TARGET_POD);
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "metadata.uid"), "50000000-0000-4000-8000-000000000009");
    assert_string_equal(at(&a, "spec.nodeName"), "b");
    assert_string_equal(at(&a, "status.phase"), "Running");
    assert_string_equal(at(&a, "metadata.ownerReferences.0.name"), "vm2");
    assert_string_equal(at(&a, "metadata.ownerReferences.0.controller"), "true");
    assert_string_equal(of(&a, "metadata.labels", "kubevirt.io/migrationJobUID"),
                        "20000000-0000-4000-8000-000000000001");
    assert_string_equal(of(&a, "metadata.labels", "kubevirt.io/created-by"),
                        "10000000-0000-4000-8000-000000000001");
    assert_string_equal(of(&a, "metadata.annotations", "kubevirt.io/migrationJobName"), "moving");
    answer_fini(&a);
}

/* Law: from the wish for a place to its end, the pod is there exactly while the place is. */
static void a_target_pod_lives_as_long_as_its_launcher(void **state)
{
    struct rig *rig = *state;
    for (enum launcher launcher = 0; launcher < LAUNCHER_COUNT; launcher++) {
        struct world *world = world_new(200 + launcher);
        world->jobs[1].placement.launcher = launcher;
        show_snapshot(rig->x, &world->snapshot);
        snapshot_unref(&world->snapshot);
        struct answer a = get(rig, TARGET_POD);
        bool lives = launcher == LAUNCHER_PENDING || launcher == LAUNCHER_SCHEDULED ||
                     launcher == LAUNCHER_PREPARED || launcher == LAUNCHER_READY;
        assert_int_equal(a.status, lives ? 200 : 404);
        if (lives)
            assert_string_equal(at(&a, "status.phase"), launcher_pod_phase(launcher));
        answer_fini(&a);
    }
}

static void a_pod_cannot_be_deleted(void **state)
{
    struct answer a = ask(*state, "DELETE", SOURCE_POD, "", NULL);
    assert_refused(&a, 405, "MethodNotAllowed");
    assert_non_null(strstr(at(&a, "message"), "pods/eviction"));
    assert_non_null(strstr(a.head, "Allow: GET, HEAD\r\n"));
    answer_fini(&a);
    a = ask(*state, "DELETE", PODS "/none", "", NULL);
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
}

/* ---- eviction ---- */

static const struct eviction_row {
    const char *query, *body;
    bool descheduler, allow_shutdown, dry_run;
} evictions[] = {
    {"", EVICTION("\"name\":\"virt-launcher-vm2-abcde\",\"namespace\":\"default\""), false, false,
     false},
    {"", "{\"apiVersion\":\"policy/v1beta1\",\"kind\":\"Eviction\",\"deleteOptions\":{}}", false,
     false, false},
    {"", "{}", false, false, false},
    {"", EVICTION("\"annotations\":{\"requested-by\":\"sigs.k8s.io/descheduler\"}"), true, false,
     false},
    {"", EVICTION("\"annotations\":{\"requested-by\":\"somebody\"}"), false, false, false},
    {"", EVICTION("\"annotations\":{\"ferry.internal/allow-shutdown\":\"true\"}"), false, true,
     false},
    {"", EVICTION("\"annotations\":{\"ferry.internal/allow-shutdown\":\"yes\"}"), false, false,
     false},
    {"?dryRun=All", EVICTION(""), false, false, true},
    {"", "{\"deleteOptions\":{\"dryRun\":[\"All\"]}}", false, false, true},
};

static void an_eviction_reaches_the_engine_with_its_options(void **state)
{
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(evictions); i++) {
        char path[160];
        (void)snprintf(path, sizeof path, SOURCE_POD "/eviction%s", evictions[i].query);
        struct answer a =
            ask(rig, "POST", path, "Content-Type: application/json\r\n", evictions[i].body);
        assert_int_equal(a.status, 201);
        assert_string_equal(at(&a, "status"), "Success");
        const struct eviction_request *got = &rig->engine.last_eviction;
        assert_string_equal(got->ns, "default");
        assert_string_equal(got->pod, "virt-launcher-vm2-abcde");
        assert_string_equal(got->requester, rig->user);
        assert_int_equal(got->descheduler, evictions[i].descheduler);
        assert_int_equal(got->allow_shutdown, evictions[i].allow_shutdown);
        assert_int_equal(got->dry_run, evictions[i].dry_run);
        assert_false(got->cancel);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.evicted, COUNT(evictions));
}

static void a_denied_eviction_is_a_429_with_the_text(void **state)
{
    struct rig *rig = *state;
    rig->engine.fail_with = ERR_LIMIT;
    struct answer a = post(rig, SOURCE_POD "/eviction", EVICTION(""));
    assert_refused(&a, 429, "TooManyRequests"); /* kubectl drain asks again in 5 s */
    assert_string_equal(at(&a, "message"), "Eviction triggered evacuation of VMI \"default/vm2\"");
    assert_null(strstr(a.head, "Retry-After")); /* a client would wait inside the call, silently */
    assert_string_equal(at(&a, "details.retryAfterSeconds"), "");
    answer_fini(&a);
    rig->engine.fail_with = ERR_NOT_FOUND; /* it has left: drain is done with it */
    a = post(rig, SOURCE_POD "/eviction", EVICTION(""));
    assert_refused(&a, 404, "NotFound");
    assert_string_equal(at(&a, "message"), "pods \"virt-launcher-vm2-abcde\" not found");
    answer_fini(&a);
}

static void a_bad_eviction_is_refused(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *body;
        int status;
    } rows[] = {
        {"", 400},
        {"[]", 400},
        {"{\"kind\":\"Pod\"}", 400},
        {"{\"apiVersion\":\"policy/v2\"}", 400},
        {EVICTION("\"name\":\"other\""), 400},
        {EVICTION("\"namespace\":\"prod\""), 400},
        {"{\"deleteOptions\":{\"dryRun\":[\"Some\"]}}", 422},
        {"{\"deleteOptions\":{\"dryRun\":true}}", 400},
        {"{\"deleteOptions\":[]}", 400},
        {"{\"deleteOptions\":{\"preconditions\":{\"uid\":\"another\"}}}", 409},
        {"{\"deleteOptions\":{\"preconditions\":{\"resourceVersion\":\"1\"}}}", 422},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = post(rig, SOURCE_POD "/eviction", rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        answer_fini(&a);
    }
    struct answer a = ask(rig, "POST", SOURCE_POD "/eviction", "", "{}");
    assert_refused(&a, 415, "UnsupportedMediaType");
    answer_fini(&a);
    assert_int_equal(rig->engine.evicted, 0);
}

static void an_evacuation_can_be_cancelled(void **state)
{
    struct rig *rig = *state;
    static const char *const paths[] = {SUB "/virtualmachineinstances/vm2/evacuate/cancel",
                                        SUB "/virtualmachines/vm2/evacuate/cancel"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct answer a = ask(rig, "PUT", paths[i], "", NULL);
        assert_int_equal(a.status, 200);
        assert_true(rig->engine.last_eviction.cancel);
        assert_false(rig->engine.last_eviction.dry_run);
        assert_string_equal(rig->engine.last_eviction.pod, "vm2");
        answer_fini(&a);
    }
    struct answer a = ask(rig, "PUT", paths[0], "", "{\"dryRun\":[\"All\"]}");
    assert_true(rig->engine.last_eviction.dry_run);
    answer_fini(&a);
    rig->engine.fail_with = ERR_NOT_FOUND;
    a = ask(rig, "PUT", SUB "/virtualmachineinstances/none/evacuate/cancel", "", NULL);
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
}

/* ---- migrate, check ---- */

static void a_guest_is_migrated_as_virtctl_asks_for_it(void **state)
{
    struct rig *rig = *state;
    struct answer a = ask(rig, "PUT", SUB "/virtualmachines/vm2/migrate", "", NULL);
    assert_int_equal(a.status, 202);
    assert_string_equal(at(&a, "kind"), "VirtualMachineInstanceMigration");
    assert_string_equal(rig->engine.last.generate_name, "kubevirt-migrate-vm-");
    assert_string_equal(rig->engine.last.guest_name, "vm2");
    assert_string_equal(rig->engine.last.ns, "default");
    assert_false(rig->engine.last.dry_run);
    answer_fini(&a);
    a = ask(rig, "PUT", SUB "/virtualmachines/vm2/migrate", "",
            "{\"dryRun\":[\"All\"],\"addedNodeSelector\":{\"zone\":\"z1\","
            "\"kubernetes.io/hostname\":\"b\"}}");
    assert_int_equal(a.status, 202);
    assert_true(rig->engine.last.dry_run);
    assert_string_equal(rig->engine.last.target, "b");
    assert_string_equal(rig->engine.last_selector, "{\"zone\":\"z1\"}");
    answer_fini(&a);
    rig->engine.created = 0;
    a = ask(rig, "PUT", SUB "/virtualmachines/none/migrate", "", NULL);
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
    a = ask(rig, "PUT",
            "/apis/subresources.kubevirt.io/v1/namespaces/prod/virtualmachines/stray/migrate", "",
            NULL);
    assert_refused(&a, 409, "Conflict");
    assert_string_equal(at(&a, "message"), "VM is not running");
    answer_fini(&a);
    assert_int_equal(rig->engine.created, 0);
}

static void a_check_answers_and_changes_nothing(void **state)
{
    static const char path[] = "/apis/ferry.internal/v1/namespaces/default/checks";
    struct rig *rig = *state;
    struct answer a = post(rig, path, "{\"spec\":{\"vmiName\":\"vm2\",\"node\":\"b\"}}");
    assert_int_equal(a.status, 201);
    assert_string_equal(at(&a, "kind"), "Check");
    assert_string_equal(at(&a, "status.best"), "b");
    assert_string_equal(at(&a, "spec.vmiName"), "vm2");
    assert_int_equal(rig->engine.last_question.kind, QUESTION_CHECK);
    assert_string_equal(rig->engine.last_question.ns, "default");
    assert_string_equal(rig->engine.last_question.name, "vm2");
    assert_string_equal(rig->engine.last_question.wanted, "b");
    assert_int_equal(rig->engine.last_question.measure_s, 0);
    answer_fini(&a);
    a = post(rig, path, "{\"spec\":{\"vmiName\":\"vm2\",\"measureSeconds\":30}}");
    assert_int_equal(a.status, 201);
    assert_int_equal(rig->engine.last_question.measure_s, 30);
    answer_fini(&a);
    static const struct {
        const char *body;
        int status;
    } rows[] = {{"{}", 422},
                {"{\"spec\":{\"vmiName\":\"vm2\",\"nod\":\"b\"}}", 422},
                {"{\"spec\":{\"vmiName\":1}}", 400},
                {"{\"spec\":{\"vmiName\":\"vm2\",\"measureSeconds\":31}}", 422},
                {"{\"spec\":{\"vmiName\":\"vm2\",\"measureSeconds\":-1}}", 422},
                {"{\"spec\":{\"vmiName\":\"vm2\",\"measureSeconds\":\"5\"}}", 400},
                {"{\"kind\":\"Pod\"}", 400}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        a = post(rig, path, rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.asked, 2);
    assert_int_equal(rig->engine.puts + rig->engine.created, 0);
    rig->engine.fail_with = ERR_NOT_FOUND;
    a = post(rig, path, "{\"spec\":{\"vmiName\":\"none\"}}");
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_pod)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_guest_that_is_up_has_a_pod),
        WIRE_TEST(the_place_at_the_target_is_a_pod_too),
        WIRE_TEST(a_target_pod_lives_as_long_as_its_launcher),
        WIRE_TEST(a_pod_cannot_be_deleted),
        WIRE_TEST(an_eviction_reaches_the_engine_with_its_options),
        WIRE_TEST(a_denied_eviction_is_a_429_with_the_text),
        WIRE_TEST(a_bad_eviction_is_refused),
        WIRE_TEST(an_evacuation_can_be_cancelled),
        WIRE_TEST(a_guest_is_migrated_as_virtctl_asks_for_it),
        WIRE_TEST(a_check_answers_and_changes_nothing),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api pod", tests, NULL, NULL);
}
