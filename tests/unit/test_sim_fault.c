/* test_sim_fault.c - every fault of fault.def ends as it was recorded on real hosts: error
 * number and domain, when the call returns, what both hosts say afterwards. A row per story. */
#include "tests/unit/test_sim_world.h"

enum { FOR_EVER = 0, NEVER = -1 };
enum stage { IN_COPY, IN_POSTCOPY, AT_START };

static const struct story {
    const char *name;
    enum sim_fault_kind kind;
    enum stage stage; /* IN_COPY: 2 s after pass 1; AT_START: 100 ms after the call */
    const char *host;
    int64_t duration_ms;
    int code, or_code, domain;   /* either number; 0: the call succeeds */
    int64_t returns_ms;          /* at the latest this long after the fault; NEVER */
    const char *source, *target; /* a second after that */
} stories[] = {
    {"target QEMU killed in pre-copy", SIM_FAULT_KILL_TARGET_QEMU, IN_COPY, "", 0, 9, 1, 10, 500,
     "running(booted)", "absent"},
    {"target QEMU killed while it is prepared", SIM_FAULT_KILL_TARGET_QEMU, AT_START, "", 0, 1, 0,
     10, 500, "running(booted)", "absent"},
    {"target QEMU killed in post-copy", SIM_FAULT_KILL_TARGET_QEMU, IN_POSTCOPY, "", 0, 9, 0, 20,
     500, "paused(postcopy-failed)", "absent"},
    {"source QEMU killed in pre-copy", SIM_FAULT_KILL_SOURCE_QEMU, IN_COPY, "", 0, 9, 0, 20, 500,
     "absent", "absent"},
    {"source QEMU killed during preparation", SIM_FAULT_KILL_SOURCE_QEMU, AT_START, "", 0, 9, 0, 10,
     500, "absent", "absent"},
    {"source QEMU killed in post-copy", SIM_FAULT_KILL_SOURCE_QEMU, IN_POSTCOPY, "", 0, 9, 0, 10,
     500, "absent", "running(postcopy-failed)"},
    {"stream reset in pre-copy", SIM_FAULT_STREAM_RESET, IN_COPY, "", 0, 1, 9, 10, 500,
     "running(booted)", "absent"},
    {"stream reset in post-copy", SIM_FAULT_STREAM_RESET, IN_POSTCOPY, "", 0, 9, 0, 10, 500,
     "paused(postcopy-failed)", "running(postcopy-failed)"},
    {"stream stalls for good", SIM_FAULT_STREAM_STALL, IN_COPY, "", FOR_EVER, 0, 0, 0, NEVER,
     "running(booted)", "paused(migration)"},
    {"stream stalls for a while", SIM_FAULT_STREAM_STALL, IN_COPY, "", 60000, 0, 0, 0, 80000,
     "absent", "running(migrated)"},
    {"stream stalls one way", SIM_FAULT_STREAM_STALL_OUT, IN_COPY, "", FOR_EVER, 0, 0, 0, NEVER,
     "running(booted)", "paused(migration)"},
    {"stream reset at its sender", SIM_FAULT_STREAM_HALF_RESET, IN_COPY, "", 0, 1, 9, 10, 500,
     "running(booted)", "absent"},
    {"stream reset at its sender in post-copy", SIM_FAULT_STREAM_HALF_RESET, IN_POSTCOPY, "", 0, 9,
     0, 10, 60500, "paused(postcopy-failed)", "running(postcopy-failed)"},
    {"migration port refused by the host", SIM_FAULT_PORT_REFUSED, AT_START, "h2", FOR_EVER, 38, 0,
     7, 1200, "running(booted)", "absent"},
    {"migration port refused once", SIM_FAULT_PORT_REFUSED, AT_START, "", 0, 38, 0, 7, 1200,
     "running(booted)", "absent"},
    {"migration port dropped", SIM_FAULT_PORT_DROPPED, AT_START, "h2", FOR_EVER, 38, 0, 7, 135800,
     "running(booted)", "absent"},
    {"migration port taken by another program", SIM_FAULT_PORT_TAKEN, AT_START, "h2", FOR_EVER, 1,
     0, 10, 1200, "running(booted)", "absent"},
    {"target's link down", SIM_FAULT_LINK_DOWN, IN_COPY, "h2", FOR_EVER, 1, 0, 7, 30500,
     "running(booted)", "absent"},
    {"source's link down", SIM_FAULT_LINK_DOWN, IN_COPY, "h1", FOR_EVER, 1, 0, 7, 30500,
     "running(booted)", "absent"},
    {"link down for less than the keepalive", SIM_FAULT_LINK_DOWN, IN_COPY, "h2", 5000, 0, 0, 0,
     20000, "absent", "running(migrated)"},
    {"link down in post-copy", SIM_FAULT_LINK_DOWN, IN_POSTCOPY, "h2", FOR_EVER, 1, 0, 7, 30500,
     "paused(postcopy-failed)", "running(postcopy)"},
    {"target's libvirtd killed", SIM_FAULT_KILL_LIBVIRTD, IN_COPY, "h2", 200, 1, 0, 7, 500,
     "running(booted)", "absent"},
    {"source's libvirtd killed", SIM_FAULT_KILL_LIBVIRTD, IN_COPY, "h1", 200, 38, 0, 7, 10,
     "running(booted)", "absent"},
    {"target's libvirtd killed for good", SIM_FAULT_KILL_LIBVIRTD, IN_COPY, "h2", FOR_EVER, 1, 0, 7,
     500, "running(booted)", "unreachable"},
    {"target's libvirtd killed in post-copy", SIM_FAULT_KILL_LIBVIRTD, IN_POSTCOPY, "h2", 200, 1, 0,
     7, 500, "paused(postcopy-failed)", "running(postcopy)"},
    {"source's libvirtd killed in post-copy", SIM_FAULT_KILL_LIBVIRTD, IN_POSTCOPY, "h1", 200, 38,
     0, 7, 10, "paused(postcopy)", "running(postcopy)"},
    {"target's libvirtd stopped, QEMU copies on, hand-over fails", SIM_FAULT_STOP_LIBVIRTD, IN_COPY,
     "h2", 31000, 1, 0, 7, 30500, "running(unpaused)", "absent"},
    {"source's libvirtd stopped", SIM_FAULT_STOP_LIBVIRTD, IN_COPY, "h1", FOR_EVER, 1, 0, 7, 30500,
     "unreachable", "absent"},
    {"source's libvirtd stopped for a while", SIM_FAULT_STOP_LIBVIRTD, IN_COPY, "h1", 4000, 0, 0, 0,
     20000, "absent", "running(migrated)"},
    {"target lost", SIM_FAULT_HOST_LOST, IN_COPY, "h2", FOR_EVER, 1, 0, 7, 30500, "running(booted)",
     "unreachable"},
    {"source lost", SIM_FAULT_HOST_LOST, IN_COPY, "h1", 40000, 1, 0, 7, 30500, "unreachable",
     "absent"},
    {"no memory on the target", SIM_FAULT_NO_MEMORY, AT_START, "h2", FOR_EVER, 1, 0, 10, 500,
     "running(booted)", "absent"},
    {"no memory once", SIM_FAULT_NO_MEMORY, AT_START, "", 0, 1, 0, 10, 500, "running(booted)",
     "absent"},
    {"guest turns itself off", SIM_FAULT_GUEST_POWEROFF, IN_COPY, "", 0, 9, 0, 20, 500, "absent",
     "absent"},
    {"the target's last answer is lost", SIM_FAULT_FINISH_LOST, AT_START, "", 0, 1, 0, 7, 20000,
     "running(unpaused)", "running(migrated)"},
    {"target's libvirtd stopped over the end, and starts its copy late", SIM_FAULT_FINISH_LATE,
     AT_START, "", 0, 1, 0, 7, 40000, "running(migration-canceled)", "running(migrated)"},
};

