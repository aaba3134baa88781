/* test_api_access.c - every cell of the role table over the wire, with each kind of identity: users
 * of the socket, tokens, passwords, client certificates, nobody; on loopback and, in a network
 * namespace of the test's own, off it. */
#include <crypt.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exporter/access/tokens.h"
#include "exporter/api/routes.h"
#include "exporter/exporter.h"
#include "exporter/http/http_tls.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_world.h"

#include "tests/unit/access_place.h"

/* ---- every cell ---- */

static const char *want_of(const struct someone *who, const struct http_route *route)
{
    struct route_action storage;
    bool has_ns = strstr(route->pattern, "{ns}") != NULL;
    struct access_action action = route_action(route, has_ns ? "default" : NULL, &storage);
    const struct access_rule *rule = access_rule_find(&action);
    bool is_far = who->ns[0] != '\0' && rule->scope != SCOPE_EVERY &&
                  !(rule->scope == SCOPE_NAMESPACE && has_ns && strcmp(who->ns, "default") == 0);
    if (who->role == ROLE_NONE)
        return "401";
    if (who->listener == PLAIN && rule->role > ROLE_VIEWER)
        return "read-only";
    return who->role < rule->role || is_far ? "needs" : "";
}

static void check_everything(struct place *p, const struct someone *who)
{
    size_t n;
    const struct http_route *routes = routes_all(&n);
    CURL *curl = place_client(p, who);
    for (size_t i = 0; i < n; i++) {
        char path[256];
        route_path(&routes[i], path, sizeof path);
        const char *want = want_of(who, &routes[i]);
        struct reply got = place_send(p, who, curl, routes[i].method, path);
        bool is_refused =
            got.status == 403 && strstr(got.text, "cannot ") != NULL &&
            (strstr(got.text, "needs ") != NULL || strstr(got.text, "read-only") != NULL);
        bool is_right = strcmp(want, "401") == 0 ? got.status == 401
                        : want[0] == '\0'        ? got.status != 401 && !is_refused
                                                 : is_refused && strstr(got.text, want) != NULL;
        if (!is_right)
            fail_msg("%s: %s %s: %ld, expected '%s': %s", who->what, routes[i].method, path,
                     got.status, want, got.text);
    }
    curl_easy_cleanup(curl);
}

static void every_cell_holds_for_every_identity(void **state)
{
    static const struct someone with_users[] = {
        {"the own user on the socket", BY_SOCKET, SOCKET, 0, NULL, ROLE_ADMIN, ""},
        {"viewer's token on the socket", BY_TOKEN, SOCKET, 0, NULL, ROLE_VIEWER, ""},
        {"viewer's token", BY_TOKEN, TLS, 0, NULL, ROLE_VIEWER, ""},
        {"operator's token", BY_TOKEN, TLS, 1, NULL, ROLE_OPERATOR, ""},
        {"admin's token", BY_TOKEN, TLS, 2, NULL, ROLE_ADMIN, ""},
        {"admin's token of another namespace", BY_TOKEN, TLS, 3, NULL, ROLE_ADMIN, "other"},
        {"admin's token over plain http", BY_TOKEN, PLAIN, 2, NULL, ROLE_ADMIN, ""},
        {"viewer by password", BY_PASSWORD, TLS, 0, "vera:see", ROLE_VIEWER, ""},
        {"operator by password", BY_PASSWORD, TLS, 0, "otto:do", ROLE_OPERATOR, ""},
        {"admin by password", BY_PASSWORD, TLS, 0, "anna:all", ROLE_ADMIN, ""},
        {"admin of another namespace by password", BY_PASSWORD, TLS, 0, "nils:web", ROLE_ADMIN,
         "other"},
        {"a certificate", BY_CERTIFICATE, TLS, 0, NULL, ROLE_OPERATOR, ""},
        {"nobody where users are named", BY_NOTHING, PLAIN, 0, NULL, ROLE_NONE, ""},
        {"nobody over TLS where users are named", BY_NOTHING, TLS, 0, NULL, ROLE_NONE, ""},
        {"a wrong token", BY_WRONG_TOKEN, TLS, 0, NULL, ROLE_NONE, ""},
        {"a wrong token on the socket", BY_WRONG_TOKEN, SOCKET, 0, NULL, ROLE_NONE, ""},
    };
    static const struct someone without_users[] = {
        {"nobody on loopback", BY_NOTHING, PLAIN, 0, NULL, ROLE_VIEWER, ""},
        {"nobody on loopback over TLS", BY_NOTHING, TLS, 0, NULL, ROLE_VIEWER, ""},
    };
    static const struct someone away[] = {
        {"nobody off loopback", BY_NOTHING, AWAY_TLS, 0, NULL, ROLE_NONE, ""},
        {"viewer's token off loopback", BY_TOKEN, AWAY_TLS, 0, NULL, ROLE_VIEWER, ""},
        {"operator's token off loopback", BY_TOKEN, AWAY_TLS, 1, NULL, ROLE_OPERATOR, ""},
        {"a certificate off loopback", BY_CERTIFICATE, AWAY_TLS, 0, NULL, ROLE_OPERATOR, ""},
    };
    struct place *p = *state;
    struct access_config access = place_access(p);
    place_write_web(p, true);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(with_users); i++)
        check_everything(p, &with_users[i]);
    (void)place_close(state);
    place_write_web(p, false);
    place_open(p, &access);
    for (size_t i = 0; i < COUNT(without_users); i++)
        check_everything(p, &without_users[i]);
    for (size_t i = 0; p->is_away && i < COUNT(away); i++)
        check_everything(p, &away[i]);
}

