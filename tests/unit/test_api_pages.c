/* test_api_pages.c - lists in pages and lists that are sent while they are made: both show one
 * moment, and neither costs a copy for each reader. */
#include <poll.h>

#include "base/log.h"
#include "cli/common/client.h"
#include "exporter/api/list_keep.h"
#include "exporter/http/limits.h"
#include "tests/unit/test_api_http.h"

/* Three pages of the command line, 30 pieces, and ten times what a Unix socket holds (212,992
 * bytes). */
enum { MANY = 1100, LABEL_BYTES = 1024, NAMES_MAX = 512, TOKEN_MAX = 128 };
#define ALL_GUESTS "/apis/kubevirt.io/v1/virtualmachineinstances"
#define AS_TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"

/* A world with many guests, g00000 and on. */
static void publish_many(struct rig *rig, uint64_t generation)
{
    static struct snapshot_guest *guests; /* for all worlds of this process */
    static const struct snapshot_job *newest[MANY];
    static char labels[LABEL_BYTES + 64];
    struct world *world = world_new(generation);
    if (guests == NULL) {
        (void)snprintf(labels, sizeof labels, "{\"note\":\"%0*d\"}", LABEL_BYTES, 0);
        guests = calloc(MANY, sizeof *guests);
        assert_non_null(guests);
        for (size_t i = 0; i < MANY; i++) {
            guests[i] = world->guests[2];
            guests[i].labels = labels;
            (void)snprintf(guests[i].name, sizeof guests[i].name, "g%05zu", i);
        }
    }
    world->snapshot.guests = guests;
    world->snapshot.newest = newest;
    world->snapshot.n_guests = MANY;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

/* The world with its last two migrations gone. */
static void publish_fewer(struct rig *rig, uint64_t generation)
{
    struct world *world = world_new(generation);
    world->snapshot.n_jobs = 2;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

static size_t length_of(const struct answer *a, const char *items)
{
    struct json_object *array = json_at(a->json, items);
    return array == NULL ? 0 : json_object_array_length(array);
}

static uint64_t version_of(const struct answer *a)
{
    return strtoull(at(a, "metadata.resourceVersion"), NULL, 10);
}

/* The page that follows, with these headers; the token is that of the page before. */
static struct answer page(const struct rig *rig, const char *path, const char *token,
                          const char *headers)
{
    char full[NAMES_MAX];
    (void)snprintf(full, sizeof full, "%s%scontinue=%s", path,
                   strchr(path, '?') == NULL ? "?" : "&", token);
    return ask(rig, "GET", full, headers, NULL);
}

static void pages_show_the_moment_of_the_first(void **state)
{
    struct rig *rig = *state;
    struct answer first = get(rig, VMIM_PATH "?limit=1");
    assert_int_equal(first.status, 200);
    assert_int_equal(length_of(&first, "items"), 1);
    assert_string_equal(at(&first, "items.0.metadata.name"), "done");
    assert_string_equal(at(&first, "metadata.remainingItemCount"), "3");
    publish_fewer(rig, 43);
    struct answer second = page(rig, VMIM_PATH "?limit=2", at(&first, "metadata.continue"), "");
    assert_int_equal(second.status, 200);
    assert_string_equal(at(&second, "items.0.metadata.name"), "moving");
    assert_string_equal(at(&second, "items.1.metadata.name"), "stopping");
    assert_string_equal(at(&second, "metadata.remainingItemCount"), "1");
    struct answer last = page(rig, VMIM_PATH "?limit=2", at(&second, "metadata.continue"), "");
    assert_int_equal(length_of(&last, "items"), 1);
    assert_string_equal(at(&last, "items.0.metadata.name"), "waiting");
    assert_string_equal(at(&last, "metadata.continue"), "");
    assert_string_equal(at(&last, "metadata.remainingItemCount"), "");
    const struct answer *const pages[] = {&second, &last};
    for (size_t i = 0; i < COUNT(pages); i++)
        assert_int_equal(version_of(pages[i]), version_of(&first));
    struct answer again = get(rig, VMIM_PATH);
    assert_true(version_of(&again) > version_of(&first));
    assert_int_equal(length_of(&again, "items"), 2);
    answer_fini(&first), answer_fini(&second), answer_fini(&last), answer_fini(&again);
}

static void the_rest_may_be_asked_for_without_a_limit(void **state)
{
    struct answer first = get(*state, VMIM_PATH "?limit=3");
    struct answer rest = page(*state, VMIM_PATH, at(&first, "metadata.continue"), "");
    assert_int_equal(length_of(&rest, "items"), 1);
    assert_string_equal(at(&rest, "metadata.continue"), "");
    answer_fini(&first), answer_fini(&rest);
}

static void tables_have_pages_too(void **state)
{
    struct answer first = ask(*state, "GET", VMIM_PATH "?limit=3", AS_TABLE, NULL);
    assert_string_equal(at(&first, "kind"), "Table");
    assert_int_equal(length_of(&first, "rows"), 3);
    assert_string_equal(at(&first, "metadata.remainingItemCount"), "1");
    struct answer last =
        page(*state, VMIM_PATH "?limit=3", at(&first, "metadata.continue"), AS_TABLE);
    assert_int_equal(length_of(&last, "rows"), 1);
    assert_string_equal(at(&last, "rows.0.cells.0"), "waiting");
    assert_true(length_of(&last, "columnDefinitions") > 1);
    answer_fini(&first), answer_fini(&last);
}

/* Kubernetes leaves the count out where a selector would have to be tried on all that follow. */
static void pages_follow_selectors(void **state)
{
    static const char selected[] = VMIM_PATH "?limit=1&labelSelector=%21team";
    struct answer first = get(*state, selected);
    assert_string_equal(at(&first, "items.0.metadata.name"), "done");
    assert_string_equal(at(&first, "metadata.remainingItemCount"), "");
    struct answer second = page(*state, selected, at(&first, "metadata.continue"), "");
    assert_string_equal(at(&second, "items.0.metadata.name"), "stopping");
    struct answer exact = get(*state, VMIM_PATH "?limit=1&labelSelector=team");
    assert_int_equal(length_of(&exact, "items"), 1);
    assert_string_equal(at(&exact, "metadata.continue"), ""); /* none of the others matches */
    struct answer prod = get(*state, "/apis/kubevirt.io/v1/namespaces/prod/"
                                     "virtualmachineinstances?limit=1");
    assert_string_equal(at(&prod, "metadata.remainingItemCount"), "1"); /* of that namespace */
    answer_fini(&first), answer_fini(&second), answer_fini(&exact), answer_fini(&prod);
}

static void a_limit_that_is_none_is_refused(void **state)
{
    static const char *const limits[] = {"-1", "x", "1.5", "", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(limits); i++) {
        char path[256];
        (void)snprintf(path, sizeof path, VMIM_PATH "?limit=%s", limits[i]);
        struct answer a = get(*state, path);
        assert_refused(&a, 400, "BadRequest");
        answer_fini(&a);
    }
    struct answer a = get(*state, VMIM_PATH "?limit=0"); /* Kubernetes: no limit */
    assert_int_equal(length_of(&a, "items"), 4);
    answer_fini(&a);
}

static void a_token_of_another_list_is_expired(void **state)
{
    struct answer first = get(*state, VMIM_PATH "?limit=1");
    const char *token = at(&first, "metadata.continue");
    static const char *const others[] = {VMI_PATH,
                                         "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
                                         "/api/v1/nodes", VMIM_PATH "?labelSelector=team",
                                         VMIM_PATH "?fieldSelector=metadata.name%3Ddone"};
    for (size_t i = 0; i < COUNT(others); i++) {
        struct answer a = page(*state, others[i], token, "");
        assert_refused(&a, 410, "Expired");
        answer_fini(&a);
    }
    static const char *const wrong[] = {
        "x", "", "1.2", "zz.1.1", "1.1.1.1", "ffffffffffffffffff.0.0123456789abcdef"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct answer a = page(*state, VMIM_PATH, wrong[i], "");
        if (wrong[i][0] == '\0')
            assert_int_equal(a.status, 200); /* as if it had not been given */
        else
            assert_refused(&a, 400, "BadRequest");
        answer_fini(&a);
    }
    char other[TOKEN_MAX]; /* well formed, of another appliance */
    TEXT_SET(other, token);
    char *last = &other[strlen(other) - 1];
    *last = *last == '0' ? '1' : '0';
    struct answer a = page(*state, VMIM_PATH, other, "");
    assert_refused(&a, 410, "Expired");
    answer_fini(&a), answer_fini(&first);
}

/* What is kept for pages is bounded: whoever begins many lists lets the oldest expire, and those
 * that nobody went on with before one that is being read. */
static void kept_pages_are_bounded(void **state)
{
    struct rig *rig = *state;
    struct answer old = get(rig, VMIM_PATH "?limit=1"), used = {0};
    publish_fewer(rig, 43);
    struct answer read = get(rig, VMIM_PATH "?limit=1");
    used = page(rig, VMIM_PATH "?limit=1", at(&read, "metadata.continue"), "");
    assert_int_equal(used.status, 200);
    for (unsigned i = 0; i < 20; i++) {
        publish_fewer(rig, 100 + i);
        struct answer a = get(rig, VMIM_PATH "?limit=1");
        assert_int_equal(a.status, 200);
        answer_fini(&a);
    }
    struct answer a = page(rig, VMIM_PATH, at(&old, "metadata.continue"), "");
    assert_refused(&a, 410, "Expired");
    assert_non_null(strstr(at(&a, "message"), "start a new list"));
    answer_fini(&a);
    a = page(rig, VMIM_PATH, at(&read, "metadata.continue"), "");
    assert_int_equal(a.status, 200);
    answer_fini(&a), answer_fini(&old), answer_fini(&read), answer_fini(&used);
}

/* ---- long lists ---- */

static void a_long_list_is_sent_in_pieces(void **state)
{
    struct rig *rig = *state;
    publish_many(rig, 50);
    static const char *const headers[] = {"", AS_TABLE};
    for (size_t i = 0; i < COUNT(headers); i++) {
        struct answer a = ask(rig, "GET", ALL_GUESTS, headers[i], NULL);
        const char *items = i == 0 ? "items" : "rows";
        assert_int_equal(a.status, 200);
        assert_non_null(strstr(a.head, "Transfer-Encoding: chunked"));
        assert_int_equal(length_of(&a, items), MANY);
        assert_true(version_of(&a) > 0);
        assert_string_equal(at(&a, i == 0 ? "items.1099.metadata.name" : "rows.1099.cells.0"),
                            "g01099");
        answer_fini(&a);
    }
    struct answer a = get(rig, ALL_GUESTS "?limit=800");
    assert_int_equal(length_of(&a, "items"), 800);
    assert_string_equal(at(&a, "metadata.remainingItemCount"), "300");
    struct answer rest = page(rig, ALL_GUESTS, at(&a, "metadata.continue"), "");
    assert_int_equal(length_of(&rest, "items"), MANY - 800);
    answer_fini(&a), answer_fini(&rest);
    a = ask(rig, "HEAD", ALL_GUESTS, "", NULL);
    assert_non_null(strstr(a.head, "HTTP/1.1 200"));
    assert_int_equal(a.body_bytes, 0);
    answer_fini(&a);
    a = get(rig, ALL_GUESTS "?labelSelector=app%3Dnothing"); /* looked at all, sent nothing */
    assert_int_equal(length_of(&a, "items"), 0);
    assert_string_equal(at(&a, "kind"), "VirtualMachineInstanceList");
    answer_fini(&a);
}

static int list_without_reading(const struct rig *rig)
{
    static const char text[] =
        "GET " ALL_GUESTS " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int fd = dial_socket(rig->socket);
    send_all(fd, text, strlen(text));
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1); /* its headers are there */
    return fd;
}

/* The list of a slow reader is that of its moment, whatever is published meanwhile. */
static void a_long_list_shows_one_moment(void **state)
{
    struct rig *rig = *state;
    publish_many(rig, 50);
    int fd = list_without_reading(rig);
    publish_fewer(rig, 51);
    struct answer a = receive(fd);
    assert_int_equal(a.status, 200);
    assert_int_equal(length_of(&a, "items"), MANY);
    struct answer now = get(rig, VMIM_PATH);
    assert_true(version_of(&now) > version_of(&a));
    answer_fini(&now);
    answer_fini(&a);
}

/* How many of the answers have that status; none is read. */
static unsigned count_status(const int *fds, size_t n, const char *status)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) {
        char line[64] = "";
        (void)recv(fds[i], line, sizeof line - 1, MSG_PEEK);
        found += strncmp(line + strlen("HTTP/1.1 "), status, 3) == 0;
    }
    return found;
}