/* A world in which web, 1 GiB, moves from h1 to h2 at 100 MiB/s: pass 1 lasts 10 s. */
static struct world *moving_world(const struct story *story, uint64_t seed, uint64_t *out_id,
                                  int64_t *out_fault_ms)
{
    struct world *w = world_new(seed);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 8 * MIB;
    world_add(w, "h1", &guest);
    struct sim_fault fault = {.kind = story->kind,
                              .after_iteration_ms = story->stage == AT_START ? -1 : 2000,
                              .duration_ms = story->duration_ms};
    TEXT_SET(fault.host, story->host);
    bool about_guest = story->host[0] == '\0' || story->stage != AT_START;
    TEXT_SET(fault.guest, about_guest ? UUID_1 : "");
    bool is_planned = story->kind == SIM_FAULT_PORT_REFUSED ||
                      story->kind == SIM_FAULT_PORT_DROPPED ||
                      story->kind == SIM_FAULT_PORT_TAKEN || story->kind == SIM_FAULT_NO_MEMORY;
    fault.at_ms = world_now(w) + (is_planned ? 0 : 100);
    struct err err = {0};
    assert_true(sim_add_fault(w->sim, &fault, &err));
    struct sim_fault stop = {.kind = SIM_FAULT_STOP_LIBVIRTD,
                             .after_iteration_ms = 2000,
                             .duration_ms = 32000,
                             .host = "h2",
                             .guest = UUID_1};
    if (story->kind == SIM_FAULT_FINISH_LATE)
        assert_true(sim_add_fault(w->sim, &stop, &err));

    struct hv_migrate how = {.bandwidth_mibs = 100,
                             .postcopy_bandwidth_mibs = 100,
                             .flags = HV_MIGRATE_POSTCOPY,
                             .port = 49190};
    *out_id = world_migrate(w, "h1", UUID_1, "h2", how);
    *out_fault_ms = fault.at_ms;
    if (story->stage == AT_START)
        return w;
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    *out_fault_ms = world_now(w) + 2000;
    if (story->stage == IN_POSTCOPY) {
        world_run(w, 1000);
        uint64_t id = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
        assert_int_equal(world_wait(w, id, 100)->err.code, ERR_NONE);
    }
    return w;
}

