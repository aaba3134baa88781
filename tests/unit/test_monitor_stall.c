/* test_monitor_stall.c - the stall detector's budget, downtime, bandwidth and detection; what it
 * does then is in test_monitor_remedy.c. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/test_monitor_iterations.h"

/* --- budget ---------------------------------------------------------------------------------- */

static void a_gibibyte_is_2_to_the_30(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory;
        int64_t budget_s;
    } rows[] = {{GIB, 150}, {GIB + 1, 300}, {4 * GIB, 600}, {64 * GIB, 9600}, {0, 0}, {1, 150}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig rig;
        rig_default(&rig);
        rig.facts.memory_bytes = rows[i].memory;
        rig_begin(&rig, MONITOR_STALL);
        assert_int_equal(rig.m.budget_ms, rows[i].budget_s * 1000);
    }
}

static void disks_have_a_budget_of_their_own(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.facts.disk_bytes = 2 * GIB;
    rig_begin(&rig, MONITOR_STALL);
    assert_int_equal(rig.m.budget_ms, 300000);
    for (int64_t at = 400; at <= 290000; at += 400)
        assert_why(moves(&rig, at, 900, RATE), DECISION_GOES_ON);
    assert_why(iteration(&rig, 290400, 1024), DECISION_HOLDS_DOWNTIME); /* memory begins: its own */
    accept(&rig);
    assert_int_equal(rig.m.budget_ms, 150000);
    for (int64_t at = 290800; at <= 440400; at += 400)
        assert_int_equal((moves(&rig, at, 900, RATE), rig.d.action == MONITOR_ABORT), false);
    assert_why(moves(&rig, 440800, 900, RATE), DECISION_LATE);
}

static void disks_over_their_budget_are_given_up_not_post_copied(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.facts.disk_bytes = GIB;
    rig.config.disruption = rig.config.post_copy = true;
    rig_begin(&rig, MONITOR_STALL);
    for (int64_t at = 400; at <= 150000; at += 400)
        assert_why(moves(&rig, at, 900, RATE), DECISION_GOES_ON);
    assert_why(moves(&rig, 150400, 900, RATE), DECISION_LATE);
}

/* --- downtime -------------------------------------------------------------------------------- */

static void the_downtime_is_held_until_bytes_move(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    assert_why(moves(&rig, 400, 1024, 0), DECISION_GOES_ON); /* no pass yet: too early to ask */
    assert_why(iteration(&rig, 800, 1024), DECISION_HOLDS_DOWNTIME);
    assert_int_equal(rig.d.downtime_ms, 1);
    refuse(&rig);
    assert_why(moves(&rig, 1200, 1024, 0), DECISION_HOLDS_DOWNTIME);
    accept(&rig);
    assert_why(moves(&rig, 1600, 1024, 0), DECISION_GOES_ON);
    assert_why(moves(&rig, 2000, 1000, RATE), DECISION_FIRST_DOWNTIME);
    assert_int_equal(rig.d.downtime_ms, 300);
    refuse(&rig);
    assert_why(moves(&rig, 2400, 1000, 0), DECISION_GOES_ON); /* only while they move */
    assert_why(moves(&rig, 2800, 900, RATE), DECISION_FIRST_DOWNTIME);
    accept(&rig);
    assert_why(moves(&rig, 3200, 800, RATE), DECISION_GOES_ON);
}

static void bytes_of_disks_do_not_open_the_hold(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.facts.disk_bytes = GIB;
    rig_begin(&rig, MONITOR_STALL);
    assert_why(moves(&rig, 400, 1024, RATE), DECISION_GOES_ON);
    assert_why(moves(&rig, 800, 1024, RATE), DECISION_GOES_ON);
    assert_why(iteration(&rig, 1200, 1024), DECISION_HOLDS_DOWNTIME);
}

static void the_first_step_is_no_more_than_allowed(void **state)
{
    (void)state;
    static const int64_t allowed[] = {1, 100, 300, 900}, first[] = {1, 100, 300, 300};
    for (size_t i = 0; i < COUNT(allowed); i++) {
        struct rig rig;
        no_ramp(&rig);
        rig.config.max_downtime_ms = allowed[i];
        rig_begin(&rig, MONITOR_STALL);
        assert_why(iteration(&rig, 400, 1024), DECISION_HOLDS_DOWNTIME);
        refuse(&rig); /* bytes move: the hold is not asked for any more */
        assert_why(moves(&rig, 800, 900, RATE), DECISION_FIRST_DOWNTIME);
        assert_int_equal(rig.d.downtime_ms, first[i]);
        accept(&rig);
        assert_why(moves(&rig, 1200, 900, RATE), DECISION_GOES_ON);
    }
}