/* ---- users of this machine ---- */

/* As another user, in these groups: the status of a request through the socket; -EACCES: the socket
 * itself is closed to them. */
static int ask_as(const struct place *p, uid_t uid, gid_t gid, bool is_supplementary,
                  const char *method, const char *path)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int status = -1;
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        TEXT_SET(to.sun_path, p->file[SOCK]);
        gid_t first = is_supplementary ? NOBODY : gid;
        if (setgroups(is_supplementary ? 1 : 0, &gid) == 0 && setgid(first) == 0 &&
            setuid(uid) == 0) {
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
                status = -errno;
            } else {
                char text[1024];
                (void)snprintf(text, sizeof text,
                               "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                               "application/json\r\nContent-Length: 2\r\n\r\n{}",
                               method, path);
                (void)!write(fd, text, strlen(text));
                ssize_t n = read(fd, text, sizeof text - 1);
                text[n > 0 ? n : 0] = '\0';
                (void)sscanf(text, "HTTP/1.1 %d", &status);
            }
        }
        (void)!write(ends[1], &status, sizeof status);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(read(ends[0], &status, sizeof status), (ssize_t)sizeof status);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return status;
}

static void no_user_outside_the_group_can_change_anything(void **state)
{
    struct place *p = *state;
    struct stat socket;
    if (geteuid() != 0)
        skip();
    struct access_config access = place_access(p);
    mode_t before = umask(0); /* the mode does not come from it */
    place_write_web(p, false);
    place_open(p, &access);
    (void)umask(before);
    assert_int_equal(stat(p->file[SOCK], &socket), 0);
    assert_int_equal(socket.st_mode & 07777, 0660);
    assert_int_equal(socket.st_gid, GROUP);
    assert_int_equal(ask_as(p, NOBODY, NOBODY, false, "GET", "/healthz"), -EACCES);
    static const bool ways[] = {false, true};
    for (size_t i = 0; i < COUNT(ways); i++) {
        assert_int_equal(ask_as(p, NOBODY, GROUP, ways[i], "GET", VMIM_PATH), 200);
        assert_int_equal(ask_as(p, NOBODY, GROUP, ways[i], "DELETE", VMIM_PATH "/moving"), 409);
        assert_int_equal(ask_as(p, NOBODY, GROUP, ways[i], "POST",
                                "/apis/ferry.internal/v1/tokens"),
                         403); /* an operator */
    }
    assert_int_equal(chmod(p->file[SOCK], 0666), 0); /* whoever gets through is still nobody */
    size_t n;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        char path[256];
        struct route_action storage;
        struct access_action action = route_action(&routes[i], "default", &storage);
        route_path(&routes[i], path, sizeof path);
        if (access_is_change(access_rule_find(&action)))
            assert_int_equal(ask_as(p, NOBODY, NOBODY, false, routes[i].method, path), 403);
    }
}

TEST_FILE(test_api_access)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_cell_holds_for_every_identity, place_close),
        cmocka_unit_test_teardown(no_user_outside_the_group_can_change_anything, place_close),
    };
    return cmocka_run_group_tests(tests, place_up, place_down);
}
