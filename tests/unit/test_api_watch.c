/* test_api_watch.c - watches over the wire, as Kubernetes' clients ask for them. */
#include <poll.h>
#include <stdatomic.h>

#include "tests/unit/test_api_http.h"

enum { WAIT_MS = 10000, LINE_MAX_BYTES = 64 * 1024 };

/* A watch that is read event by event. */
struct watch {
    int fd;
    char *text; /* what came and is not read yet; HTTP 1.0: it is not chunked */
    size_t n;
    char head[4096];
    struct json_object *event;
};

static bool more(struct watch *w, int wait_ms)
{
    struct pollfd poller = {.fd = w->fd, .events = POLLIN};
    if (poll(&poller, 1, wait_ms) != 1)
        return false;
    char bytes[4096];
    ssize_t n = recv(w->fd, bytes, sizeof bytes, 0);
    if (n <= 0)
        return false;
    w->text = realloc(w->text, w->n + (size_t)n + 1);
    memcpy(w->text + w->n, bytes, (size_t)n);
    w->n += (size_t)n;
    w->text[w->n] = '\0';
    return true;
}

static void drop(struct watch *w, size_t n)
{
    memmove(w->text, w->text + n, w->n - n + 1);
    w->n -= n;
}

static struct watch watch_open(const struct rig *rig, const char *path, const char *headers)
{
    struct watch w = {.fd = dial(rig->port)};
    char request[1024];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: localhost\r\n%s\r\n", path,
                   headers);
    send_all(w.fd, request, strlen(request));
    char *end = NULL;
    while ((end = w.n == 0 ? NULL : strstr(w.text, "\r\n\r\n")) == NULL)
        assert_true(more(&w, WAIT_MS));
    size_t head = (size_t)(end - w.text) + 4;
    (void)snprintf(w.head, sizeof w.head, "%.*s", (int)head, w.text);
    drop(&w, head);
    return w;
}

static void watch_close(struct watch *w)
{
    (void)close(w->fd);
    free(w->text);
    json_object_free(w->event);
}

/* The next line, an event. */
static bool next_event(struct watch *w, int wait_ms)
{
    json_object_free(w->event);
    w->event = NULL;
    while (w->event == NULL) {
        char *end;
        while ((end = w->n == 0 ? NULL : strchr(w->text, '\n')) == NULL)
            if (!more(w, wait_ms))
                return false;
        *end = '\0';
        struct err err = {0};
        if (w->text[0] == '{')
            w->event = json_parse(w->text, strlen(w->text), "event", &err);
        drop(w, (size_t)(end - w->text) + 1);
    }
    return true;
}

static const char *of(const struct watch *w, const char *path)
{
    struct json_object *value = json_at(w->event, path);
    return value == NULL ? "" : json_object_get_string(value);
}

static void expect(struct watch *w, const char *type, const char *name)
{
    if (!next_event(w, WAIT_MS))
        fail_msg("no event; %s %s was expected", type, name);
    if (strcmp(of(w, "type"), type) != 0 || strcmp(of(w, "object.metadata.name"), name) != 0)
        fail_msg("%s; %s %s was expected", json_object_to_json_string(w->event), type, name);
}

static void list_version(const struct rig *rig, const char *path, char *out)
{
    struct answer a = get(rig, path);
    (void)snprintf(out, 32, "%s", at(&a, "metadata.resourceVersion"));
    answer_fini(&a);
}

static struct watch watch_from(const struct rig *rig, const char *list, const char *query,
                               const char *version)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s?watch=1%s&resourceVersion=%s", list, query, version);
    return watch_open(rig, path, "");
}

static void publish(struct rig *rig, struct world *take_world)
{
    exporter_on_snapshot(rig->x, &take_world->snapshot);
    snapshot_unref(&take_world->snapshot);
}

#define NODES "/api/v1/nodes"

static void a_watch_from_a_list_tells_each_change_after_it(void **state)
{
    struct rig *rig = *state;
    char version[32];
    list_version(rig, NODES, version);
    struct world *world = world_new(43);
    world->nodes[0].cordoned = true;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    struct watch w = watch_from(rig, NODES, "", version); /* before and after it began */
    assert_non_null(strstr(w.head, "200 OK"));
    assert_non_null(strstr(w.head, "stream=watch"));
    expect(&w, "MODIFIED", "a");
    assert_string_equal(of(&w, "object.spec.unschedulable"), "true");
    world = world_new(44);
    world->nodes[0].cordoned = true;
    world->snapshot.n_nodes = 2;
    publish(rig, world);
    expect(&w, "DELETED", "c");
    publish(rig, world_new(45));
    expect(&w, "MODIFIED", "a");
    expect(&w, "ADDED", "c");
    (void)snprintf(version, sizeof version, "%s", of(&w, "object.metadata.resourceVersion"));
    watch_close(&w);
    w = watch_from(rig, NODES, "", version); /* from any event on */
    world = world_new(46);
    world->nodes[1].guests = 99;
    publish(rig, world);
    expect(&w, "MODIFIED", "b");
    watch_close(&w);
}

