/* test_sim_switchover.c - the two critical moments of a migration: the switch-over, when the guest
 * runs nowhere, and a libvirtd that does not answer. */
#include "tests/unit/test_sim_world.h"

enum { FOR_EVER = 0 };

/* --- the switch-over --- */

/* Brings a migration into the switch-over with a stalled stream. */
static struct world *black_world(uint64_t *out_id, int64_t stall_ms)
{
    struct world *w = world_new(5);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 20 * MIB; /* 200 MiB dirty after pass 1 of 10 s: more passes, then switch */
    world_add(w, "h1", &guest);
    *out_id = world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){.bandwidth_mibs = 100});
    world_run_until_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SUSPENDED, 1);
    struct sim_fault fault = {
        .kind = SIM_FAULT_STREAM_STALL, .after_iteration_ms = -1, .duration_ms = stall_ms};
    TEXT_SET(fault.guest, UUID_1);
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    world_run(w, 20);
    return w;
}

static void a_stall_in_the_switchover_blocks_the_monitor(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = black_world(&id, FOR_EVER);
    world_run(w, 5000);
    world_assert_state(w, "h1", UUID_1, "paused(migration)");
    uint64_t stats = world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1);
    uint64_t abort = world_ask(w, HV_CALL_ABORT, "h1", UUID_1);
    world_run(w, 29000);
    assert_null(world_reply(w, stats));
    assert_null(world_reply(w, abort));
    world_run(w, 2000);
    assert_int_equal(world_reply(w, stats)->err.hv_code, 68);
    assert_int_equal(world_reply(w, abort)->err.hv_code, 68);
    world_run(w, 600000);
    assert_null(world_reply(w, id));
    assert_int_equal(sim_running_copies(w->sim, UUID_1), 0);
    world_free(w);
}

/* The one order that could make two running copies: libvirt's lock on the target refuses it. */
static void the_incoming_copy_cannot_be_resumed(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = black_world(&id, FOR_EVER);
    world_assert_state(w, "h2", UUID_1, "paused(migration)");
    uint64_t resume = world_ask(w, HV_CALL_RESUME, "h2", UUID_1);
    const struct hv_reply *reply = world_wait(w, resume, 60000);
    assert_int_equal(reply->err.hv_code, 68);
    assert_non_null(strstr(reply->err.text, "MigrateFinish3Params"));
    assert_int_equal(sim_running_copies(w->sim, UUID_1), 0);
    world_free(w);
}

static void a_stall_that_ends_lets_the_guest_arrive(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = black_world(&id, 10000);
    uint64_t stats = world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1);
    assert_int_equal(world_wait(w, id, 20000)->err.code, ERR_NONE);
    assert_non_null(world_reply(w, stats));
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    world_free(w);
}

/* Recorded: whoever breaks the socket frees the guest at once; a waiting abort names the error. */
static void breaking_the_stream_in_the_switchover_frees_the_guest(void **state)
{
    (void)state;
    const enum sim_fault_kind kinds[] = {SIM_FAULT_STREAM_RESET, SIM_FAULT_KILL_TARGET_QEMU};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        uint64_t id;
        struct world *w = black_world(&id, FOR_EVER);
        (void)world_ask(w, HV_CALL_ABORT, "h1", UUID_1);
        world_run(w, 3000);
        struct sim_fault fault = {.kind = kinds[i], .after_iteration_ms = -1};
        TEXT_SET(fault.guest, UUID_1);
        struct err err = {0};
        assert_true(sim_add_fault(w->sim, &fault, &err));
        int code = kinds[i] == SIM_FAULT_STREAM_RESET ? 78 : 1;
        assert_int_equal(world_wait(w, id, 1000)->err.hv_code, code);
        world_assert_state(w, "h1", UUID_1, "running(unpaused)");
        world_assert_state(w, "h2", UUID_1, "absent");
        assert_true(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_RESUMED, 1));
        world_free(w);
    }
}

static void a_dead_link_in_the_switchover_keeps_the_source_paused_until_it_is_back(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = black_world(&id, 1);
    struct sim_fault fault = {
        .kind = SIM_FAULT_LINK_DOWN, .after_iteration_ms = -1, .duration_ms = 60000};
    TEXT_SET(fault.host, "h2");
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    world_run(w, 40000);
    world_assert_state(w, "h1", UUID_1, "paused(migration)");
    world_assert_state(w, "h2", UUID_1, "absent");
    assert_null(world_reply(w, id));
    const struct hv_reply *reply = world_wait(w, id, 30000);
    assert_int_equal(reply->err.hv_code, 1);
    assert_int_equal(reply->err.hv_domain, 7);
    world_assert_state(w, "h1", UUID_1, "running(unpaused)");
    world_free(w);
}

static void a_dead_libvirtd_in_the_switchover_resumes_its_guest_when_it_is_back(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = black_world(&id, 1);
    struct sim_fault fault = {
        .kind = SIM_FAULT_KILL_LIBVIRTD, .after_iteration_ms = -1, .duration_ms = 5000};
    TEXT_SET(fault.host, "h1");
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    assert_int_equal(world_wait(w, id, 100)->err.code, ERR_UNREACHABLE);
    assert_int_equal(sim_running_copies(w->sim, UUID_1), 0);
    world_run(w, 7000);
    world_assert_state(w, "h1", UUID_1, "running(unpaused)");
    world_assert_state(w, "h2", UUID_1, "absent");
    world_free(w);
}

/* --- hosts as Ferry sees them --- */

