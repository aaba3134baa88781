/* test_top_session.c - `ferry top` and an appliance that is slow, or not there: a server of this
 * test's answers by hand, in the turns of the session itself. */
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/top/session.h"
#include "tests/unit/test_top_stage.h"

enum { CONNECTIONS_MAX = 64, REQUEST_MAX = 4096, TURNS_MAX = 2000 };

struct desk {
    int listener, connections[CONNECTIONS_MAX];
    char requests[CONNECTIONS_MAX][REQUEST_MAX]; /* not answered yet */
    int n;
    unsigned accepted, watches;
    bool resets, holds; /* resets: every connection; holds: answers to what is described */
    char put[256];      /* the path of the only PUT */
    struct top top;
    struct client *client;
    struct session *session;
};

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

static void say(int fd, const char *text)
{
    ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);
    assert_true(n == (ssize_t)strlen(text) || errno == EPIPE || errno == ECONNRESET);
}

/* Everything there is: two that wait. */
static void say_watch(int fd, bool of_migrations)
{
    static const char *const guests[] = {"one", "two"};
    say(fd, OK);
    for (size_t i = 0; of_migrations && i < 2; i++) {
        char line[REQUEST_MAX];
        OWNED(json_object) object = stage_waiting(guests[i], "slot", "waits", "");
        (void)snprintf(line, sizeof line, "{\"type\":\"ADDED\",\"object\":%s}\n",
                       json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
        say(fd, line);
    }
    say(fd, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\","
            "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n");
}

/* True: answered, and over. */
static bool answer(struct desk *desk, int fd, const char *request)
{
    if (strstr(request, "watch=1") != NULL) {
        desk->watches++;
        say_watch(fd, strstr(request, "instancemigrations") != NULL);
        return false;
    }
    if (strncmp(request, "PUT ", 4) == 0) {
        assert_string_equal(desk->put, "");
        (void)snprintf(desk->put, sizeof desk->put, "%.*s", (int)strcspn(request + 4, " "),
                       request + 4);
    }
    say(fd, OK "{\"metadata\":{},\"status\":{\"allowed\":true}}");
    return true;
}

static void forget(struct desk *desk, int i)
{
    (void)close(desk->connections[i]);
    desk->n--;
    desk->connections[i] = desk->connections[desk->n];
    memcpy(desk->requests[i], desk->requests[desk->n], REQUEST_MAX);
}

static void serve_one(struct desk *desk, int i)
{
    char *request = desk->requests[i];
    size_t had = strlen(request);
    ssize_t n = recv(desk->connections[i], request + had, REQUEST_MAX - 1 - had, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        forget(desk, i);
        return;
    }
    if (n > 0)
        request[had + (size_t)n] = '\0';
    bool is_describe = strncmp(request, "GET /apis/kubevirt.io", 21) == 0 &&
                       strstr(request, "watch=1") == NULL;
    if (strstr(request, "\r\n\r\n") == NULL || (desk->holds && is_describe))
        return;
    if (answer(desk, desk->connections[i], request))
        forget(desk, i);
    else
        request[0] = '\0';
}

static void serve(struct desk *desk)
{
    int fd;
    while ((fd = accept4(desk->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        desk->accepted++;
        if (desk->resets) {
            (void)close(fd);
            continue;
        }
        assert_true(desk->n < CONNECTIONS_MAX);
        desk->requests[desk->n][0] = '\0';
        desk->connections[desk->n++] = fd;
    }
    for (int i = desk->n; i-- > 0;)
        serve_one(desk, i);
}

static void turn(struct desk *desk)
{
    serve(desk);
    (void)session_wait(desk->session, NULL, 0, 5);
    top_settle(&desk->top);
}

static void turn_until(struct desk *desk, bool (*holds)(const struct desk *desk))
{
    for (int i = 0; i < TURNS_MAX && !holds(desk); i++)
        turn(desk);
    assert_true(holds(desk));
}

static bool may_abort(const struct desk *desk)
{
    return now_is_synced(&desk->top.now) && top_may_abort(&desk->top);
}

static void open_desk(struct desk *desk)
{
    struct err err = {0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char url[64];
    *desk = (struct desk){0};
    desk->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(desk->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(desk->listener, CONNECTIONS_MAX), 0);
    assert_int_equal(getsockname(desk->listener, (struct sockaddr *)&at, &n), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(at.sin_port));
    top_init(&desk->top);
    desk->client = client_new(url, &err);
    assert_non_null(desk->client);
    desk->session = session_new(desk->client, &desk->top, clock_system(), &err);
    assert_non_null(desk->session);
    turn_until(desk, may_abort);
}

static void close_desk(struct desk *desk)
{
    session_free(desk->session);
    client_free(desk->client);
    top_fini(&desk->top);
    while (desk->n > 0)
        forget(desk, 0);
    (void)close(desk->listener);
}

static void press(struct desk *desk, int key)
{
    enum top_command command = top_press(&desk->top, key, 10);
    if (command != COMMAND_NOTHING)
        session_command(desk->session, command, 80);
}

static void select_guest(struct desk *desk, const char *guest)
{
    for (int i = 0; i < 3 && !text_equal(top_selected(&desk->top)->guest, guest); i++)
        press(desk, i == 0 ? TOP_KEY_HOME : TOP_KEY_DOWN);
    assert_string_equal(top_selected(&desk->top)->guest, guest);
}

static bool has_put(const struct desk *desk)
{
    return desk->put[0] != '\0';
}
static bool has_asked(const struct desk *desk)
{
    for (int i = 0; i < desk->n; i++)
        if (strncmp(desk->requests[i], "GET /apis/kubevirt.io", 21) == 0)
            return true;
    return false;
}

/* The appliance is slow, and the operator goes on: to the question about another one, or its page.
 */
static void what_is_aborted_is_what_was_confirmed(void **state)
{
    (void)state;
    static const int next[] = {'a', 'd'};
    for (size_t i = 0; i < COUNT(next); i++) {
        struct desk desk;
        open_desk(&desk);
        desk.holds = true;
        select_guest(&desk, "one");
        press(&desk, 'd');
        turn_until(&desk, has_asked);
        press(&desk, 'a');
        press(&desk, 'y');
        select_guest(&desk, "two");
        press(&desk, next[i]); /* not confirmed */
        desk.holds = false;
        turn_until(&desk, has_put);
        assert_string_equal(desk.put, "/apis/kubevirt.io/v1/namespaces/default/"
                                      "virtualmachineinstancemigrations/migration-one/abort");
        for (int turns = 0; turns < 20; turns++) /* and no other: answer() looks */
            turn(&desk);
        close_desk(&desk);
    }
}

static void an_appliance_that_resets_is_not_stormed(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    desk.resets = true;
    while (desk.n > 0)
        forget(&desk, 0);
    unsigned before = desk.accepted;
    for (int i = 0; i < 200; i++)
        turn(&desk);
    assert_in_range(desk.accepted - before, 1, 20);
    assert_false(desk.top.link.is_connected);
    desk.resets = false;
    turn_until(&desk, may_abort);
    close_desk(&desk);
}

static bool has_room(const struct desk *desk)
{
    return desk->top.now.omitted[NOW_MIGRATIONS] == 0 && now_is_synced(&desk->top.now);
}

static void a_list_that_is_begun_anew_is_let_end(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    unsigned before = desk.accepted;
    desk.top.now.omitted[NOW_MIGRATIONS] = 1; /* what was not kept; now there is room */
    turn_until(&desk, has_room);
    assert_in_range(desk.accepted - before, 1, 2);
    close_desk(&desk);
}

TEST_FILE(test_top_session)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_aborted_is_what_was_confirmed),
        cmocka_unit_test(an_appliance_that_resets_is_not_stormed),
        cmocka_unit_test(a_list_that_is_begun_anew_is_let_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
