/* test_sim_recovery.c - post-copy that breaks and its recovery, and what frees a guest whose stream
 * is stuck: as measured on real hosts. */
#include "tests/unit/test_sim_world.h"

enum { FOR_EVER = 0, NOT_VALID = 55, DEADLINE_MS = 60000 };

static void strike(struct world *w, enum sim_fault_kind kind, const char *host, int64_t ms)
{
    struct sim_fault fault = {.kind = kind, .after_iteration_ms = -1, .duration_ms = ms};
    struct err err = {0};
    TEXT_SET(fault.host, host);
    TEXT_SET(fault.guest, host[0] == '\0' ? UUID_1 : "");
    assert_true(sim_add_fault(w->sim, &fault, &err));
    world_run(w, 1);
}

/* h1 and h2 with helpers, and a guest that moves at 100 MiB/s, a second into pass 1. */
static struct world *moving(struct sim_guest guest, struct hv_migrate how, uint64_t *out_id)
{
    struct world *w = world_new(4);
    struct err err = {0};
    for (int i = 1; i <= 2; i++) {
        struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .helper = true};
        (void)snprintf(host.name, sizeof host.name, "h%d", i);
        assert_true(sim_set_host(w->sim, &host, &err));
    }
    world_add(w, "h1", &guest);
    how.bandwidth_mibs = how.postcopy_bandwidth_mibs = 100;
    *out_id = world_migrate(w, "h1", UUID_1, "h2", how);
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    world_run(w, 1000);
    return w;
}

static struct world *in_postcopy(uint64_t *out_id)
{
    struct sim_guest guest = a_guest("web", UUID_1);
    struct world *w = moving(guest, (struct hv_migrate){.flags = HV_MIGRATE_POSTCOPY}, out_id);
    uint64_t id = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
    assert_int_equal(world_wait(w, id, 100)->err.code, ERR_NONE);
    world_run(w, 1000);
    return w;
}

/* In the switch-over, about to write; how: parameters of its stream. */
static struct world *in_switchover(struct hv_migrate how, uint64_t *out_id)
{
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 20 * MIB;
    struct world *w = moving(guest, how, out_id);
    world_run_until_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SUSPENDED, 1);
    return w;
}

static const struct hv_reply *order(struct world *w, enum hv_call call, const char *host)
{
    return world_wait(w, world_ask(w, call, host, UUID_1), DEADLINE_MS);
}

static int pause_stream(struct world *w)
{
    struct hv_request request = {.call = HV_CALL_ABORT, .with.tune.postcopy = true};
    TEXT_SET(request.host, "h1");
    TEXT_SET(request.guest, UUID_1);
    return world_wait(w, world_submit(w, request), 1000)->err.hv_code;
}

static uint64_t take_up(struct world *w)
{
    struct hv_migrate how = {.flags = HV_MIGRATE_RESUME | HV_MIGRATE_POSTCOPY,
                             .postcopy_bandwidth_mibs = 100};
    return world_migrate(w, "h1", UUID_1, "h2", how);
}

static int refused(struct world *w, const char *text)
{
    const struct hv_reply *reply = world_wait(w, take_up(w), 140000);
    if (reply->err.code == ERR_NONE || strstr(reply->err.text, text) == NULL)
        fail_msg("not '%s' but '%s'", text, reply->err.text);
    return reply->err.hv_code;
}

static void assert_halves(struct world *w, const char *source, const char *target)
{
    world_assert_state(w, "h1", UUID_1, source);
    world_assert_state(w, "h2", UUID_1, target);
}

static void assert_recovered(struct world *w)
{
    world_run(w, 4000); /* QEMU may need that long to see what libvirt shows */
    assert_int_equal(world_wait(w, take_up(w), DEADLINE_MS)->err.code, ERR_NONE);
    assert_halves(w, "absent", "running(migrated)");
    assert_true(world_told(w, "h2", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_RESUMED, 1));
    assert_true(world_told(w, "h1", HV_EVENT_JOB_COMPLETED, 0, 0));
    world_free(w);
}

