/* test_adapter_keeper.c - what is told about a host on the fake libvirt: found, lost, found again,
 * hanging, and the events of its guests. */
#include "tests/libvirt/threads.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- events ---- */

static struct hv_event next_of_guest(struct world *world, enum hv_event_kind kind)
{
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, kind);
    assert_string_equal(event.host, "h1");
    assert_string_equal(event.guest, GUEST);
    assert_string_equal(event.guest_name, "a");
    assert_int_equal(event.at_ms, atomic_load(&now_ms));
    return event;
}

static void every_event_of_a_guest_is_passed_on(void **state)
{
    struct world *world = *state;
    start(world);
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_CONNECTED);
    assert_string_equal(event.host, "h1");
    assert_int_equal(event.at_ms, 1000000);
    assert_int_equal(event.err.code, ERR_NONE);
    assert_int_equal(fake_callbacks(), EVENTS_CALLBACKS + 1);
    pass_ms(5);

    fake_lifecycle(GUEST, VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_MIGRATED);
    event = next_of_guest(world, HV_EVENT_LIFECYCLE);
    assert_int_equal(event.a, HV_LIFECYCLE_STOPPED);
    assert_int_equal(event.b, VIR_DOMAIN_EVENT_STOPPED_MIGRATED);
    fake_iteration(GUEST, 7);
    assert_int_equal(next_of_guest(world, HV_EVENT_ITERATION).a, 7);
    static void (*const changes[])(const char *) = {fake_metadata_changed, fake_block_job};
    for (size_t i = 0; i < COUNT(changes); i++) {
        changes[i](GUEST);
        (void)next_of_guest(world, HV_EVENT_CHANGED);
    }
    fake_device(GUEST, VIR_DOMAIN_EVENT_ID_DEVICE_ADDED);
    (void)next_of_guest(world, HV_EVENT_CHANGED);
    fake_device(GUEST, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED);
    (void)next_of_guest(world, HV_EVENT_CHANGED);

    fake_fail("virDomainGetUUIDString", 1, VIR_ERR_INTERNAL_ERROR, "no");
    fake_iteration(GUEST, 8);
    assert_string_equal(next_event(world).guest, "");
}

static void only_the_end_of_an_outgoing_migration_is_passed_on(void **state)
{
    struct world *world = *state;
    start(world);
    (void)next_event(world);
    for (int operation = 0; operation <= HV_OPERATION_SNAPSHOT_DELETE; operation++)
        fake_job_completed(GUEST, operation, 40);
    struct hv_event event = next_of_guest(world, HV_EVENT_JOB_COMPLETED);
    assert_int_equal(event.stats.operation, HV_OPERATION_MIGRATION_OUT);
    assert_int_equal(event.stats.type, HV_JOB_COMPLETED);
    assert_int_equal(event.stats.downtime_ms, 40);
    assert_int_equal(queue_depth(world->events), 0);
}

/* ---- found and lost ---- */

static void a_lost_connection_is_reported_once_with_its_reason(void **state)
{
    struct world *world = *state;
    start(world);
    static const struct {
        int reason, code;
        const char *text;
    } rows[] = {
        {VIR_CONNECT_CLOSE_REASON_KEEPALIVE, HV_LOST_SILENT,
         "connection lost: the host no longer answers keepalives"},
        {VIR_CONNECT_CLOSE_REASON_EOF, HV_LOST_CLOSED, "connection lost: the host closed it"},
        {VIR_CONNECT_CLOSE_REASON_ERROR, HV_LOST_CLOSED, "connection lost: it broke"},
        {VIR_CONNECT_CLOSE_REASON_CLIENT, HV_LOST_CLOSED, "connection lost: closed"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
        assert_int_equal(fake_callbacks(), EVENTS_CALLBACKS + 1); /* on the new one alone */
        fake_break(rows[i].reason, true);
        struct hv_event event = next_event(world);
        assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
        assert_int_equal(event.err.code, ERR_UNREACHABLE);
        assert_int_equal(event.err.hv_code, rows[i].code);
        assert_string_equal(event.err.text, rows[i].text);
    }
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    no_event_yet(world);
}

/* libvirt does not always tell: the connection is looked at every two seconds. */
static void a_connection_that_dies_silently_is_noticed(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_break(0, false);
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
    assert_string_equal(event.err.text, "connection lost: it broke");
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
}

static void a_host_without_lifecycle_events_is_not_connected(void **state)
{
    struct world *world = *state;
    fake_fail("register-lifecycle", 1, VIR_ERR_NO_SUPPORT, "no events");
    fake_fail("register-iteration", 0, VIR_ERR_NO_SUPPORT, "no events");
    fake_fail("register-other", 0, VIR_ERR_NO_SUPPORT, "no events");
    fake_fail("virConnectRegisterCloseCallback", 0, VIR_ERR_NO_SUPPORT, "no");
    start(world);
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
    assert_string_equal(event.err.text, "no events");
    assert_true(pass_until(world, NULL, 0, LIBVIRT_BACKOFF_MIN_MS));
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED); /* the others may be missing */
    assert_int_equal(fake_callbacks(), 1);
}