static void a_watch_without_a_version_begins_with_what_is_there(void **state)
{
    struct rig *rig = *state;
    struct watch w = watch_open(rig, NODES "?watch=true", "");
    expect(&w, "ADDED", "a");
    expect(&w, "ADDED", "b");
    expect(&w, "ADDED", "c");
    struct world *world = world_new(43);
    world->nodes[2].guests = 99;
    publish(rig, world);
    expect(&w, "MODIFIED", "c");
    watch_close(&w);
    w = watch_open(rig,
                   NODES "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                         "&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Db",
                   "");
    expect(&w, "ADDED", "b");
    expect(&w, "BOOKMARK", "");
    const char *end = "object.metadata.annotations";
    assert_non_null(strstr(of(&w, end), "initial-events-end"));
    watch_close(&w);
}

static void who_selects_sees_objects_come_and_go(void **state)
{
    struct rig *rig = *state;
    char version[32];
    list_version(rig, VMI_PATH, version);
    struct watch w = watch_from(rig, VMI_PATH, "&labelSelector=app%3Dweb", version);
    struct watch on_a = watch_from(rig, VMI_PATH, "&fieldSelector=status.nodeName%3Da", version);
    struct world *world = world_new(43);
    world->guests[0].labels = "{\"app\":\"db\"}";
    world->newest[1] = NULL; /* jobs of worlds are never shared */
    TEXT_SET(world->guests[0].node, "a");
    publish(rig, world);
    expect(&w, "DELETED", "vm1");
    expect(&on_a, "ADDED", "vm1");
    world = world_new(44);
    world->newest[1] = NULL;
    publish(rig, world);
    expect(&w, "ADDED", "vm1");
    watch_close(&w);
    watch_close(&on_a);
}

static void rows_of_a_table_are_told_with_their_columns_once(void **state)
{
    struct rig *rig = *state;
    struct watch w = watch_open(rig, NODES "?watch=1",
                                "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n");
    assert_true(next_event(&w, WAIT_MS));
    assert_string_equal(of(&w, "object.kind"), "Table");
    assert_string_equal(of(&w, "object.columnDefinitions.0.name"), "Name");
    assert_string_equal(of(&w, "object.rows.0.cells.0"), "a");
    assert_string_equal(of(&w, "object.rows.0.object.metadata.name"), "a");
    assert_true(next_event(&w, WAIT_MS));
    assert_null(json_at(w.event, "object.columnDefinitions"));
    assert_string_equal(of(&w, "object.rows.0.cells.0"), "b");
    watch_close(&w);
}

static void a_version_that_is_not_kept_is_gone(void **state)
{
    struct rig *rig = *state;
    struct answer a = get(rig, NODES "?watch=1&resourceVersion=5");
    assert_refused(&a, 410, "Expired");
    answer_fini(&a);
    a = get(rig, NODES "?watch=1&resourceVersion=9000000000000000000");
    assert_refused(&a, 410, "Expired");
    answer_fini(&a);
    a = get(rig, NODES "?watch=1&resourceVersion=x");
    assert_refused(&a, 400, "BadRequest");
    answer_fini(&a);
    a = get(rig, NODES "?watch=1&fieldSelector=spec.nothing%3D1");
    assert_refused(&a, 400, "BadRequest");
    answer_fini(&a);
}

static void a_watch_ends_at_its_timeout(void **state)
{
    struct rig *rig = *state;
    struct answer a = get(rig, NODES "?watch=1&timeoutSeconds=1");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "\"ADDED\""));
    answer_fini(&a);
}

static void a_client_that_left_is_forgotten(void **state)
{
    struct rig *rig = *state;
    struct feed_stats stats;
    struct watch w = watch_open(rig, NODES "?watch=1", "");
    expect(&w, "ADDED", "a");
    watch_close(&w);
    for (unsigned i = 0; i < 300; i++) {
        struct world *world = world_new(100 + i);
        world->nodes[0].guests = i;
        publish(rig, world);
        clock_sleep_ms(20);
        feed_stats(rig->x->feed, &stats);
        if (i > 3 && stats.waiters == 0)
            return;
    }
    fail_msg("%u still wait", stats.waiters);
}

