/* test_libvirt.c - lanes, keepers and the end of the libvirt implementation, without a host:
 * libvirt's own test driver answers like one, a missing socket is a host that is down, and a
 * socket nobody reads is a libvirtd that hangs.
 */
#include "tests/test.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/queue.h"
#include "base/text.h"
#include "hypervisor/act.h"
#include "hypervisor/libvirt/libvirt.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

#define GUEST "6695eb01-f6a4-8304-79aa-97f2502e193f" /* the test driver's only one */
#define NOBODY "00000000-0000-4000-8000-000000000000"
enum { PATIENCE_MS = 5000 };

/* The machine's clock plus what a test adds, so that ten seconds need not be waited for. */
static _Atomic int64_t shift_ms;
static int64_t shifted_ms(void *ctx)
{
    (void)ctx;
    return clock_mono_ms(clock_system()) + atomic_load(&shift_ms);
}
static const struct clock shifted_clock = {shifted_ms, shifted_ms, NULL};

struct world {
    char directory[64];
    int listener; /* of the host that hangs */
    struct queue *replies, *events;
    struct hv *hv;
};

static void on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct world *world = ctx;
    if (!queue_push(world->replies, take_reply))
        hv_reply_fini(take_reply);
}

static void on_event(void *ctx, const struct hv_event *event)
{
    struct world *world = ctx;
    if (!queue_push(world->events, event))
        print_error("an event too many\n");
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    TEXT_SET(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 128), 0);
    return fd;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    TEXT_SET(world->directory, "/tmp/test-libvirt-XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    char path[96];
    (void)snprintf(path, sizeof path, "%s/hangs", world->directory);
    world->listener = listen_at(path);

    struct hv_host hosts[] = {
        {.name = "up", .uri = "test:///default", .migration_host = "192.0.2.1"},
        {.name = "hangs"},
        {.name = "down"}};
    (void)snprintf(hosts[1].uri, HV_URI_MAX, "qemu+unix:///system?socket=%s/hangs",
                   world->directory);
    (void)snprintf(hosts[2].uri, HV_URI_MAX, "qemu+unix:///system?socket=%s/down",
                   world->directory);
    TEXT_SET(hosts[1].helper, "127.0.0.1:1"); /* nobody */
    TEXT_SET(hosts[2].migration_host, "down.example.org");
    struct err err = {0};
    world->replies = queue_new(sizeof(struct hv_reply), 4096, &err);
    world->events = queue_new(sizeof(struct hv_event), 256, &err);
    struct hv_event_sink sink = {on_event, world};
    world->hv = libvirt_new(hosts, COUNT(hosts), &shifted_clock, &sink, &err);
    if (world->hv == NULL)
        fail_msg("%s", err.text);
    return 0;
}

/* The listener closes first, so that what hangs comes back and can end. */
static int tear_down(void **state)
{
    struct world *world = *state;
    (void)close(world->listener);
    hv_free(world->hv);
    char path[96];
    (void)snprintf(path, sizeof path, "%s/hangs", world->directory);
    (void)unlink(path);
    (void)rmdir(world->directory);
    queue_free(world->replies);
    queue_free(world->events);
    free(world);
    return 0;
}

static bool submit(struct world *world, const struct hv_request *request, struct err *err)
{
    struct hv_observe observe = {world->hv};
    struct hv_probe probe = {world->hv};
    struct hv_act act = {world->hv};
    if (hv_call_access(request->call) == HV_ACCESS_OBSERVE)
        return hv_observe_submit(&observe, request, err);
    return hv_call_access(request->call) == HV_ACCESS_PROBE ? hv_probe_submit(&probe, request, err)
                                                            : hv_act_submit(&act, request, err);
}

static struct hv_request request_for(struct world *world, enum hv_call call, const char *host,
                                     const char *guest)
{
    struct hv_request request = {.id = 7, .call = call, .reply_to = {on_reply, world}};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    if (call == HV_CALL_MIGRATE)
        TEXT_SET(request.with.migrate.target, "down");
    if (call == HV_CALL_COMPARE_CPU)
        request.with.text = "<cpu/>";
    return request;
}

