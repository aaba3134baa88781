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
        {"operator's token of this namespace", BY_TOKEN, TLS, 4, NULL, ROLE_OPERATOR, "default"},
        {"viewer by password", BY_PASSWORD, TLS, 0, "vera:see", ROLE_VIEWER, ""},
        {"operator by password", BY_PASSWORD, TLS, 0, "otto:do", ROLE_OPERATOR, ""},
        {"admin by password", BY_PASSWORD, TLS, 0, "anna:all", ROLE_ADMIN, ""},
        {"admin of another namespace by password", BY_PASSWORD, TLS, 0, "nils:web", ROLE_ADMIN,
         "other"},
        {"operator by certificate", BY_CERTIFICATE, TLS, 0, NULL, ROLE_OPERATOR, ""},
        {"viewer by certificate", BY_CERTIFICATE, TLS, 1, NULL, ROLE_VIEWER, ""},
        {"admin by certificate", BY_CERTIFICATE, TLS, 2, NULL, ROLE_ADMIN, ""},
        {"admin of another namespace by certificate", BY_CERTIFICATE, TLS, 3, NULL, ROLE_ADMIN,
         "other"},
        {"a user with the name of a certificate", BY_PASSWORD, TLS, 0,
         "ops.example:not a certificate", ROLE_VIEWER, ""},
        {"admin's password over plain http", BY_PASSWORD, PLAIN, 0, "anna:all", ROLE_ADMIN, ""},
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

/* ---- users of this machine: in the group operators, outside it viewers at most ---- */

/* Sends one request through the socket as whoever this process is: the status, negative for a
 * refusal by the table of roles; -EACCES: the socket itself is closed to them. */
static int ask_socket(const char *socket_path, const char *method, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char text[4096];
    int status = 0, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    TEXT_SET(to.sun_path, socket_path);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -errno;
    (void)snprintf(text, sizeof text,
                   "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
                   "application/json\r\nContent-Length: 2\r\n\r\n{}",
                   method, path);
    (void)!write(fd, text, strlen(text));
    size_t n = 0;
    for (ssize_t got; n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    (void)close(fd);
    (void)sscanf(text, "HTTP/1.1 %d", &status);
    bool is_refused = strstr(text, "cannot ") != NULL && strstr(text, ": needs ") != NULL;
    return status == 403 && is_refused ? -status : status;
}

/* Asks for every route as another user in this group. */
static void ask_all_as(const struct place *p, uid_t uid, gid_t gid, bool is_supplementary,
                       int *out_statuses)
{
    int ends[2];
    size_t n;
    const struct http_route *routes = routes_all(&n);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        gid_t first = is_supplementary ? NOBODY : gid;
        bool is_other = setgroups(is_supplementary ? 1 : 0, &gid) == 0 && setgid(first) == 0 &&
                        setuid(uid) == 0;
        for (size_t i = 0; i < n; i++) {
            char path[256];
            route_path(&routes[i], path, sizeof path);
            int status = is_other ? ask_socket(p->file[SOCK], routes[i].method, path) : 0;
            (void)!write(ends[1], &status, sizeof status);
        }
        _exit(0);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(read(ends[0], &out_statuses[i], sizeof(int)), (ssize_t)sizeof(int));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void check_all_as(const struct place *p, gid_t gid, bool is_supplementary,
                         enum access_role role)
{
    enum { ROUTES_MAX = 256 };
    int statuses[ROUTES_MAX];
    size_t n;
    const struct http_route *routes = routes_all(&n);
    const struct someone who = {.listener = SOCKET, .role = role, .ns = ""};
    assert_true(n <= ROUTES_MAX);
    ask_all_as(p, NOBODY, gid, is_supplementary, statuses);
    for (size_t i = 0; i < n; i++) {
        bool may = want_of(&who, &routes[i])[0] == '\0';
        if (statuses[i] == 0 || statuses[i] == 401 || statuses[i] == -EACCES ||
            may != (statuses[i] > 0))
            fail_msg("%s on the socket: %s %s: %d", access_role_name(role), routes[i].method,
                     routes[i].pattern, statuses[i]);
    }
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
    int statuses[256];
    ask_all_as(p, NOBODY, NOBODY, false, statuses);
    assert_int_equal(statuses[0], -EACCES);
    check_all_as(p, GROUP, false, ROLE_OPERATOR);
    check_all_as(p, GROUP, true, ROLE_OPERATOR);
    assert_int_equal(chmod(p->file[SOCK], 0666), 0); /* whoever gets through is still a viewer */
    check_all_as(p, NOBODY, false, ROLE_VIEWER);
}

TEST_FILE(test_api_access)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_cell_holds_for_every_identity, place_close),
        cmocka_unit_test_teardown(no_user_outside_the_group_can_change_anything, place_close),
    };
    return cmocka_run_group_tests(tests, place_up, place_down);
}