static void max_downtime_is_held_while_no_bytes_move(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    assert_why(moves(&rig, 2800, 900, 0), DECISION_GOES_ON);
    assert_why(moves(&rig, 3200, 900, 0), DECISION_HOLDS_DOWNTIME); /* more than 2 s */
    accept(&rig);
    assert_why(moves(&rig, 3600, 900, 0), DECISION_GOES_ON);
    assert_why(moves(&rig, 4000, 900, RATE), DECISION_MORE_DOWNTIME);
    assert_int_equal(rig.d.downtime_ms, 300); /* where it was */
    accept(&rig);
    assert_why(moves(&rig, 4400, 900, RATE), DECISION_GOES_ON);
}

static void the_ramp_is_for_what_does_not_converge(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.stall_timeout = 10000;
    start(&rig);
    assert_why(iteration(&rig, 20000, 400), DECISION_GOES_ON);
    assert_why(iteration(&rig, 40000, 200), DECISION_GOES_ON);       /* it gets less: let it */
    assert_why(iteration(&rig, 60000, 195), DECISION_MORE_DOWNTIME); /* by less than the margin */
    assert_int_equal(rig.d.downtime_ms, 300 + 600 / 7);
    refuse(&rig);
    assert_why(moves(&rig, 60400, 190, 0), DECISION_GOES_ON); /* only while bytes move */
    assert_why(moves(&rig, 60800, 190, RATE), DECISION_MORE_DOWNTIME);
    accept(&rig);
    assert_why(moves(&rig, 70799, 100, RATE), DECISION_GOES_ON); /* it cools down */
    assert_why(moves(&rig, 70800, 100, RATE), DECISION_MORE_DOWNTIME);
    accept(&rig);
    for (int64_t at = 81000, was = rig.d.downtime_ms; was < 900; at += 10000) {
        assert_why(iteration(&rig, at, 195), DECISION_MORE_DOWNTIME);
        assert_in_range(rig.d.downtime_ms, was + 1, 900);
        was = rig.d.downtime_ms;
        accept(&rig);
    }
    assert_why(iteration(&rig, 149000, 195), DECISION_GOES_ON);
}

static void the_ramp_waits_for_its_pass(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    start(&rig);
    assert_why(iteration(&rig, 20000, 1024), DECISION_GOES_ON); /* pass 2 */
    assert_why(iteration(&rig, 30000, 1024), DECISION_MORE_DOWNTIME);
}

static void the_downtime_of_a_guest_that_stands_still_is_left_alone(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    rig.in.stopped_by_migration = true;
    assert_why(iteration(&rig, 400, 10), DECISION_GOES_ON);
    rig.in.stopped_by_migration = false;
    rig.in.mode = MODE_PAUSED;
    assert_why(moves(&rig, 800, 10, 0), DECISION_GOES_ON);
}

/* --- bandwidth ------------------------------------------------------------------------------- */

static void bandwidth_is_what_moved_not_what_is_said(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stats.memory_bps = 999 * MIB;
    (void)moves(&rig, 1200, 900, RATE);
    assert_in_range(rig.m.flow.bandwidth, 99 * MIB, 101 * MIB);
    (void)moves(&rig, 1600, 900, 200); /* 0.4 of it */
    assert_in_range(rig.m.flow.bandwidth, 139 * MIB, 141 * MIB);
    (void)moves(&rig, 1700, 900, 5000); /* too short to tell */
    assert_in_range(rig.m.flow.bandwidth, 139 * MIB, 141 * MIB);
    (void)moves(&rig, 2000, 900, 0);
    double before = rig.m.flow.bandwidth;
    (void)moves(&rig, 2400, 900, 0);
    assert_in_range(rig.m.flow.bandwidth, before * 0.59, before * 0.61);
    for (int64_t at = 2800; at < 40000; at += 400)
        (void)moves(&rig, at, 900, 0);
    assert_true(rig.m.flow.bandwidth < 1);
}

static void counters_that_begin_anew_are_no_bandwidth(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    (void)moves(&rig, 1200, 900, RATE);
    rig.in.stats.data_processed = 0;
    (void)moves(&rig, 1600, 900, 0);
    (void)moves(&rig, 2000, 900, RATE);
    assert_in_range(rig.m.flow.bandwidth, 90 * MIB, 110 * MIB);
}

/* --- detection ------------------------------------------------------------------------------- */