static void ask(struct world *world, enum hv_call call, const char *host, const char *guest)
{
    struct hv_request request = request_for(world, call, host, guest);
    struct err err = {0};
    if (!submit(world, &request, &err))
        fail_msg("%s", err.text);
}

static struct hv_reply next_reply(struct world *world)
{
    struct hv_reply reply;
    if (queue_pop(world->replies, &reply, PATIENCE_MS) != QUEUE_ITEM)
        fail_msg("no reply");
    return reply;
}

static struct hv_reply answer(struct world *world, enum hv_call call, const char *host,
                              const char *guest)
{
    ask(world, call, host, guest);
    struct hv_reply reply = next_reply(world);
    assert_int_equal(reply.id, 7);
    assert_int_equal(reply.call, call);
    assert_string_equal(reply.host, host);
    assert_string_equal(reply.guest, guest);
    assert_true(reply.queued_ms > 0 && reply.ended_ms >= reply.queued_ms);
    return reply;
}

/* The next event of one host, others passed over. */
static struct hv_event next_event(struct world *world, const char *host)
{
    struct hv_event event;
    do {
        if (queue_pop(world->events, &event, PATIENCE_MS) != QUEUE_ITEM)
            fail_msg("no event of host '%s'", host);
    } while (!text_equal(event.host, host));
    return event;
}

static void a_host_that_answers_is_connected_and_lists_its_guests(void **state)
{
    struct world *world = *state;
    assert_int_equal(next_event(world, "up").kind, HV_EVENT_CONNECTED);

    struct hv_reply list = answer(world, HV_CALL_LIST_GUESTS, "up", "");
    assert_int_equal(list.err.code, ERR_NONE);
    assert_int_equal(list.with.guests->n, 1);
    const struct hv_guest *guest = &list.with.guests->guests[0];
    assert_string_equal(guest->uuid, GUEST);
    assert_string_equal(guest->name, "test");
    assert_string_equal(guest->ns, "default");
    assert_null(guest->labels);
    assert_int_equal(guest->state, HV_STATE_RUNNING);
    assert_true(guest->persistent);
    assert_int_equal(guest->memory_kib, 8 * 1024 * 1024);
    assert_int_equal(guest->vcpus, 2);
    hv_reply_fini(&list);

    struct hv_reply facts = answer(world, HV_CALL_HOST_FACTS, "up", "");
    assert_int_equal(facts.err.code, ERR_NONE);
    assert_true(facts.with.facts.cpus > 0 && facts.with.facts.memory_kib > 0);
    assert_true(facts.with.facts.libvirt_version > 1000000);

    struct hv_reply xml = answer(world, HV_CALL_GUEST_XML, "up", GUEST);
    assert_non_null(strstr(xml.with.text, GUEST));
    hv_reply_fini(&xml);
}

static void a_state_query_answers_absent_only_when_the_host_does(void **state)
{
    struct world *world = *state;
    struct hv_reply here = answer(world, HV_CALL_DOMAIN_STATE, "up", GUEST);
    assert_int_equal(here.err.code, ERR_NONE);
    assert_int_equal(here.with.observation.presence, HV_PRESENT);
    assert_int_equal(here.with.observation.state, HV_STATE_RUNNING);
    assert_int_equal(here.with.observation.job_type, -1);
    assert_true(here.with.observation.at_ms == here.ended_ms);

    struct hv_reply gone = answer(world, HV_CALL_DOMAIN_STATE, "up", NOBODY);
    assert_int_equal(gone.err.code, ERR_NONE);
    assert_int_equal(gone.with.observation.presence, HV_ABSENT);

    struct hv_reply dark = answer(world, HV_CALL_DOMAIN_STATE, "down", GUEST);
    assert_int_equal(dark.err.code, ERR_UNREACHABLE);
    assert_int_equal(dark.with.observation.presence, HV_UNREACHABLE);
    assert_int_equal(dark.with.observation.job_type, -1);
}

