/* test_adapter_lanes.c - lanes on the fake libvirt: which connection serves which call, when a lane
 * grows and shrinks, what a request that was never started is told. */
#include "tests/libvirt/threads.h"

#include <string.h>

static void each_lane_has_a_connection_of_its_own_kind(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    static const struct {
        enum hv_call call;
        enum hv_lane lane;
        bool read_only;
    } rows[] = {{HV_CALL_DOMAIN_STATE, HV_LANE_OBSERVE, true},
                {HV_CALL_JOB_STATS, HV_LANE_STATS, true},
                {HV_CALL_RESUME, HV_LANE_CONTROL, false},
                {HV_CALL_COMPARE_CPU, HV_LANE_PROBE, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        fake_log_clear();
        struct hv_reply reply = answer(world, rows[i].call);
        assert_int_equal(reply.err.code, ERR_NONE);
        assert_int_equal(fake_count("virConnectOpenReadOnly"), rows[i].read_only);
        assert_int_equal(fake_count("virConnectOpen"), !rows[i].read_only);
        assert_int_equal(lane_of(world, rows[i].lane).workers, 1);
        reply = answer(world, rows[i].call); /* the same connection again */
        assert_int_equal(fake_count("virConnectOpenReadOnly") + fake_count("virConnectOpen"), 1);
        assert_int_equal(lane_of(world, rows[i].lane).calls, 2);
    }
}

/* A law over call.def. */
static void a_host_in_observe_mode_is_only_read(void **state)
{
    struct world *world = *state;
    static const struct hv_host host = {.name = "h1", .uri = "fake://h1", .observe = true};
    struct hv_event_sink sink = {on_event, world};
    struct err none = {0};
    world->hv = libvirt_new(&host, 1, &still_clock, &sink, &none);
    assert_non_null(world->hv);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    for (enum hv_call call = 0; call < HV_CALL_COUNT; call++) {
        struct hv_request request = request_of(world, call);
        struct err err = {0};
        bool reads = hv_call_access(call) == HV_ACCESS_OBSERVE;
        if (reads) {
            struct hv_reply reply = answer(world, call);
            hv_reply_fini(&reply);
            continue;
        }
        assert_false(submit(world, &request, &err));
        assert_int_equal(err.code, ERR_REFUSED);
        assert_non_null(strstr(err.text, "observe mode"));
        assert_non_null(strstr(err.text, hv_call_name(call)));
    }
    pass_ms(60000);
    assert_int_equal(fake_count("virConnectOpen"), 0);
    assert_true(fake_count("virConnectOpenReadOnly") > 0);
}

static void a_reply_names_its_request_and_its_times(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virDomainGetState");
    ask(world, HV_CALL_DOMAIN_STATE);
    fake_wait_blocked(1);
    pass_ms(300);
    struct hv_lane_status status = lane_of(world, HV_LANE_OBSERVE);
    assert_int_equal(status.in_flight, 1);
    assert_int_equal(status.oldest_ms, 300);
    assert_int_equal(status.calls, 0);
    fake_heal();
    struct hv_reply reply = next_reply(world);
    assert_int_equal(reply.id, HV_CALL_DOMAIN_STATE + 1);
    assert_string_equal(reply.host, "h1");
    assert_string_equal(reply.guest, GUEST);
    assert_int_equal(reply.queued_ms, 1000000);
    assert_int_equal(reply.began_ms, 1000000);
    assert_int_equal(reply.ended_ms, 1000300);
    assert_int_equal(reply.with.observation.at_ms, 1000300);
    status = lane_of(world, HV_LANE_OBSERVE);
    assert_int_equal(status.in_flight, 0);
    assert_int_equal(status.oldest_ms, 0);
    assert_int_equal(status.calls, 1);
    assert_int_equal(status.failures, 0);
    assert_int_equal(status.total_ms, 300);
    fake_fail("virDomainGetState", 1, VIR_ERR_INTERNAL_ERROR, "no");
    (void)answer(world, HV_CALL_DOMAIN_STATE);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).failures, 1);
}