/* The list of a reader that has come at last: those before may not have been noticed to have left.
 */
static void assert_listed_soon(const struct rig *rig)
{
    for (int i = 0; i < 100; i++) {
        struct answer a = get(rig, ALL_GUESTS);
        size_t n = length_of(&a, "items");
        assert_true(a.status == 503 || n == MANY);
        answer_fini(&a);
        if (n == MANY)
            return;
        clock_sleep_ms(20);
    }
    fail_msg("no list was answered");
}

/* Each moment that a reader holds is memory: beyond the bound a new reader is asked to come again,
 * and short answers go on. */
static void readers_of_many_moments_are_bounded(void **state)
{
    struct rig *rig = *state;
    int fds[32];
    for (size_t i = 0; i < COUNT(fds); i++) {
        publish_many(rig, 60 + i);
        fds[i] = list_without_reading(rig);
    }
    unsigned served = count_status(fds, COUNT(fds), "200");
    assert_in_range(served, LIST_KEEP_MIN, LIST_KEEP_MAX);
    assert_int_equal(count_status(fds, COUNT(fds), "503"), COUNT(fds) - served);
    struct answer short_one = get(rig, "/api/v1/nodes");
    assert_int_equal(short_one.status, 200);
    answer_fini(&short_one);
    struct answer a = get(rig, ALL_GUESTS);
    assert_refused(&a, 503, "ServiceUnavailable");
    assert_non_null(strstr(a.head, "Retry-After: 1"));
    answer_fini(&a);
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
    assert_listed_soon(rig);
}