static void a_reset_stream_is_resumed_at_once(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_STREAM_RESET, "", 0);
    assert_int_equal(world_wait(w, id, 1000)->err.hv_code, 9);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy-failed)");
    uint64_t again = take_up(w);
    world_run(w, 600);
    assert_halves(w, "paused(postcopy)", "running(postcopy)");
    assert_int_equal(refused(w, "actively monitored"), NOT_VALID);
    assert_int_equal(world_wait(w, again, DEADLINE_MS)->err.code, ERR_NONE);
    assert_halves(w, "absent", "running(migrated)");
    world_free(w);
}

static void a_stream_paused_on_purpose_is_resumed_at_once(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    assert_int_equal(pause_stream(w), 0);
    assert_int_equal(world_wait(w, id, 1000)->err.hv_code, 9);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy-failed)");
    assert_recovered(w);
}

static void after_an_outage_qemu_runs_on_and_nothing_is_to_be_resumed(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_LINK_DOWN, "h2", 40000);
    assert_int_equal(world_wait(w, id, 31000)->err.hv_domain, 7);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy)");
    assert_int_equal(refused(w, "still running"), NOT_VALID);
    world_run(w, 25000);
    assert_halves(w, "absent", "running(migrated)");
    world_free(w);
}

static void a_stream_paused_in_an_outage_resumes_only_when_both_sides_know(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_LINK_DOWN, "h2", 40000);
    (void)world_wait(w, id, 31000);
    assert_int_equal(pause_stream(w), 0);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy)");
    assert_int_equal(refused(w, "No route to host"), 38);
    world_run(w, 20000); /* the link is back, and eight seconds are over */
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy-failed)");
    assert_recovered(w);
}

static void a_dead_socket_closed_on_the_target_is_known_at_once(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_STREAM_STALL, "", 20000);
    assert_int_equal(pause_stream(w), 0);
    assert_null(world_reply(w, id)); /* the target's libvirtd still waits */
    assert_int_equal(refused(w, "actively monitored"), NOT_VALID);
    assert_int_equal(order(w, HV_CALL_KILL_STREAM, "h1")->err.hv_code, NOT_VALID); /* none left */
    assert_int_equal(order(w, HV_CALL_KILL_STREAM, "h2")->err.code, ERR_NONE);
    assert_int_equal(world_wait(w, id, 1000)->err.hv_code, 9);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy-failed)");
    uint64_t again = take_up(w); /* waits for the port until the stall is over */
    world_run(w, 10000);
    assert_null(world_reply(w, again));
    assert_int_equal(world_wait(w, again, DEADLINE_MS)->err.code, ERR_NONE);
    assert_halves(w, "absent", "running(migrated)");
    world_free(w);
}

static void a_port_that_never_answers_leaves_both_sides_unchanged(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_STREAM_STALL, "", FOR_EVER);
    assert_int_equal(pause_stream(w), 0);
    world_run(w, 61000); /* TCP gives up */
    assert_int_equal(world_reply(w, id)->err.hv_code, 9);
    assert_int_equal(refused(w, "timed out"), 38);
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy-failed)");
    world_free(w);
}

static void a_reset_unknown_to_the_target_hangs_until_tcp_times_out(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_STREAM_HALF_RESET, "", 0);
    world_run(w, 40000);
    assert_null(world_reply(w, id));
    assert_halves(w, "paused(postcopy-failed)", "running(postcopy)");
    assert_int_equal(refused(w, "actively monitored"), NOT_VALID);
    assert_int_equal(world_wait(w, id, 25000)->err.hv_code, 9);
    assert_recovered(w);
}

