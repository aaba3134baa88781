/* threads.h - the whole adapter with its threads on the fake libvirt, and a clock that only the
 * test moves. The adapter looks at it every 50 ms (CLOCK_CHECK_MS) or 250 ms (TICK_MS) of real
 * time. */
#ifndef TESTS_LIBVIRT_THREADS_H
#define TESTS_LIBVIRT_THREADS_H

#include "tests/test.h"

#include <stdatomic.h>

#include "base/queue.h"
#include "base/text.h"
#include "hypervisor/act.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"
#include "tests/libvirt/fake.h"

#define GUEST "11111111-1111-4111-8111-111111111111"
enum { PATIENCE_MS = 10000, NOT_YET_MS = 120, TICK_PASSED_MS = 350 };

struct world {
    struct queue *replies, *events;
    struct hv *hv;
};

static _Atomic int64_t now_ms;

static inline int64_t read_clock(void *ctx)
{
    (void)ctx;
    return atomic_load(&now_ms);
}
static const struct clock still_clock = {read_clock, read_clock, NULL};

static inline void pass_ms(int64_t ms)
{
    (void)atomic_fetch_add(&now_ms, ms);
}

static inline void on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct world *world = ctx;
    if (!queue_push(world->replies, take_reply))
        hv_reply_fini(take_reply);
}

static inline void on_event(void *ctx, const struct hv_event *event)
{
    struct world *world = ctx;
    if (!queue_push(world->events, event))
        print_error("an event too many\n");
}

static inline void start(struct world *world)
{
    static const struct hv_host host = {.name = "h1", .uri = "fake://h1"};
    struct err err = {0};
    struct hv_event_sink sink = {on_event, world};
    world->hv = libvirt_new(&host, 1, &still_clock, &sink, &err);
    assert_non_null(world->hv);
}

/* The host is set up by the test before it calls start(). */
static inline int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct err err = {0};
    world->replies = queue_new(sizeof(struct hv_reply), 256, &err);
    world->events = queue_new(sizeof(struct hv_event), 256, &err);
    atomic_store(&now_ms, 1000000);
    fake_reset();
    fake.guests[0] = (struct fake_guest){.uuid = GUEST,
                                         .name = "a",
                                         .state = VIR_DOMAIN_RUNNING,
                                         .persistent = 1,
                                         .xml = "<domain/>",
                                         .stored = "<domain/>"};
    fake.n_guests = 1;
    *state = world;
    return 0;
}

/* What was blocked goes on; then nothing of libvirt's is left. */
static inline int tear_down(void **state)
{
    struct world *world = *state;
    fake_heal();
    hv_free(world->hv);
    struct hv_reply reply;
    while (queue_pop(world->replies, &reply, 0) == QUEUE_ITEM)
        hv_reply_fini(&reply);
    for (int i = 0; i < PATIENCE_MS / 10 && fake_objects() != 0; i++)
        clock_sleep_ms(10);
    assert_int_equal(fake_objects(), 0);
    queue_free(world->replies);
    queue_free(world->events);
    free(world);
    return 0;
}

static inline struct hv_request request_of(struct world *world, enum hv_call call)
{
    struct hv_request request = {.id = (uint64_t)call + 1, .call = call};
    request.reply_to = (struct hv_reply_sink){on_reply, world};
    TEXT_SET(request.host, "h1");
    TEXT_SET(request.guest, GUEST);
    if (call == HV_CALL_MIGRATE)
        TEXT_SET(request.with.migrate.target, "h1");
    if (call == HV_CALL_COMPARE_CPU)
        request.with.text = "<cpu/>";
    return request;
}

static inline bool submit(struct world *world, const struct hv_request *request, struct err *err)
{
    struct hv_observe observe = {world->hv};
    struct hv_probe probe = {world->hv};
    struct hv_act act = {world->hv};
    switch (hv_call_access(request->call)) {
    case HV_ACCESS_OBSERVE: return hv_observe_submit(&observe, request, err);
    case HV_ACCESS_PROBE: return hv_probe_submit(&probe, request, err);
    default: return hv_act_submit(&act, request, err);
    }
}

static inline void ask(struct world *world, enum hv_call call)
{
    struct hv_request request = request_of(world, call);
    struct err err = {0};
    if (!submit(world, &request, &err))
        fail_msg("%s", err.text);
}

static inline struct hv_reply next_reply(struct world *world)
{
    struct hv_reply reply;
    if (queue_pop(world->replies, &reply, PATIENCE_MS) != QUEUE_ITEM)
        fail_msg("no reply");
    return reply;
}

static inline struct hv_reply answer(struct world *world, enum hv_call call)
{
    ask(world, call);
    struct hv_reply reply = next_reply(world);
    assert_int_equal(reply.call, call);
    return reply;
}

static inline void no_reply_yet(struct world *world)
{
    clock_sleep_ms(NOT_YET_MS);
    assert_int_equal(queue_depth(world->replies), 0);
}

static inline struct hv_event next_event(struct world *world)
{
    struct hv_event event;
    if (queue_pop(world->events, &event, PATIENCE_MS) != QUEUE_ITEM)
        fail_msg("no event");
    return event;
}

static inline void no_event_yet(struct world *world)
{
    clock_sleep_ms(NOT_YET_MS);
    assert_int_equal(queue_depth(world->events), 0);
}

static inline struct hv_lane_status lane_of(struct world *world, enum hv_lane lane)
{
    struct hv_lane_status status;
    assert_true(hv_lane_status(world->hv, "h1", lane, &status));
    return status;
}

/* A thread may read the clock late: time passes in steps until the function was called so often,
 * or, without one, until an event is there; at most about twice what it waits for. */
static inline bool pass_until(struct world *world, const char *function, int n, int64_t ms)
{
    for (int step = 0; step < 400; step++) {
        if (function != NULL ? fake_count(function) >= n : queue_depth(world->events) > 0)
            return function == NULL || fake_count(function) == n;
        pass_ms(step % 8 == 0 ? ms / 20 + 1 : 0);
        clock_sleep_ms(10);
    }
    return false;
}

/* Until the function was called so often; then a little longer: not oftener. */
static inline void wait_count(const char *function, int n)
{
    for (int i = 0; i < PATIENCE_MS / 5 && fake_count(function) < n; i++)
        clock_sleep_ms(5);
    clock_sleep_ms(NOT_YET_MS);
    assert_int_equal(fake_count(function), n);
}

#endif
