/* test_api_floods.c - clients that take all they can get: watches, long bodies. Others are
 * answered.
 */
#include "tests/unit/access_place.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_world.h"

#include <poll.h>

#include "exporter/http/limits.h"

#define POLICIES "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"

static int send_head(unsigned port, const char *line, const char *headers)
{
    char head[512];
    int fd = dial(port);
    (void)snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", line, headers);
    send_all(fd, head, strlen(head));
    return fd;
}

/* The status of what has been answered within a second; 0: nothing. */
static int status_soon(int fd)
{
    char text[64] = "";
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    int status = 0;
    if (poll(&answer, 1, 1000) == 1 && recv(fd, text, sizeof text - 1, MSG_PEEK) > 0)
        (void)sscanf(text, "HTTP/1.1 %d", &status);
    return status;
}

static int watch(const struct place *p, unsigned port)
{
    (void)p;
    return send_head(port, "GET " POLICIES "?watch=true", "");
}

static unsigned connections_of_listener(const struct place *p)
{
    return EXPORTER_CONNECTIONS_MAX / (p->is_away ? 3U : 2U);
}

static void a_flood_of_watches_leaves_health_and_other_listeners_reachable(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    place_write_web(p, false);
    place_open(p, &access);
    unsigned n = connections_of_listener(p), accepted = 0, refused = 0;
    int fds[EXPORTER_CONNECTIONS_MAX];
    for (unsigned i = 0; i < n; i++) {
        fds[i] = watch(p, p->ports[PLAIN]);
        int status = i < n / 2 + 4 ? status_soon(fds[i]) : 503;
        accepted += status == 200;
        refused += status == 503;
    }
    assert_int_equal(accepted, n / 2);
    assert_int_equal(accepted + refused, n);
    struct answer a = ask_port(p->ports[PLAIN], "GET", "/healthz", "", NULL);
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    int other = dial_socket(p->file[SOCK]);
    send_all(other, "GET " POLICIES "?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n",
             strlen("GET " POLICIES "?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_int_equal(status_soon(other), 200);
    (void)close(other);
    for (unsigned i = 0; i < n; i++)
        (void)close(fds[i]);
}

/* What it sent before it left is still unread on this side. */
static void a_watch_whose_client_left_is_noticed_also_when_it_had_sent_more(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    place_write_web(p, false);
    place_open(p, &access);
    unsigned n = connections_of_listener(p) / 2;
    for (unsigned i = 0; i < n; i++) {
        int fd = watch(p, p->ports[PLAIN]);
        assert_int_equal(status_soon(fd), 200);
        send_all(fd, "GET", 3);
        (void)close(fd);
    }
    int status = 0;
    for (unsigned number = 8; status != 200 && number < 30; number++) {
        struct world *world = world_new(number); /* news, not of this kind: every watch looks */
        exporter_on_snapshot(p->x, &world->snapshot);
        snapshot_unref(&world->snapshot);
        clock_sleep_ms(50);
        int fd = watch(p, p->ports[PLAIN]);
        status = status_soon(fd);
        (void)close(fd);
    }
    assert_int_equal(status, 200);
}

static int send_body(unsigned port, size_t declared, size_t sent)
{
    static char bytes[EXPORTER_BODY_MAX];
    char headers[128];
    memset(bytes, ' ', sizeof bytes);
    (void)snprintf(headers, sizeof headers,
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n", declared);
    int fd = send_head(port, "POST /query", headers);
    send_all(fd, bytes, sent);
    return fd;
}

static void long_bodies_have_a_budget_and_short_ones_are_always_read(void **state)
{
    struct place *p = *state;
    struct access_config access = place_access(p);
    enum { LONG = 128 * 1024, HOLD = HTTP_BODIES_MAX / EXPORTER_BODY_MAX + 2, MORE = 40 };
    int fds[HOLD + MORE];
    size_t held = HOLD;
    place_write_web(p, false);
    place_open(p, &access);
    for (size_t i = 0; i < HOLD; i++)
        fds[i] = send_body(p->ports[PLAIN], LONG, LONG - 1);
    int status = 0;
    while (status != 503 && held < COUNT(fds)) {
        int fd = send_body(p->ports[PLAIN], LONG, LONG);
        status = status_soon(fd);
        (void)close(fd);
        /* One of them may have been refused in its place: one more. */
        fds[held++] = send_body(p->ports[PLAIN], LONG, LONG - 1);
    }
    assert_int_equal(status, 503);
    int fd = send_body(p->ports[PLAIN], HTTP_SHORT_BODY, HTTP_SHORT_BODY);
    assert_int_equal(status_soon(fd), 400); /* read: it is only spaces */
    (void)close(fd);
    for (size_t i = 0; i < held; i++)
        (void)close(fds[i]);
    for (int i = 0; status != 400 && i < 1000; i++) { /* given back when they have gone */
        clock_sleep_ms(20);
        fd = send_body(p->ports[PLAIN], LONG, LONG);
        status = status_soon(fd);
        (void)close(fd);
    }
    assert_int_equal(status, 400);
}

TEST_FILE(test_api_floods)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_flood_of_watches_leaves_health_and_other_listeners_reachable,
                                  place_close),
        cmocka_unit_test_teardown(a_watch_whose_client_left_is_noticed_also_when_it_had_sent_more,
                                  place_close),
        cmocka_unit_test_teardown(long_bodies_have_a_budget_and_short_ones_are_always_read,
                                  place_close),
    };
    return cmocka_run_group_tests(tests, place_up, place_down);
}
