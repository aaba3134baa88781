/* test_api_create.c - asking for migrations over the wire, and cancelling them: what reaches the
 * engine, and what must not. */
#include "base/log.h"
#include "tests/unit/test_api_http.h"

#define BODY(metadata, spec)                                                           \
    "{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstanceMigration\"," \
    "\"metadata\":{" metadata "},\"spec\":{" spec "}}"

static void a_migration_is_created_as_asked(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        ask(rig, "POST", VMIM_PATH "?fieldManager=kubectl-create&fieldValidation=Strict",
            "Content-Type: application/json; charset=utf-8\r\nX-Ferry-User: carol\r\n",
            BODY("\"name\":\"move-it\",\"labels\":{\"team\":\"red\"},\"annotations\":"
                 "{\"ferry.internal/bandwidth-mib\":\"250\"},\"creationTimestamp\":null",
                 "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"kubernetes.io/hostname\":\"b\"}"));
    assert_int_equal(a.status, 201);
    assert_string_equal(at(&a, "metadata.name"), "move-it");
    assert_string_equal(at(&a, "metadata.uid"), "30000000-0000-4000-8000-000000000000");
    assert_string_equal(at(&a, "status.phase"), "Pending");
    assert_string_equal(rig->engine.last.ns, "default");
    assert_string_equal(rig->engine.last.name, "move-it");
    assert_string_equal(rig->engine.last.guest_name, "vm3");
    assert_string_equal(rig->engine.last.target, "b");
    assert_string_equal(rig->engine.last.requester, rig->user); /* not who it claims */
    assert_int_equal(rig->engine.last.bandwidth_mibs, 250);
    assert_false(rig->engine.last.dry_run);
    assert_string_equal(rig->engine.last_metadata, "{\"labels\":{\"team\":\"red\"},\"annotations\":"
                                                   "{\"ferry.internal\\/bandwidth-mib\":\"250\"}}");
    answer_fini(&a);
    a = get(rig, VMIM_PATH "/move-it"); /* it is there the moment create returned */
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

static void a_name_can_be_left_to_ferry(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        post(rig, VMIM_PATH, BODY("\"generateName\":\"drain-\"", "\"vmiName\":\"vm3\""));
    assert_int_equal(a.status, 201);
    assert_string_equal(at(&a, "metadata.name"), "migration-x7k2p");
    assert_string_equal(rig->engine.last.generate_name, "drain-");
    assert_string_equal(rig->engine.last.name, "");
    assert_string_equal(rig->engine.last.target, "");
    assert_string_equal(rig->engine.last.requester, rig->user);
    assert_string_equal(rig->engine.last_metadata, "");
    answer_fini(&a);
}

static void any_label_of_a_node_can_be_asked_for(void **state)
{
    struct rig *rig = *state;
    struct answer a = post(
        rig, VMIM_PATH,
        BODY("\"name\":\"zoned\"",
             "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"zone\":\"z1\",\"spot\":\"\","
             "\"kubernetes.io/hostname\":\"b\"},\"ferry\":{\"volumes\":[{\"disk\":\"vda\"}]}"));
    assert_int_equal(a.status, 201);
    assert_string_equal(rig->engine.last.target, "b"); /* the named node goes by its own way */
    assert_string_equal(rig->engine.last_selector, "{\"zone\":\"z1\",\"spot\":\"\"}");
    assert_string_equal(rig->engine.last_volumes, "[{\"disk\":\"vda\"}]");
    answer_fini(&a);
    a = post(rig, VMIM_PATH "?dryRun=All",
             BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"zone\":\"z1\"}"));
    assert_string_equal(at(&a, "spec.addedNodeSelector.zone"), "z1");
    assert_string_equal(rig->engine.last.target, "");
    answer_fini(&a);
}

static void a_dry_run_shows_but_stores_nothing(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        post(rig, VMIM_PATH "?dryRun=All", BODY("\"name\":\"maybe\"", "\"vmiName\":\"vm3\""));
    assert_int_equal(a.status, 201);
    assert_true(rig->engine.last.dry_run);
    assert_string_equal(at(&a, "metadata.name"), "maybe");
    assert_string_equal(at(&a, "spec.vmiName"), "vm3");
    assert_string_equal(at(&a, "status.phase"), "Pending");
    answer_fini(&a);
    a = get(rig, VMIM_PATH "/maybe");
    assert_int_equal(a.status, 404);
    answer_fini(&a);
    a = post(rig, VMIM_PATH "?dryRun=Some", BODY("\"name\":\"maybe\"", "\"vmiName\":\"vm3\""));
    assert_refused(&a, 422, "Invalid");
    answer_fini(&a);
}

