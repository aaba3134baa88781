/* test_api_write.c - what people write, over the wire: documents, and the overlays of nodes and
 * guests. The requests are those that kubectl sends. */
#include "base/log.h"
#include "tests/unit/test_api_http.h"

#define POLICIES "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
#define DRAINS "/apis/ferry.internal/v1/drains"
#define QUOTAS "/api/v1/namespaces/prod/resourcequotas"

/* ---- documents ---- */

/* What was stored beside the spec; the managers are those of test_api_managers.c. */
static void expect_metadata(const struct rig *rig, const char *wanted)
{
    struct err err = {0};
    const char *text = rig->engine.last_put_metadata;
    OWNED(json_object) kept = json_parse(text, strlen(text), "metadata", &err);
    assert_non_null(json_object_object_get(kept, "managedFields"));
    json_object_object_del(kept, "managedFields");
    const char *rest = json_object_to_json_string_ext(kept, JSON_C_TO_STRING_PLAIN);
    assert_string_equal(strcmp(rest, "{}") == 0 ? "" : rest, wanted);
}

static void documents_are_made_as_asked(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *path, *body;
        enum object_kind kind;
        const char *ns, *name, *spec, *metadata;
    } rows[] = {
        {POLICIES "?fieldManager=kubectl-create&fieldValidation=Strict",
         "{\"apiVersion\":\"migrations.kubevirt.io/v1alpha1\",\"kind\":\"MigrationPolicy\","
         "\"metadata\":{\"name\":\"fast\",\"labels\":{\"a\":\"b\"}},"
         "\"spec\":{\"allowPostCopy\":true}}",
         OBJECT_POLICY, "", "fast", "{\"allowPostCopy\":true}", "{\"labels\":{\"a\":\"b\"}}"},
        {QUOTAS,
         "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"q\","
         "\"namespace\":\"prod\",\"creationTimestamp\":null},\"spec\":{\"hard\":{\"pods\":\"2\"}},"
         "\"status\":{}}",
         OBJECT_QUOTA, "prod", "q", "{\"hard\":{\"pods\":\"2\"}}", ""},
        {"/api/v1/namespaces",
         "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"new\",\"labels\":"
         "{\"env\":\"dev\"},\"annotations\":{\"n\":\"x\"}},\"spec\":{},\"status\":{}}",
         OBJECT_NAMESPACE, "", "new", "{\"labels\":{\"env\":\"dev\"}}",
         "{\"annotations\":{\"n\":\"x\"}}"},
        {"/api/v1/namespaces", /* in use, but nobody wrote about it yet */
         "{\"metadata\":{\"name\":\"default\",\"labels\":{\"env\":\"dev\"}}}", OBJECT_NAMESPACE, "",
         "default", "{\"labels\":{\"env\":\"dev\"}}", ""},
        {DRAINS, "{\"metadata\":{\"name\":\"a-now\"},\"spec\":{\"nodeName\":\"a\"}}", OBJECT_DRAIN,
         "", "a-now", "{\"nodeName\":\"a\"}", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a =
            ask(rig, "POST", rows[i].path, "Content-Type: application/json\r\n", rows[i].body);
        assert_int_equal(a.status, 201);
        assert_string_equal(at(&a, "metadata.name"), rows[i].name);
        assert_true(strlen(at(&a, "metadata.uid")) > 0);
        assert_int_equal(rig->engine.last_put.kind, rows[i].kind);
        assert_string_equal(rig->engine.last_put.ns, rows[i].ns);
        assert_string_equal(rig->engine.last_put.name, rows[i].name);
        assert_string_equal(rig->engine.last_put.requester, rig->user);
        assert_string_equal(rig->engine.last_spec, rows[i].spec);
        expect_metadata(rig, rows[i].metadata);
        assert_true(rig->engine.last_put.must_be_new && !rig->engine.last_put.dry_run);
        answer_fini(&a);
    }
}