static void a_host_is_tried_again_at_growing_intervals(void **state)
{
    struct world *world = *state;
    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_DISCONNECTED);
    static const int64_t pauses[] = {250, 500, 1000, 2000, 4000, 8000, 10000, 10000};
    for (int i = 0; i < (int)COUNT(pauses); i++) {
        clock_sleep_ms(NOT_YET_MS); /* it waits by now */
        pass_ms(pauses[i] - 1);
        wait_count("virConnectOpenReadOnly", i + 1);
        assert_true(pass_until(world, "virConnectOpenReadOnly", i + 2, pauses[i] / 4));
    }
    assert_int_equal(queue_depth(world->events), 0); /* told once */
    fake_heal();
    assert_true(pass_until(world, NULL, 0, LIBVIRT_BACKOFF_MAX_MS));
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    fake_break(VIR_CONNECT_CLOSE_REASON_EOF, true);
    assert_int_equal(next_event(world).kind, HV_EVENT_DISCONNECTED);
    fake_heal();
    assert_true(pass_until(world, NULL, 0, LIBVIRT_BACKOFF_MIN_MS)); /* the pauses begin anew */
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
}

/* Whoever reaches the host first spares the other its pause. */
static void a_host_that_one_connection_reached_is_tried_at_once_by_the_others(void **state)
{
    struct world *world = *state;
    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_DISCONNECTED);
    fake_heal();
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);

    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    fake_break(VIR_CONNECT_CLOSE_REASON_EOF, true);
    assert_int_equal(next_event(world).kind, HV_EVENT_DISCONNECTED);
    assert_int_equal(answer(world, HV_CALL_DOMAIN_STATE).err.code, ERR_UNREACHABLE);
    assert_int_equal(answer(world, HV_CALL_JOB_STATS).err.code, ERR_UNREACHABLE);
    fake_heal();
    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    for (int i = 0; i < 3; i++) { /* the lane's pause is the longer one now */
        pass_ms(LIBVIRT_BACKOFF_MAX_MS);
        (void)answer(world, HV_CALL_DOMAIN_STATE);
    }
    fake_heal();
    assert_true(pass_until(world, NULL, 0, LIBVIRT_BACKOFF_MIN_MS));
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    assert_int_equal(answer(world, HV_CALL_DOMAIN_STATE).err.code, ERR_NONE);
    assert_int_equal(answer(world, HV_CALL_JOB_STATS).err.code, ERR_NONE);
}

/* ---- openings that hang ---- */

