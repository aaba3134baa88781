/* test_api_audit.c - each change that is asked for leaves a row: who, from where, what, the answer;
 * a flood of refusals leaves few. */
#include <pwd.h>

#include "exporter/exporter.h"
#include "exporter/request_log.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_world.h"

#define TOKENS "/apis/ferry.internal/v1/tokens"

struct audited {
    size_t n, accepted;
    struct store_audit first, last;
};

static bool keep_row(void *ctx, const struct store_audit *row)
{
    struct audited *a = ctx;
    if (a->n++ == 0)
        a->first = *row;
    a->last = *row;
    a->accepted += row->accepted;
    return true;
}

static struct audited rows_of(struct store *store)
{
    struct audited rows = {0};
    struct err err = {0};
    assert_true(store->ops->each_audit(store, keep_row, &rows, &err));
    return rows;
}

static bool yes_remove(void *ctx, const struct object_ref *ref, struct err *err)
{
    (void)ctx, (void)ref, (void)err;
    return true;
}

static void every_change_asked_for_is_audited_and_refusals_are_bounded(void **state)
{
    (void)state;
    struct err err = {0};
    char dir[] = "/tmp/ferry-audit-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/s", dir);
    OWNED(store) store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    struct access_config access = test_access();
    TEXT_SET(access.socket, path);
    const struct exporter_config config = {.access = &access, .version = "0.1.0"};
    const struct exporter_parts parts = {
        .clock = clock_system(), .requests = {.remove = yes_remove}, .store = store};
    OWNED(exporter) x = exporter_new(&config, &parts, &err);
    assert_non_null(x);
    struct world *world = world_new(3);
    exporter_on_snapshot(x, &world->snapshot);
    snapshot_unref(&world->snapshot);

    struct answer a =
        ask_fd(dial_socket(path), "DELETE", TOKENS "/ci", "X-Ferry-User: somebody else\r\n", NULL);
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    a = ask_fd(dial_socket(path), "GET", TOKENS, "", NULL); /* no change */
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    struct audited rows = rows_of(store);
    assert_int_equal(rows.n, 1);
    char who[64];
    const struct passwd *login = getpwuid(geteuid());
    (void)snprintf(who, sizeof who, "socket:%s", login == NULL ? "" : login->pw_name);
    assert_string_equal(rows.last.identity, who);
    assert_string_equal(rows.last.role, "admin");
    assert_string_equal(rows.last.verb, "delete");
    assert_string_equal(rows.last.resource, "tokens");
    assert_string_equal(rows.last.name, "ci");
    assert_true(rows.last.accepted && rows.last.status == 200);

    for (size_t i = 0; i < AUDIT_REFUSALS_MAX + 20; i++) {
        a = ask_port(exporter_port(x, 1), "DELETE", TOKENS "/ci", "", NULL);
        assert_int_equal(a.status, 403);
        answer_fini(&a);
    }
    rows = rows_of(store);
    assert_int_equal(rows.n, 1 + AUDIT_REFUSALS_MAX);
    assert_int_equal(rows.accepted, 1);
    assert_string_equal(rows.last.identity, "anonymous");
    assert_string_equal(rows.last.address, "127.0.0.1");
    assert_int_equal(rows.last.status, 403);
    exporter_free(TAKE(x));
    (void)rmdir(dir);
}

TEST_FILE(test_api_audit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_asked_for_is_audited_and_refusals_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
