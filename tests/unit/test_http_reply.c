/* test_http_reply.c - what the server adds to replies, and how many bytes of them may wait: a
 * server with a service that answers what the path asks for. */
#include <poll.h>

#include "base/log.h"
#include "exporter/http/http.h"
#include "exporter/http/limits.h"
#include "tests/unit/test_api_client.h"

/* Longer than the sockets of a connection hold. */
enum { LONG_BYTES = 15 * 1024 * 1024 };

struct http_route {
    const char *path, *type;
    size_t bytes;
};
static const struct http_route routes[] = {
    {"/html", "text/html; charset=utf-8", 10},
    {"/json", "application/json", 10},
    {"/long", "application/json", LONG_BYTES},
    {"/short", "application/json", HTTP_SHORT_REPLY},
};

static const struct http_route *find(const char *method, const char *path,
                                     struct route_parts *out_parts, char *out_allow)
{
    (void)method, (void)out_parts, (void)out_allow;
    for (size_t i = 0; i < COUNT(routes); i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}

static enum http_lane lane(const struct http_route *route)
{
    (void)route;
    return HTTP_LANE_INLINE;
}

static enum http_admission admit(void *ctx, const struct http_route *route,
                                 const struct http_request *request, bool may_wait,
                                 struct access_identity *out_identity, struct http_reply *out_reply)
{
    (void)ctx, (void)route, (void)request, (void)may_wait, (void)out_identity, (void)out_reply;
    return HTTP_ADMITTED;
}

static void serve(void *ctx, const struct http_route *route, const struct http_request *request,
                  const char *allow, struct http_reply *out_reply)
{
    (void)ctx, (void)request, (void)allow;
    *out_reply = (struct http_reply){.status = 200,
                                     .type = route->type,
                                     .body = calloc(1, route->bytes),
                                     .body_bytes = route->bytes};
}

static void refuse(void *ctx, unsigned status, const char *text, struct http_reply *out_reply)
{
    (void)ctx, (void)text;
    *out_reply = (struct http_reply){.status = status, .type = "application/json"};
}

static void done(void *ctx, const struct http_route *route, const struct http_request *request,
                 unsigned status, int64_t spent_ms)
{
    (void)ctx, (void)route, (void)request, (void)status, (void)spent_ms;
}

static struct http *server_new(void)
{
    const struct http_service service = {
        .find = find, .lane = lane, .admit = admit, .done = done, .serve = serve, .refuse = refuse};
    static const struct http_listener_config listener = {.address = "127.0.0.1:0",
                                                         .transport = HTTP_PLAIN};
    const struct http_config config = {.listeners = &listener, .n_listeners = 1};
    struct err err = {0};
    struct http *http = http_new(&config, clock_system(), &service, &err);
    if (http == NULL)
        fail_msg("%s", err.text);
    return http;
}

/* No page of Ferry runs a script or loads anything; text that a guest or a log brought in cannot.
 */
static void html_has_a_content_security_policy(void **state)
{
    (void)state;
    OWNED(http) http = server_new();
    struct answer a = ask_port(http_port(http, 0), "GET", "/html", "", NULL);
    assert_non_null(strstr(a.head, "\r\nContent-Security-Policy: default-src 'none'; "));
    assert_non_null(strstr(a.head, "frame-ancestors 'none'"));
    assert_non_null(strstr(a.head, "form-action 'none'"));
    assert_null(strstr(a.head, "script-src"));
    assert_non_null(strstr(a.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    answer_fini(&a);
    a = ask_port(http_port(http, 0), "GET", "/json", "", NULL);
    assert_null(strstr(a.head, "Content-Security-Policy"));
    assert_non_null(strstr(a.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    answer_fini(&a);
}

static int ask_without_reading(const struct http *http, const char *path)
{
    char text[128];
    int fd = dial(http_port(http, 0));
    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    send_all(fd, text, strlen(text));
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1);
    return fd;
}

static int status_of(int fd)
{
    char line[32] = "";
    (void)recv(fd, line, sizeof line - 1, MSG_PEEK);
    return (int)strtol(line + strlen("HTTP/1.1 "), NULL, 10);
}

static void replies_beyond_the_budget_are_503(void **state)
{
    (void)state;
    enum { FIT = HTTP_QUEUED_MAX / LONG_BYTES };
    OWNED(http) http = server_new();
    int fds[FIT + 3];
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = ask_without_reading(http, "/long");
        assert_int_equal(status_of(fds[i]), i < FIT ? 200 : 503);
    }
    struct answer a = ask_port(http_port(http, 0), "GET", "/long", "", NULL);
    assert_int_equal(a.status, 503);
    assert_non_null(strstr(a.head, "\r\nRetry-After: 1\r\n"));
    answer_fini(&a);
    a = ask_port(http_port(http, 0), "GET", "/short", "", NULL); /* short ones always go */
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
    int status = 503; /* until the server has noticed that they left */
    for (int i = 0; status == 503 && i < 100; i++) {
        a = ask_port(http_port(http, 0), "GET", "/long", "", NULL);
        status = a.status;
        answer_fini(&a);
        clock_sleep_ms(20);
    }
    assert_int_equal(status, 200);
}

TEST_FILE(test_http_reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_has_a_content_security_policy),
        cmocka_unit_test(replies_beyond_the_budget_are_503),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