static void a_post_copy_that_lost_one_side_is_not_resumed(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    strike(w, SIM_FAULT_KILL_TARGET_QEMU, "", 0);
    (void)world_wait(w, id, 1000);
    assert_halves(w, "paused(postcopy-failed)", "absent");
    assert_int_equal(refused(w, "closed the monitor"), 1);
    assert_halves(w, "paused(postcopy-failed)", "absent");
    world_free(w);

    w = in_postcopy(&id);
    strike(w, SIM_FAULT_KILL_SOURCE_QEMU, "", 0);
    (void)world_wait(w, id, 1000);
    assert_halves(w, "absent", "running(postcopy-failed)");
    assert_int_equal(refused(w, "no domain"), 42);
    strike(w, SIM_FAULT_KILL_TARGET_QEMU, "", 0);
    assert_halves(w, "absent", "absent");
    world_free(w);
}

static void without_a_broken_post_copy_a_resume_is_refused(void **state)
{
    (void)state;
    struct world *w = world_new(4);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    assert_int_equal(refused(w, "not being migrated"), NOT_VALID);
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_free(w);
}

/* --- stuck streams --- */

static void assert_at_home(struct world *w, uint64_t id, const char *source)
{
    assert_int_equal(world_wait(w, id, 1000)->err.code, ERR_HYPERVISOR);
    assert_halves(w, source, "absent");
    assert_int_equal(sim_frozen_ms(w->sim, UUID_1), 0);
    world_free(w);
}

static void remedies_free_a_stalled_switchover_as_measured(void **state)
{
    (void)state;
    static const struct {
        enum sim_fault_kind fault;
        enum hv_call remedy;
        const char *host;
        int connections;
        bool frees;
    } rows[] = {
        {SIM_FAULT_STREAM_STALL, HV_CALL_KILL_STREAM, "h1", 0, true},
        {SIM_FAULT_STREAM_STALL, HV_CALL_KILL_STREAM, "h1", 4, true},
        {SIM_FAULT_STREAM_STALL, HV_CALL_KILL_STREAM, "h2", 0, false},
        {SIM_FAULT_STREAM_STALL, HV_CALL_DROP_COPY, "h2", 0, false},
        {SIM_FAULT_STREAM_STALL_OUT, HV_CALL_DROP_COPY, "h2", 0, true},
        {SIM_FAULT_STREAM_STALL_OUT, HV_CALL_DROP_COPY, "h2", 4, false},
        {SIM_FAULT_STREAM_STALL_OUT, HV_CALL_KILL_STREAM, "h2", 0, true},
        {SIM_FAULT_STREAM_STALL, HV_CALL_YANK, "h1", 0, false},
        {SIM_FAULT_STREAM_STALL, HV_CALL_YANK, "h2", 0, false},
        {SIM_FAULT_STREAM_STALL, HV_CALL_ABORT, "h1", 0, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t id;
        struct hv_migrate how = {.parallel_connections = rows[i].connections};
        struct world *w = in_switchover(how, &id);
        strike(w, rows[i].fault, "", FOR_EVER);
        (void)world_ask(w, rows[i].remedy, rows[i].host, UUID_1);
        world_run(w, 35000);
        if ((world_reply(w, id) != NULL) != rows[i].frees)
            fail_msg("row %zu: %d", i, !rows[i].frees);
        world_assert_state(w, "h1", UUID_1,
                           rows[i].frees ? "running(unpaused)" : "paused(migration)");
        world_free(w);
    }
}

static void a_copy_dropped_in_time_leaves_the_guest_on_the_source(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_switchover((struct hv_migrate){0}, &id);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h2")->err.code, ERR_NONE);
    assert_at_home(w, id, "running(unpaused)");
}

static void only_an_incoming_copy_is_dropped(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = in_postcopy(&id);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h2")->err.hv_code, NOT_VALID);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h1")->err.hv_code, NOT_VALID);
    assert_int_equal(world_wait(w, id, DEADLINE_MS)->err.code, ERR_NONE);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h2")->err.hv_code, NOT_VALID);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h1")->err.hv_code, 42);
    assert_halves(w, "absent", "running(migrated)");
    world_free(w);
    w = in_switchover((struct hv_migrate){0}, &id); /* both are paused(migration) there */
    strike(w, SIM_FAULT_STREAM_STALL, "", 40000);
    assert_int_equal(order(w, HV_CALL_DROP_COPY, "h1")->err.hv_code, 68);
    assert_halves(w, "paused(migration)", "paused(migration)");
    world_free(w);
}