static void a_bad_document_is_refused_before_the_engine_is_asked(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *path, *body;
        int status;
        const char *reason, *says;
    } rows[] = {
        {POLICIES, "{\"metadata\":{\"name\":\"gentle\"}}", 409, "AlreadyExists", "already exists"},
        {POLICIES, "{\"metadata\":{}}", 422, "Invalid", "metadata.name: is missing"},
        {POLICIES, "{\"metadata\":{\"generateName\":\"x-\"}}", 422, "Invalid", "generateName"},
        {POLICIES, "{\"metadata\":{\"name\":\"A\"}}", 422, "Invalid", "metadata.name: 'A'"},
        {POLICIES, "{\"kind\":\"Drain\",\"metadata\":{\"name\":\"x\"}}", 400, "BadRequest",
         "found a Drain"},
        {POLICIES, "{\"metadata\":{\"name\":\"x\"},\"sepc\":{}}", 422, "Invalid",
         "did you mean 'spec'?"},
        {POLICIES, "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}", 400, "BadRequest",
         "spec: expected an object"},
        {POLICIES "?dryRun=Some", "{\"metadata\":{\"name\":\"x\"}}", 422, "Invalid", "dryRun"},
        {QUOTAS, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"default\"}}", 400, "BadRequest",
         "metadata.namespace"},
        {"/api/v1/namespaces/Prod/resourcequotas", "{\"metadata\":{\"name\":\"x\"}}", 422,
         "Invalid", "'Prod' is not a valid name"},
        {"/api/v1/namespaces", "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":1}}}", 400,
         "BadRequest", "metadata.labels.a"},
        {DRAINS, "[]", 400, "BadRequest", "expected an object"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = post(rig, rows[i].path, rows[i].body);
        assert_refused(&a, rows[i].status, rows[i].reason);
        if (strstr(at(&a, "message"), rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", at(&a, "message"), rows[i].says);
        answer_fini(&a);
    }
    struct answer a = ask(rig, "POST", POLICIES, "Content-Type: text/plain\r\n", "{}");
    assert_refused(&a, 415, "UnsupportedMediaType");
    answer_fini(&a);
    assert_int_equal(rig->engine.puts, 0);
}

static void the_engines_refusal_comes_with_its_field(void **state)
{
    struct rig *rig = *state;
    for (enum err_code code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        rig->engine.fail_with = code;
        struct answer a =
            post(rig, POLICIES, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"zz\":1}}");
        assert_int_equal(a.status, err_http_status(code));
        assert_string_equal(at(&a, "kind"), "Status");
        if (code == ERR_UNPROCESSABLE)
            assert_string_equal(at(&a, "details.causes.0.field"), "spec.zz");
        assert_string_equal(at(&a, "details.kind"), "migrationpolicies");
        answer_fini(&a);
    }
}

static void a_dry_run_of_a_drain_answers_with_the_plan(void **state)
{
    struct rig *rig = *state;
    struct answer a = post(rig, DRAINS "?dryRun=All",
                           "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"nodeName\":\"a\","
                           "\"shutdown\":true}}");
    assert_int_equal(a.status, 201);
    assert_string_equal(at(&a, "kind"), "Drain");
    assert_string_equal(at(&a, "status.total"), "3");
    assert_string_equal(at(&a, "spec.nodeName"), "a");
    assert_true(rig->engine.last_put.dry_run); /* the engine looked at the spec as well */
    assert_int_equal(rig->engine.last_question.kind, QUESTION_DRAIN_PLAN);
    assert_string_equal(rig->engine.last_question.name, "a");
    assert_true(rig->engine.last_question.shutdown);
    answer_fini(&a);
    a = get(rig, DRAINS "/x");
    assert_int_equal(a.status, 404);
    answer_fini(&a);
}

static void documents_are_shown_with_their_status(void **state)
{
    static const struct {
        const char *path, *at, *want;
    } rows[] = {
        {POLICIES "/gentle", "apiVersion", "migrations.kubevirt.io/v1alpha1"},
        {POLICIES "/gentle", "spec.allowPostCopy", "false"},
        {POLICIES "/gentle", "metadata.labels.team", "blue"},
        {POLICIES "/gentle", "metadata.annotations.why", "x"},
        {POLICIES "/gentle", "metadata.namespace", ""},
        {POLICIES "/gentle", "metadata.uid", "40000000-0000-4000-8000-000000000000"},
        {QUOTAS "/small", "metadata.namespace", "prod"},
        {QUOTAS "/small", "status.hard.pods", "4"},
        {QUOTAS "/small", "status.used.pods", "1"},
        {QUOTAS "/small", "status.used.cpu", "2"},
        {DRAINS "/b-now", "status.state", "Draining"},
        {DRAINS "/b-now", "spec.nodeName", "b"},
        {"/api/v1/namespaces/prod", "status.phase", "Active"},
        {"/api/v1/namespaces/prod", "metadata.labels.env", "prod"},
        {"/api/v1/namespaces/prod", "status.ferry.launchers", "1"},
        {"/api/v1/namespaces/default", "metadata.uid", ""}, /* nobody wrote about it */
        {"/api/v1/namespaces/empty", "metadata.labels.env", "test"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = get(*state, rows[i].path);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, rows[i].at), rows[i].want);
        answer_fini(&a);
    }
    struct answer a = get(*state, QUOTAS "/small");
    struct json_object *used = json_at(a.json, "status.used");
    assert_string_equal(json_object_get_string(json_object_object_get(used, "requests.memory")),
                        "1048576Ki");
    answer_fini(&a);
}