static void readers_of_one_moment_are_bounded(void **state)
{
    struct rig *rig = *state;
    int fds[HTTP_STREAMS_MAX + 8];
    publish_many(rig, 50);
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = list_without_reading(rig);
    assert_int_equal(count_status(fds, COUNT(fds), "200"), HTTP_STREAMS_MAX);
    assert_int_equal(count_status(fds, COUNT(fds), "503"), 8);
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
    assert_listed_soon(rig);
}

static void a_stuck_engine_does_not_stop_a_long_list(void **state)
{
    static const char text[] = "POST " VMIM_PATH " HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: close\r\nContent-Type: application/json\r\n"
                               "Content-Length: 26\r\n\r\n{\"spec\":{\"vmiName\":\"vm3\"}}";
    struct rig *rig = *state;
    int fds[HTTP_WORKERS];
    publish_many(rig, 50);
    fake_set_blocking(&rig->engine, true);
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = dial_socket(rig->socket);
        send_all(fds[i], text, strlen(text));
    }
    fake_wait_for(&rig->engine, HTTP_WORKERS); /* every worker stands in the engine */
    struct answer a = get(rig, ALL_GUESTS);
    assert_int_equal(length_of(&a, "items"), MANY);
    answer_fini(&a);
    fake_set_blocking(&rig->engine, false);
    for (size_t i = 0; i < COUNT(fds); i++) {
        a = receive(fds[i]);
        answer_fini(&a);
    }
}