static const struct bad_body {
    const char *body;
    int status;
    const char *says;
} bad_bodies[] = {
    {"", 400, "body: line 1 column 1"},
    {"{\"spec\":", 400, "line 1"},
    {"[]", 400, "body: expected an object"},
    {"{\"kind\":\"Pod\"}", 400, "found a Pod"},
    {"{\"apiVersion\":\"kubevirt.io/v2\"}", 400, "kubevirt.io/v2"},
    {"{\"specs\":{}}", 422, "specs: unknown field; did you mean 'spec'?"},
    {"{}", 422, "spec.vmiName: vmiName is missing"},
    {BODY("\"name\":\"a\"", ""), 422, "vmiName is missing"},
    {BODY("", "\"vmiNmae\":\"vm3\""), 422, "spec.vmiNmae: unknown field; did you mean 'vmiName'?"},
    {BODY("", "\"vmiName\":\"vm3\",\"zzz\":1"), 422, "spec.zzz: unknown field"},
    {BODY("", "\"vmiName\":\"vm3\",\"priority\":7"), 400, "spec.priority: expected a string"},
    {BODY("", "\"vmiName\":7"), 400, "spec.vmiName: expected a string"},
    {BODY("", "\"vmiName\":\"v\",\"vmiName\":\"w\""), 400, "duplicate"},
    {BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":[]"), 400, "expected an object"},
    {BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"zone\":\"x y\"}"), 422,
     "spec.addedNodeSelector.zone: 'x y'"},
    {BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"zo!ne\":\"x\"}"), 422,
     "is not a valid label name"},
    {BODY("", "\"vmiName\":\"vm3\",\"ferry\":{\"volums\":[]}"), 422, "did you mean 'volumes'?"},
    {BODY("", "\"vmiName\":\"vm3\",\"ferry\":{\"volumes\":{}}"), 400, "expected a list"},
    {BODY("", "\"vmiName\":\"vm3\",\"sendTo\":{}"), 422, "spec.sendTo: not supported"},
    {BODY("\"annotations\":{\"a!b\":\"x\"}", "\"vmiName\":\"vm3\""), 422, "a key is at most"},
    {BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"kubernetes.io/hostname\":1}"), 400,
     "expected a string"},
    {BODY("", "\"vmiName\":\"vm3\",\"addedNodeSelector\":{\"kubernetes.io/hostname\":\"\"}"), 422,
     "hostname: is empty"},
    {BODY("\"name\":\"Upper\"", "\"vmiName\":\"vm3\""), 422, "metadata.name: 'Upper'"},
    {BODY("\"name\":\"-a\"", "\"vmiName\":\"vm3\""), 422, "metadata.name"},
    {BODY("\"name\":\"a/b\"", "\"vmiName\":\"vm3\""), 422, "metadata.name"},
    {BODY("\"generateName\":\"A-\"", "\"vmiName\":\"vm3\""), 422, "metadata.generateName"},
    {BODY("\"namespace\":\"prod\"", "\"vmiName\":\"vm3\""), 400, "metadata.namespace: 'prod'"},
    {BODY("\"labels\":{\"a\":1}", "\"vmiName\":\"vm3\""), 400, "metadata.labels.a"},
    {BODY("\"labels\":{\"a\":\"b c\"}", "\"vmiName\":\"vm3\""), 422, "metadata.labels.a"},
    {BODY("\"labels\":[]", "\"vmiName\":\"vm3\""), 400, "metadata.labels: expected an object"},
    {BODY("\"annotations\":{\"ferry.internal/bandwidth-mib\":\"0\"}", "\"vmiName\":\"vm3\""), 422,
     "bandwidth-mib: '0'"},
    {BODY("\"annotations\":{\"ferry.internal/bandwidth-mib\":\"fast\"}", "\"vmiName\":\"vm3\""),
     422, "bandwidth-mib: 'fast'"},
};