static void a_guest_that_is_not_there_is_not_found_for_other_calls(void **state)
{
    struct world *world = *state;
    static const enum hv_call calls[] = {HV_CALL_JOB_STATS, HV_CALL_GUEST_XML,    HV_CALL_SUSPEND,
                                         HV_CALL_ABORT,     HV_CALL_MIGRATE,      HV_CALL_YANK,
                                         HV_CALL_DROP_COPY, HV_CALL_MEASURE_DIRTY};
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct hv_reply reply = answer(world, calls[i], "up", NOBODY);
        assert_int_equal(reply.err.code, ERR_NOT_FOUND);
        assert_int_equal(reply.err.hv_code, 42);
        hv_reply_fini(&reply);
    }
}

static void an_order_is_carried_out_and_its_event_comes(void **state)
{
    struct world *world = *state;
    assert_int_equal(next_event(world, "up").kind, HV_EVENT_CONNECTED);
    assert_int_equal(answer(world, HV_CALL_SUSPEND, "up", GUEST).err.code, ERR_NONE);
    struct hv_event event = next_event(world, "up");
    assert_int_equal(event.kind, HV_EVENT_LIFECYCLE);
    assert_int_equal(event.a, HV_LIFECYCLE_SUSPENDED);
    assert_string_equal(event.guest, GUEST);
    assert_string_equal(event.guest_name, "test");
    struct hv_reply observation = answer(world, HV_CALL_DOMAIN_STATE, "up", GUEST);
    assert_int_equal(observation.with.observation.state, HV_STATE_PAUSED);
    assert_int_equal(observation.with.observation.reason, HV_PAUSED_USER);
    assert_int_equal(answer(world, HV_CALL_RESUME, "up", GUEST).err.code, ERR_NONE);
    assert_int_equal(next_event(world, "up").a, HV_LIFECYCLE_RESUMED);
}

static void a_host_that_refuses_is_not_unreachable(void **state)
{
    struct world *world = *state;
    struct hv_reply reply = answer(world, HV_CALL_MIGRATE, "up", GUEST);
    assert_int_equal(reply.err.code, ERR_HYPERVISOR); /* the test driver cannot migrate */
    assert_true(reply.err.hv_code != 0);
    assert_true(reply.err.text[0] != '\0');
    assert_true(reply.began_ms >= reply.queued_ms);
}

static void a_host_that_is_down_answers_every_call_at_once(void **state)
{
    struct world *world = *state;
    int64_t before = clock_mono_ms(clock_system());
    static const enum hv_call calls[] = {HV_CALL_LIST_GUESTS, HV_CALL_JOB_STATS, HV_CALL_ABORT,
                                         HV_CALL_MIGRATE, HV_CALL_GUEST_XML};
    for (int round = 0; round < 2; round++) /* the second time within the backoff */
        for (size_t i = 0; i < COUNT(calls); i++) {
            struct hv_reply reply = answer(world, calls[i], "down", GUEST);
            assert_int_equal(reply.err.code, ERR_UNREACHABLE);
            assert_int_equal(reply.err.hv_code, 38);
            assert_int_equal(reply.began_ms, 0); /* never asked */
            hv_reply_fini(&reply);
        }
    assert_true(clock_mono_ms(clock_system()) - before < 2000);
    struct hv_event event = next_event(world, "down");
    assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
    assert_int_equal(event.err.code, ERR_UNREACHABLE);
    assert_int_equal(event.err.hv_code, 38);
    struct hv_lane_status status;
    assert_true(hv_lane_status(world->hv, "down", HV_LANE_STATS, &status));
    assert_int_equal(status.calls, 2);
    assert_int_equal(status.failures, 2);
    assert_int_equal(status.in_flight, 0);
}

/* Lets ten seconds pass, again and again: a thread may begin to hang only after the first. */
static void pass_time_until(const struct queue *queue)
{
    for (int i = 0; i < 20 && queue_depth(queue) == 0; i++) {
        (void)atomic_fetch_add(&shift_ms, 11000);
        for (int ticks = 0; ticks < 50 && queue_depth(queue) == 0; ticks++)
            clock_sleep_ms(10);
    }
}