static void a_tunnelled_stream_frees_itself_at_the_keepalive(void **state)
{
    (void)state;
    uint64_t id;
    struct hv_migrate how = {.flags = HV_MIGRATE_TUNNELLED};
    struct world *w = in_switchover(how, &id);
    strike(w, SIM_FAULT_LINK_DOWN, "h2", FOR_EVER);
    const struct hv_reply *reply = world_wait(w, id, 30500);
    assert_int_equal(reply->err.hv_domain, 7);
    assert_at_home(w, id, "running(unpaused)");
}

static void what_cannot_be_tunnelled_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct hv_migrate how;
        int code;
    } rows[] = {
        {{.parallel_connections = 2}, 8},
        {{.flags = HV_MIGRATE_POSTCOPY}, 74},
        {{.flags = HV_MIGRATE_TLS}, 9},
        {{.flags = HV_MIGRATE_XBZRLE | HV_MIGRATE_MT}, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *w = world_new(4);
        struct sim_guest guest = a_guest("web", UUID_1);
        world_add(w, "h1", &guest);
        struct hv_migrate how = rows[i].how;
        how.flags |= HV_MIGRATE_TUNNELLED;
        uint64_t id = world_migrate(w, "h1", UUID_1, "h2", how);
        assert_int_equal(world_wait(w, id, DEADLINE_MS)->err.hv_code, rows[i].code);
        world_free(w);
    }
}

/* --- disks --- */

static struct world *with_disk(uint64_t *out_id, bool copied)
{
    static const struct hv_volume volume = {.disk = "vda", .to = {.pool = "default", .name = "g"}};
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.local_disk = true;
    guest.disk_bytes = copied ? 100 * MIB : 10240 * MIB;
    struct hv_migrate how = {
        .flags = HV_MIGRATE_NON_SHARED_DISK, .volumes = &volume, .n_volumes = 1};
    if (copied)
        return moving(guest, how, out_id);
    struct world *w = world_new(4);
    world_add(w, "h1", &guest);
    *out_id = world_migrate(w, "h1", UUID_1, "h2", how);
    world_run(w, 2000);
    return w;
}

static void a_yank_before_the_abort_keeps_the_guest_running(void **state)
{
    (void)state;
    for (int copied = 0; copied < 2; copied++) {
        uint64_t id;
        struct world *w = with_disk(&id, copied);
        strike(w, SIM_FAULT_STREAM_STALL, "", FOR_EVER);
        assert_int_equal(order(w, HV_CALL_YANK, "h1")->err.code, ERR_NONE);
        assert_at_home(w, id, "running(booted)");
    }
}

static void an_abort_over_a_dead_path_freezes_a_guest_with_disks(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = with_disk(&id, true);
    strike(w, SIM_FAULT_STREAM_STALL, "", 60000);
    assert_int_equal(order(w, HV_CALL_ABORT, "h1")->err.code, ERR_NONE);
    world_run(w, 5000);
    assert_halves(w, "running(booted)", "paused(migration)"); /* it does not show */
    assert_int_equal(order(w, HV_CALL_YANK, "h1")->err.hv_code, 68);
    assert_null(world_reply(w, id));
    assert_int_equal(world_wait(w, id, 40000)->err.hv_code, 78); /* the path is back */
    assert_in_range(sim_frozen_ms(w->sim, UUID_1), 55000, 65000);
    assert_halves(w, "running(booted)", "absent");
    world_free(w);
}

static void closing_its_socket_unfreezes_it(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = with_disk(&id, true);
    strike(w, SIM_FAULT_LINK_DOWN, "h2", FOR_EVER);
    world_run(w, 31000); /* the keepalive does it as well */
    assert_null(world_reply(w, id));
    assert_halves(w, "running(booted)", "absent");
    assert_int_equal(order(w, HV_CALL_KILL_STREAM, "h1")->err.code, ERR_NONE);
    assert_int_equal(world_wait(w, id, 1000)->err.code, ERR_HYPERVISOR);
    assert_in_range(sim_frozen_ms(w->sim, UUID_1), 500, 2000);
    world_free(w);
}

