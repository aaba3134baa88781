/* test_relay.c - streams through a relay, over real sockets of the loopback: 127.0.0.2 is the
 * relay's address, 127.0.0.3 the target's. */
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "hypervisor/relay/relay.h"

#define RELAY "127.0.0.2"
#define TARGET "127.0.0.3"
#define GUEST "2f6b1f5e-0000-4000-8000-000000000001"
#define OTHER "2f6b1f5e-0000-4000-8000-000000000002"
enum { PATIENCE_MS = 10000, BULK = 3000000 };

struct world {
    struct relays *relays;
    unsigned port_min, port_max, port;
    uint64_t id;
    int listener; /* the target's */
};

static struct sockaddr_in at(const char *address, unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    return to;
}

static int listen_at(const char *address, unsigned port)
{
    struct sockaddr_in to = at(address, port);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* -1 with errno. */
static int dial(const char *address, unsigned port)
{
    struct sockaddr_in to = at(address, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

static void open_relay(struct world *w, unsigned streams)
{
    struct relay_wish wish = {GUEST, RELAY, TARGET, w->port_min, w->port_max, streams};
    struct err err = {0};
    w->id = relays_open(w->relays, &wish, &w->port, &err);
    if (w->id == 0)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    static struct world world;
    struct err err = {0};
    world = (struct world){.listener = -1};
    world.port_min = 20000 + (unsigned)getpid() % 10000;
    world.port_max = world.port_min + 63;
    world.relays = relays_new(&err);
    *state = &world;
    return world.relays == NULL;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    relays_free(w->relays);
    if (w->listener >= 0)
        (void)close(w->listener);
    return 0;
}

/* One stream, both ends at hand. */
static void connect_both(struct world *w, int *source, int *target)
{
    if (w->listener < 0)
        w->listener = listen_at(TARGET, w->port);
    *source = dial(RELAY, w->port);
    assert_true(*source >= 0);
    struct pollfd wait = {.fd = w->listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    *target = accept(w->listener, NULL, NULL);
    assert_true(*target >= 0);
}

/* What reading ends with: 0 an end, else errno; ETIMEDOUT: neither. Data is passed over. */
static int end_of(int fd)
{
    char bytes[65536];
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, PATIENCE_MS) == 1) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
            return n == 0 ? 0 : errno;
    }
    return ETIMEDOUT;
}

static void send_reset(int fd)
{
    struct linger now = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    (void)close(fd);
}

static void *write_bulk(void *arg)
{
    int fd = *(int *)arg;
    unsigned char bytes[10000];
    for (size_t sent = 0; sent < BULK; sent += sizeof bytes) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)((sent + i) * 31 >> 3);
        assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    }
    (void)shutdown(fd, SHUT_WR);
    return NULL;
}