static void a_host_that_hangs_delays_no_other_and_requests_time_out_after_ten_seconds(void **state)
{
    struct world *world = *state;
    ask(world, HV_CALL_DOMAIN_STATE, "hangs", GUEST);
    ask(world, HV_CALL_ABORT, "hangs", GUEST);
    for (int i = 0; i < 10; i++)
        assert_int_equal(answer(world, HV_CALL_DOMAIN_STATE, "up", GUEST).with.observation.presence,
                         HV_PRESENT);
    assert_int_equal(queue_depth(world->replies), 0);
    for (int i = 0; i < 2; i++) { /* what the other two have to say */
        struct hv_event event;
        assert_int_equal(queue_pop(world->events, &event, PATIENCE_MS), QUEUE_ITEM);
        assert_string_not_equal(event.host, "hangs");
    }

    for (int i = 0; i < 2; i++) {
        pass_time_until(world->replies);
        struct hv_reply reply = next_reply(world);
        assert_string_equal(reply.host, "hangs");
        assert_int_equal(reply.err.code, ERR_UNREACHABLE);
        assert_int_equal(reply.began_ms, 0);
        if (reply.call == HV_CALL_DOMAIN_STATE)
            assert_int_equal(reply.with.observation.presence, HV_UNREACHABLE);
    }
    pass_time_until(world->events);
    assert_int_equal(next_event(world, "hangs").kind, HV_EVENT_DISCONNECTED);
    /* Known to hang by now: the next one is told so without ten seconds of waiting. */
    (void)atomic_fetch_add(&shift_ms, 11000);
    struct hv_reply reply = answer(world, HV_CALL_DOMAIN_STATE, "hangs", GUEST);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_true(reply.ended_ms - reply.queued_ms < 5000);
}

static struct hv_lane_status lane_of(struct world *world, const char *host, enum hv_lane lane)
{
    struct hv_lane_status status;
    assert_true(hv_lane_status(world->hv, host, lane, &status));
    return status;
}

/* Turns the clock on until the lane has so many hanging openings. */
static void pass_time_until_hanging(struct world *world, const char *host, unsigned n)
{
    for (int i = 0; i < 500 && lane_of(world, host, HV_LANE_OBSERVE).openings_hanging != n; i++) {
        (void)atomic_fetch_add(&shift_ms, n > 0 ? 61000 : 0);
        clock_sleep_ms(20);
    }
    assert_int_equal(lane_of(world, host, HV_LANE_OBSERVE).openings_hanging, n);
}

/* The socket stays open and silent, as that of a host that was reset; the host itself listens
 * anew. */
static void a_hanging_opening_is_replaced_by_one_that_reaches_the_new_libvirtd(void **state)
{
    struct world *world = *state;
    pass_time_until_hanging(world, "hangs", 1);
    struct hv_event event = next_event(world, "hangs");
    assert_int_equal(event.kind, HV_EVENT_DISCONNECTED);
    assert_non_null(strstr(event.err.text, "does not answer"));
    char path[96];
    (void)snprintf(path, sizeof path, "%s/hangs", world->directory);
    (void)unlink(path);
    int reborn = listen_at(path);
    struct pollfd knock = {.fd = reborn, .events = POLLIN};
    for (int i = 0; i < 100 && poll(&knock, 1, 20) == 0; i++)
        (void)atomic_fetch_add(&shift_ms, 11000);
    assert_int_equal(knock.revents, POLLIN);
    (void)close(reborn);
}

