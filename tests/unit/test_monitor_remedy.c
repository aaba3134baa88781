/* test_monitor_remedy.c - what the stall detector does about a stall, a sick path, a budget that is
 * used up, a switch-over that does not end. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/test_monitor_iterations.h"

/* --- what is done ---------------------------------------------------------------------------- */

static const struct act {
    const char *name;
    bool disruption, post_copy, vfio, converge;
    int64_t max_downtime_ms; /* the rest, 500 MiB, needs 5000 ms */
    enum decision why;
    enum monitor_action action;
    int64_t downtime_ms;
    bool stretched;
} acts[] = {
    {"stalled, both allowed: post-copy", true, true, false, false, 900, DECISION_STALLED_POSTCOPY,
     MONITOR_POSTCOPY, 0, false},
    {"stalled, vfio: any downtime", true, true, true, false, 900, DECISION_STALLED_HARD,
     MONITOR_SET_DOWNTIME, 2000000, true},
    {"stalled, disruption: any downtime", true, false, false, false, 900, DECISION_STALLED_HARD,
     MONITOR_SET_DOWNTIME, 2000000, true},
    {"stalled, post-copy without disruption: abort", false, true, false, false, 900,
     DECISION_STALLED_ABORT, MONITOR_ABORT, 0, false},
    {"stalled, the rest fits: soft", false, false, false, false, 6000, DECISION_STALLED_SOFT,
     MONITOR_SET_DOWNTIME, 6000, false},
    {"stalled, the rest nearly fits: soft", false, false, false, false, 3400, DECISION_STALLED_SOFT,
     MONITOR_SET_DOWNTIME, 3400, false},
    {"stalled, the rest does not fit: abort", false, false, false, false, 3200,
     DECISION_STALLED_ABORT, MONITOR_ABORT, 0, false},
    {"stalled, nothing allowed: abort", false, false, false, false, 900, DECISION_STALLED_ABORT,
     MONITOR_ABORT, 0, false},
    {"stalled, the guest is still being slowed: wait", false, false, false, true, 900,
     DECISION_THROTTLES, MONITOR_NOTHING, 0, false},
};

static void plays_act(void **state)
{
    const struct act *row = *state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = row->disruption;
    rig.config.post_copy = row->post_copy;
    rig.config.auto_converge = row->converge;
    rig.config.max_downtime_ms = row->max_downtime_ms;
    rig.facts.vfio = row->vfio;
    start(&rig);
    up_to_stall(&rig);
    rig.in.stats.auto_converge_throttle = row->converge ? 30 : 0;
    assert_why(iteration(&rig, 60000, 500), row->why);
    assert_int_equal(rig.d.action, row->action);
    assert_int_equal(rig.d.downtime_ms, row->downtime_ms);
    assert_in_range(rig.d.estimate_ms, 4900, 5100);
    if (row->action == MONITOR_NOTHING)
        return;
    refuse(&rig);
    assert_int_equal(rig.m.budget_ms, 150000);
    assert_why(moves(&rig, 60400, 460, RATE), row->why); /* again, without a boundary */
    accept(&rig);
    assert_int_equal(rig.m.budget_ms, row->stretched ? 300000 : 150000);
    accept(&rig);
    assert_int_equal(rig.m.budget_ms, row->stretched ? 300000 : 150000);
    (void)moves(&rig, 60800, 420, RATE);
    assert_int_equal(rig.d.action, MONITOR_NOTHING);
}

static void a_guest_slowed_to_the_end_is_given_up(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.auto_converge = true;
    start(&rig);
    rig.in.stats.auto_converge_throttle = 20;
    up_to_stall(&rig); /* not raised for 40 s */
    assert_why(iteration(&rig, 60000, 500), DECISION_STALLED_ABORT);
    no_ramp(&rig);
    rig.config.auto_converge = true;
    start(&rig);
    up_to_stall(&rig);
    rig.in.stats.auto_converge_throttle = 99;
    assert_why(iteration(&rig, 60000, 500), DECISION_STALLED_ABORT);
}

/* --- the gate -------------------------------------------------------------------------------- */