static void an_abort_while_disks_are_copied_hangs_until_a_yank(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = with_disk(&id, false);
    strike(w, SIM_FAULT_STREAM_STALL, "", FOR_EVER);
    assert_int_equal(order(w, HV_CALL_ABORT, "h1")->err.code, ERR_NONE);
    world_run(w, 11000);
    assert_null(world_reply(w, id));
    assert_int_equal(order(w, HV_CALL_YANK, "h1")->err.code, ERR_NONE);
    assert_at_home(w, id, "running(booted)");
}

/* --- the rest --- */

static void without_a_stream_there_is_nothing_to_break(void **state)
{
    (void)state;
    struct world *w = world_new(4);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    assert_int_equal(order(w, HV_CALL_YANK, "h1")->err.hv_code, NOT_VALID);
    assert_int_equal(order(w, HV_CALL_YANK, "h2")->err.hv_code, 42);
    const struct hv_reply *helper = order(w, HV_CALL_KILL_STREAM, "h1");
    assert_int_equal(helper->err.code, ERR_HYPERVISOR);
    assert_non_null(strstr(helper->err.text, "no helper"));
    world_free(w);
}

static void a_helper_works_while_its_libvirtd_does_not(void **state)
{
    (void)state;
    static const enum sim_fault_kind faults[] = {SIM_FAULT_STOP_LIBVIRTD, SIM_FAULT_HOST_LOST};
    for (size_t i = 0; i < COUNT(faults); i++) {
        uint64_t id;
        struct world *w = in_switchover((struct hv_migrate){0}, &id);
        strike(w, SIM_FAULT_STREAM_STALL, "", FOR_EVER);
        strike(w, faults[i], "h1", FOR_EVER);
        const struct hv_reply *reply = order(w, HV_CALL_KILL_STREAM, "h1");
        bool reached = faults[i] == SIM_FAULT_STOP_LIBVIRTD;
        assert_int_equal(reply->err.code, reached ? ERR_NONE : ERR_UNREACHABLE);
        assert_int_equal(sim_running_copies(w->sim, UUID_1), reached ? 1 : 0);
        world_free(w);
    }
}

static const struct hv_reply *measure(struct world *w, uint64_t seconds)
{
    struct hv_request request = {.call = HV_CALL_MEASURE_DIRTY, .with.tune.value = seconds};
    TEXT_SET(request.host, "h1");
    TEXT_SET(request.guest, UUID_1);
    return world_wait(w, world_submit(w, request), 70000);
}

static void a_measured_rate_saturates_at_the_working_set(void **state)
{
    (void)state;
    struct world *w = world_new(4);
    struct sim_guest guest = a_guest("web", UUID_1); /* 64 MiB/s in 128 MiB */
    world_add(w, "h1", &guest);
    int64_t before_ms = world_now(w);
    assert_int_equal(measure(w, 1)->with.dirty_bps, 64 * MIB);
    assert_in_range(world_now(w) - before_ms, 1000, 1100);
    assert_int_equal(measure(w, 2)->with.dirty_bps, 64 * MIB);
    assert_int_equal(measure(w, 4)->with.dirty_bps, 32 * MIB);
    assert_int_equal(measure(w, 0)->err.hv_code, 67);
    assert_int_equal(measure(w, 61)->err.hv_code, 67);
    (void)order(w, HV_CALL_SUSPEND, "h1");
    assert_int_equal(measure(w, 1)->with.dirty_bps, 0);
    world_free(w);
}