static void stopping_ends_long_lists(void **state)
{
    (void)state;
    void *inner = NULL;
    assert_int_equal(rig_up(&inner), 0);
    struct rig *rig = inner;
    publish_many(rig, 50);
    int fds[6];
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = list_without_reading(rig);
    (void)close(fds[0]); /* and one has left */
    assert_int_equal(rig_down(&inner), 0);
    for (size_t i = 1; i < COUNT(fds); i++) {
        struct answer a = receive(fds[i]);
        assert_int_equal(a.status, 0); /* cut off, and the reader can tell */
        answer_fini(&a);
    }
}

/* `ferry get` reads pages: no answer is long, however long the list is. */
static void the_command_line_reads_all_pages(void **state)
{
    struct rig *rig = *state;
    char server[64];
    struct err err = {0};
    publish_many(rig, 50);
    (void)snprintf(server, sizeof server, "unix:%s", rig->socket);
    OWNED(client) client = client_new(server, &err);
    assert_non_null(client);
    OWNED(json_object) list = client_list(client, ALL_GUESTS, &err);
    assert_non_null(list);
    assert_int_equal(json_object_array_length(json_at(list, "items")), MANY);
    assert_string_equal(json_object_get_string(json_at(list, "items.1099.metadata.name")),
                        "g01099");
    assert_non_null(json_at(list, "metadata.resourceVersion"));
    assert_null(json_at(list, "metadata.continue"));
    assert_null(json_at(list, "metadata.remainingItemCount"));
    assert_null(client_list(client, "/api/v1/nothing", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* A page of metrics is shared: readers that stop hold one, and do not keep a scrape out. */
static void stopped_scrapes_keep_no_scrape_out(void **state)
{
    static const char text[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    enum { NODES = 4000 };
    struct rig *rig = *state;
    struct snapshot_node *nodes = calloc(NODES, sizeof *nodes);
    struct world *world = world_new(50);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] = world->nodes[0];
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "n%05zu", i);
    }
    world->snapshot.nodes = nodes;
    world->snapshot.n_nodes = NODES;
    exporter_on_snapshot(rig->x, &world->snapshot);
    struct answer a = ask_port(rig->port, "GET", "/metrics", "", NULL);
    assert_int_equal(a.status, 200);
    int fds[120];
    assert_true(a.body_bytes * COUNT(fds) > 2 * (size_t)HTTP_QUEUED_MAX);
    answer_fini(&a);
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct pollfd wait = {.fd = fds[i] = dial(rig->port), .events = POLLIN};
        send_all(fds[i], text, strlen(text));
        assert_int_equal(poll(&wait, 1, 10000), 1);
    }
    a = ask_port(rig->port, "GET", "/metrics", "", NULL);
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
    publish_fewer(rig, 51); /* the nodes are the test's */
    snapshot_unref(&world->snapshot);
    free(nodes);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_pages)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(pages_show_the_moment_of_the_first),
        WIRE_TEST(the_rest_may_be_asked_for_without_a_limit),
        WIRE_TEST(tables_have_pages_too),
        WIRE_TEST(pages_follow_selectors),
        WIRE_TEST(a_limit_that_is_none_is_refused),
        WIRE_TEST(a_token_of_another_list_is_expired),
        WIRE_TEST(kept_pages_are_bounded),
        WIRE_TEST(a_long_list_is_sent_in_pieces),
        WIRE_TEST(a_long_list_shows_one_moment),
        WIRE_TEST(readers_of_many_moments_are_bounded),
        WIRE_TEST(readers_of_one_moment_are_bounded),
        WIRE_TEST(a_stuck_engine_does_not_stop_a_long_list),
        cmocka_unit_test(stopping_ends_long_lists),
        WIRE_TEST(the_command_line_reads_all_pages),
        WIRE_TEST(stopped_scrapes_keep_no_scrape_out),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api pages", tests, NULL, NULL);
}