static bool is_expected(const struct story *story, int code)
{
    return code == story->code || (story->or_code != 0 && code == story->or_code);
}

static void check_story(const struct story *story, uint64_t seed)
{
    uint64_t id;
    int64_t fault_ms;
    struct world *w = moving_world(story, seed, &id, &fault_ms);
    w->splits = story->kind == SIM_FAULT_FINISH_LOST || story->kind == SIM_FAULT_FINISH_LATE;
    int64_t window_ms = story->returns_ms == NEVER ? 120000 : story->returns_ms;
    sim_advance(w->sim, fault_ms + window_ms);
    const struct hv_reply *reply = world_reply(w, id);
    if ((reply == NULL) != (story->returns_ms == NEVER))
        fail_msg("%s: returned: %d", story->name, reply != NULL);
    if (reply != NULL && !is_expected(story, reply->err.hv_code))
        fail_msg("%s: code %d, %s", story->name, reply->err.hv_code, reply->err.text);
    if (reply != NULL && reply->err.hv_domain != story->domain)
        fail_msg("%s: domain %d", story->name, reply->err.hv_domain);
    world_run(w, 1500); /* a libvirtd that comes back is reconnected by then */
    char source[HV_TEXT_MAX], target[HV_TEXT_MAX];
    world_observe(w, "h1", UUID_1, source);
    world_observe(w, "h2", UUID_1, target);
    if (strcmp(source, story->source) != 0 || strcmp(target, story->target) != 0)
        fail_msg("%s: %s, %s", story->name, source, target);
    world_free(w);
}

static void every_fault_ends_as_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++)
        for (uint64_t seed = 1; seed <= 8; seed++)
            check_story(&stories[i], seed);
}

static void every_fault_has_a_test_case(void **state)
{
    (void)state;
    for (enum sim_fault_kind kind = 0; kind < SIM_FAULT_COUNT; kind++) {
        bool told = false;
        for (size_t i = 0; i < COUNT(stories); i++)
            told |= stories[i].kind == kind;
        if (!told)
            fail_msg("no story of '%s'", sim_fault_name(kind));
        enum sim_fault_kind back = SIM_FAULT_COUNT;
        assert_true(sim_fault_from_name(sim_fault_name(kind), &back));
        assert_int_equal(back, kind);
    }
    enum sim_fault_kind none;
    assert_false(sim_fault_from_name("no-such-fault", &none));
}

/* Lab: nine kills of the target's QEMU gave three different errors. */
static void one_fault_gives_more_than_one_error(void **state)
{
    (void)state;
    bool seen[100] = {false};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t id;
        int64_t fault_ms;
        struct world *w = moving_world(&stories[0], seed, &id, &fault_ms);
        seen[world_wait(w, id, 60000)->err.hv_code] = true;
        world_free(w);
    }
    assert_true(seen[1]);
    assert_true(seen[9]);
}

static void a_broken_post_copy_waits_with_both_sides_failed(void **state)
{
    (void)state;
    const struct story story = {.kind = SIM_FAULT_STREAM_RESET, .stage = IN_POSTCOPY, .host = ""};
    uint64_t id;
    int64_t fault_ms;
    struct world *w = moving_world(&story, 3, &id, &fault_ms);
    assert_int_equal(world_wait(w, id, 60000)->err.hv_code, 9);
    assert_true(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SUSPENDED, 8));
    assert_true(world_told(w, "h2", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_RESUMED, 4));
    int64_t asked_ms = world_now(w);
    uint64_t resume = world_ask(w, HV_CALL_RESUME, "h1", UUID_1);
    assert_int_equal(world_wait(w, resume, 60000)->err.hv_code, 68);
    assert_in_range(world_now(w) - asked_ms, 30000, 30100);
    world_free(w);
}