static void hanging_openings_are_bounded_counted_and_end_with_any_answer(void **state)
{
    struct world *world = *state;
    pass_time_until_hanging(world, "hangs", 16);
    for (int i = 0; i < 3; i++) { /* one more would begin, and be left behind after the next hour */
        (void)atomic_fetch_add(&shift_ms, 3600 * 1000);
        clock_sleep_ms(200); /* the keeper looks 20 times a second */
    }
    assert_int_equal(lane_of(world, "hangs", HV_LANE_OBSERVE).openings_hanging, 16);
    struct hv_reply reply = answer(world, HV_CALL_ABORT, "hangs", GUEST);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_true(reply.ended_ms - reply.queued_ms < 5000);
    (void)close(world->listener); /* all of them come back */
    world->listener = -1;
    pass_time_until_hanging(world, "hangs", 0);
    assert_int_equal(lane_of(world, "hangs", HV_LANE_OBSERVE).openings_abandoned, 16);
}

static void a_running_guest_is_not_an_incoming_copy(void **state)
{
    struct world *world = *state;
    struct hv_reply reply = answer(world, HV_CALL_DROP_COPY, "up", GUEST);
    assert_int_equal(reply.err.code, ERR_HYPERVISOR);
    assert_int_equal(reply.err.hv_code, 55);
    struct hv_reply observation = answer(world, HV_CALL_DOMAIN_STATE, "up", GUEST);
    assert_int_equal(observation.with.observation.state, HV_STATE_RUNNING);
    assert_int_equal(answer(world, HV_CALL_SUSPEND, "up", GUEST).err.code, ERR_NONE);
    reply = answer(world, HV_CALL_DROP_COPY, "up", GUEST); /* paused, but by its user */
    assert_int_equal(reply.err.hv_code, 55);
    observation = answer(world, HV_CALL_DOMAIN_STATE, "up", GUEST);
    assert_int_equal(observation.with.observation.state, HV_STATE_PAUSED);
}