static void nothing_is_begun_while_no_bytes_move(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    start(&rig);
    up_to_stall(&rig);
    assert_why(iteration(&rig, 60000, 500), DECISION_STALLED_POSTCOPY);
    refuse(&rig);
    (void)moves(&rig, 60400, 500, 0);
    (void)moves(&rig, 60800, 500, 0);
    assert_why(moves(&rig, 61200, 500, 0), DECISION_PATH_SICK);
    assert_non_null(strstr(rig.d.text, "no data is transferred"));
    assert_why(moves(&rig, 61600, 480, RATE), DECISION_STALLED_POSTCOPY);
}

static void nothing_is_begun_that_would_take_longer_than_allowed(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    rig.config.ewma_alpha = 1;
    start(&rig);
    up_to_stall(&rig);
    rig.in.stats.memory_iteration++;
    assert_why(moves(&rig, 60400, 500, 2), DECISION_PATH_SICK); /* 250 s, 239.6 are allowed */
    assert_int_equal(rig.d.estimate_ms / 1000, 250);
    rig.in.stats.memory_iteration++;
    assert_why(moves(&rig, 61000, 500, 3), DECISION_STALLED_POSTCOPY); /* 167 s */
}

/* --- late ------------------------------------------------------------------------------------ */

/* Long passes that improve until the time is up. */
static void up_to_late(struct rig *rig)
{
    for (int64_t at = 1200; at <= 150000; at += 400)
        assert_why(moves(rig, at, 900 - (uint64_t)at / 1000, RATE), DECISION_GOES_ON);
}

static const struct late {
    const char *name;
    bool disruption, post_copy, vfio;
    uint64_t left_mib; /* at 100 MiB/s */
    enum decision why;
    bool stretched;
} lates[] = {
    {"late, both allowed: post-copy", true, true, false, 700, DECISION_LATE_POSTCOPY, false},
    {"late, post-copy without disruption: abort, unlike KubeVirt", false, true, false, 700,
     DECISION_LATE, false},
    {"late, vfio: any downtime", true, true, true, 700, DECISION_LATE_HARD, true},
    {"late, disruption: any downtime", true, false, false, 700, DECISION_LATE_HARD, true},
    {"late, nothing allowed: abort", false, false, false, 700, DECISION_LATE, false},
    {"late, the rest takes too long: abort", true, true, false, 15000, DECISION_LATE, false},
    {"late, the rest just fits: post-copy", true, true, false, 14900, DECISION_LATE_POSTCOPY,
     false},
};

static void plays_late(void **state)
{
    const struct late *row = *state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = row->disruption;
    rig.config.post_copy = row->post_copy;
    rig.facts.vfio = row->vfio;
    start(&rig);
    up_to_late(&rig);
    assert_why(moves(&rig, 150400, row->left_mib, RATE), row->why);
    refuse(&rig);
    assert_int_equal(rig.m.budget_ms, 150000);
    assert_why(moves(&rig, 150800, row->left_mib - 40, RATE), row->why);
    accept(&rig);
    assert_int_equal(rig.m.budget_ms, row->stretched ? 300000 : 150000);
    (void)moves(&rig, 151200, 600, RATE);
    assert_int_equal(rig.d.action, MONITOR_NOTHING);
}

static void late_with_nothing_moving_is_given_up_after_a_moment(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    start(&rig);
    up_to_late(&rig);
    rig.m.downtime_ms = 1;
    for (int64_t at = 151200; at <= 160000; at += 400)
        assert_why(moves(&rig, at, 700, 0), DECISION_PATH_SICK);
    assert_why(moves(&rig, 160400, 700, 0), DECISION_NO_BANDWIDTH);
    assert_int_equal(rig.d.action, MONITOR_ABORT);
}

static void late_and_refused_again_and_again_ends(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    start(&rig);
    up_to_late(&rig);
    for (int64_t at = 150400; at <= 290000; at += 400) {
        assert_why(moves(&rig, at, 700, RATE), DECISION_LATE_POSTCOPY);
        refuse(&rig);
    }
    for (int64_t at = 290400; at <= 300000; at += 400)
        (void)moves(&rig, at, 700, RATE);
    assert_why(moves(&rig, 300400, 700, RATE), DECISION_LATE);
}