/* ---- changes ---- */

/* status 0 in a row: the engine is asked, with this spec. */
static const struct change_row {
    const char *method, *type, *path, *body;
    int status;
    const char *spec; /* what the engine was asked to keep; NULL: it was not asked */
    const char *says;
} changes[] = {
    /* cordon, uncordon */
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/a",
     "{\"spec\":{\"unschedulable\":true}}", 200, "{\"labels\":{},\"unschedulable\":true}", NULL},
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/b",
     "{\"spec\":{\"unschedulable\":null}}", 200,
     "{\"labels\":{\"zone\":\"z1\"},\"unschedulable\":false}", NULL},
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/b",
     "{\"spec\":{\"unschedulable\":false}}", 200,
     "{\"labels\":{\"zone\":\"z1\"},\"unschedulable\":false}", NULL},
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/a",
     "{\"spec\":{\"unschedulable\":\"yes\"}}", 400, NULL, "spec.unschedulable"},
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/none",
     "{\"spec\":{\"unschedulable\":true}}", 404, NULL, "nodes \"none\" not found"},
    /* taint */
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/a",
     "{\"spec\":{\"taints\":[{\"effect\":\"NoSchedule\",\"key\":\"k\"}]}}", 200,
     "{\"labels\":{},\"taints\":[{\"effect\":\"NoSchedule\",\"key\":\"k\"}]}", NULL},
    {"PATCH", "strategic-merge-patch+json", "/api/v1/nodes/a", "{\"spec\":{\"taints\":null}}", 200,
     "{\"labels\":{},\"taints\":[]}", NULL},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"spec\":{\"taints\":{}}}", 400, NULL,
     "spec.taints: expected a list"},
    {"PATCH", "json-patch+json", "/api/v1/nodes/a",
     "[{\"op\":\"add\",\"path\":\"/spec/taints/-\",\"value\":{\"key\":\"x\"}}]", 200,
     "{\"labels\":{},\"taints\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"},"
     "{\"key\":\"x\"}]}",
     NULL},
    {"PATCH", "json-patch+json", "/api/v1/nodes/a",
     "[{\"op\":\"test\",\"path\":\"/spec/taints/0/key\",\"value\":\"other\"}]", 422, NULL,
     "the test failed"},
    /* label, annotate */
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a",
     "{\"metadata\":{\"labels\":{\"zone\":\"z2\"}}}", 200, "{\"labels\":{\"zone\":\"z2\"}}", NULL},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/b", "{\"metadata\":{\"labels\":{\"zone\":null}}}",
     200, "{\"labels\":{},\"unschedulable\":true}", NULL},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/b", "{\"metadata\":{\"labels\":{\"rack\":null}}}",
     422, NULL, "metadata.labels.rack: comes from the host or the configuration"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a",
     "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"x\"}}}", 422, NULL,
     "is set by Ferry and cannot be changed"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a",
     "{\"metadata\":{\"labels\":{\"zone\":\"no way\"}}}", 422, NULL, "metadata.labels.zone"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a",
     "{\"metadata\":{\"annotations\":{\"n\":\"x\"}}}", 200, "{\"labels\":{}}", NULL},
    /* what a node's overlay cannot say */
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"spec\":{\"podCIDR\":\"10.0.0.0/8\"}}", 422,
     NULL, "spec.podCIDR: cannot be changed here"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"metadata\":{\"name\":\"x\"}}", 400, NULL,
     "does not match the name on the URL"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"kind\":\"Pod\"}", 400, NULL,
     "found a Pod"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"status\":{\"phase\":\"x\"}}", 200,
     "{\"labels\":{}}", NULL}, /* as Kubernetes: status is not written this way */
    {"PATCH", "json", "/api/v1/nodes/a", "{}", 415, NULL, "merge-patch+json"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"metadata\":{\"resourceVersion\":\"2\"}}",
     409, NULL, "the object has been modified"},
    {"PATCH", "merge-patch+json", "/api/v1/nodes/a", "{\"metadata\":{\"uid\":\"other\"}}", 409,
     NULL, "precondition"},
    /* guests */
    {"PATCH", "merge-patch+json", VMI_PATH "/vm3", "{\"spec\":{\"evictionStrategy\":\"External\"}}",
     200, "{\"labels\":{},\"evictionStrategy\":\"External\"}", NULL},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm3",
     "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"nodeSelector\":{\"zone\":\"z\"},"
     "\"tolerations\":[{\"key\":\"k\"}]}}",
     200,
     "{\"labels\":{\"a\":\"b\"},\"nodeSelector\":{\"zone\":\"z\"},\"tolerations\":[{\"key\":\"k\"}]"
     "}",
     NULL},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm2",
     "{\"spec\":{\"nodeSelector\":{\"zone\":\"z2\"}}}", 200,
     "{\"labels\":{},\"nodeSelector\":{\"zone\":\"z2\"}}", NULL},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm2", "{\"spec\":{\"evictionStrategy\":null}}", 422,
     NULL, "spec.evictionStrategy: comes from the host"},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm2",
     "{\"spec\":{\"domain\":{\"cpu\":{\"cores\":8}}}}", 422, NULL,
     "spec.domain: cannot be changed here"},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm2", "{\"spec\":{\"volumes\":[]}}", 422, NULL,
     "spec.volumes: cannot be changed here"},
    {"PATCH", "merge-patch+json", VMI_PATH "/vm1", "{\"metadata\":{\"labels\":{\"app\":null}}}",
     422, NULL, "metadata.labels.app"},
    {"PATCH", "merge-patch+json", VMI_PATH "/none", "{}", 404, NULL, "not found"},
    /* documents */
    {"PATCH", "merge-patch+json", POLICIES "/gentle", "{\"spec\":{\"allowPostCopy\":true}}", 200,
     "{\"selectors\":{\"virtualMachineInstanceSelector\":{\"app\":\"web\"}},\"allowPostCopy\":"
     "true}",
     NULL},
    {"PATCH", "merge-patch+json", POLICIES "/gentle", "{\"spec\":{\"selectors\":null}}", 200,
     "{\"allowPostCopy\":false}", NULL},
    {"PATCH", "apply-patch+yaml", POLICIES "/fresh?fieldManager=kubectl&force=true",
     "apiVersion: migrations.kubevirt.io/v1alpha1\nkind: MigrationPolicy\nmetadata:\n  name: "
     "fresh\n"
     "spec:\n  allowPostCopy: true\n",
     201, "{\"allowPostCopy\":true}", NULL},
    {"PATCH", "apply-patch+yaml", POLICIES "/gentle?fieldManager=t",
     "{\"spec\":{\"maxDowntimeMs\":100}}", 200,
     "{\"selectors\":{\"virtualMachineInstanceSelector\":{\"app\":\"web\"}},"
     "\"allowPostCopy\":false,\"maxDowntimeMs\":100}",
     NULL},
    {"PATCH", "merge-patch+json", POLICIES "/fresh", "{}", 404, NULL, "not found"},
    {"PATCH", "merge-patch+json", "/api/v1/namespaces/prod",
     "{\"metadata\":{\"labels\":{\"tier\":\"1\"}}}", 200,
     "{\"labels\":{\"env\":\"prod\",\"tier\":\"1\"}}", NULL},
    {"PATCH", "merge-patch+json", "/api/v1/namespaces/prod",
     "{\"metadata\":{\"labels\":{\"env\":null}}}", 200, "{\"labels\":{}}", NULL},
    {"PATCH", "merge-patch+json", "/api/v1/namespaces/default",
     "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200, "{\"labels\":{\"a\":\"b\"}}", NULL},
    {"PATCH", "apply-patch+yaml", "/api/v1/namespaces/made?fieldManager=t",
     "metadata: {name: made, labels: {a: b}}\n", 201, "{\"labels\":{\"a\":\"b\"}}", NULL},
    {"PUT", "json", QUOTAS "/small",
     "{\"metadata\":{\"name\":\"small\",\"resourceVersion\":\"NOW\"},\"spec\":{\"hard\":{\"pods\":"
     "9}"
     "}}",
     200, "{\"hard\":{\"pods\":9}}", NULL},
    {"PUT", "json", QUOTAS "/small",
     "{\"metadata\":{\"name\":\"small\",\"resourceVersion\":\"20\"},\"spec\":{}}", 409, NULL,
     "the object has been modified"},
    {"PUT", "json", QUOTAS "/none", "{\"metadata\":{\"name\":\"none\"},\"spec\":{}}", 404, NULL,
     "not found"},
    {"PUT", "json", QUOTAS "/small", "{\"metadata\":{\"name\":\"other\"}}", 400, NULL,
     "does not match the name on the URL"},
    {"PUT", "yaml", QUOTAS "/small", "{}", 415, NULL, "application/json"},
};

