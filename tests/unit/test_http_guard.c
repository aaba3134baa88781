/* test_http_guard.c - who is ended when a listener is full, and the budget of replies. */
#include "tests/test.h"

#include <netinet/in.h>
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

/* Two ends of a TCP connection on loopback. */
static void connect_tcp(int *out_ours, int *out_theirs)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &n), 0);
    *out_theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(*out_theirs, (struct sockaddr *)&at, sizeof at), 0);
    *out_ours = accept(listening, NULL, NULL);
    (void)close(listening);
}

static void fill(int fd)
{
    static const char bytes[65536];
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
}

/* The guard looks twice a second; its thread is given time to. */
static bool is_ended_at(struct clock_fake *fake, int64_t now_ms, struct ends *ends)
{
    struct pollfd wait = {.fd = ends->ours, .events = 0};
    fake->now_ms = now_ms;
    for (int i = 0; i < 8; i++) {
        clock_sleep_ms(GUARD_TICK_MS / 4);
        if (poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0)
            return true;
    }
    return false;
}

/* What the socket holds may be the same at each look, although its client reads. */
static void a_reader_that_goes_on_is_not_ended_and_one_that_stops_is(void **state)
{
    (void)state;
    struct err err = {0};
    struct clock_fake fake;
    static const char group;
    static char bytes[1 << 20];
    clock_fake_init(&fake, 0);
    OWNED(guard) guard = guard_new(&fake.clock, &err);
    struct ends reader = {0};
    connect_tcp(&reader.ours, &reader.theirs);
    reader.guarded = guard_add(guard, &group, MAX, reader.ours);
    guard_set(guard, reader.guarded, GUARD_SENDING);
    fill(reader.ours);
    for (int64_t now_ms = 0; now_ms < 2 * GUARD_STALL_MS; now_ms += GUARD_STALL_MS / 2) {
        assert_false(is_ended_at(&fake, now_ms, &reader));
        for (int i = 0; i < 4; i++)
            (void)recv(reader.theirs, bytes, sizeof bytes, MSG_DONTWAIT);
        fill(reader.ours);
    }
    assert_false(is_ended_at(&fake, fake.now_ms + 1, &reader));
    assert_true(is_ended_at(&fake, fake.now_ms + GUARD_STALL_MS + 1, &reader));
    close_one(guard, &reader);
}

static void a_reply_that_takes_too_long_as_a_whole_is_ended(void **state)
{
    (void)state;
    struct err err = {0};
    struct clock_fake fake;
    clock_fake_init(&fake, 0);
    OWNED(guard) guard = guard_new(&fake.clock, &err);
    struct ends slow = connect_one(guard);
    guard_set(guard, slow.guarded, GUARD_SENDING);
    assert_false(is_ended_at(&fake, GUARD_SENDING_MS, &slow)); /* nothing waits for its client */
    guard_set(guard, slow.guarded, GUARD_WATCHING);
    assert_false(is_ended_at(&fake, 3 * GUARD_SENDING_MS, &slow)); /* a watch may stay */
    guard_set(guard, slow.guarded, GUARD_SENDING);
    assert_true(is_ended_at(&fake, 4 * GUARD_SENDING_MS + 1, &slow));
    close_one(guard, &slow);
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

static void bytes_that_replies_share_count_once(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(guard) guard = guard_new(clock_system(), &err);
    unsigned page = 0, other = 0;
    assert_true(guard_take_shared(guard, &page, 60, 100));
    assert_true(guard_take_shared(guard, &page, 60, 100));
    assert_int_equal(guard_bytes(guard), 60);
    assert_false(guard_take_shared(guard, &other, 41, 100));
    guard_give_shared(guard, &page, 60);
    assert_int_equal(guard_bytes(guard), 60); /* the second still reads it */
    guard_give_shared(guard, &page, 60);
    assert_int_equal(guard_bytes(guard), 0);
    assert_true(guard_take_shared(guard, &other, 41, 100));
}

TEST_FILE(test_http_guard)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_connection_ends_the_oldest_without_a_request),
        cmocka_unit_test(slow_headers_end_a_connection_and_a_handler_does_not),
        cmocka_unit_test(a_reader_that_goes_on_is_not_ended_and_one_that_stops_is),
        cmocka_unit_test(a_reply_that_takes_too_long_as_a_whole_is_ended),
        cmocka_unit_test(replies_that_wait_have_a_budget),
        cmocka_unit_test(bytes_that_replies_share_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