/* What the caller's request pointed to may be gone when the worker reads it. */
static void what_a_request_borrows_is_copied(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virConnectOpen");
    struct hv_request request = request_of(world, HV_CALL_COMPARE_CPU);
    struct err err = {0};
    char text[] = "<cpu>mine</cpu>";
    request.with.text = text;
    assert_true(submit(world, &request, &err));
    struct hv_volume volumes[] = {{.disk = "vda", .to = {.name = "/a"}},
                                  {.disk = "vdb", .to = {.name = "/b"}}};
    request = request_of(world, HV_CALL_MIGRATE);
    request.with.migrate.volumes = volumes;
    request.with.migrate.n_volumes = 2;
    fake.guests[0].xml = "<domain><devices><disk><target dev='vda'/></disk><disk>"
                         "<target dev='vdb'/></disk></devices></domain>";
    assert_true(submit(world, &request, &err));
    memset(text, 'x', sizeof text - 1);
    memset(volumes, 0, sizeof volumes);
    fake_heal();
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_reply(world).err.code, ERR_NONE);
    assert_non_null(strstr(fake_log(), "<cpu>mine</cpu>"));
    assert_non_null(strstr(fake_log(), "migrate_disks=vda migrate_disks=vdb"));
}

/* ---- growing and shrinking ---- */

static void an_order_waits_for_no_other(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virDomainSuspend");
    ask(world, HV_CALL_SUSPEND);
    fake_wait_blocked(1);
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 2);
    assert_int_equal(answer(world, HV_CALL_ABORT).err.code, ERR_NONE);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 2); /* the second was free */
    for (unsigned i = 1; i <= LIBVIRT_CONTROL_WORKERS_MAX; i++)
        ask(world, HV_CALL_SUSPEND);
    fake_wait_blocked(LIBVIRT_CONTROL_WORKERS_MAX);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, LIBVIRT_CONTROL_WORKERS_MAX);
}

/* One connection is enough for short questions; another only helps when a call hangs. */
static void a_question_waits_a_second_before_another_worker_helps(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virDomainGetState");
    ask(world, HV_CALL_DOMAIN_STATE);
    fake_wait_blocked(1);
    ask(world, HV_CALL_HOST_FACTS);
    pass_ms(LANE_SLOW_MS - 1);
    clock_sleep_ms(TICK_PASSED_MS);
    assert_int_equal(queue_depth(world->replies), 0);
    pass_ms(1);
    assert_int_equal(next_reply(world).call, HV_CALL_HOST_FACTS);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).workers, 2);
}

