/* test_api_incident.c - what somebody must look at, as the API shows it. */
#include "base/log.h"
#include "tests/unit/test_api_http.h"

#define INCIDENTS "/apis/ferry.internal/v1/namespaces/default/incidents"

static void an_incident_says_what_whose_why_and_since_when(void **state)
{
    struct answer a = get(*state, INCIDENTS "/broke");
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"apiVersion", "ferry.internal/v1"},
        {"kind", "Incident"},
        {"metadata.name", "broke"},
        {"metadata.namespace", "default"},
        {"metadata.uid", "60000000-0000-4000-8000-000000000000"},
        {"spec.vmiName", "vm3"},
        {"spec.migrationName", "broke"},
        {"status.state", "open"},
        {"status.kind", "ordinary"},
        {"status.plane", "data"},
        {"status.cause", "progress-stall"},
        {"status.nodeName", "a"},
        {"status.since", "2025-11-16T05:02:39Z"},
        {"status.acknowledged", "false"},
        {"status.closedAt", ""},
        {"status.closedBy", ""},
    };
    assert_int_equal(a.status, 200);
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i].path), rows[i].want);
    answer_fini(&a);
    a = get(*state, INCIDENTS "/slow");
    assert_string_equal(at(&a, "status.state"), "acknowledged");
    assert_string_equal(at(&a, "status.acknowledged"), "true");
    assert_string_equal(at(&a, "status.closedAt"), "2025-11-16T05:04:19Z");
    assert_string_equal(at(&a, "status.closedBy"), "bob");
    answer_fini(&a);
    a = get(*state, INCIDENTS "/none");
    assert_refused(&a, 404, "NotFound");
    answer_fini(&a);
}

static void the_list_can_be_narrowed(void **state)
{
    static const struct {
        const char *query;
        size_t n;
    } rows[] = {
        {"", 2},
        {"?fieldSelector=status.state%3Dopen", 1},
        {"?fieldSelector=status.state%21%3Dopen", 1},
        {"?fieldSelector=status.kind%3Dlost", 0},
        {"?fieldSelector=spec.vmiName%3Dvm3,status.cause%3Dprogress-stall", 2},
        {"?labelSelector=a%3Db", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[256];
        (void)snprintf(path, sizeof path, INCIDENTS "%s", rows[i].query);
        struct answer a = get(*state, path);
        assert_int_equal(json_object_array_length(json_at(a.json, "items")), rows[i].n);
        answer_fini(&a);
    }
    struct answer a = get(*state, "/apis/ferry.internal/v1/namespaces/prod/incidents");
    assert_int_equal(json_object_array_length(json_at(a.json, "items")), 0);
    answer_fini(&a);
    a = get(*state, "/apis/ferry.internal/v1/incidents");
    assert_int_equal(json_object_array_length(json_at(a.json, "items")), 2);
    answer_fini(&a);
    a = get(*state, INCIDENTS "?fieldSelector=status.node%3Da");
    assert_refused(&a, 400, "BadRequest");
    answer_fini(&a);
}

static void a_table_has_a_cell_for_every_column(void **state)
{
    struct answer a = ask(*state, "GET", INCIDENTS, "Accept: application/json;as=Table\r\n", NULL);
    size_t columns = json_object_array_length(json_at(a.json, "columnDefinitions"));
    assert_true(columns > 1);
    for (size_t i = 0; i < 2; i++) {
        struct json_object *row = json_object_array_get_idx(json_at(a.json, "rows"), i);
        assert_int_equal(json_object_array_length(json_at(row, "cells")), columns);
    }
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_incident)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(an_incident_says_what_whose_why_and_since_when),
        WIRE_TEST(the_list_can_be_narrowed),
        WIRE_TEST(a_table_has_a_cell_for_every_column),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api incident", tests, NULL, NULL);
}
