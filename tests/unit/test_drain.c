/* test_drain.c - stories of emptying a node: who moves, who blocks, how often it is tried. */
#include "tests/unit/test_drain_laws.h"

#include "engine/data/expect.h"
#include "engine/model/job/backoff.h"

/* ---- moving ---- */

static void the_smallest_goes_first_and_all_are_asked_at_once(void **state)
{
    (void)state;
    static const char *const order[] = {"small", "middle", "big"};
    struct world w;
    world_make(&w);
    world_up(&w, 0, "big", 4096, MOVES);
    world_up(&w, 0, "small", 256, MOVES);
    world_up(&w, 0, "middle", 1024, MOVES_IF);
    world_up(&w, 1, "elsewhere", 512, MOVES);
    drain_n1(&w, PLAIN);
    size_t i = 0;
    for (struct job *job = w.f->jobs; job != NULL; job = job->hh.next, i++) {
        assert_string_equal(job->guest_name, order[i]);
        assert_int_equal(job->request.priority, PRIORITY_SYSTEM_CRITICAL);
        assert_string_equal(job->request.evacuates, "n1");
        assert_string_equal(job->request.requester, "drain:d");
        assert_string_equal(world_guest(&w, order[i])->evacuation_node, "n1");
        assert_shown(&w, order[i], DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet");
        assert_string_equal(shown(&w, order[i])->job_name, job->name);
    }
    assert_int_equal(i, 3);
    assert_true(world_node(&w, 0)->cordoned);
    assert_state(&w, DRAIN_DRAINING);
    world_free(&w);
}

static void wrote(struct world *w, const char *name, uint64_t bps)
{
    struct dirty_curve curve = {.from = DIRTY_MEASURED, .n = 1, .at = {{1, bps}}};
    expect_measured(w->f, world_guest(w, name)->uuid, &curve, &(struct err){0});
}

static void of_equals_the_one_that_is_over_soonest_goes_first(void **state)
{
    (void)state;
    static const char *const order[] = {"calm", "busy", "any"}; /* what is not known comes last */
    struct world w;
    world_make(&w);
    world_up(&w, 0, "any", 1024, MOVES);
    world_up(&w, 0, "busy", 1024, MOVES);
    world_up(&w, 0, "calm", 1024, MOVES);
    wrote(&w, "busy", UINT64_C(90) << 20);
    wrote(&w, "calm", UINT64_C(1) << 20);
    drain_n1(&w, PLAIN);
    size_t i = 0;
    for (struct job *job = w.f->jobs; job != NULL; job = job->hh.next, i++)
        assert_string_equal(job->guest_name, order[i]);
    assert_int_equal(i, 3);
    assert_true(shown(&w, "calm")->expected_ms < shown(&w, "busy")->expected_ms);
    assert_int_equal(shown(&w, "any")->expected_ms, 0);
    world_free(&w);
}

static void a_drain_ends_when_the_last_guest_has_left(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 256, MOVES);
    world_up(&w, 0, "b", 512, MOVES);
    drain_n1(&w, PLAIN);
    world_start(&w, "a", 1);
    advance(&w);
    assert_shown(&w, "a", DRAIN_GUEST_MOVING, BLOCK_NONE, "");
    assert_string_equal(shown(&w, "a")->target, "n2");
    world_arrive(&w, "a");
    advance(&w);
    assert_shown(&w, "a", DRAIN_GUEST_MOVED, BLOCK_NONE, "");
    assert_string_equal(world_guest(&w, "a")->evacuation_node, "");
    assert_state(&w, DRAIN_DRAINING);
    world_move(&w, "b", 2);
    advance(&w);
    assert_state(&w, DRAIN_SUCCEEDED);
    assert_int_equal(world_told(&w, "Succeeded", "all 2 guests left node n1"), 1);
    assert_true(world_node(&w, 0)->cordoned); /* whoever emptied it wants it so */
    assert_int_equal(w.f->waiting_jobs, 0);
    world_free(&w);
}

static void an_empty_node_is_drained_at_once(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "off", 256, MOVES);
    world_set_state(&w, "off", HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN);
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

