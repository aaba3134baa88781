/* test_api_query.c - /query over HTTP: where the statement may be, and who may send one. */
#include <stdlib.h>

#include "exporter/exporter.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"

#define JSON "Content-Type: application/json\r\n"

struct rig {
    char dir[64];
    struct store *store;
    struct exporter *x;
    unsigned port;
};

static int rig_up(void **state)
{
    static struct rig rig;
    struct err err = {0};
    (void)snprintf(rig.dir, sizeof rig.dir, "/tmp/ferry-api-query-XXXXXX");
    assert_non_null(mkdtemp(rig.dir));
    rig.store = store_sqlite_open(rig.dir, &err);
    const struct access_config access = test_access();
    const struct exporter_config config = {.access = &access, .version = "0.1.0"};
    const struct exporter_parts parts = {
        .clock = clock_system(), .store = rig.store, .state_dir = rig.dir};
    rig.x = rig.store != NULL ? exporter_new(&config, &parts, &err) : NULL;
    if (rig.x == NULL)
        fail_msg("%s", err.text);
    rig.port = exporter_port(rig.x, 0);
    *state = &rig;
    return 0;
}

static int rig_down(void **state)
{
    struct rig *rig = *state;
    char command[128];
    exporter_free(rig->x);
    store_free(rig->store);
    (void)snprintf(command, sizeof command, "rm -rf %s", rig->dir);
    return system(command);
}

/* POST with a body, GET without. */
static void must_answer(void **state, const char *path, const char *headers, const char *body,
                        int status, const char *says)
{
    const char *method = body != NULL ? "POST" : "GET";
    struct answer a = ask_port(((struct rig *)*state)->port, method, path, headers, body);
    if (a.status != status || a.body == NULL || strstr(a.body, says) == NULL)
        fail_msg("%s %.60s %s: %d: %s", method, path, headers, a.status,
                 a.body == NULL ? "" : a.body);
    answer_fini(&a);
}

static void the_statement_is_in_the_url_or_in_the_body(void **state)
{
    must_answer(state, "/query?sql=SELECT%2041", "", NULL, 200, "[[41]]");
    must_answer(state, "/query", JSON, "{\"sql\":\"SELECT 42\"}", 200, "[[42]]");
    must_answer(state, "/query?sql=SELECT%2043", JSON, "{\"limit\":5}", 200, "[[43]]");
    must_answer(state, "/query", JSON, "{}", 400, "sql: is missing");
}

/* The first of the two was lost, and its memory with it. */
static void a_statement_in_the_url_and_another_in_the_body_are_refused(void **state)
{
    must_answer(state, "/query?sql=SELECT%201", JSON, "{\"sql\":\"SELECT 2\"}", 400,
                "given in the URL and in the body");
}

static void a_post_must_be_json(void **state)
{
    const char *body = "{\"sql\":\"SELECT 42\"}";
    must_answer(state, "/query", "", body, 415, "Content-Type application/json");
    must_answer(state, "/query", "Content-Type: text/plain\r\n", body, 415, "application/");
    must_answer(state, "/query", "Content-Type: application/x-www-form-urlencoded\r\n", body, 415,
                "application/json");
    must_answer(state, "/query", "Content-Type: application/json; charset=utf-8\r\n", body, 200,
                "[[42]]");
}

static void a_cross_origin_query_is_refused(void **state)
{
    char own[64], other_port[64];
    unsigned port = ((struct rig *)*state)->port;
    (void)snprintf(own, sizeof own, "Origin: http://127.0.0.1:%u\r\n", port);
    (void)snprintf(other_port, sizeof other_port, "Origin: http://127.0.0.1:%u\r\n", port ^ 1);
    const struct {
        const char *headers;
        int status;
    } rows[] = {
        {"Sec-Fetch-Site: cross-site\r\n", 403},
        {"Sec-Fetch-Site: same-site\r\n", 403}, /* another port of this machine */
        {"Sec-Fetch-Site: same-origin\r\n", 200},
        {"Sec-Fetch-Site: none\r\n", 200}, /* typed into the address line */
        {"Origin: http://evil.example\r\n", 403},
        {"Origin: null\r\n", 403},
        {other_port, 403},
        {own, 200},
        {"", 200},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char headers[256];
        const char *says = rows[i].status == 200 ? "[[42]]" : "web page of another origin";
        (void)snprintf(headers, sizeof headers, "%s%s", JSON, rows[i].headers);
        must_answer(state, "/query", headers, "{\"sql\":\"SELECT 42\"}", rows[i].status, says);
        must_answer(state, "/query?sql=SELECT%2042", headers, NULL, rows[i].status, says);
    }
}

static void a_statement_has_at_most_4_kib(void **state)
{
    char body[4200];
    for (int n = 4096; n <= 4097; n++) {
        int at = snprintf(body, sizeof body, "{\"sql\":\"SELECT 42");
        int blanks = n - (int)strlen("SELECT 42");
        (void)snprintf(body + at, sizeof body - (size_t)at, "%*s\"}", blanks, "");
        must_answer(state, "/query", JSON, body, n == 4096 ? 200 : 400,
                    n == 4096 ? "[[42]]" : "longer than 4096 bytes");
    }
}

static void a_query_over_a_limit_is_not_tried_again(void **state)
{
    struct answer a = ask_port(((struct rig *)*state)->port, "POST", "/query", JSON,
                               "{\"sql\":\"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
                               " FROM n) SELECT count(*) FROM (SELECT DISTINCT zeroblob(60000) || i"
                               " FROM n)\"}");
    /* 504 on a machine that writes 256 MiB in more than five seconds. */
    assert_true(a.status == 422 || a.status == 504);
    assert_null(strstr(a.head, "Retry-After"));
    answer_fini(&a);
}

TEST_FILE(test_api_query)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_statement_is_in_the_url_or_in_the_body),
        cmocka_unit_test(a_statement_in_the_url_and_another_in_the_body_are_refused),
        cmocka_unit_test(a_post_must_be_json),
        cmocka_unit_test(a_cross_origin_query_is_refused),
        cmocka_unit_test(a_statement_has_at_most_4_kib),
        cmocka_unit_test(a_query_over_a_limit_is_not_tried_again),
    };
    return cmocka_run_group_tests(tests, rig_up, rig_down);
}