static void without_a_budget_there_is_no_late(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.completion_timeout = 0;
    start(&rig);
    for (int64_t at = 1200; at <= 4000000; at += 400)
        assert_why(moves(&rig, at, 900, RATE), DECISION_GOES_ON);
}

/* --- switch-over ----------------------------------------------------------------------------- */

static void ordered(struct rig *rig, bool disruption, int64_t max_downtime_ms, enum decision why)
{
    no_ramp(rig);
    rig->config.disruption = disruption;
    rig->config.max_downtime_ms = max_downtime_ms;
    start(rig);
    up_to_stall(rig);
    assert_why(iteration(rig, 60000, 500), why);
    accept(rig);
}

static void a_switch_over_that_does_not_come_is_given_up(void **state)
{
    (void)state;
    for (int hard = 0; hard < 2; hard++) {
        struct rig rig;
        ordered(&rig, hard == 1, hard ? 900 : 6000,
                hard ? DECISION_STALLED_HARD : DECISION_STALLED_SOFT);
        for (int64_t at = 60400; at <= 120000; at += 400)
            assert_why(moves(&rig, at, 500, RATE), DECISION_GOES_ON);
        assert_why(moves(&rig, 120400, 500, RATE), DECISION_LATE);
        assert_non_null(strstr(rig.d.text, "switch-over did not end"));
    }
}

static void a_guest_stopped_by_order_has_the_stretched_budget(void **state)
{
    (void)state;
    struct rig rig;
    ordered(&rig, true, 900, DECISION_STALLED_HARD);
    rig.in.stopped_by_migration = true;
    rig.in.mode = MODE_PAUSED;
    for (int64_t at = 60400; at <= 300000; at += 400)
        assert_why(moves(&rig, at, 400, RATE), DECISION_GOES_ON);
    assert_why(moves(&rig, 300400, 400, RATE), DECISION_LATE);
}

static void a_guest_stopped_without_order_has_the_time_of_a_switch_over(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    start(&rig);
    rig.in.stopped_by_migration = true;
    rig.in.has_stats = false; /* they hang in a stalled switch-over */
    for (int64_t at = 1200; at <= 61200; at += 400)
        assert_why(step(&rig, at), DECISION_NO_STATS);
    assert_why(step(&rig, 61600), DECISION_NO_BANDWIDTH);
    assert_int_equal(rig.d.action, MONITOR_ABORT);
}

static void a_stop_that_ended_is_forgotten(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stopped_by_migration = true;
    (void)moves(&rig, 1200, 10, RATE);
    rig.in.stopped_by_migration = false;
    for (int64_t at = 1600; at <= 100000; at += 400)
        assert_why(moves(&rig, at, 900, RATE), DECISION_GOES_ON);
}

/* --- dead, post-copy, abort ------------------------------------------------------------------ */

static void a_path_on_which_nothing_moves_is_given_up_within_the_window(void **state)
{
    (void)state;
    static const struct {
        int64_t window_s, limit_ms;
    } rows[] = {{40, 40000}, {60, 60000}, {0, 10000}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig rig;
        no_ramp(&rig);
        rig.config.stall_timeout = rows[i].window_s;
        start(&rig);
        rig.m.downtime_ms = 1;
        assert_why(moves(&rig, 800 + rows[i].limit_ms, 900, 0), DECISION_GOES_ON);
        assert_why(moves(&rig, 801 + rows[i].limit_ms, 900, 0), DECISION_NO_PROGRESS);
        assert_int_equal(rig.d.action, MONITOR_ABORT);
    }
}

static void no_statistics_are_no_proof_of_a_dead_path(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.has_stats = false;
    assert_why(step(&rig, 100000), DECISION_NO_STATS);
    rig.in.has_stats = true;
    assert_why(moves(&rig, 100400, 900, RATE), DECISION_GOES_ON);
    rig.in.has_stats = false;
    assert_why(step(&rig, 150400), DECISION_NO_BANDWIDTH); /* but time runs */
}