static void guests_that_come_meanwhile_join(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 512, MOVES);
    drain_n1(&w, PLAIN);
    world_up(&w, 0, "late", 256, MOVES);
    advance(&w);
    assert_shown(&w, "late", DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet");
    assert_non_null(world_job(&w, "late"));
    world_gone(&w, "late");
    advance(&w);
    assert_int_equal(w.drain->drain->n, 2);
    assert_int_equal(w.f->waiting_jobs, 1);
    world_free(&w);
}

static void a_node_that_a_migration_is_coming_to_is_not_empty(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 1, "guest", 512, MOVES);
    assert_non_null(admission_automatic(
        w.f, world_guest(&w, "guest"),
        (struct automatic_request){ORIGIN_HUMAN, PRIORITY_USER_TRIGGERED, "me", "m-"}, w.now, &w.fx,
        &err));
    world_start(&w, "guest", 0);
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_DRAINING);
    struct hv_guest incoming = w.guests[0];
    incoming.state = HV_STATE_PAUSED;
    incoming.reason = HV_PAUSED_MIGRATION;
    struct hv_guest_list list = {.n = 1, .guests = &incoming};
    fleet_apply_list(w.f, world_node(&w, 0), &list, w.now.wall_ms);
    advance(&w);
    assert_shown(&w, "guest", DRAIN_GUEST_WAITING, BLOCK_NONE, "arriving");
    world_arrive(&w, "guest");
    advance(&w);
    assert_string_equal(world_job(&w, "guest")->request.evacuates, "n1");
    world_move(&w, "guest", 2);
    advance(&w);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

static void a_guest_that_waits_says_what_for(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 512, MOVES);
    drain_n1(&w, PLAIN);
    struct job *job = world_job(&w, "a");
    job->wait.pending = PENDING_UNSCHEDULABLE;
    TEXT_SET(job->wait.reason, "0/3 nodes are available: 2 memory, 1 source-node.");
    advance(&w);
    assert_shown(&w, "a", DRAIN_GUEST_WAITING, BLOCK_NONE, "0/3 nodes are available");
    assert_state(&w, DRAIN_DRAINING);
    world_free(&w);
}

static void a_job_that_cannot_be_made_is_tried_again_soon(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 512, MOVES);
    w.f->store_ok = false;
    drain_n1(&w, PLAIN);
    assert_shown(&w, "a", DRAIN_GUEST_WAITING, BLOCK_NONE, "the store is not writable");
    assert_true(w.drain->drain->next_ms <= w.now.mono_ms + DRAIN_AGAIN_MS);
    w.f->store_ok = true;
    world_sleep(&w, DRAIN_AGAIN_MS);
    advance(&w);
    assert_non_null(world_job(&w, "a"));
    world_free(&w);
}

/* ---- what blocks ---- */