/* No answer of a helper is needed to know that nobody can be asked. */
static void a_path_is_probed_between_configured_hosts_with_addresses(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *from, *to;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"up", "hangs", ERR_HYPERVISOR, "no helper"},
        {"hangs", "up", ERR_UNREACHABLE, "127.0.0.1:1"}, /* nobody is there */
        {"hangs", "down", ERR_HYPERVISOR, "not an address"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hv_request request = request_for(world, HV_CALL_PROBE_PATH, rows[i].from, GUEST);
        TEXT_SET(request.with.peer, rows[i].to);
        struct err none = {0};
        assert_true(submit(world, &request, &none));
        struct hv_reply reply = next_reply(world);
        assert_int_equal(reply.err.code, rows[i].code);
        assert_non_null(strstr(reply.err.text, rows[i].says));
    }
    struct hv_request request = request_for(world, HV_CALL_PROBE_PATH, "hangs", GUEST);
    TEXT_SET(request.with.peer, "nobody");
    struct err err = {0};
    assert_false(submit(world, &request, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void a_helper_is_called_without_libvirt(void **state)
{
    struct world *world = *state;
    static const char *const hosts[] = {"up", "hangs", "down"};
    ask(world, HV_CALL_ABORT, "hangs", GUEST); /* its worker sits in an opening now */
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct hv_reply reply = answer(world, HV_CALL_KILL_STREAM, hosts[i], GUEST);
        bool has_one = text_equal(hosts[i], "hangs");
        assert_int_equal(reply.err.code, has_one ? ERR_UNREACHABLE : ERR_HYPERVISOR);
        assert_int_equal(strstr(reply.err.text, "no helper") != NULL, !has_one);
        struct hv_lane_status status;
        assert_true(hv_lane_status(world->hv, hosts[i], HV_LANE_CONTROL, &status));
        assert_int_equal(status.calls, 1);
        assert_int_equal(status.failures, 1);
    }
}

static void a_full_lane_refuses(void **state)
{
    struct world *world = *state;
    static const struct {
        enum hv_call call;
        int room;
    } lanes[] = {{HV_CALL_DOMAIN_STATE, LIBVIRT_LANE_QUEUE_MAX},
                 {HV_CALL_MEASURE_DIRTY, LIBVIRT_MEASURES_MAX}, /* others still find room: */
                 {HV_CALL_COMPARE_CPU, LIBVIRT_LANE_QUEUE_MAX - LIBVIRT_MEASURES_MAX},
                 {HV_CALL_MIGRATE, LIBVIRT_MIGRATE_WORKERS_MAX}};
    for (size_t i = 0; i < COUNT(lanes); i++) {
        for (int n = 0; n < lanes[i].room; n++)
            ask(world, lanes[i].call, "hangs", GUEST);
        struct hv_request request = request_for(world, lanes[i].call, "hangs", GUEST);
        struct err err = {0};
        assert_false(submit(world, &request, &err));
        assert_int_equal(err.code, ERR_LIMIT);
    }
}

static void unknown_hosts_are_refused_without_a_reply(void **state)
{
    struct world *world = *state;
    struct hv_request observed = request_for(world, HV_CALL_DOMAIN_STATE, "nowhere", GUEST);
    struct err err = {0};
    assert_false(submit(world, &observed, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct hv_request migrate = request_for(world, HV_CALL_MIGRATE, "up", GUEST);
    TEXT_SET(migrate.with.migrate.target, "nowhere");
    err = (struct err){0};
    assert_false(submit(world, &migrate, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct hv_lane_status status;
    assert_false(hv_lane_status(world->hv, "nowhere", HV_LANE_OBSERVE, &status));
    assert_int_equal(queue_depth(world->replies), 0);
}

static void free_does_not_wait_for_hanging_calls_and_calls_no_sink_after_it(void **state)
{
    struct world *world = *state;
    ask(world, HV_CALL_DOMAIN_STATE, "hangs", GUEST);
    ask(world, HV_CALL_MIGRATE, "hangs", GUEST);
    int64_t before = clock_mono_ms(clock_system());
    hv_free(TAKE(world->hv));
    assert_true(clock_mono_ms(clock_system()) - before < 3500);
    size_t replies = queue_depth(world->replies), events = queue_depth(world->events);
    (void)close(world->listener); /* now what hung comes back */
    world->listener = -1;
    clock_sleep_ms(100);
    assert_int_equal(queue_depth(world->replies), replies);
    assert_int_equal(queue_depth(world->events), events);
}

static void hosts_require_a_uri_and_unique_names(void **state)
{
    (void)state;
    static const struct hv_host twins[] = {{.name = "a", .uri = "test:///default"},
                                           {.name = "a", .uri = "test:///default"}};
    static const struct hv_host nameless = {.uri = "test:///default"}, lost = {.name = "a"};
    const struct hv_host *const lists[] = {twins, &nameless, &lost};
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct err err = {0};
        assert_null(libvirt_new(lists[i], i == 0 ? 2 : 1, clock_system(), NULL, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    struct err err = {0};
    OWNED(hv) none = libvirt_new(NULL, 0, clock_system(), NULL, &err);
    assert_non_null(none);
}

TEST_FILE(test_libvirt)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_host_that_answers_is_connected_and_lists_its_guests),
        TEST(a_state_query_answers_absent_only_when_the_host_does),
        TEST(a_guest_that_is_not_there_is_not_found_for_other_calls),
        TEST(an_order_is_carried_out_and_its_event_comes),
        TEST(a_host_that_refuses_is_not_unreachable),
        TEST(a_host_that_is_down_answers_every_call_at_once),
        TEST(a_host_that_hangs_delays_no_other_and_requests_time_out_after_ten_seconds),
        TEST(a_hanging_opening_is_replaced_by_one_that_reaches_the_new_libvirtd),
        TEST(hanging_openings_are_bounded_counted_and_end_with_any_answer),
        TEST(a_running_guest_is_not_an_incoming_copy),
        TEST(a_helper_is_called_without_libvirt),
        TEST(a_path_is_probed_between_configured_hosts_with_addresses),
        TEST(a_full_lane_refuses),
        TEST(unknown_hosts_are_refused_without_a_reply),
        TEST(free_does_not_wait_for_hanging_calls_and_calls_no_sink_after_it),
        cmocka_unit_test(hosts_require_a_uri_and_unique_names),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