static void post_copy_has_no_limit(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.mode = MODE_POSTCOPY;
    assert_why(moves(&rig, 10000000, 900, 0), DECISION_IN_POSTCOPY);
    rig.in.has_stats = false;
    rig.in.stopped_by_migration = true;
    assert_why(step(&rig, 20000000), DECISION_IN_POSTCOPY);
}

static void a_repeated_request_is_not_a_changed_decision(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    (void)iteration(&rig, 400, 1024);
    assert_true(monitor_decision_changed(&rig.m, &rig.d)); /* the first is */
    refuse(&rig);
    (void)moves(&rig, 800, 1024, 0);
    assert_false(monitor_decision_changed(&rig.m, &rig.d));
    accept(&rig);
    (void)moves(&rig, 1200, 1024, 0);
    assert_why(rig.d.why, DECISION_GOES_ON);
    assert_true(monitor_decision_changed(&rig.m, &rig.d));
    (void)moves(&rig, 1600, 1024, 0);
    assert_false(monitor_decision_changed(&rig.m, &rig.d));
}

static void an_order_is_not_undone_by_a_hold(void **state)
{
    (void)state;
    struct rig rig;
    ordered(&rig, false, 6000, DECISION_STALLED_SOFT);
    for (int64_t at = 60400; at <= 70000; at += 400)
        assert_why(moves(&rig, at, 500, 0), DECISION_GOES_ON);
}

static void a_request_is_dropped_when_the_guest_has_stopped_by_itself(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    start(&rig);
    up_to_stall(&rig);
    assert_why(iteration(&rig, 60000, 500), DECISION_STALLED_POSTCOPY);
    refuse(&rig);
    rig.in.stopped_by_migration = true;
    assert_why(moves(&rig, 60400, 400, RATE), DECISION_GOES_ON);
}

static void the_first_decision_is_news(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig_begin(&rig, MONITOR_STALL);
    assert_why(step(&rig, 400), DECISION_GOES_ON);
    assert_true(monitor_decision_changed(&rig.m, &rig.d));
    assert_why(step(&rig, 800), DECISION_GOES_ON);
    assert_false(monitor_decision_changed(&rig.m, &rig.d));
}

TEST_FILE(test_monitor_remedy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_slowed_to_the_end_is_given_up),
        cmocka_unit_test(nothing_is_begun_while_no_bytes_move),
        cmocka_unit_test(nothing_is_begun_that_would_take_longer_than_allowed),
        cmocka_unit_test(late_with_nothing_moving_is_given_up_after_a_moment),
        cmocka_unit_test(late_and_refused_again_and_again_ends),
        cmocka_unit_test(without_a_budget_there_is_no_late),
        cmocka_unit_test(a_switch_over_that_does_not_come_is_given_up),
        cmocka_unit_test(a_guest_stopped_by_order_has_the_stretched_budget),
        cmocka_unit_test(a_guest_stopped_without_order_has_the_time_of_a_switch_over),
        cmocka_unit_test(a_stop_that_ended_is_forgotten),
        cmocka_unit_test(a_path_on_which_nothing_moves_is_given_up_within_the_window),
        cmocka_unit_test(no_statistics_are_no_proof_of_a_dead_path),
        cmocka_unit_test(an_order_is_not_undone_by_a_hold),
        cmocka_unit_test(a_request_is_dropped_when_the_guest_has_stopped_by_itself),
        cmocka_unit_test(the_first_decision_is_news),
        cmocka_unit_test(post_copy_has_no_limit),
        cmocka_unit_test(a_repeated_request_is_not_a_changed_decision),
    };
    struct CMUnitTest told[COUNT(acts) + COUNT(lates)];
    for (size_t i = 0; i < COUNT(acts); i++)
        told[i] =
            (struct CMUnitTest){acts[i].name, plays_act, NULL, NULL, (void *)(uintptr_t)&acts[i]};
    for (size_t i = 0; i < COUNT(lates); i++)
        told[COUNT(acts) + i] = (struct CMUnitTest){lates[i].name, plays_late, NULL, NULL,
                                                    (void *)(uintptr_t)&lates[i]};
    return cmocka_run_group_tests_name("rows", told, NULL, NULL) +
           cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
