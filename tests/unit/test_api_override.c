/* test_api_override.c - the operator override over the wire: what is handed to the engine, what is
 * refused before it, and how the engine's refusals come back. */
#include "base/log.h"
#include "tests/unit/test_api_http.h"

#define SUB "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
#define RECOVER SUB "/moving/recover"
#define RESOLVE SUB "/moving/resolve"
#define AS_JSON "Content-Type: application/json\r\n"
#define WORD(place, because) "{\"guestAt\":\"" place "\",\"because\":\"" because "\"}"

static void a_recovery_is_asked_for_again(void **state)
{
    struct rig *rig = *state;
    static const char *const bodies[] = {NULL, "", "{}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct answer a = ask(rig, "POST", RECOVER, AS_JSON, bodies[i]);
        assert_int_equal(a.status, 202);
        assert_string_equal(at(&a, "status"), "Success");
        assert_int_equal(rig->engine.last_override.kind, RESOLVE_RECOVER);
        assert_string_equal(rig->engine.last_override.ns, "default");
        assert_string_equal(rig->engine.last_override.name, "moving");
        assert_string_equal(rig->engine.last_override.requester, rig->user);
        assert_string_equal(rig->engine.last_override.why, "");
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.resolved, COUNT(bodies));
}

static void each_override_reaches_the_engine_with_its_reason(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *body;
        enum override_kind word;
        const char *why;
    } rows[] = {
        {WORD("source", "I looked"), RESOLVE_ON_SOURCE, "I looked"},
        {WORD("target", "x"), RESOLVE_ON_TARGET, "x"},
        {WORD("gone", "beide Hosts brannten \xc3\xa4"), RESOLVE_GONE,
         "beide Hosts brannten \xc3\xa4"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(rig, "POST", RESOLVE, AS_JSON, rows[i].body);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "status"), "Success");
        assert_int_equal(rig->engine.last_override.kind, rows[i].word);
        assert_string_equal(rig->engine.last_override.why, rows[i].why);
        assert_string_equal(rig->engine.last_override.name, "moving");
        assert_string_equal(rig->engine.last_override.requester, rig->user);
        answer_fini(&a);
    }
}

static void a_reason_has_a_bound(void **state)
{
    struct rig *rig = *state;
    for (size_t n = 254; n <= 257; n++) {
        char why[300] = "", body[400];
        memset(why, 'w', n);
        (void)snprintf(body, sizeof body, "{\"guestAt\":\"source\",\"because\":\"%s\"}", why);
        struct answer a = post(rig, RESOLVE, body);
        assert_int_equal(a.status, n <= 255 ? 200 : 422);
        if (n <= 255)
            assert_string_equal(rig->engine.last_override.why, why);
        else
            assert_non_null(strstr(at(&a, "message"), "the limit is 255"));
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.resolved, 2);
}