static void a_killed_libvirtd_is_noticed_at_once_and_its_guests_run_on(void **state)
{
    (void)state;
    struct world *w = world_new(6);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    struct sim_fault fault = {.kind = SIM_FAULT_KILL_LIBVIRTD,
                              .at_ms = 1000,
                              .after_iteration_ms = -1,
                              .duration_ms = 5000};
    TEXT_SET(fault.host, "h1");
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    sim_advance(w->sim, 1000);
    assert_true(world_told(w, "h1", HV_EVENT_DISCONNECTED, 0, 0));
    world_assert_state(w, "h1", UUID_1, "unreachable");
    assert_int_equal(sim_running_copies(w->sim, UUID_1), 1);
    size_t before = w->n_events;
    sim_advance(w->sim, 7100);
    assert_int_equal(w->n_events, before + 1);
    assert_int_equal(w->events[before].kind, HV_EVENT_CONNECTED);
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_free(w);
}

static void a_stopped_libvirtd_hangs_its_callers_until_the_keepalive(void **state)
{
    (void)state;
    struct world *w = world_new(7);
    struct sim_fault fault = {
        .kind = SIM_FAULT_STOP_LIBVIRTD, .at_ms = 1000, .after_iteration_ms = -1};
    TEXT_SET(fault.host, "h1");
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    sim_advance(w->sim, 2000);
    uint64_t hung = world_ask(w, HV_CALL_HOST_FACTS, "h1", "");
    uint64_t other = world_ask(w, HV_CALL_HOST_FACTS, "h2", "");
    sim_advance(w->sim, 30999);
    assert_null(world_reply(w, hung));
    assert_int_equal(world_reply(w, other)->err.code, ERR_NONE);
    assert_false(world_told(w, "h1", HV_EVENT_DISCONNECTED, 0, 0));
    struct hv_lane_status lane;
    assert_true(hv_lane_status(sim_hv(w->sim), "h1", HV_LANE_OBSERVE, &lane));
    assert_int_equal(lane.in_flight, 1);
    assert_int_equal(lane.oldest_ms, 28999);
    sim_advance(w->sim, 31000);
    assert_int_equal(world_reply(w, hung)->err.code, ERR_UNREACHABLE);
    assert_true(world_told(w, "h1", HV_EVENT_DISCONNECTED, 0, 0));
    world_free(w);
}

static void a_short_stop_only_delays_answers_and_events(void **state)
{
    (void)state;
    struct world *w = world_new(8);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    struct sim_fault stop = {.kind = SIM_FAULT_STOP_LIBVIRTD,
                             .at_ms = 1000,
                             .after_iteration_ms = -1,
                             .duration_ms = 5000};
    struct sim_fault off = {
        .kind = SIM_FAULT_GUEST_POWEROFF, .at_ms = 2000, .after_iteration_ms = -1};
    TEXT_SET(stop.host, "h1");
    TEXT_SET(off.guest, UUID_1);
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &stop, &err));
    assert_true(sim_add_fault(w->sim, &off, &err));
    sim_advance(w->sim, 1500);
    uint64_t id = world_ask(w, HV_CALL_DOMAIN_STATE, "h1", UUID_1);
    sim_advance(w->sim, 5999);
    assert_int_equal(w->n_events, 2);
    sim_advance(w->sim, 6100);
    assert_int_equal(world_reply(w, id)->with.observation.presence, HV_ABSENT);
    assert_true(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SHUTDOWN, 0));
    assert_true(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_STOPPED, 0));
    assert_int_equal(sim_guest_count(w->sim), 0);
    world_free(w);
}

static void a_shorter_keepalive_notices_sooner(void **state)
{
    (void)state;
    struct world *w = world_new(11);
    struct sim_guest guest = a_guest("web", UUID_1);
    struct sim_host host = {.name = "h3", .link_bps = 1024 * MIB, .keepalive_ms = 5000};
    struct err err = {0};
    assert_true(sim_add_host(w->sim, &host, &err));
    world_add(w, "h1", &guest);
    world_run(w, 2000);
    uint64_t id = world_migrate(w, "h1", UUID_1, "h3", (struct hv_migrate){.bandwidth_mibs = 100});
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    struct sim_fault fault = {.kind = SIM_FAULT_STOP_LIBVIRTD, .after_iteration_ms = -1};
    TEXT_SET(fault.host, "h3");
    assert_true(sim_add_fault(w->sim, &fault, &err));
    const struct hv_reply *reply = world_wait(w, id, 5500);
    assert_int_equal(reply->err.hv_code, 1);
    assert_int_equal(reply->err.hv_domain, 7);
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_free(w);
}

TEST_FILE(test_sim_switchover)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_in_the_switchover_blocks_the_monitor),
        cmocka_unit_test(the_incoming_copy_cannot_be_resumed),
        cmocka_unit_test(a_stall_that_ends_lets_the_guest_arrive),
        cmocka_unit_test(breaking_the_stream_in_the_switchover_frees_the_guest),
        cmocka_unit_test(a_dead_link_in_the_switchover_keeps_the_source_paused_until_it_is_back),
        cmocka_unit_test(a_dead_libvirtd_in_the_switchover_resumes_its_guest_when_it_is_back),
        cmocka_unit_test(a_killed_libvirtd_is_noticed_at_once_and_its_guests_run_on),
        cmocka_unit_test(a_stopped_libvirtd_hangs_its_callers_until_the_keepalive),
        cmocka_unit_test(a_short_stop_only_delays_answers_and_events),
        cmocka_unit_test(a_shorter_keepalive_notices_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
