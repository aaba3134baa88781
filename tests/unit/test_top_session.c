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

struct server {
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
static bool answer(struct server *server, int fd, const char *request)
{
    if (strstr(request, "watch=1") != NULL) {
        server->watches++;
        say_watch(fd, strstr(request, "instancemigrations") != NULL);
        return false;
    }
    if (strncmp(request, "PUT ", 4) == 0) {
        assert_string_equal(server->put, "");
        (void)snprintf(server->put, sizeof server->put, "%.*s", (int)strcspn(request + 4, " "),
                       request + 4);
    }
    say(fd, OK "{\"metadata\":{},\"status\":{\"allowed\":true}}");
    return true;
}

static void forget(struct server *server, int i)
{
    (void)close(server->connections[i]);
    server->n--;
    server->connections[i] = server->connections[server->n];
    memmove(server->requests[i], server->requests[server->n], REQUEST_MAX);
}

static void serve_one(struct server *server, int i)
{
    char *request = server->requests[i];
    size_t had = strlen(request);
    ssize_t n = recv(server->connections[i], request + had, REQUEST_MAX - 1 - had, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        forget(server, i);
        return;
    }
    if (n > 0)
        request[had + (size_t)n] = '\0';
    bool is_describe =
        strncmp(request, "GET /apis/kubevirt.io", 21) == 0 && strstr(request, "watch=1") == NULL;
    if (strstr(request, "\r\n\r\n") == NULL || (server->holds && is_describe))
        return;
    if (answer(server, server->connections[i], request))
        forget(server, i);
    else
        request[0] = '\0';
}

static void serve(struct server *server)
{
    int fd;
    while ((fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        server->accepted++;
        if (server->resets) {
            (void)close(fd);
            continue;
        }
        assert_true(server->n < CONNECTIONS_MAX);
        server->requests[server->n][0] = '\0';
        server->connections[server->n++] = fd;
    }
    for (int i = server->n; i-- > 0;)
        serve_one(server, i);
}

static void turn(struct server *server)
{
    serve(server);
    (void)session_wait(server->session, NULL, 0, 5);
    top_settle(&server->top);
}

static void turn_until(struct server *server, bool (*holds)(const struct server *server))
{
    for (int i = 0; i < TURNS_MAX && !holds(server); i++)
        turn(server);
    assert_true(holds(server));
}

static bool may_abort(const struct server *server)
{
    return now_is_synced(&server->top.now) && top_may_abort(&server->top);
}

static void open_server(struct server *server)
{
    struct err err = {0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char url[64];
    *server = (struct server){0};
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(server->listener, CONNECTIONS_MAX), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &n), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(at.sin_port));
    top_init(&server->top);
    server->client = client_new(url, &err);
    assert_non_null(server->client);
    server->session = session_new(server->client, &server->top, clock_system(), &err);
    assert_non_null(server->session);
    turn_until(server, may_abort);
}

static void close_server(struct server *server)
{
    session_free(server->session);
    client_free(server->client);
    top_fini(&server->top);
    while (server->n > 0)
        forget(server, 0);
    (void)close(server->listener);
}

static void press(struct server *server, int key)
{
    enum top_command command = top_press(&server->top, key, 10);
    if (command != COMMAND_NOTHING)
        session_command(server->session, command, 80);
}

static void select_guest(struct server *server, const char *guest)
{
    for (int i = 0; i < 3 && !text_equal(top_selected(&server->top)->guest, guest); i++)
        press(server, i == 0 ? TOP_KEY_HOME : TOP_KEY_DOWN);
    assert_string_equal(top_selected(&server->top)->guest, guest);
}

static bool has_put(const struct server *server)
{
    return server->put[0] != '\0';
}
static bool has_asked(const struct server *server)
{
    for (int i = 0; i < server->n; i++)
        if (strncmp(server->requests[i], "GET /apis/kubevirt.io", 21) == 0)
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
        struct server server;
        open_server(&server);
        server.holds = true;
        select_guest(&server, "one");
        press(&server, 'd');
        turn_until(&server, has_asked);
        press(&server, 'a');
        press(&server, 'y');
        select_guest(&server, "two");
        press(&server, next[i]); /* not confirmed */
        server.holds = false;
        turn_until(&server, has_put);
        assert_string_equal(server.put, "/apis/kubevirt.io/v1/namespaces/default/"
                                        "virtualmachineinstancemigrations/migration-one/abort");
        for (int turns = 0; turns < 20; turns++) /* and no other: answer() looks */
            turn(&server);
        close_server(&server);
    }
}

static void an_appliance_that_resets_is_not_stormed(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    server.resets = true;
    while (server.n > 0)
        forget(&server, 0);
    unsigned before = server.accepted;
    for (int i = 0; i < 200; i++)
        turn(&server);
    assert_in_range(server.accepted - before, 1, 20);
    assert_false(server.top.link.is_connected);
    server.resets = false;
    turn_until(&server, may_abort);
    close_server(&server);
}

static bool has_room(const struct server *server)
{
    return server->top.now.omitted[NOW_MIGRATIONS] == 0 && now_is_synced(&server->top.now);
}

static void a_list_that_is_begun_anew_is_let_end(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    unsigned before = server.accepted;
    server.top.now.omitted[NOW_MIGRATIONS] = 1; /* what was not kept; now there is room */
    turn_until(&server, has_room);
    assert_in_range(server.accepted - before, 1, 2);
    close_server(&server);
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