struct way_story {
    const char *settings;
    uint32_t rows;
    bool shutdown;
    enum drain_guest_state state;
    enum block block;
    const char *message;
};
static const struct way_story ways[] = {
    {MOVES, 0, false, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {MOVES, 0, true, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {MOVES, DEVICE, false, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE,
     "HostDeviceNotLiveMigratable: VMI specifies"},
    {MOVES, DEVICE, true, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "HostDevice"},
    {MOVES, 1u << UNMOVABLE_HOST_CPU, false, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {MOVES_IF, 0, false, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {MOVES_IF, 0, true, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {MOVES_IF, DEVICE, false, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "HostDevice"},
    {MOVES_IF, DEVICE, true, DRAIN_GUEST_STOPPING, BLOCK_NONE, "shutdown requested"},
    {STAYS, 0, false, DRAIN_GUEST_BLOCKED, BLOCK_STRATEGY_NONE, "eviction strategy is None"},
    {STAYS, 0, true, DRAIN_GUEST_STOPPING, BLOCK_NONE, "shutdown requested"},
    {NULL, 0, false, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {NULL, 0, true, DRAIN_GUEST_WAITING, BLOCK_NONE, "slot-fleet"},
    {NULL, DEVICE, false, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "HostDevice"},
    {NULL, DEVICE, true, DRAIN_GUEST_STOPPING, BLOCK_NONE, "shutdown requested"},
    /* Another manager's: neither migrated nor shut down. */
    {MOVES_IF, MANAGED, false, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "ManagedElsewhere"},
    {MOVES_IF, MANAGED, true, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "ManagedElsewhere"},
    {NULL, MANAGED, true, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "ManagedElsewhere"},
    {NULL, MANAGED | DEVICE, true, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "ManagedElsewhere"},
    {STAYS, MANAGED, true, DRAIN_GUEST_BLOCKED, BLOCK_NOT_MIGRATABLE, "ManagedElsewhere"},
    {EXTERNAL, 0, false, DRAIN_GUEST_BLOCKED, BLOCK_EXTERNAL, "an external controller"},
    {EXTERNAL, 0, true, DRAIN_GUEST_BLOCKED, BLOCK_EXTERNAL, "an external controller"},
    {EXTERNAL, DEVICE, true, DRAIN_GUEST_BLOCKED, BLOCK_EXTERNAL, "an external controller"},
};

static void each_guest_goes_the_way_its_strategy_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct world w;
        world_make(&w);
        world_up(&w, 0, "vm", 512, ways[i].settings);
        world_define(&w, "vm", ways[i].rows);
        drain_n1(&w, ways[i].shutdown ? SHUTDOWN : PLAIN);
        assert_shown(&w, "vm", ways[i].state, ways[i].block, ways[i].message);
        assert_int_equal(world_job(&w, "vm") != NULL, ways[i].state == DRAIN_GUEST_WAITING);
        assert_int_equal(world_orders(&w, EFFECT_DO_SHUTDOWN),
                         ways[i].state == DRAIN_GUEST_STOPPING);
        assert_state(&w, ways[i].block != BLOCK_NONE ? DRAIN_BLOCKED : DRAIN_DRAINING);
        bool marked = world_guest(&w, "vm")->evacuation_node[0] != '\0';
        assert_int_equal(marked,
                         ways[i].state == DRAIN_GUEST_WAITING || ways[i].block == BLOCK_EXTERNAL);
        world_free(&w);
    }
}

static void the_fleets_strategy_stands_for_guests_that_say_nothing(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    w.f->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    world_up(&w, 0, "vm", 512, NULL);
    drain_n1(&w, PLAIN);
    assert_non_null(world_job(&w, "vm"));
    world_free(&w);
}

static void eight_guests_two_blocked_six_move_and_two_are_named(void **state)
{
    (void)state;
    struct world w;
    char name[8];
    world_make(&w);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "vm%d", i);
        world_up(&w, 0, name, 256, MOVES);
    }
    world_up(&w, 0, "device", 128, MOVES);
    world_define(&w, "device", DEVICE);
    world_up(&w, 0, "stays", 128, STAYS);
    drain_n1(&w, PLAIN);
    assert_int_equal(world_told(&w, "Migrated", "vmi is not migratable; VMI specifies"), 1);
    assert_state(&w, DRAIN_DRAINING);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "vm%d", i);
        world_move(&w, name, 1 + i % 2);
        advance(&w);
    }
    assert_state(&w, DRAIN_BLOCKED);
    assert_int_equal(world_told(&w, "Blocked", "2 of 8 guests are left"), 1);
    assert_non_null(strstr(w.drain->status_json, "\"moved\":6,\"blocked\":2"));
    assert_non_null(strstr(w.drain->status_json, "\"reason\":\"NotLiveMigratable\""));
    assert_non_null(strstr(w.drain->status_json,
                           "\"unblock\":\"Detach the host device, migrate, and attach one"));
    assert_non_null(strstr(w.drain->status_json, "\"reason\":\"StrategyNone\""));
    advance(&w);
    assert_int_equal(world_told(&w, "Migrated", "not migratable"), 1); /* told once */
    world_up(&w, 0, "late", 128, STAYS);
    advance(&w);
    assert_string_equal(w.drain->drain->message, "3 of 9 guests are left and cannot be migrated");
    world_gone(&w, "late");

    world_define(&w, "device", 0);
    advance(&w);
    assert_state(&w, DRAIN_DRAINING);
    world_move(&w, "device", 1);
    world_gone(&w, "stays");
    advance(&w);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

static void somebody_elses_migration_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    assert_non_null(admission_automatic(
        w.f, world_guest(&w, "vm"),
        (struct automatic_request){ORIGIN_HUMAN, PRIORITY_USER_TRIGGERED, "me", "m-"}, w.now, &w.fx,
        &err));
    drain_n1(&w, PLAIN);
    assert_shown(&w, "vm", DRAIN_GUEST_BLOCKED, BLOCK_BUSY, "under way: m-");
    assert_state(&w, DRAIN_DRAINING); /* it ends by itself */
    world_fail(&w, "vm");
    advance(&w);
    assert_int_equal(shown(&w, "vm")->attempts, 0);
    assert_int_equal(world_job(&w, "vm")->request.origin, ORIGIN_EVACUATION);
    world_free(&w);
}