static void many_watches_see_the_same(void **state)
{
    enum { WATCHES = 40, TURNS = 25 };
    struct rig *rig = *state;
    struct watch watches[WATCHES];
    char version[32];
    list_version(rig, NODES, version);
    for (size_t i = 0; i < WATCHES; i++)
        watches[i] = watch_from(rig, NODES, "", version);
    for (unsigned t = 1; t <= TURNS; t++) {
        struct world *world = world_new(42 + t);
        world->nodes[0].guests = 1000 + t;
        show_snapshot(rig->x, &world->snapshot);
        snapshot_unref(&world->snapshot);
    }
    for (size_t i = 0; i < WATCHES; i++)
        for (unsigned t = 1; t <= TURNS; t++) {
            char guests[32];
            (void)snprintf(guests, sizeof guests, "%u", 1000 + t);
            expect(&watches[i], "MODIFIED", "a");
            assert_string_equal(of(&watches[i], "object.status.ferry.guests"), guests);
        }
    struct answer a = get(rig, "/healthz");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    for (size_t i = 0; i < WATCHES; i++)
        watch_close(&watches[i]);
}

/* More than fits into the first piece. */
static void a_watch_of_many_begins_with_all_of_them(void **state)
{
    enum { MANY = 3000 };
    static const struct snapshot_job *newest[MANY];
    static struct snapshot_guest guests[MANY];
    struct rig *rig = *state;
    struct world *world = world_new(43);
    for (size_t i = 0; i < MANY; i++) {
        guests[i] = world->guests[2];
        (void)snprintf(guests[i].name, sizeof guests[i].name, "g%05zu", i);
    }
    world->snapshot.guests = guests;
    world->snapshot.newest = newest;
    world->snapshot.n_guests = MANY;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    struct watch w = watch_open(rig, VMI_PATH "?watch=1", "");
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "g%05zu", i);
        expect(&w, "ADDED", name);
    }
    publish(rig, world_new(44));
    expect(&w, "DELETED", "g00000");
    watch_close(&w);
}

#define EVENTS "/api/v1/namespaces/default/events"

static void a_watch_of_events_begins_with_the_stored_ones_and_counts(void **state)
{
    struct rig *rig = *state;
    struct watch w = watch_open(rig, EVENTS "?watch=1", "");
    static const char *const reasons[] = {"Running", "Migrated"};
    for (size_t i = 0; i < COUNT(reasons); i++) {
        assert_true(next_event(&w, WAIT_MS));
        assert_string_equal(of(&w, "type"), "ADDED");
        assert_string_equal(of(&w, "object.reason"), reasons[i]);
    }
    char name[300];
    (void)snprintf(name, sizeof name, "%s", of(&w, "object.metadata.name"));
    const struct store_event again = {.kind = "VirtualMachineInstance",
                                      .ns = "default",
                                      .name = "vm2",
                                      .uid = "10000000-0000-4000-8000-000000000001",
                                      .type = "Warning",
                                      .reason = "Migrated",
                                      .message = "it \"failed\"",
                                      .at_ms = 1763269660000};
    struct store_event other = again;
    other.ns = "prod";
    exporter_on_event(rig->x, &other);
    exporter_on_event(rig->x, &again);
    publish(rig, world_new(45));
    assert_true(next_event(&w, WAIT_MS));
    assert_string_equal(of(&w, "type"), "MODIFIED");
    assert_string_equal(of(&w, "object.metadata.name"), name);
    assert_string_equal(of(&w, "object.count"), "5"); /* 3 stored, and one in each namespace */
    watch_close(&w);
}

/* ---- time ---- */

/* The machine's clocks, but ahead by what a test says; read by every thread of the exporter. */
static atomic_llong ahead_ms;

static int64_t ahead_mono(void *ctx)
{
    (void)ctx;
    return clock_mono_ms(clock_system()) + atomic_load(&ahead_ms);
}

static int64_t ahead_wall(void *ctx)
{
    (void)ctx;
    return clock_wall_ms(clock_system()) + atomic_load(&ahead_ms);
}

static int rig_up_ahead(void **state)
{
    static const struct clock clock = {ahead_mono, ahead_wall, NULL};
    atomic_store(&ahead_ms, 0);
    return rig_up_at(state, &clock);
}