static void post_copy_finishes_by_itself_when_only_the_libvirtds_lose_each_other(void **state)
{
    (void)state;
    const char *const hosts[] = {"h1", "h2"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        const struct story story = {.kind = SIM_FAULT_KILL_LIBVIRTD,
                                    .stage = IN_POSTCOPY,
                                    .host = hosts[i],
                                    .duration_ms = 500};
        uint64_t id;
        int64_t fault_ms;
        struct world *w = moving_world(&story, 3, &id, &fault_ms);
        assert_int_not_equal(world_wait(w, id, 60000)->err.code, ERR_NONE);
        world_run(w, 15000);
        world_assert_state(w, "h1", UUID_1, "absent");
        world_assert_state(w, "h2", UUID_1, "running(migrated)");
        assert_false(world_told(w, "h1", HV_EVENT_JOB_COMPLETED, 0, 0));
        world_free(w);
    }
}

/* Faults at any moment, of any kind: the law holds and every call ends or waits for good. */
static void no_fault_at_any_moment_makes_two_running_copies(void **state)
{
    (void)state;
    for (enum sim_fault_kind kind = 0; kind < SIM_FAULT_COUNT; kind++) {
        for (int64_t at_ms = 100; at_ms < 4000; at_ms += 37) {
            struct world *w = world_new(9);
            struct sim_guest guest = a_guest("web", UUID_1);
            guest.dirty_bps = 600 * MIB;
            guest.working_set_bytes = 300 * MIB;
            world_add(w, "h1", &guest);
            struct sim_fault fault = {
                .kind = kind, .at_ms = at_ms, .after_iteration_ms = -1, .duration_ms = 40000};
            TEXT_SET(fault.host, at_ms % 2 == 0 ? "h1" : "h2");
            TEXT_SET(fault.guest, UUID_1);
            struct err err = {0};
            assert_true(sim_add_fault(w->sim, &fault, &err));
            uint64_t id = world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){0});
            assert_non_null(world_wait(w, id, 200000));
            world_run(w, 60000);
            assert_true(sim_running_copies(w->sim, UUID_1) <= 1);
            bool may_die = kind == SIM_FAULT_KILL_SOURCE_QEMU || kind == SIM_FAULT_GUEST_POWEROFF;
            if (sim_running_copies(w->sim, UUID_1) == 0 && !may_die)
                fail_msg("'%s' at %lld ms: lost", sim_fault_name(kind), (long long)at_ms);
            world_free(w);
        }
    }
}

static void a_fault_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct world *w = world_new(10);
    const struct {
        struct sim_fault fault;
        enum err_code code;
    } rows[] = {
        {{.kind = SIM_FAULT_COUNT, .after_iteration_ms = -1}, ERR_INVALID},
        {{.kind = SIM_FAULT_LINK_DOWN, .after_iteration_ms = -1}, ERR_INVALID},
        {{.kind = SIM_FAULT_LINK_DOWN, .after_iteration_ms = -1, .host = "h9"}, ERR_NOT_FOUND},
        {{.kind = SIM_FAULT_STREAM_RESET, .after_iteration_ms = -1}, ERR_INVALID},
        {{.kind = SIM_FAULT_STREAM_RESET, .after_iteration_ms = -1, .guest = UUID_1},
         ERR_NOT_FOUND},
        {{.kind = SIM_FAULT_PORT_REFUSED, .after_iteration_ms = 0, .host = "h1"}, ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        assert_false(sim_add_fault(w->sim, &rows[i].fault, &err));
        assert_int_equal(err.code, rows[i].code);
    }
    world_free(w);
}

TEST_FILE(test_sim_fault)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_ends_as_recorded),
        cmocka_unit_test(every_fault_has_a_test_case),
        cmocka_unit_test(one_fault_gives_more_than_one_error),
        cmocka_unit_test(a_broken_post_copy_waits_with_both_sides_failed),
        cmocka_unit_test(post_copy_finishes_by_itself_when_only_the_libvirtds_lose_each_other),
        cmocka_unit_test(no_fault_at_any_moment_makes_two_running_copies),
        cmocka_unit_test(a_fault_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