static void a_guest_that_was_marked_before_keeps_its_job(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    assert_true(evacuation_mark(w.f, world_guest(&w, "vm"), true, w.now, &w.fx, &err));
    const struct job *job = world_job(&w, "vm");
    drain_n1(&w, PLAIN);
    assert_ptr_equal(world_job(&w, "vm"), job);
    assert_string_equal(shown(&w, "vm")->job_uid, job->uid);
    world_free(&w);
}

/* ---- tries ---- */

static void a_guest_is_tried_as_often_as_the_drain_allows(void **state)
{
    (void)state;
    for (unsigned budget = 1; budget <= 4; budget++) {
        struct world w;
        char spec[64];
        world_make(&w);
        world_up(&w, 0, "vm", 512, MOVES);
        (void)snprintf(spec, sizeof spec, "{\"nodeName\":\"n1\",\"retryBudget\":%u}", budget);
        drain_n1(&w, spec);
        for (unsigned i = 0; i < budget; i++) {
            assert_int_equal(shown(&w, "vm")->attempts, i);
            world_fail(&w, "vm");
            assert_true(w.f->drains_due); /* by the job's end */
            w.f->drains_due = false;
            evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
            assert_null(world_job(&w, "vm")); /* the drain makes it, not the mark */
            assert_false(w.f->drains_due);    /* else both would wake each other for ever */
            advance(&w);
        }
        assert_null(world_job(&w, "vm"));
        assert_shown(&w, "vm", DRAIN_GUEST_FAILED, BLOCK_TRIES, "the target's QEMU died");
        assert_state(&w, DRAIN_BLOCKED);
        world_sleep(&w, 3600000);
        TEXT_SET(fleet_newest_finished(w.f, w.guests[0].uuid)->result.failure_reason, "forgotten");
        advance(&w);
        assert_null(world_job(&w, "vm"));
        assert_shown(&w, "vm", DRAIN_GUEST_FAILED, BLOCK_TRIES, "the target's QEMU died");
        world_free(&w);
    }
}

static void a_guest_whose_automatic_moves_failed_too_often_is_left_to_people(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    assert_true(evacuation_mark(w.f, world_guest(&w, "vm"), false, w.now, &w.fx, &err));
    for (int i = 0; i < BACKOFF_ATTEMPTS_MAX; i++) {
        world_fail(&w, "vm");
        evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    }
    drain_n1(&w, PLAIN);
    assert_shown(&w, "vm", DRAIN_GUEST_FAILED, BLOCK_TRIES, "10 automatic migrations");
    assert_state(&w, DRAIN_BLOCKED);
    world_free(&w);
}