static void a_pass_no_better_than_one_before_the_window_is_a_stall(void **state)
{
    (void)state;
    static const struct {
        uint64_t left;
        bool stalled;
    } rows[] = {{500, true}, {900, true}, {481, true}, {480, true}, {479, false}, {100, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig rig;
        fresh(&rig);
        up_to_stall(&rig);
        (void)iteration(&rig, 60000, rows[i].left);
        assert_int_equal(rig.m.stalled, rows[i].stalled);
    }
}

static void what_is_within_the_window_is_no_stall(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    (void)iteration(&rig, 10000, 500);
    accept(&rig);
    for (int64_t at = 20000; at <= 50000; at += 10000) {
        (void)iteration(&rig, at, 500);
        assert_false(rig.m.stalled);
    }
    (void)iteration(&rig, 50001, 500);
    assert_true(rig.m.stalled);
}

static void a_stall_is_decided_only_where_an_iteration_begins(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    up_to_stall(&rig);
    assert_why(moves(&rig, 60000, 500, RATE), DECISION_GOES_ON);
    assert_false(rig.m.stalled);
    assert_int_equal(rig.m.watermark, 500 * MIB); /* 10 MiB within a pass is no low water */
}

static void without_bandwidth_there_is_no_stall(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    for (int64_t at = 10000; at <= 30000; at += 10000) {
        rig.in.stats.memory_iteration++;
        (void)moves(&rig, at, 500, 0);
    }
    rig.m.minima[0].at_ms = 0;
    rig.m.flow.processed_ms = 30000; /* not dead yet */
    rig.in.stats.memory_iteration++;
    (void)moves(&rig, 50000, 500, 0);
    assert_true(rig.m.has_outside);
    assert_false(rig.m.stalled);
}

/* A busy host takes long to prepare a migration; only what samples show is quiet. */
static void a_late_first_sample_is_no_lack_of_progress(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig_begin(&rig, MONITOR_STALL);
    assert_why(moves(&rig, 90000, 1024, 0), DECISION_GOES_ON);
    for (int64_t at = 90400; at <= 150000 && rig.d.action != MONITOR_ABORT; at += 400)
        (void)moves(&rig, at, 1024, 0);
    assert_int_equal(rig.d.why, DECISION_NO_PROGRESS);
    int64_t limit_ms = (int64_t)(rig.config.stall_timeout * 1000);
    limit_ms = limit_ms > MONITOR_DEAD_MS ? limit_ms : MONITOR_DEAD_MS;
    assert_in_range(rig.d.elapsed_ms, 90000 + limit_ms, 90400 + limit_ms);
}

static void a_stall_is_not_taken_back(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    start(&rig);
    up_to_stall(&rig);
    (void)iteration(&rig, 60000, 900);
    assert_true(rig.m.stalled);
    assert_int_equal(rig.m.watermark, 500 * MIB); /* the least, not the newest */
    assert_int_equal(rig.m.progress_ms, 10000);
    (void)iteration(&rig, 61000, 1);
    assert_true(rig.m.stalled);
}

/* --- waiting for a good moment --------------------------------------------------------------- */

static void a_good_moment_is_waited_for_with_less_and_less_patience(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = true;
    rig.config.completion_timeout = 10000;
    start(&rig);
    up_to_stall(&rig);
    assert_why(iteration(&rig, 60000, 521), DECISION_WAITS_FOR_MINIMUM);   /* best is 500, + 4 % */
    assert_why(moves(&rig, 60400, 400, RATE), DECISION_WAITS_FOR_MINIMUM); /* no boundary */
    assert_why(iteration(&rig, 70000, 700), DECISION_WAITS_FOR_MINIMUM);
    assert_why(iteration(&rig, 80000, 600), DECISION_WAITS_FOR_MINIMUM);
    assert_why(iteration(&rig, 99999, 800), DECISION_WAITS_FOR_MINIMUM);
    assert_why(iteration(&rig, 100000, 900),
               DECISION_WAITS_FOR_MINIMUM); /* 40 s: best is now 600 */
    assert_int_equal(rig.m.best, 600 * MIB);
    assert_int_equal(rig.m.patience_ms, 20000);
    assert_why(iteration(&rig, 119999, 900), DECISION_WAITS_FOR_MINIMUM);
    assert_int_equal(rig.m.best, 600 * MIB);
    assert_why(iteration(&rig, 120000, 900), DECISION_WAITS_FOR_MINIMUM); /* 20 s more: 700 */
    assert_int_equal(rig.m.best, 700 * MIB);
    assert_int_equal(rig.m.patience_ms, 10000);
    assert_why(iteration(&rig, 121000, 728), DECISION_STALLED_HARD);
}

static void a_good_moment_is_taken_at_once(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = true;
    start(&rig);
    up_to_stall(&rig);
    assert_why(iteration(&rig, 60000, 521), DECISION_WAITS_FOR_MINIMUM);
    assert_why(iteration(&rig, 62000, 520), DECISION_STALLED_HARD);
}

static void without_the_search_any_moment_will_do(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = true;
    rig.config.local_minima = false;
    start(&rig);
    up_to_stall(&rig);
    assert_why(iteration(&rig, 60000, 1000), DECISION_STALLED_HARD);
}

static void the_best_moment_may_be_within_the_window(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = true;
    start(&rig);
    for (int64_t at = 10000; at <= 50000; at += 10000)
        assert_why(iteration(&rig, at, at == 30000 ? 470 : 500), DECISION_GOES_ON);
    assert_why(iteration(&rig, 60000, 500), DECISION_WAITS_FOR_MINIMUM);
    assert_int_equal(rig.m.best, 470 * MIB);
}

static void only_so_many_moments_are_kept_and_the_best_of_them(void **state)
{
    (void)state;
    struct rig rig;
    no_ramp(&rig);
    rig.config.disruption = true;
    start(&rig);
    up_to_stall(&rig);
    for (uint64_t i = 0; i < 2 * MONITOR_LATER_MAX; i++)
        assert_why(iteration(&rig, 60000 + (int64_t)i, 600 + i * 7 % 400),
                   DECISION_WAITS_FOR_MINIMUM);
    assert_why(iteration(&rig, 61000, 1010),
               DECISION_WAITS_FOR_MINIMUM); /* worse than all of them */
    assert_int_equal(rig.m.n_later, MONITOR_LATER_MAX);
    assert_true(rig.m.later[MONITOR_LATER_MAX - 1] < 1010 * MIB);
    for (size_t i = 1; i < rig.m.n_later; i++)
        assert_true(rig.m.later[i - 1] <= rig.m.later[i]);
    assert_int_equal(rig.m.later[0], 600 * MIB);
    assert_in_range(rig.m.n_minima, 1, MONITOR_MINIMA_MAX);
}

static void a_pass_is_about_memory_not_about_disks(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stats.data_remaining = 9 * GIB;
    rig.in.stats.memory_remaining = GIB / 2;
    (void)step(&rig, 1200);
    assert_int_equal(rig.d.remaining, GIB / 2);
}

static void what_a_stopped_guest_leaves_is_no_low_water(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stopped_by_migration = true;
    (void)iteration(&rig, 2000, 1);
    assert_int_equal(rig.m.watermark, GIB);
}

TEST_FILE(test_monitor_stall)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gibibyte_is_2_to_the_30),
        cmocka_unit_test(disks_have_a_budget_of_their_own),
        cmocka_unit_test(disks_over_their_budget_are_given_up_not_post_copied),
        cmocka_unit_test(the_downtime_is_held_until_bytes_move),
        cmocka_unit_test(bytes_of_disks_do_not_open_the_hold),
        cmocka_unit_test(the_first_step_is_no_more_than_allowed),
        cmocka_unit_test(max_downtime_is_held_while_no_bytes_move),
        cmocka_unit_test(the_ramp_is_for_what_does_not_converge),
        cmocka_unit_test(the_ramp_waits_for_its_pass),
        cmocka_unit_test(the_downtime_of_a_guest_that_stands_still_is_left_alone),
        cmocka_unit_test(bandwidth_is_what_moved_not_what_is_said),
        cmocka_unit_test(counters_that_begin_anew_are_no_bandwidth),
        cmocka_unit_test(a_pass_no_better_than_one_before_the_window_is_a_stall),
        cmocka_unit_test(what_is_within_the_window_is_no_stall),
        cmocka_unit_test(a_stall_is_decided_only_where_an_iteration_begins),
        cmocka_unit_test(without_bandwidth_there_is_no_stall),
        cmocka_unit_test(the_best_moment_may_be_within_the_window),
        cmocka_unit_test(only_so_many_moments_are_kept_and_the_best_of_them),
        cmocka_unit_test(a_pass_is_about_memory_not_about_disks),
        cmocka_unit_test(what_a_stopped_guest_leaves_is_no_low_water),
        cmocka_unit_test(a_late_first_sample_is_no_lack_of_progress),
        cmocka_unit_test(a_stall_is_not_taken_back),
        cmocka_unit_test(a_good_moment_is_waited_for_with_less_and_less_patience),
        cmocka_unit_test(a_good_moment_is_taken_at_once),
        cmocka_unit_test(without_the_search_any_moment_will_do),
    };
    return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