static void what_goes_in_comes_out_and_an_end_is_an_end(void **state)
{
    struct world *w = *state;
    int source, target;
    pthread_t writer;
    open_relay(w, 1);
    connect_both(w, &source, &target);
    assert_int_equal(pthread_create(&writer, NULL, write_bulk, &source), 0);
    unsigned char bytes[7777];
    size_t got = 0;
    ssize_t n;
    while ((n = read(target, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n; i++, got++)
            assert_int_equal(bytes[i], (unsigned char)(got * 31 >> 3));
    assert_int_equal(n, 0);
    assert_int_equal(got, BULK);
    (void)pthread_join(writer, NULL);
    assert_int_equal(write(target, "all there", 9), 9); /* the way back is still open */
    assert_int_equal(read(source, bytes, sizeof bytes), 9);
    struct hv_relay look;
    assert_true(relays_look(w->relays, GUEST, &look));
    assert_int_equal(look.streams, 1);
    assert_int_equal(look.port, w->port);
    assert_true(look.taken == BULK && look.delivered == BULK);
    assert_true(look.waiting == 0 && look.stuck_ms == -1);
    assert_false(relays_look(w->relays, OTHER, &look));
    (void)close(target);
    assert_int_equal(end_of(source), 0);
    (void)close(source);
}

static void a_reset_is_passed_on_both_ways(void **state)
{
    struct world *w = *state;
    for (int from_source = 0; from_source < 2; from_source++) {
        int source, target;
        open_relay(w, 1);
        if (w->listener >= 0)
            (void)close(w->listener);
        w->listener = -1;
        connect_both(w, &source, &target);
        assert_int_equal(write(source, "x", 1), 1);
        send_reset(from_source ? source : target);
        assert_int_equal(end_of(from_source ? target : source), ECONNRESET);
        (void)close(from_source ? target : source);
    }
}

/* As QEMU does in its switch-over: it writes and nobody reads. */
static size_t fill(int fd)
{
    static const char zeros[65536];
    size_t sent = 0;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    while (poll(&wait, 1, 300) == 1) {
        ssize_t n = send(fd, zeros, sizeof zeros, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
    }
    return sent;
}

static void a_target_that_takes_nothing_is_seen_and_the_source_is_freed(void **state)
{
    struct world *w = *state;
    int source, target;
    struct hv_relay look = {.stuck_ms = -1};
    open_relay(w, 1);
    connect_both(w, &source, &target);
    size_t sent = fill(source);
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (look.stuck_ms < 300 && clock_mono_ms(clock_system()) < until)
        assert_true(relays_look(w->relays, GUEST, &look));
    assert_true(look.stuck_ms >= 300);
    assert_true(look.waiting > 0 && look.taken < sent && look.delivered <= look.taken);
    assert_int_equal(relays_reset(w->relays, OTHER), 0);
    assert_int_equal(relays_reset(w->relays, GUEST), 1);
    assert_int_equal(end_of(source), ECONNRESET);
    assert_int_equal(end_of(target), ECONNRESET);
    assert_int_equal(relays_reset(w->relays, GUEST), 0);
    assert_false(relays_look(w->relays, GUEST, &look));
    (void)close(source);
    (void)close(target);
}

/* Bytes that go out restart the clock. This process may be held up itself, so not every look
 * counts: one that were stuck all the time would say so in each of the second half. */
static void a_slow_target_is_not_a_stuck_one(void **state)
{
    struct world *w = *state;
    int source, target;
    struct hv_relay look;
    char bytes[65536];
    open_relay(w, 1);
    connect_both(w, &source, &target);
    (void)fill(source);
    int64_t begun = clock_mono_ms(clock_system()), least = INT64_MAX;
    for (int64_t spent = 0; spent < 900 || least == INT64_MAX;) {
        assert_true(read(target, bytes, sizeof bytes) > 0);
        struct pollfd wait = {.fd = source, .events = POLLOUT};
        (void)poll(&wait, 1, 10);
        (void)send(source, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(relays_look(w->relays, GUEST, &look));
        spent = clock_mono_ms(clock_system()) - begun;
        if (spent >= 450 && look.stuck_ms < least)
            least = look.stuck_ms;
    }
    assert_true(least < 300);
    (void)close(source);
    (void)close(target);
}

static void all_streams_of_a_guest_are_reset_together(void **state)
{
    enum { STREAMS = 5 };
    struct world *w = *state;
    int source[STREAMS], target[STREAMS];
    struct hv_relay look;
    open_relay(w, STREAMS);
    for (size_t i = 0; i < STREAMS; i++)
        connect_both(w, &source[i], &target[i]);
    assert_true(relays_look(w->relays, GUEST, &look));
    assert_int_equal(look.streams, STREAMS);
    assert_int_equal(relays_reset(w->relays, GUEST), STREAMS);
    for (size_t i = 0; i < STREAMS; i++) {
        assert_int_equal(end_of(source[i]), ECONNRESET);
        (void)close(source[i]);
        (void)close(target[i]);
    }
}

static void nobody_is_let_in_beyond_the_streams_that_are_expected(void **state)
{
    struct world *w = *state;
    int source, target;
    open_relay(w, 1);
    connect_both(w, &source, &target);
    struct hv_relay look;
    assert_true(relays_look(w->relays, GUEST, &look)); /* its thread is done with the first */
    assert_int_equal(dial(RELAY, w->port), -1);
    assert_int_equal(errno, ECONNREFUSED);
    (void)close(source);
    (void)close(target);
}

static void a_target_that_refuses_breaks_the_stream(void **state)
{
    struct world *w = *state;
    open_relay(w, 1);
    int source = dial(RELAY, w->port);
    assert_true(source >= 0);
    assert_int_equal(end_of(source), ECONNRESET);
    (void)close(source);
}

static void a_stream_goes_on_while_nobody_knows_its_end(void **state)
{
    struct world *w = *state;
    int source, target;
    char byte;
    open_relay(w, 2);
    connect_both(w, &source, &target);
    relays_release(w->relays, w->id, false);
    int more, other; /* and one may still come */
    connect_both(w, &more, &other);
    assert_int_equal(write(source, "x", 1), 1);
    assert_int_equal(read(target, &byte, 1), 1);
    assert_int_equal(relays_reset(w->relays, GUEST), 2);
    (void)close(source);
    (void)close(target);
    (void)close(more);
    (void)close(other);
}

static void what_ended_lets_nobody_in_and_its_rest_may_drain(void **state)
{
    struct world *w = *state;
    int source, target;
    char byte;
    open_relay(w, 2);
    connect_both(w, &source, &target);
    relays_release(w->relays, w->id, true);
    assert_int_equal(dial(RELAY, w->port), -1);
    assert_int_equal(write(source, "x", 1), 1);
    assert_int_equal(read(target, &byte, 1), 1);
    (void)close(source);
    assert_int_equal(end_of(target), 0);
    (void)close(target);
    relays_release(w->relays, w->id, true); /* twice, or of one that is gone: nothing */
    relays_release(w->relays, 9999, true);
}

static void each_relay_has_a_port_of_its_own_until_none_is_left(void **state)
{
    struct world *w = *state;
    w->port_max = w->port_min + 2;
    for (unsigned i = 0, before = 0; i < 3; i++) {
        open_relay(w, 1);
        assert_true(w->port >= w->port_min && w->port <= w->port_max && w->port != before);
        before = w->port;
    }
    struct relay_wish wish = {GUEST, RELAY, TARGET, w->port_min, w->port_max, 1};
    struct err err = {0};
    unsigned port = 0;
    assert_int_equal(relays_open(w->relays, &wish, &port, &err), 0);
    assert_int_equal(err.code, ERR_LIMIT);
    relays_release(w->relays, w->id, true); /* the newest */
    open_relay(w, 1);
}

static void what_cannot_be_listened_on_is_said(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *address, *target;
        unsigned streams;
        enum err_code code;
    } rows[] = {
        {"192.0.2.1", TARGET, 1, ERR_IO}, /* somebody else's */
        {"relay.example.org", TARGET, 1, ERR_INVALID},
        {RELAY, "target.example.org", 1, ERR_INVALID},
        {RELAY, TARGET, 0, ERR_INVALID},
        {RELAY, TARGET, RELAY_STREAMS_MAX + 1, ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct relay_wish wish = {GUEST,       rows[i].address, rows[i].target,
                                  w->port_min, w->port_max,     rows[i].streams};
        struct err err = {0};
        unsigned port = 0;
        assert_int_equal(relays_open(w->relays, &wish, &port, &err), 0);
        assert_int_equal(err.code, rows[i].code);
    }
}

static void the_end_of_the_process_breaks_what_is_under_way(void **state)
{
    struct world *w = *state;
    int source, target;
    struct err err = {0};
    open_relay(w, 1);
    connect_both(w, &source, &target);
    relays_free(w->relays);
    assert_int_equal(end_of(source), ECONNRESET);
    (void)close(source);
    (void)close(target);
    w->relays = relays_new(&err);
    assert_non_null(w->relays);
}

TEST_FILE(test_relay)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_goes_in_comes_out_and_an_end_is_an_end),
        TEST(a_reset_is_passed_on_both_ways),
        TEST(a_target_that_takes_nothing_is_seen_and_the_source_is_freed),
        TEST(a_slow_target_is_not_a_stuck_one),
        TEST(all_streams_of_a_guest_are_reset_together),
        TEST(nobody_is_let_in_beyond_the_streams_that_are_expected),
        TEST(a_target_that_refuses_breaks_the_stream),
        TEST(a_stream_goes_on_while_nobody_knows_its_end),
        TEST(what_ended_lets_nobody_in_and_its_rest_may_drain),
        TEST(each_relay_has_a_port_of_its_own_until_none_is_left),
        TEST(what_cannot_be_listened_on_is_said),
        TEST(the_end_of_the_process_breaks_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