/* Recorded: the user's pause is lost. */
static void a_guest_suspended_during_migration_is_resumed_on_the_target(void **state)
{
    (void)state;
    uint64_t id;
    struct world *w = moving(a_guest("web", UUID_1), (struct hv_migrate){0}, &id);
    assert_int_equal(order(w, HV_CALL_SUSPEND, "h1")->err.code, ERR_NONE);
    world_assert_state(w, "h1", UUID_1, "paused(user)");
    assert_int_equal(world_wait(w, id, DEADLINE_MS)->err.code, ERR_NONE);
    assert_halves(w, "absent", "running(migrated)");
    world_free(w);
}

/* Whatever is ordered whenever: never two running copies, and only a dropped half loses a guest. */
static void no_remedy_at_any_moment_makes_two_running_copies(void **state)
{
    (void)state;
    static const enum hv_call remedies[] = {HV_CALL_YANK, HV_CALL_DROP_COPY, HV_CALL_KILL_STREAM};
    static const enum sim_fault_kind faults[] = {SIM_FAULT_STREAM_STALL, SIM_FAULT_STREAM_STALL_OUT,
                                                 SIM_FAULT_STREAM_HALF_RESET};
    for (size_t i = 0; i < COUNT(remedies) * COUNT(faults) * 2; i++) {
        for (int64_t at_ms = 50; at_ms < 9000; at_ms += 331) {
            uint64_t id;
            bool postcopy = i % 2 == 0;
            struct world *w =
                postcopy ? in_postcopy(&id) : in_switchover((struct hv_migrate){0}, &id);
            world_run(w, at_ms % 500);
            strike(w, faults[i / 2 % COUNT(faults)], "", 20000);
            world_run(w, at_ms);
            for (int host = 1; host <= 2; host++)
                (void)world_ask(w, remedies[i / 2 / COUNT(faults)], host == 1 ? "h1" : "h2",
                                UUID_1);
            world_run(w, 100000);
            if (world_reply(w, id)->err.code != ERR_NONE && postcopy)
                (void)world_wait(w, take_up(w), 140000);
            world_run(w, 10000);
            assert_int_equal(sim_running_copies(w->sim, UUID_1), 1);
            world_free(w);
        }
    }
}

TEST_FILE(test_sim_recovery)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_stream_is_resumed_at_once),
        cmocka_unit_test(a_stream_paused_on_purpose_is_resumed_at_once),
        cmocka_unit_test(after_an_outage_qemu_runs_on_and_nothing_is_to_be_resumed),
        cmocka_unit_test(a_stream_paused_in_an_outage_resumes_only_when_both_sides_know),
        cmocka_unit_test(a_dead_socket_closed_on_the_target_is_known_at_once),
        cmocka_unit_test(a_port_that_never_answers_leaves_both_sides_unchanged),
        cmocka_unit_test(a_reset_unknown_to_the_target_hangs_until_tcp_times_out),
        cmocka_unit_test(a_post_copy_that_lost_one_side_is_not_resumed),
        cmocka_unit_test(without_a_broken_post_copy_a_resume_is_refused),
        cmocka_unit_test(remedies_free_a_stalled_switchover_as_measured),
        cmocka_unit_test(a_copy_dropped_in_time_leaves_the_guest_on_the_source),
        cmocka_unit_test(only_an_incoming_copy_is_dropped),
        cmocka_unit_test(a_tunnelled_stream_frees_itself_at_the_keepalive),
        cmocka_unit_test(what_cannot_be_tunnelled_is_refused),
        cmocka_unit_test(a_yank_before_the_abort_keeps_the_guest_running),
        cmocka_unit_test(an_abort_over_a_dead_path_freezes_a_guest_with_disks),
        cmocka_unit_test(closing_its_socket_unfreezes_it),
        cmocka_unit_test(an_abort_while_disks_are_copied_hangs_until_a_yank),
        cmocka_unit_test(without_a_stream_there_is_nothing_to_break),
        cmocka_unit_test(a_helper_works_while_its_libvirtd_does_not),
        cmocka_unit_test(a_measured_rate_saturates_at_the_working_set),
        cmocka_unit_test(a_guest_suspended_during_migration_is_resumed_on_the_target),
        cmocka_unit_test(no_remedy_at_any_moment_makes_two_running_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
