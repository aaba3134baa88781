/* test_api_standby.c - an appliance that holds no cell: every change is refused before anything
 * looks at it, reading goes on.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "exporter/api/routes.h"
#include "tests/unit/test_api_http.h"

struct standby {
    bool is_one;
    unsigned asked;
};

static bool may_change(void *ctx, struct err *err)
{
    struct standby *standby = ctx;
    standby->asked++;
    return !standby->is_one || err_set(err, ERR_UNREACHABLE, "cell 'default' is held by 'a1'");
}

/* No engine at all: a request that came so far would end this test. */
static struct exporter *exporter_without_engine(const char *socket, struct standby *standby)
{
    struct err err = {0};
    struct access_config access = test_access();
    TEXT_SET(access.socket, socket);
    const struct exporter_config config = {.access = &access, .version = "0.1.0"};
    const struct exporter_parts parts = {.clock = clock_system(), .change = {standby, may_change}};
    struct exporter *x = exporter_new(&config, &parts, &err);
    if (x == NULL)
        fail_msg("%s", err.text);
    struct world *world = world_new(3);
    exporter_on_snapshot(x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    return x;
}

/* {ns} and {name} become "web" and "x". */
static void path_of(const struct http_route *route, char *out, size_t n)
{
    size_t used = 0;
    for (const char *at = route->pattern; *at != '\0' && used + 4 < n; at++) {
        if (*at != '{') {
            out[used++] = *at;
            continue;
        }
        bool is_ns = strncmp(at, "{ns}", 4) == 0;
        used += (size_t)snprintf(out + used, n - used, "%s", is_ns ? "web" : "x");
        at = strchr(at, '}');
    }
    out[used] = '\0';
}

static bool changes_objects(const struct http_route *route)
{
    struct route_action storage;
    struct access_action action = route_action(route, "web", &storage);
    return action.resource != NULL && access_is_change(access_rule_find(&action)) &&
           strcmp(route->method, "GET") != 0;
}

static void a_standby_refuses_every_change_and_says_who_holds_the_cells(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-standby-XXXXXX", socket[64], path[256];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(socket, sizeof socket, "%s/s", dir);
    struct standby standby = {.is_one = true};
    OWNED(exporter) x = exporter_without_engine(socket, &standby);
    size_t n, refused = 0;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (!changes_objects(&routes[i]))
            continue;
        path_of(&routes[i], path, sizeof path);
        struct answer a = ask_fd(dial_socket(socket), routes[i].method, path, "", "{}");
        if (a.status != 503 || strstr(a.body, "is held by 'a1'") == NULL)
            fail_msg("%s %s: %d %s", routes[i].method, path, a.status, a.body);
        assert_refused(&a, 503, "ServiceUnavailable");
        answer_fini(&a);
        refused++;
    }
    assert_true(refused > 30);
    assert_int_equal(standby.asked, refused);
    static const char *const readings[] = {"/api/v1/nodes", "/metrics", "/healthz",
                                           "/apis/ferry.internal/v1/tokens"};
    for (size_t i = 0; i < COUNT(readings); i++) {
        struct answer a = ask_fd(dial_socket(socket), "GET", readings[i], "", NULL);
        assert_int_equal(a.status, 200);
        answer_fini(&a);
    }
    assert_int_equal(standby.asked, refused);
    exporter_free(TAKE(x));
    (void)rmdir(dir);
}

/* Who may not change anything anywhere is told so, and not who holds what. */
static void who_may_not_change_is_refused_as_ever(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-standby-XXXXXX", socket[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(socket, sizeof socket, "%s/s", dir);
    struct standby standby = {.is_one = true};
    OWNED(exporter) x = exporter_without_engine(socket, &standby);
    struct answer a = ask_port(exporter_port(x, 1), "DELETE", VMIM_PATH "/x", "", NULL);
    assert_int_equal(a.status, 403);
    answer_fini(&a);
    assert_int_equal(standby.asked, 0);
    standby.is_one = false; /* it holds a cell: the handler decides */
    a = ask_fd(dial_socket(socket), "DELETE", "/api/v1/namespaces/web/pods/x", "", NULL);
    assert_int_not_equal(a.status, 503);
    answer_fini(&a);
    exporter_free(TAKE(x));
    (void)rmdir(dir);
}

TEST_FILE(test_api_standby)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standby_refuses_every_change_and_says_who_holds_the_cells),
        cmocka_unit_test(who_may_not_change_is_refused_as_ever),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