static void a_bad_body_is_refused_with_the_field(void **state)
{
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(bad_bodies); i++) {
        struct answer a = post(rig, VMIM_PATH, bad_bodies[i].body);
        assert_refused(&a, bad_bodies[i].status,
                       bad_bodies[i].status == 400 ? "BadRequest" : "Invalid");
        if (bad_bodies[i].status == 422 && strchr(at(&a, "message"), ':') != NULL)
            assert_true(strlen(at(&a, "details.causes.0.field")) > 0);
        if (strstr(at(&a, "message"), bad_bodies[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", at(&a, "message"), bad_bodies[i].says);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.created, 0);
}

static void labels_and_annotations_have_a_limit(void **state)
{
    struct rig *rig = *state;
    struct buf body;
    buf_init(&body, 1 << 20);
    buf_add(&body, "{\"metadata\":{\"annotations\":{\"a\":\"");
    for (int i = 0; i < REQUEST_METADATA_MAX; i++)
        buf_add(&body, "x");
    buf_add(&body, "\"}},\"spec\":{\"vmiName\":\"vm3\"}}");
    struct answer a = post(rig, VMIM_PATH, body.data);
    assert_refused(&a, 422, "Invalid");
    assert_int_equal(rig->engine.created, 0);
    buf_fini(&body);
    answer_fini(&a);
}

static void every_refusal_of_the_engine_has_its_status(void **state)
{
    struct rig *rig = *state;
    for (enum err_code code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        rig->engine.fail_with = code;
        struct answer a = post(rig, VMIM_PATH, BODY("\"name\":\"mine\"", "\"vmiName\":\"vm3\""));
        assert_int_equal(a.status, err_http_status(code));
        assert_string_equal(at(&a, "kind"), "Status");
        assert_non_null(strstr(at(&a, "message"), err_name(code)));
        assert_string_equal(at(&a, "details.name"), "mine");
        assert_int_equal(strstr(a.head, "Retry-After: 1\r\n") != NULL,
                         a.status == 429 || a.status == 503);
        assert_string_equal(at(&a, "details.kind"), "virtualmachineinstancemigrations");
        answer_fini(&a);
    }
    rig->engine.fail_with = ERR_EXISTS;
    struct answer a = post(rig, VMIM_PATH, BODY("\"name\":\"mine\"", "\"vmiName\":\"vm3\""));
    assert_refused(&a, 409, "AlreadyExists");
    answer_fini(&a);
}

/* ---- delete and abort ---- */

static void deleting_cancels_and_shows_what_is_left(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        ask(rig, "DELETE", VMIM_PATH "/stopping", "", "{\"propagationPolicy\":\"Background\"}");
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "kind"), "VirtualMachineInstanceMigration");
    assert_true(strlen(at(&a, "metadata.deletionTimestamp")) > 0);
    assert_string_equal(rig->engine.last_cancel, "stopping");
    assert_string_equal(rig->engine.last_requester, rig->user);
    assert_true(rig->engine.last_remove);
    answer_fini(&a);
    a = ask(rig, "DELETE", VMIM_PATH "/gone", "", NULL); /* the engine knew it, the view does not */
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "status"), "Success");
    assert_string_equal(at(&a, "details.name"), "gone");
    answer_fini(&a);
}

static void aborting_keeps_the_record(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        ask(rig, "PUT", VMIM_PATH "/moving/abort", "Content-Type: application/json\r\n", "{}");
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "metadata.name"), "moving");
    assert_string_equal(rig->engine.last_cancel, "moving");
    assert_false(rig->engine.last_remove);
    answer_fini(&a);
}

static void a_delete_that_must_not_happen_does_not(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *path, *body;
        int status;
    } rows[] = {
        {VMIM_PATH "/moving?dryRun=All", NULL, 200},
        {VMIM_PATH "/moving", "{\"dryRun\":[\"All\"]}", 200},
        {VMIM_PATH "/none?dryRun=All", NULL, 404},
        {VMIM_PATH "/moving?dryRun=Maybe", NULL, 422},
        {VMIM_PATH "/moving", "{\"preconditions\":{\"uid\":\"other\"}}", 409},
        {VMIM_PATH "/moving", "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 422},
        {VMIM_PATH "/moving", "{\"preconditions\":", 400},
        {VMIM_PATH "/moving", "{\"dryRun\":\"All\"}", 400},
        {VMIM_PATH "/moving", "{\"dryRun\":true}", 400},
        {VMIM_PATH "/moving", "{\"dryRun\":[\"Some\"]}", 422},
        {VMIM_PATH "/moving", "{\"dryRun\":[\"All\",\"Some\"]}", 422},
        {VMIM_PATH "/moving", "{\"dryRun\":[null]}", 422},
        {VMIM_PATH "/moving", "{\"dryRun\":[1]}", 422},
        {VMIM_PATH "/moving", "[]", 400},
        {VMIM_PATH "/moving",
         "{\"preconditions\":{\"uid\":\"20000000-0000-4000-8000-000000000001"
         "and-more-text-than-any-uid-has\"}}",
         409},
        {VMIM_PATH, NULL, 405}, /* delete of a whole collection */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(rig, "DELETE", rows[i].path, "", rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.cancelled, 0);
    rig->engine.fail_with = ERR_NOT_FOUND;
    struct answer a = ask(rig, "DELETE", VMIM_PATH "/none", "", NULL);
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_create)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_migration_is_created_as_asked),
        WIRE_TEST(a_name_can_be_left_to_ferry),
        WIRE_TEST(any_label_of_a_node_can_be_asked_for),
        WIRE_TEST(a_dry_run_shows_but_stores_nothing),
        WIRE_TEST(a_bad_body_is_refused_with_the_field),
        WIRE_TEST(labels_and_annotations_have_a_limit),
        WIRE_TEST(every_refusal_of_the_engine_has_its_status),
        WIRE_TEST(deleting_cancels_and_shows_what_is_left),
        WIRE_TEST(aborting_keeps_the_record),
        WIRE_TEST(a_delete_that_must_not_happen_does_not),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api create", tests, NULL, NULL);
}