static unsigned waiters(const struct rig *rig)
{
    struct feed_stats stats;
    feed_stats(rig->x->feed, &stats);
    return stats.waiters;
}

static void await_waiters(const struct rig *rig, unsigned wanted)
{
    for (unsigned i = 0; waiters(rig) != wanted && i < 500; i++)
        clock_sleep_ms(10);
    assert_int_equal(waiters(rig), wanted);
}

static void a_bookmark_comes_each_minute_when_nothing_happens(void **state)
{
    struct rig *rig = *state;
    char version[32];
    list_version(rig, NODES, version);
    struct watch w = watch_from(rig, NODES, "&allowWatchBookmarks=true", version);
    struct watch without = watch_from(rig, NODES, "", version);
    await_waiters(rig, 2);
    atomic_store(&ahead_ms, 58 * 1000);
    assert_false(next_event(&w, 700)); /* its thread looks four times a second */
    for (unsigned minute = 1; minute <= 2; minute++) {
        atomic_store(&ahead_ms, (long long)minute * 61 * 1000);
        assert_true(next_event(&w, WAIT_MS));
        assert_string_equal(of(&w, "type"), "BOOKMARK");
        assert_string_equal(of(&w, "object.metadata.resourceVersion"), version);
        assert_false(next_event(&w, 50)); /* one is enough */
    }
    assert_false(next_event(&without, 50));
    watch_close(&w);
    watch_close(&without);
}

static void a_client_that_left_silently_is_noticed_within_ten_seconds(void **state)
{
    struct rig *rig = *state;
    char version[32];
    list_version(rig, NODES, version);
    struct watch w = watch_from(rig, NODES, "", version);
    await_waiters(rig, 1);
    watch_close(&w);
    clock_sleep_ms(600); /* nothing tells: it still waits */
    assert_int_equal(waiters(rig), 1);
    atomic_store(&ahead_ms, 11 * 1000);
    await_waiters(rig, 0);
}

static void be_slow(void *ctx)
{
    (void)ctx;
    clock_sleep_ms(150);
}

/* Also when the thread that shows changes is late. */
static void who_made_a_change_reads_it_afterwards(void **state)
{
    struct rig *rig = *state;
    char before[32], after[32];
    list_version(rig, "/apis/ferry.internal/v1/drains", before);
    struct feed_waiter slow = {.wake = be_slow, .after = UINT64_MAX, .until_ms = INT64_MIN};
    feed_wait(rig->x->feed, &slow);
    struct answer a = post(rig, "/apis/ferry.internal/v1/drains",
                           "{\"apiVersion\":\"ferry.internal/v1\",\"kind\":\"Drain\","
                           "\"metadata\":{\"name\":\"d7\"},\"spec\":{\"nodeName\":\"a\"}}");
    assert_int_equal(a.status, 201);
    answer_fini(&a);
    list_version(rig, "/apis/ferry.internal/v1/drains", after);
    assert_string_not_equal(before, after);
}

static void what_cannot_be_watched_says_so(void **state)
{
    struct answer a = get(*state, "/apis/metrics.k8s.io/v1beta1/nodes?watch=1");
    assert_refused(&a, 405, "MethodNotAllowed");
    answer_fini(&a);
    a = get(*state, "/apis/metrics.k8s.io/v1beta1/nodes?watch=1&sendInitialEvents=true");
    assert_refused(&a, 422, "Invalid");
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_watch)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_watch_from_a_list_tells_each_change_after_it),
        WIRE_TEST(a_watch_without_a_version_begins_with_what_is_there),
        WIRE_TEST(a_watch_of_many_begins_with_all_of_them),
        WIRE_TEST(who_selects_sees_objects_come_and_go),
        WIRE_TEST(rows_of_a_table_are_told_with_their_columns_once),
        WIRE_TEST(a_version_that_is_not_kept_is_gone),
        WIRE_TEST(a_watch_ends_at_its_timeout),
        WIRE_TEST(a_client_that_left_is_forgotten),
        WIRE_TEST(many_watches_see_the_same),
        WIRE_TEST(a_watch_of_events_begins_with_the_stored_ones_and_counts),
        WIRE_TEST(who_made_a_change_reads_it_afterwards),
        WIRE_TEST(what_cannot_be_watched_says_so),
        cmocka_unit_test_setup_teardown(a_bookmark_comes_each_minute_when_nothing_happens,
                                        rig_up_ahead, rig_down),
        cmocka_unit_test_setup_teardown(a_client_that_left_silently_is_noticed_within_ten_seconds,
                                        rig_up_ahead, rig_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