struct try_story {
    const char *what;
    enum trigger why;
    enum outcome outcome;
    bool handed_off, unschedulable, counts;
};
static const struct try_story tries[] = {
    {"failed while moving", TRIGGER_ON_SOURCE, OUTCOME_FAILED, true, false, true},
    {"aborted while moving", TRIGGER_ON_SOURCE, OUTCOME_ABORTED, true, false, true},
    {"no node would take it", TRIGGER_IMPOSSIBLE, OUTCOME_FAILED, false, true, true},
    {"no node in time", TRIGGER_WAITED_TOO_LONG, OUTCOME_FAILED, false, true, true},
    {"waited in vain for a slot", TRIGGER_WAITED_TOO_LONG, OUTCOME_FAILED, false, false, false},
    {"cancelled by hand", TRIGGER_CANCELLED, OUTCOME_ABORTED, false, false, false},
    {"cancelled while no node fits", TRIGGER_CANCELLED, OUTCOME_ABORTED, false, true, false},
};

static void only_what_was_really_tried_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tries); i++) {
        struct world w;
        world_make(&w);
        world_up(&w, 0, "vm", 512, MOVES);
        drain_n1(&w, PLAIN);
        if (tries[i].handed_off)
            world_start(&w, "vm", 1);
        if (tries[i].unschedulable)
            world_job(&w, "vm")->wait.pending = PENDING_UNSCHEDULABLE;
        world_end(&w, "vm", tries[i].why, tries[i].outcome, "so");
        advance(&w);
        if (shown(&w, "vm")->attempts != (tries[i].counts ? 1 : 0))
            fail_msg("%s", tries[i].what);
        assert_non_null(world_job(&w, "vm"));
        world_free(&w);
    }
}

static void no_node_is_named_as_the_reason_when_it_was(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    drain_n1(&w, "{\"nodeName\":\"n1\",\"retryBudget\":1}");
    world_job(&w, "vm")->wait.pending = PENDING_UNSCHEDULABLE;
    world_end(&w, "vm", TRIGGER_WAITED_TOO_LONG, OUTCOME_FAILED, "0/3 nodes are available");
    advance(&w);
    assert_shown(&w, "vm", DRAIN_GUEST_FAILED, BLOCK_NO_NODE, "0/3 nodes are available");
    world_lose(&w, 0);
    advance(&w);
    assert_shown(&w, "vm", DRAIN_GUEST_FAILED, BLOCK_NO_NODE, "0/3 nodes are available");
    world_free(&w);
}

/* Half of it is left after a broken post-copy: nobody tries to move that for ever. */
static void half_a_guest_blocks_the_drain_and_says_so(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    world_set_state(&w, "vm", HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED);
    drain_n1(&w, PLAIN);
    advance(&w);
    assert_shown(&w, "vm", DRAIN_GUEST_BLOCKED, BLOCK_HALF, "only a part of the guest is here");
    assert_null(world_job(&w, "vm"));
    world_free(&w);
}

TEST_FILE(test_drain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_goes_first_and_all_are_asked_at_once),
        cmocka_unit_test(of_equals_the_one_that_is_over_soonest_goes_first),
        cmocka_unit_test(a_drain_ends_when_the_last_guest_has_left),
        cmocka_unit_test(an_empty_node_is_drained_at_once),
        cmocka_unit_test(guests_that_come_meanwhile_join),
        cmocka_unit_test(a_node_that_a_migration_is_coming_to_is_not_empty),
        cmocka_unit_test(a_guest_that_waits_says_what_for),
        cmocka_unit_test(a_job_that_cannot_be_made_is_tried_again_soon),
        cmocka_unit_test(each_guest_goes_the_way_its_strategy_says),
        cmocka_unit_test(the_fleets_strategy_stands_for_guests_that_say_nothing),
        cmocka_unit_test(eight_guests_two_blocked_six_move_and_two_are_named),
        cmocka_unit_test(somebody_elses_migration_is_waited_for),
        cmocka_unit_test(a_guest_that_was_marked_before_keeps_its_job),
        cmocka_unit_test(a_guest_is_tried_as_often_as_the_drain_allows),
        cmocka_unit_test(a_guest_whose_automatic_moves_failed_too_often_is_left_to_people),
        cmocka_unit_test(only_what_was_really_tried_is_counted),
        cmocka_unit_test(no_node_is_named_as_the_reason_when_it_was),
        cmocka_unit_test(half_a_guest_blocks_the_drain_and_says_so),
    };
    return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