static void a_measurement_does_not_hold_up_other_probes(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virDomainStartDirtyRateCalc");
    ask(world, HV_CALL_MEASURE_DIRTY);
    fake_wait_blocked(1);
    assert_int_equal(answer(world, HV_CALL_COMPARE_CPU).err.code, ERR_NONE);
    /* As many as may measure at once, running or not; each that ends makes room. */
    for (int i = 1; i < LIBVIRT_MEASURES_MAX; i++)
        ask(world, HV_CALL_MEASURE_DIRTY);
    struct hv_request more = request_of(world, HV_CALL_MEASURE_DIRTY);
    struct err err = {0};
    fake_wait_blocked(LIBVIRT_MEASURES_MAX);
    assert_false(submit(world, &more, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    fake_fail("virDomainStartDirtyRateCalc", 0, VIR_ERR_INTERNAL_ERROR, "no");
    fake_release();
    for (int i = 0; i < LIBVIRT_MEASURES_MAX; i++)
        (void)next_reply(world);
    for (int i = 0; i < 2 * LIBVIRT_MEASURES_MAX; i++)
        (void)answer(world, HV_CALL_MEASURE_DIRTY);
}

/* Idle workers end when two windows of half a minute did not need them. */
static void a_lane_shrinks_to_what_it_needs(void **state)
{
    struct world *world = *state;
    start(world);
    fake_block("virDomainGetJobStats");
    for (int i = 0; i < 3; i++) {
        ask(world, HV_CALL_JOB_STATS);
        fake_wait_blocked(i + 1);
    }
    fake_heal();
    for (int i = 0; i < 3; i++)
        (void)next_reply(world);
    pass_ms(LANE_IDLE_MS);
    (void)answer(world, HV_CALL_JOB_STATS);
    clock_sleep_ms(NOT_YET_MS);
    assert_int_equal(lane_of(world, HV_LANE_STATS).workers, 3); /* the last window needed them */
    for (int i = 0; i < 6; i++) {
        pass_ms(LANE_IDLE_MS);
        (void)answer(world, HV_CALL_JOB_STATS);
        clock_sleep_ms(20);
    }
    assert_int_equal(lane_of(world, HV_LANE_STATS).workers, 1);
}

/* An abort must not wait until a connection is opened for it. */
static void a_migration_opens_the_way_for_its_orders(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_block("virDomainMigrateToURI3");
    ask(world, HV_CALL_MIGRATE);
    fake_wait_blocked(1);
    wait_count("virConnectOpen", 2); /* its own and the one for orders */
    fake_block("virConnectOpen");
    assert_int_equal(answer(world, HV_CALL_ABORT).err.code, ERR_NONE);
    assert_int_equal(answer(world, HV_CALL_SET_DOWNTIME).err.code, ERR_NONE);
    assert_int_equal(fake_count("virConnectOpen"), 2);
}

/* ---- hosts that cannot be reached ---- */

static void a_host_that_was_not_reached_is_not_asked_again_at_once(void **state)
{
    struct world *world = *state;
    fake_fail("virConnectOpenReadOnly", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    fake_fail("virConnectOpen", 0, VIR_ERR_SYSTEM_ERROR, "refused");
    start(world);
    static const int64_t pauses[] = {250, 500, 1000, 2000, 4000, 8000, 10000, 10000};
    for (int i = 0; i < (int)COUNT(pauses); i++) {
        struct hv_reply reply = answer(world, HV_CALL_RESUME);
        assert_int_equal(reply.err.code, ERR_UNREACHABLE);
        assert_int_equal(reply.err.hv_code, VIR_ERR_SYSTEM_ERROR);
        assert_string_equal(reply.err.text, "refused");
        assert_int_equal(reply.began_ms, 0);
        assert_int_equal(reply.ended_ms, atomic_load(&now_ms));
        assert_int_equal(fake_count("virConnectOpen"), i + 1);
        pass_ms(pauses[i] - 1);
        reply = answer(world, HV_CALL_RESUME);
        assert_string_equal(reply.err.text, "refused");
        assert_int_equal(fake_count("virConnectOpen"), i + 1);
        pass_ms(1);
    }
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).failures, 2 * COUNT(pauses));
    fake_heal();
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
    assert_int_equal(answer(world, HV_CALL_DOMAIN_STATE).with.observation.presence, HV_PRESENT);
}

static void a_connection_that_died_is_replaced_before_the_next_call(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
    fake_break(VIR_CONNECT_CLOSE_REASON_EOF, false);
    fake_log_clear();
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE);
    assert_int_equal(fake_count("virConnectOpen"), 1);
    fake_fail_broken("virDomainResume", 1); /* in the middle: it may have been carried out */
    struct hv_reply reply = answer(world, HV_CALL_RESUME);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_true(reply.began_ms != 0);
}

static void a_request_that_nobody_took_is_answered_after_ten_seconds(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_block("virDomainGetState");
    for (int i = 0; i < OBSERVE_WORKERS_MAX; i++) { /* every worker hangs */
        ask(world, HV_CALL_DOMAIN_STATE);
        pass_ms(LANE_SLOW_MS);
        fake_wait_blocked(i + 1);
    }
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).workers, OBSERVE_WORKERS_MAX);
    ask(world, HV_CALL_DOMAIN_STATE);
    pass_ms(LANE_WAIT_MAX_MS - 1);
    clock_sleep_ms(TICK_PASSED_MS);
    assert_int_equal(queue_depth(world->replies), 0);
    pass_ms(1);
    struct hv_reply reply = next_reply(world);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_int_equal(reply.began_ms, 0);
    assert_int_equal(reply.with.observation.presence, HV_UNREACHABLE);
    assert_int_equal(reply.with.observation.job_type, -1);
    assert_int_equal(reply.with.observation.at_ms, reply.ended_ms);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).failures, 1);
    assert_int_equal(lane_of(world, HV_LANE_OBSERVE).workers, OBSERVE_WORKERS_MAX);
}