static void an_ambiguous_override_is_refused(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *path, *body;
        int status;
        const char *message;
    } rows[] = {
        {RESOLVE, "{}", 422, "guestAt: is missing; expected source, target or gone"},
        {RESOLVE, WORD("", "x"), 422, "guestAt: is missing; expected source, target or gone"},
        {RESOLVE, WORD("h2", "x"), 422, "guestAt: 'h2' is none of source, target, gone"},
        {RESOLVE, WORD("Source", "x"), 422, "guestAt: 'Source' is none of source, target, gone"},
        {RESOLVE, "{\"guestAt\":\"source\"}", 422,
         "because: is missing; state how the location is known"},
        {RESOLVE, WORD("source", ""), 422, "because: is missing; state how the location is known"},
        {RESOLVE, WORD("source", "   "), 422,
         "because: is missing; state how the location is known"},
        {RESOLVE, WORD("source", "a\\nb"), 422,
         "because: must be one line, without control characters"},
        {RESOLVE, "{\"guestAt\":\"source\",\"becuase\":\"x\"}", 422,
         "becuase: unknown field; did you mean 'because'?"},
        {RESOLVE, "{\"guestAt\":1,\"because\":\"x\"}", 400, "guestAt"},
        {RESOLVE, "[]", 400, ""},
        {RESOLVE, "{\"guestAt\":\"source\",\"because\":\"x\",\"dryRun\":[\"All\"]}", 422,
         "dryRun: not supported for an operator override; nothing was changed"},
        {RESOLVE "?dryRun=All", WORD("source", "x"), 422,
         "dryRun: not supported for an operator override; nothing was changed"},
        {RECOVER "?dryRun=All", "{}", 422,
         "dryRun: not supported for an operator override; nothing was changed"},
        {RECOVER, "{\"force\":true}", 422, "force: unknown field"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = post(rig, rows[i].path, rows[i].body);
        if (a.status != rows[i].status || strstr(at(&a, "message"), rows[i].message) == NULL)
            fail_msg("row %zu: %d: %s", i, a.status, at(&a, "message"));
        answer_fini(&a);
    }
    /* A page on the web could send these by itself. */
    struct answer a = ask(rig, "POST", RESOLVE, "", WORD("source", "x"));
    assert_refused(&a, 415, "UnsupportedMediaType");
    answer_fini(&a);
    a = ask(rig, "POST", RECOVER, "", NULL);
    assert_refused(&a, 415, "UnsupportedMediaType");
    answer_fini(&a);
    a = get(rig, RESOLVE);
    assert_refused(&a, 405, "MethodNotAllowed");
    answer_fini(&a);
    assert_int_equal(rig->engine.resolved, 0);
}

static void a_refusal_of_the_engine_becomes_its_http_status(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum err_code code;
        int status;
        const char *reason, *message;
    } rows[] = {
        {ERR_NOT_FOUND, 404, "NotFound",
         "virtualmachineinstancemigrations.kubevirt.io \"moving\" not found"},
        {ERR_REFUSED, 409, "Conflict", "nothing is in doubt"},
        {ERR_TIMEOUT, 504, "Timeout", "nothing is in doubt"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig->engine.fail_with = rows[i].code;
        struct answer a = post(rig, RESOLVE, WORD("source", "x"));
        assert_refused(&a, rows[i].status, rows[i].reason);
        assert_string_equal(at(&a, "message"), rows[i].message);
        assert_string_equal(at(&a, "details.name"), "moving");
        answer_fini(&a);
        a = post(rig, RECOVER, "{}");
        assert_refused(&a, rows[i].status, rows[i].reason);
        answer_fini(&a);
    }
}

static void an_abort_can_be_tried_out(void **state)
{
    struct rig *rig = *state;
    struct answer a = ask(rig, "PUT", VMIM_PATH "/moving/abort?dryRun=All", AS_JSON, "{}");
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "metadata.name"), "moving");
    answer_fini(&a);
    a = ask(rig, "PUT", VMIM_PATH "/moving/abort?dryRun=Some", AS_JSON, "{}");
    assert_refused(&a, 422, "Invalid");
    answer_fini(&a);
    assert_int_equal(rig->engine.cancelled, 0);
}

/* Law: what discovery offers can be posted to. */
static void discovery_offers_both(void **state)
{
    struct answer a = get(*state, "/apis/subresources.kubevirt.io/v1");
    assert_non_null(strstr(a.body, "\"virtualmachineinstancemigrations/recover\""));
    assert_non_null(strstr(a.body, "\"virtualmachineinstancemigrations/resolve\""));
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_override)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_recovery_is_asked_for_again),
        WIRE_TEST(each_override_reaches_the_engine_with_its_reason),
        WIRE_TEST(a_reason_has_a_bound),
        WIRE_TEST(an_ambiguous_override_is_refused),
        WIRE_TEST(a_refusal_of_the_engine_becomes_its_http_status),
        WIRE_TEST(an_abort_can_be_tried_out),
        WIRE_TEST(discovery_offers_both),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api word", tests, NULL, NULL);
}