/* NOW in a body stands for the version that the object has. */
static char *with_version(struct rig *rig, const char *path, const char *body)
{
    const char *now = strstr(body, "NOW");
    struct buf text;
    buf_init(&text, 4096);
    if (now == NULL) {
        buf_add(&text, body);
        return buf_take(&text);
    }
    struct answer a = get(rig, path);
    buf_addf(&text, "%.*s%s%s", (int)(now - body), body, at(&a, "metadata.resourceVersion"),
             now + strlen("NOW"));
    answer_fini(&a);
    return buf_take(&text);
}

static void each_change_is_kept_or_refused_as_its_row_says(void **state)
{
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct world *world = world_new(++rig->engine.generation); /* as if nothing had been */
        show_snapshot(rig->x, &world->snapshot);
        snapshot_unref(&world->snapshot);
        rig->engine.puts = 0;
        char header[128];
        (void)snprintf(header, sizeof header, "Content-Type: application/%s\r\n", changes[i].type);
        OWNED_TEXT body = with_version(rig, changes[i].path, changes[i].body);
        struct answer a = ask(rig, changes[i].method, changes[i].path, header, body);
        if (a.status != changes[i].status)
            fail_msg("%s %s %s: %d %s", changes[i].method, changes[i].path, changes[i].body,
                     a.status, at(&a, "message"));
        if (changes[i].says != NULL && strstr(at(&a, "message"), changes[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", at(&a, "message"), changes[i].says);
        assert_int_equal(rig->engine.puts, changes[i].spec != NULL);
        if (changes[i].spec != NULL) {
            assert_string_equal(rig->engine.last_spec, changes[i].spec);
            assert_string_not_equal(at(&a, "kind"), "Status");
        }
        answer_fini(&a);
    }
}

static void metadata_of_an_overlay_is_kept_and_can_go(void **state)
{
    struct rig *rig = *state;
    struct answer a = patch(rig, "/api/v1/nodes/a", "merge-patch+json",
                            "{\"metadata\":{\"annotations\":{\"n\":\"x\"}}}");
    expect_metadata(rig, "{\"annotations\":{\"n\":\"x\"}}");
    assert_string_equal(at(&a, "metadata.annotations.n"), "x");
    answer_fini(&a);
    a = patch(rig, "/api/v1/nodes/a", "merge-patch+json",
              "{\"metadata\":{\"annotations\":{\"n\":null}}}");
    assert_string_equal(rig->engine.last_put_metadata, "{}");
    assert_string_equal(at(&a, "metadata.annotations"), "");
    answer_fini(&a);
    a = patch(rig, VMI_PATH "/vm1", "merge-patch+json", /* Ferry's own are not stored */
              "{\"metadata\":{\"annotations\":{\"n\":\"x\"}}}");
    expect_metadata(rig, "{\"annotations\":{\"n\":\"x\"}}");
    answer_fini(&a);
}

/* Annotations that leave little room, and a client with a long name for each. */
static void who_set_what_keeps_nobody_from_a_change(void **state)
{
    struct rig *rig = *state;
    struct buf body;
    buf_init(&body, 2 * REQUEST_METADATA_MAX);
    buf_add(&body, "{\"spec\":{\"unschedulable\":true},\"metadata\":{\"annotations\":{\"n0\":\"\"");
    for (int i = 1; i < 210; i++)
        buf_addf(&body, ",\"n%d.example.org/%050d\":\"\"", i, i);
    buf_add(&body, "}}}");
    struct answer a = patch(rig, "/api/v1/nodes/a", "merge-patch+json", body.data);
    if (a.status != 200)
        fail_msg("%d %s", a.status, at(&a, "message"));
    assert_string_equal(rig->engine.last_spec, "{\"labels\":{},\"unschedulable\":true}");
    assert_null(strstr(rig->engine.last_put_metadata, "managedFields"));
    answer_fini(&a);
    buf_fini(&body);
}

static void the_engine_is_told_which_version_was_read(void **state)
{
    struct rig *rig = *state;
    struct answer a = patch(rig, POLICIES "/gentle", "merge-patch+json", "{}");
    assert_int_equal(rig->engine.last_put.if_version, 20);
    assert_true(rig->engine.last_put.must_exist && !rig->engine.last_put.must_be_new);
    answer_fini(&a);
    a = patch(rig, "/api/v1/nodes/b", "merge-patch+json", "{}");
    assert_int_equal(rig->engine.last_put.if_version, 24);
    answer_fini(&a);
    a = patch(rig, "/api/v1/nodes/a", "merge-patch+json", "{}"); /* it has no overlay yet */
    assert_int_equal(rig->engine.last_put.if_version, 0);
    assert_false(rig->engine.last_put.must_exist || rig->engine.last_put.must_be_new);
    answer_fini(&a);
}

static void two_writers_lose_nothing(void **state)
{
    struct rig *rig = *state;
    rig->engine.clashes = 2;
    struct answer a = patch(rig, "/api/v1/namespaces/empty", "merge-patch+json",
                            "{\"metadata\":{\"labels\":{\"mine\":\"2\"}}}");
    assert_int_equal(a.status, 200); /* made again on what the other wrote */
    assert_int_equal(rig->engine.puts, 3);
    assert_string_equal(rig->engine.last_spec, "{\"labels\":{\"theirs\":\"1\",\"mine\":\"2\"}}");
    answer_fini(&a);
    rig->engine.clashes = 100; /* but not for ever */
    a = patch(rig, "/api/v1/namespaces/empty", "merge-patch+json",
              "{\"metadata\":{\"labels\":{\"more\":\"3\"}}}");
    assert_refused(&a, 409, "Conflict");
    answer_fini(&a);
    rig->engine.clashes = 0;
    rig->engine.puts = 0;
    rig->engine.fail_with = ERR_REFUSED; /* and not when nobody else wrote */
    a = patch(rig, DRAINS "/b-now", "merge-patch+json", "{\"spec\":{\"shutdown\":false}}");
    assert_refused(&a, 409, "Conflict");
    assert_int_equal(rig->engine.puts, 1);
    answer_fini(&a);
}

static void a_dry_run_of_a_change_shows_it(void **state)
{
    struct rig *rig = *state;
    struct answer a = patch(rig, "/api/v1/nodes/a?dryRun=All", "strategic-merge-patch+json",
                            "{\"spec\":{\"unschedulable\":true}}");
    assert_int_equal(a.status, 200);
    assert_true(rig->engine.last_put.dry_run);
    assert_string_equal(at(&a, "spec.unschedulable"), "true");
    assert_string_equal(at(&a, "metadata.name"), "a");
    answer_fini(&a);
    a = get(rig, "/api/v1/nodes/a");
    assert_string_equal(at(&a, "spec.unschedulable"), "");
    answer_fini(&a);
}

/* ---- delete ---- */

static void documents_are_removed(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        ask(rig, "DELETE", DRAINS "/b-now", "", "{\"propagationPolicy\":\"Background\"}");
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "status"), "Success");
    assert_string_equal(at(&a, "details.uid"), "40000000-0000-4000-8000-000000000005");
    assert_int_equal(rig->engine.last_ref.kind, OBJECT_DRAIN);
    assert_string_equal(rig->engine.last_ref.name, "b-now");
    assert_string_equal(rig->engine.last_ref.requester, rig->user);
    answer_fini(&a);
    static const struct {
        const char *path, *body;
        int status;
    } rows[] = {
        {DRAINS "/b-now?dryRun=All", NULL, 200},
        {DRAINS "/none?dryRun=All", NULL, 404},
        {DRAINS "/b-now", "{\"dryRun\":[\"All\"]}", 200},
        {DRAINS "/b-now", "{\"preconditions\":{\"uid\":\"other\"}}", 409},
        {DRAINS, NULL, 405},
        {"/api/v1/nodes/a", NULL, 405},
        {VMI_PATH "/vm1", NULL, 405},
    };
    rig->engine.removed = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        a = ask(rig, "DELETE", rows[i].path, "", rows[i].body);
        assert_int_equal(a.status, rows[i].status);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.removed, 0);
    rig->engine.fail_with = ERR_NOT_FOUND;
    a = ask(rig, "DELETE", DRAINS "/none", "", NULL);
    assert_refused(&a, 404, "NotFound");
    assert_string_equal(at(&a, "message"), "drains.ferry.internal \"none\" not found");
    answer_fini(&a);
}