static void an_opening_that_hangs_is_left_behind_after_ten_seconds(void **state)
{
    struct world *world = *state;
    fake_block("virConnectOpenReadOnly");
    start(world);
    fake_wait_blocked(1);
    pass_ms(OPENING_MAX_MS - 1);
    no_event_yet(world);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_hanging, 0);
    pass_ms(1);
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
    assert_int_equal(event.err.code, ERR_UNREACHABLE);
    assert_string_equal(event.err.text,
                        "libvirtd accepts connections and does not answer: 1 of them hang");
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_hanging, 1);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_abandoned, 1);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).openings_hanging, 0);

    /* Meanwhile nobody else waits for one. */
    struct hv_reply reply = answer(world, HV_CALL_RESUME);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_non_null(strstr(reply.err.text, "does not answer"));
    assert_int_equal(fake_count("virConnectOpen"), 0);

    fake_heal(); /* a late answer ends it, without any time passing */
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    for (int i = 0; i < 100 && lane_of(world, HV_LANE_OBSERVE).openings_hanging > 0; i++)
        clock_sleep_ms(5);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_hanging, 0);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_abandoned, 1);
    pass_ms(LIBVIRT_BACKOFF_MAX_MS);
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* A host that was reset does not say so: TCP must ask. One that is asked already is left alone. */
static void the_sockets_of_a_hanging_opening_get_keepalive(void **state)
{
    struct world *world = *state;
    int plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
        local = socket(AF_UNIX, SOCK_STREAM, 0);
    const int on = 1, idle = 77;
    assert_int_equal(setsockopt(own, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on), 0);
    assert_int_equal(setsockopt(own, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle), 0);
    fake_block("virConnectOpenReadOnly");
    start(world);
    fake_wait_blocked(1);
    assert_int_equal(option(plain, SOL_SOCKET, SO_KEEPALIVE), 0);
    pass_ms(OPENING_MAX_MS);
    assert_int_equal(next_event(world).kind, HV_EVENT_DISCONNECTED);
    const int sockets[] = {plain, six};
    for (size_t i = 0; i < COUNT(sockets) && sockets[i] >= 0; i++) {
        assert_int_equal(option(sockets[i], SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option(sockets[i], IPPROTO_TCP, TCP_KEEPIDLE), 10);
        assert_int_equal(option(sockets[i], IPPROTO_TCP, TCP_KEEPINTVL), 5);
        assert_int_equal(option(sockets[i], IPPROTO_TCP, TCP_KEEPCNT), 3);
    }
    assert_int_equal(option(own, IPPROTO_TCP, TCP_KEEPIDLE), 77);
    assert_int_equal(option(local, SOL_SOCKET, SO_KEEPALIVE), 0);
    (void)close(plain);
    (void)close(six);
    (void)close(own);
    (void)close(local);
}

/* While one hangs only the keeper tries, after 10, 20, 40 ... 600 seconds. */
static void hanging_openings_are_tried_at_doubling_intervals(void **state)
{
    struct world *world = *state;
    fake_block("virConnectOpenReadOnly");
    start(world);
    fake_wait_blocked(1);
    int64_t pause = OPENING_MAX_MS;
    for (int i = 1; i <= 8; i++) {
        pass_ms(OPENING_MAX_MS); /* this one is given up */
        for (int n = 0; n < 200; n++) {
            if (lane_of(world, HV_LANE_OBSERVE).openings_hanging == (unsigned)i)
                break;
            clock_sleep_ms(5);
        }
        assert_int_equal(lane_of(world, HV_LANE_OBSERVE).openings_hanging, i);
        pass_ms(pause - 1);
        if (i < 3 || i > 6)
            wait_count("virConnectOpenReadOnly", i);
        assert_true(
            pass_until(world, "virConnectOpenReadOnly", i + 1, 10 * LIBVIRT_BACKOFF_MAX_MS));
        fake_wait_blocked(i + 1);
        pause = pause * 2 < OPENING_PAUSE_MAX_MS ? pause * 2 : OPENING_PAUSE_MAX_MS;
    }
}

/* ---- hosts that come and go ---- */

static void a_host_can_be_added_and_removed_at_any_time(void **state)
{
    struct world *world = *state;
    start(world);
    assert_string_equal(next_event(world).host, "h1");
    static const struct hv_host second = {.name = "h0", .uri = "fake://h0"};
    struct err err = {0};
    assert_true(libvirt_add_host(world->hv, &second, &err));
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_CONNECTED);
    assert_string_equal(event.host, "h0");
    assert_false(libvirt_add_host(world->hv, &second, &err));
    assert_int_equal(err.code, ERR_INVALID);
    struct hv_reply reply = answer(world, HV_CALL_DOMAIN_STATE); /* of h1 */
    assert_int_equal(reply.err.code, ERR_NONE);

    assert_true(libvirt_remove_host(world->hv, "h1"));
    assert_false(libvirt_remove_host(world->hv, "h1"));
    no_event_yet(world);
    struct hv_lane_status status;
    assert_false(hv_lane_status(world->hv, "h1", HV_LANE_OBSERVE, &status));
    struct hv_request request = request_of(world, HV_CALL_DOMAIN_STATE);
    err = (struct err){0};
    assert_false(submit(world, &request, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    TEXT_SET(request.host, "h0");
    err = (struct err){0};
    assert_true(submit(world, &request, &err));
    reply = next_reply(world);
    assert_int_equal(reply.err.code, ERR_NONE);
}

/* Whichever of four is removed: the others stay where they are found. */
static void every_other_host_is_found_after_one_is_removed(void **state)
{
    struct world *world = *state;
    static const struct hv_host more[] = {{.name = "h0", .uri = "fake://h0"},
                                          {.name = "h2", .uri = "fake://h2"},
                                          {.name = "h3", .uri = "fake://h3"}};
    static const char *const names[] = {"h0", "h1", "h2", "h3"};
    struct err err = {0};
    struct hv_lane_status status;
    start(world);
    for (size_t i = 0; i < COUNT(more); i++)
        assert_true(libvirt_add_host(world->hv, &more[i], &err));
    for (size_t gone = 0; gone < COUNT(names); gone++) {
        const struct hv_host again = {.name = {'h', (char)('0' + gone)}, .uri = "fake://again"};
        assert_true(libvirt_remove_host(world->hv, names[gone]));
        for (size_t i = 0; i < COUNT(names); i++)
            assert_int_equal(hv_lane_status(world->hv, names[i], HV_LANE_OBSERVE, &status),
                             i != gone);
        assert_true(libvirt_add_host(world->hv, &again, &err));
    }
}

static void a_removed_host_answers_what_was_queued(void **state)
{
    struct world *world = *state;
    start(world);
    (void)next_event(world);
    fake_block("virDomainLookupByUUIDString");
    ask(world, HV_CALL_DOMAIN_STATE);
    fake_wait_blocked(1);
    ask(world, HV_CALL_GUEST_XML); /* behind it */
    no_reply_yet(world);
    assert_true(libvirt_remove_host(world->hv, "h1"));
    struct hv_reply reply = next_reply(world);
    assert_int_equal(reply.call, HV_CALL_GUEST_XML);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_non_null(strstr(reply.err.text, "removed from the configuration"));
    fake_release();
    reply = next_reply(world); /* the call in flight ends as libvirt says */
    assert_int_equal(reply.call, HV_CALL_DOMAIN_STATE);
    no_event_yet(world);
}

static void a_host_that_returns_is_reported_again(void **state)
{
    struct world *world = *state;
    start(world);
    (void)next_event(world);
    assert_true(libvirt_remove_host(world->hv, "h1"));
    static const struct hv_host again = {.name = "h1", .uri = "fake://elsewhere"};
    struct err err = {0};
    assert_true(libvirt_add_host(world->hv, &again, &err));
    struct hv_event event = next_event(world);
    assert_int_equal(event.kind, HV_EVENT_CONNECTED);
    assert_string_equal(event.host, "h1");
    no_event_yet(world);
}

TEST_FILE(test_adapter_keeper)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_event_of_a_guest_is_passed_on),
        TEST(only_the_end_of_an_outgoing_migration_is_passed_on),
        TEST(a_lost_connection_is_reported_once_with_its_reason),
        TEST(a_connection_that_dies_silently_is_noticed),
        TEST(a_host_without_lifecycle_events_is_not_connected),
        TEST(a_host_is_tried_again_at_growing_intervals),
        TEST(a_host_that_one_connection_reached_is_tried_at_once_by_the_others),
        TEST(an_opening_that_hangs_is_left_behind_after_ten_seconds),
        TEST(the_sockets_of_a_hanging_opening_get_keepalive),
        TEST(hanging_openings_are_tried_at_doubling_intervals),
        TEST(a_host_can_be_added_and_removed_at_any_time),
        TEST(every_other_host_is_found_after_one_is_removed),
        TEST(a_removed_host_answers_what_was_queued),
        TEST(a_host_that_returns_is_reported_again),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