/* More threads that open a connection to a host that hangs would not help. */
static void no_worker_is_added_while_an_opening_is_slow(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_block("virConnectOpen");
    ask(world, HV_CALL_RESUME);
    fake_wait_blocked(1);
    ask(world, HV_CALL_RESUME);
    fake_wait_blocked(2);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 2);
    pass_ms(LANE_SLOW_MS);
    ask(world, HV_CALL_RESUME); /* not slow yet */
    fake_wait_blocked(3);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 3);
    pass_ms(1);
    ask(world, HV_CALL_RESUME);
    clock_sleep_ms(TICK_PASSED_MS);
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 3);
    fake_release();
    for (int i = 0; i < 4; i++)
        assert_int_equal(next_reply(world).err.code, ERR_NONE);
}

static void without_a_thread_a_request_is_refused(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    struct hv_request request = request_of(world, HV_CALL_RESUME);
    struct err err = {0};
    fake_fail("pthread_create", 1, 0, "");
    assert_false(submit(world, &request, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "no thread for lane 'control'"));
    assert_int_equal(lane_of(world, HV_LANE_CONTROL).workers, 0);
    fake_heal();
    fake_fail("pthread_create", 2, 0, ""); /* the worker's, then that of its opening */
    struct hv_reply reply = answer(world, HV_CALL_RESUME);
    assert_int_equal(reply.err.code, ERR_UNREACHABLE);
    assert_string_equal(reply.err.text, "no thread to connect with");
    pass_ms(LIBVIRT_BACKOFF_MIN_MS);
    assert_int_equal(answer(world, HV_CALL_RESUME).err.code, ERR_NONE); /* nothing is left over */
    assert_int_equal(queue_depth(world->replies), 0);

    struct hv_request helped = request_of(world, HV_CALL_KILL_STREAM);
    for (int i = 0; i < HELPER_CALLS_MAX + 1; i++) { /* each gives its place back */
        err = (struct err){0};
        fake_fail("pthread_create", 1, 0, "");
        assert_false(submit(world, &helped, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        fake_heal();
    }
    assert_int_equal(answer(world, HV_CALL_KILL_STREAM).err.code, ERR_HYPERVISOR);

    static const struct hv_host host = {.name = "h1", .uri = "fake://h1"};
    for (int nth = 1; nth <= 2; nth++) { /* housekeeping, keeper */
        err = (struct err){0};
        fake_fail("pthread_create", nth, 0, "");
        assert_null(libvirt_new(&host, 1, &still_clock, NULL, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        fake_heal();
    }
}

static void after_the_end_no_reply_comes_and_nothing_is_kept(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(next_event(world).kind, HV_EVENT_CONNECTED);
    fake_block("virDomainResume");
    ask(world, HV_CALL_RESUME);
    fake_wait_blocked(1);
    int64_t before = clock_mono_ms(clock_system());
    hv_free(TAKE(world->hv));
    int64_t took = clock_mono_ms(clock_system()) - before;
    assert_true(took >= FREE_WAIT_MS - 100 && took < 2 * FREE_WAIT_MS);
    fake_heal();
    no_reply_yet(world);
    assert_int_equal(queue_depth(world->events), 0);
}

TEST_FILE(test_adapter_lanes)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_lane_has_a_connection_of_its_own_kind),
        TEST(a_host_in_observe_mode_is_only_read),
        TEST(a_reply_names_its_request_and_its_times),
        TEST(what_a_request_borrows_is_copied),
        TEST(an_order_waits_for_no_other),
        TEST(a_question_waits_a_second_before_another_worker_helps),
        TEST(a_measurement_does_not_hold_up_other_probes),
        TEST(a_lane_shrinks_to_what_it_needs),
        TEST(a_migration_opens_the_way_for_its_orders),
        TEST(a_host_that_was_not_reached_is_not_asked_again_at_once),
        TEST(a_connection_that_died_is_replaced_before_the_next_call),
        TEST(a_request_that_nobody_took_is_answered_after_ten_seconds),
        TEST(no_worker_is_added_while_an_opening_is_slow),
        TEST(without_a_thread_a_request_is_refused),
        TEST(after_the_end_no_reply_comes_and_nothing_is_kept),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