/* ---- migrations ---- */

static void the_spec_of_a_migration_is_restricted(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *path, *body;
        int status;
        const char *says;
    } rows[] = {
        {"/moving", "{}", 200, NULL},
        {"/moving", "{\"metadata\":{\"labels\":{\"team\":\"blue\"}}}", 200, NULL},
        {"/moving", "{\"spec\":{\"priority\":null}}", 200, NULL}, /* shown, never asked for */
        {"/moving", "{\"status\":{\"phase\":\"Failed\"}}", 200, NULL},
        {"/moving", "{\"spec\":{\"vmiName\":\"vm1\"}}", 422,
         "update of Migration object's spec is restricted"},
        {"/moving", "{\"spec\":{\"addedNodeSelector\":null}}", 422, "restricted"},
        {"/moving", "{\"spec\":{\"priority\":\"none\"}}", 422, "restricted"},
        {"/moving", "{\"spec\":null}", 422, "restricted"},
        {"/moving", "{\"metadata\":{\"labels\":{\"kubevirt.io/vmi-name\":null}}}", 422,
         "selector label can't be removed from an in-flight migration"},
        {"/moving", "{\"metadata\":{\"labels\":{\"kubevirt.io/vmi-name\":\"vm1\"}}}", 422,
         "selector label can't be modified on an in-flight migration"},
        {"/moving", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 422,
         "metadata.labels: is stored with the migration"},
        {"/done", "{\"metadata\":{\"labels\":{\"kubevirt.io/vmi-name\":null}}}", 422,
         "metadata.labels: is stored with the migration"},
        {"/moving", "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}", 422, "metadata.annotations"},
        {"/moving", "{\"metadata\":{\"finalizers\":null}}", 422, "metadata.finalizers"},
        {"/moving", "{\"metadata\":{\"name\":\"x\"}}", 400, "does not match"},
        {"/moving", "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, "modified"},
        {"/none", "{}", 404, "not found"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[256];
        (void)snprintf(path, sizeof path, VMIM_PATH "%s", rows[i].path);
        struct answer a = patch(rig, path, "merge-patch+json", rows[i].body);
        if (a.status != rows[i].status)
            fail_msg("%s %s: %d %s", rows[i].path, rows[i].body, a.status, at(&a, "message"));
        if (rows[i].says != NULL && strstr(at(&a, "message"), rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", at(&a, "message"), rows[i].says);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.created + rig->engine.puts, 0);
}

static void an_apply_makes_a_migration(void **state)
{
    struct rig *rig = *state;
    struct answer a =
        patch(rig, VMIM_PATH "/applied?fieldManager=kubectl&force=true", "apply-patch+yaml",
              "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
              "metadata:\n  name: applied\nspec:\n  vmiName: vm3\n");
    assert_int_equal(a.status, 201);
    assert_string_equal(rig->engine.last.guest_name, "vm3");
    assert_string_equal(rig->engine.last.name, "applied");
    answer_fini(&a);
    a = patch(rig, VMIM_PATH "/applied2", "apply-patch+yaml", "spec: {vmiName: vm3}\n");
    assert_int_equal(a.status, 400); /* without a name it would be another one */
    answer_fini(&a);
    a = patch(rig, VMIM_PATH "/moving", "apply-patch+yaml",
              "metadata: {name: moving}\nspec: {vmiName: vm2}\n");
    assert_int_equal(a.status, 200);
    assert_int_equal(rig->engine.created, 1);
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_write)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(documents_are_made_as_asked),
        WIRE_TEST(a_bad_document_is_refused_before_the_engine_is_asked),
        WIRE_TEST(the_engines_refusal_comes_with_its_field),
        WIRE_TEST(a_dry_run_of_a_drain_answers_with_the_plan),
        WIRE_TEST(documents_are_shown_with_their_status),
        WIRE_TEST(each_change_is_kept_or_refused_as_its_row_says),
        WIRE_TEST(metadata_of_an_overlay_is_kept_and_can_go),
        WIRE_TEST(who_set_what_keeps_nobody_from_a_change),
        WIRE_TEST(the_engine_is_told_which_version_was_read),
        WIRE_TEST(two_writers_lose_nothing),
        WIRE_TEST(a_dry_run_of_a_change_shows_it),
        WIRE_TEST(documents_are_removed),
        WIRE_TEST(the_spec_of_a_migration_is_restricted),
        WIRE_TEST(an_apply_makes_a_migration),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api write", tests, NULL, NULL);
}
