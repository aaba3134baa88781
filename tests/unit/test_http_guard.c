/* test_http_guard.c - who is ended when a listener is full, and the budget of replies. */
#include "tests/test.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "exporter/http/http_guard.h"

enum { MAX = 8, ROOM = MAX - MAX / 4 };

struct ends {
    int ours, theirs;
    struct guarded *guarded;
};

static struct ends connect_one(struct guard *guard)
{
    int pair[2];
    static const char group;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    return (struct ends){pair[0], pair[1], guard_add(guard, &group, MAX, pair[0])};
}

static bool is_ended(const struct ends *ends)
{
    struct pollfd wait = {.fd = ends->theirs, .events = POLLIN};
    char byte;
    return poll(&wait, 1, 0) == 1 && recv(ends->theirs, &byte, 1, 0) == 0;
}

static void close_one(struct guard *guard, struct ends *ends)
{
    guard_remove(guard, ends->guarded);
    (void)close(ends->ours), (void)close(ends->theirs);
}

static void a_new_connection_ends_the_oldest_without_a_request(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(guard) guard = guard_new(clock_system(), &err);
    struct ends all[ROOM + 2];
    for (size_t i = 0; i < ROOM; i++)
        all[i] = connect_one(guard);
    guard_set(guard, all[0].guarded, GUARD_WORKING);
    guard_set(guard, all[1].guarded, GUARD_SENDING);
    for (size_t i = 0; i < ROOM; i++)
        assert_false(is_ended(&all[i]));
    all[ROOM] = connect_one(guard);
    assert_true(is_ended(&all[2])); /* the first two have asked something */
    all[ROOM + 1] = connect_one(guard);
    assert_true(is_ended(&all[3]));
    assert_false(is_ended(&all[0]) || is_ended(&all[1]) || is_ended(&all[4]));
    for (size_t i = 0; i < COUNT(all); i++)
        close_one(guard, &all[i]);
}

static void slow_headers_end_a_connection_and_a_handler_does_not(void **state)
{
    (void)state;
    struct err err = {0};
    struct clock_fake fake;
    clock_fake_init(&fake, 0);
    OWNED(guard) guard = guard_new(&fake.clock, &err);
    struct ends slow = connect_one(guard), works = connect_one(guard), idle = connect_one(guard);
    guard_set(guard, works.guarded, GUARD_WORKING);
    guard_set(guard, idle.guarded, GUARD_IDLE);
    fake.now_ms = GUARD_HEADERS_MS + 1;
    for (int i = 0; i < 100 && !is_ended(&slow); i++)
        clock_sleep_ms(GUARD_TICK_MS / 5);
    assert_true(is_ended(&slow));
    assert_false(is_ended(&works) || is_ended(&idle));
    close_one(guard, &slow), close_one(guard, &works), close_one(guard, &idle);
}

static void replies_that_wait_have_a_budget(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(guard) guard = guard_new(clock_system(), &err);
    assert_true(guard_take_bytes(guard, 60, 100));
    assert_false(guard_take_bytes(guard, 41, 100));
    assert_true(guard_take_bytes(guard, 40, 100));
    guard_give_bytes(guard, 60);
    assert_int_equal(guard_bytes(guard), 40);
}

TEST_FILE(test_http_guard)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_connection_ends_the_oldest_without_a_request),
        cmocka_unit_test(slow_headers_end_a_connection_and_a_handler_does_not),
        cmocka_unit_test(replies_that_wait_have_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
