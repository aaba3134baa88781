/* test_monitor_legacy.c - every row of KubeVirt's default algorithm, quirks included. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/test_monitor_world.h"

static void fresh(struct rig *rig)
{
    rig_default(rig);
    rig_begin(rig, MONITOR_LEGACY);
}

static void assert_why(enum decision is, enum decision should)
{
    assert_string_equal(decision_name(is), decision_name(should));
}

static void a_gibibyte_is_begun_units_of_a_billion(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory, disk;
        int64_t per, budget_s;
    } rows[] = {
        {GIB, 0, 150, 300},
        {4 * GIB, 0, 150, 750},
        {64 * GIB, 0, 150, 10350},
        {1000000000, 0, 150, 150},
        {1000000001, 0, 150, 300},
        {GIB, 4 * GIB, 150, 900},
        {0, 0, 150, 0},
        {GIB, 0, 0, 0},
        {600000000, 400000000, 10, 10},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rig rig;
        rig_default(&rig);
        rig.facts.memory_bytes = rows[i].memory;
        rig.facts.disk_bytes = rows[i].disk;
        rig.config.completion_timeout = rows[i].per;
        rig_begin(&rig, MONITOR_LEGACY);
        assert_int_equal(rig.m.budget_ms, rows[i].budget_s * 1000);
    }
}

/* Any decrease since the sample before is progress; the mark follows the sample both ways. */
static void progress_is_less_than_the_sample_before(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    static const struct {
        int64_t at_ms;
        uint64_t remaining;
        int64_t progress_ms;
    } rows[] =
        {
            {400, 100, 400},   {800, 100, 400},   {1200, 200, 400},
            {1600, 199, 1600}, {2000, 900, 1600}, {2400, 899, 2400},
            {2800, 0, 2800},   {3200, 500, 3200}, /* none left is taken for no mark yet */
            {3600, 500, 3200},
        };
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig.in.stats.data_remaining = rows[i].remaining;
        assert_why(step(&rig, rows[i].at_ms), DECISION_GOES_ON);
        assert_int_equal(rig.m.progress_ms, rows[i].progress_ms);
        assert_int_equal(rig.m.watermark, rows[i].remaining);
    }
}

static void without_progress_it_is_given_up_after_more_than_the_timeout(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stats.data_remaining = 812 * MIB;
    rig.in.stats.memory_dirty_rate = 95 * MIB / 4096;
    assert_why(step(&rig, 400), DECISION_GOES_ON);
    for (int i = 1; i <= 150; i++) {
        rig.in.stats.data_processed = (uint64_t)i * 40 * MIB;
        assert_why(step(&rig, 400 + i * 1000), DECISION_GOES_ON);
    }
    assert_why(step(&rig, 151399), DECISION_GOES_ON); /* 150 whole seconds are not more than 150 */
    assert_why(step(&rig, 151400), DECISION_NO_PROGRESS);
    assert_int_equal(rig.d.action, MONITOR_ABORT);
    assert_non_null(strstr(rig.d.text, "aborting: no progress for 151 s; remaining 812 MiB, "));
    assert_non_null(strstr(rig.d.text, "dirty rate 95 MiB/s, completion timeout 300 s"));
    assert_int_equal(rig.d.remaining, 812 * MIB);
    assert_int_equal(rig.d.budget_ms, 300000);
}

static void no_progress_timeout_means_never(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.stats.data_remaining = 5;
    assert_why(step(&rig, 400), DECISION_GOES_ON);
    assert_why(step(&rig, 300999), DECISION_GOES_ON);
    assert_why(step(&rig, 301000), DECISION_LATE);
}

static void inputs_without_statistics_do_not_count_as_progress(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.has_stats = false;
    assert_why(step(&rig, 400), DECISION_NO_STATS);
    assert_why(step(&rig, 150999), DECISION_NO_STATS);
    assert_why(step(&rig, 151000), DECISION_NO_PROGRESS);
}

/* A guest that oscillates is believed until its time is up. */
static void make_late(struct rig *rig, int64_t until_ms)
{
    for (int64_t at = 400; at <= until_ms; at += 400) {
        rig->in.stats.data_remaining = (at / 400) % 2 == 0 ? 100 * MIB : 200 * MIB;
        assert_why(step(rig, at), DECISION_GOES_ON);
    }
}

static const struct late {
    const char *name;
    bool disruption, post_copy, vfio;
    enum decision why;
    enum monitor_action action;
    int64_t downtime_ms, budget_after_s;
} lates[] = {
    {"late, nothing allowed: abort", false, false, false, DECISION_LATE, MONITOR_ABORT, 0, 300},
    {"late, post-copy allowed but disruption not: abort", false, true, false, DECISION_LATE,
     MONITOR_ABORT, 0, 300},
    {"late, vfio but disruption not: abort", false, false, true, DECISION_LATE, MONITOR_ABORT, 0,
     300},
    {"late, both allowed: post-copy", true, true, false, DECISION_LATE_POSTCOPY, MONITOR_POSTCOPY,
     0, 300},
    {"late, both allowed, vfio: large downtime", true, true, true, DECISION_LATE_VFIO,
     MONITOR_SET_DOWNTIME, 600000, 600},
    {"late, disruption, vfio: large downtime", true, false, true, DECISION_LATE_VFIO,
     MONITOR_SET_DOWNTIME, 600000, 600},
    {"late, disruption: pause", true, false, false, DECISION_LATE_PAUSE, MONITOR_PAUSE, 0, 600},
};

static void plays_late(void **state)
{
    const struct late *row = *state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = row->disruption;
    rig.config.post_copy = row->post_copy;
    rig.facts.vfio = row->vfio;
    rig_begin(&rig, MONITOR_LEGACY);
    make_late(&rig, 300800); /* 300 whole seconds are not more than 300 */
    assert_why(step(&rig, 301000), row->why);
    assert_int_equal(rig.d.action, row->action);
    assert_int_equal(rig.d.downtime_ms, row->downtime_ms);
    refuse(&rig); /* wished again, nothing changed */
    assert_int_equal(rig.m.budget_ms, 300000);
    assert_why(step(&rig, 301400), row->why);
    accept(&rig);
    assert_int_equal(rig.m.budget_ms, row->budget_after_s * 1000);
    accept(&rig); /* told twice: doubled once */
    assert_int_equal(rig.m.budget_ms, row->budget_after_s * 1000);
    assert_int_not_equal(step(&rig, 301800), row->why);
    assert_int_equal(rig.d.action, MONITOR_NOTHING);
}

static void a_large_downtime_has_a_limit(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = rig.facts.vfio = true;
    rig.config.progress_timeout = 0;
    rig.facts.memory_bytes = 64 * GIB;
    rig_begin(&rig, MONITOR_LEGACY);
    assert_why(step(&rig, 10351000), DECISION_LATE_VFIO);
    assert_int_equal(rig.d.downtime_ms, 2000000);
}

static void a_pause_has_one_more_budget_counted_from_the_start(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = true;
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    assert_why(step(&rig, 301000), DECISION_LATE_PAUSE);
    accept(&rig);
    assert_why(step(&rig, 301400), DECISION_GOES_ON); /* also before the mode is known */
    rig.in.mode = MODE_PAUSED;
    assert_why(step(&rig, 600999), DECISION_GOES_ON);
    assert_why(step(&rig, 601000), DECISION_LATE);
}

static void a_pause_is_not_ordered_twice_while_the_mode_is_not_known(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = true;
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    assert_why(step(&rig, 301000), DECISION_LATE_PAUSE);
    accept(&rig);
    assert_why(step(&rig, 601000), DECISION_LATE);
}

static void a_guest_paused_already_is_not_paused_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = true;
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.mode = MODE_PAUSED;
    assert_why(step(&rig, 301000), DECISION_LATE);
}

static void a_paused_guest_without_progress_is_given_up(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = true;
    rig_begin(&rig, MONITOR_LEGACY);
    make_late(&rig, 300800);
    assert_why(step(&rig, 301000), DECISION_LATE_PAUSE);
    accept(&rig);
    rig.in.stats.data_remaining = 300 * MIB;
    assert_why(step(&rig, 302000), DECISION_GOES_ON);
    assert_why(step(&rig, 450999), DECISION_GOES_ON);
    assert_why(step(&rig, 451800), DECISION_NO_PROGRESS);
}

/* Post-copy comes before progress: what would be given up for standing still is moved instead. */
static void late_comes_before_stuck(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.config.disruption = rig.config.post_copy = true;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.stats.data_remaining = 7;
    assert_why(step(&rig, 400), DECISION_GOES_ON);
    assert_why(step(&rig, 301000), DECISION_LATE_POSTCOPY);
}

static void post_copy_has_no_limit(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.mode = MODE_POSTCOPY;
    assert_why(step(&rig, 1000000000), DECISION_IN_POSTCOPY);
    rig.in.has_stats = false;
    assert_why(step(&rig, 2000000000), DECISION_IN_POSTCOPY);
}

static void an_abort_is_requested_once_and_again_when_it_failed(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stats.data_remaining = 7;
    (void)step(&rig, 0);
    assert_why(step(&rig, 151000), DECISION_NO_PROGRESS);
    assert_why(step(&rig, 151400), DECISION_NO_PROGRESS); /* nobody said it was accepted */
    accept(&rig);
    assert_why(step(&rig, 151800), DECISION_ABORTING);
    rig.in.abort_under_way = true;
    assert_why(step(&rig, 152200), DECISION_ABORTING);
    rig.in.abort_under_way = false;
    assert_why(step(&rig, 152600), DECISION_NO_PROGRESS); /* it failed */
    accept(&rig);
    assert_why(step(&rig, 182600), DECISION_ABORTING);
    assert_why(step(&rig, 182601), DECISION_NO_PROGRESS); /* never seen under way */
}

static void somebody_elses_abort_is_not_disturbed(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.abort_under_way = true;
    assert_why(step(&rig, 400000), DECISION_ABORTING);
    rig.in.abort_under_way = false;
    rig.in.has_stats = false;
    assert_why(step(&rig, 400400), DECISION_NO_PROGRESS);
}

static void the_ramp_is_kubevirts(void **state)
{
    (void)state;
    static const int64_t steps[] = {150, 257, 364, 471, 578, 685, 792, 899, 900};
    struct rig rig;
    rig_default(&rig);
    rig.facts.tuning = true;
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.has_stats = false;
    assert_why(step(&rig, 0), DECISION_FIRST_DOWNTIME); /* at the first look, whatever it shows */
    assert_int_equal(rig.d.downtime_ms, steps[0]);
    refuse(&rig);
    assert_why(step(&rig, 400), DECISION_FIRST_DOWNTIME);
    accept(&rig);
    rig.in.has_stats = true;
    rig.in.stats.memory_iteration = 2;
    assert_why(step(&rig, 20000), DECISION_GOES_ON); /* too early a pass */
    rig.in.stats.memory_iteration = 3;
    int64_t at_ms = 20000;
    for (size_t i = 1; i < COUNT(steps); i++) {
        assert_why(step(&rig, at_ms), DECISION_MORE_DOWNTIME);
        assert_int_equal(rig.d.downtime_ms, steps[i]);
        refuse(&rig);
        assert_why(step(&rig, at_ms), DECISION_MORE_DOWNTIME);
        assert_int_equal(rig.d.downtime_ms, steps[i]);
        accept(&rig);
        assert_why(step(&rig, at_ms + 9999), DECISION_GOES_ON);
        at_ms += 10000;
    }
    assert_why(step(&rig, at_ms + 60000), DECISION_GOES_ON);
}

static void the_ramp_begins_no_higher_than_it_may_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.facts.tuning = true;
    rig.config.max_downtime_ms = 100;
    rig_begin(&rig, MONITOR_LEGACY);
    assert_why(step(&rig, 0), DECISION_FIRST_DOWNTIME);
    assert_int_equal(rig.d.downtime_ms, 100);
    accept(&rig);
    rig.in.stats.memory_iteration = 9;
    assert_why(step(&rig, 50000), DECISION_GOES_ON);
}

static void small_steps_are_at_least_one(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.facts.tuning = true;
    rig.config.max_downtime_ms = 152;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.stats.memory_iteration = 3;
    (void)step(&rig, 0);
    accept(&rig);
    assert_why(step(&rig, 10000), DECISION_MORE_DOWNTIME);
    assert_int_equal(rig.d.downtime_ms, 151);
    accept(&rig);
    assert_why(step(&rig, 20000), DECISION_MORE_DOWNTIME); /* the same reason, another order */
    assert_true(monitor_decision_changed(&rig.m, &rig.d));
}

static void without_tuning_the_downtime_is_left_alone(void **state)
{
    (void)state;
    struct rig rig;
    fresh(&rig);
    rig.in.stats.memory_iteration = 5;
    rig.in.stats.data_remaining = 9;
    for (int64_t at = 0; at < 100000; at += 400)
        assert_why(step(&rig, at), DECISION_GOES_ON);
}

static void the_ramp_does_not_undo_a_large_downtime(void **state)
{
    (void)state;
    struct rig rig;
    rig_default(&rig);
    rig.facts.tuning = rig.facts.vfio = rig.config.disruption = true;
    rig.config.progress_timeout = 0;
    rig_begin(&rig, MONITOR_LEGACY);
    rig.in.stats.memory_iteration = 5;
    (void)step(&rig, 0);
    accept(&rig);
    assert_why(step(&rig, 301000), DECISION_LATE_VFIO);
    accept(&rig);
    assert_why(step(&rig, 340000), DECISION_GOES_ON);
}

static void every_decision_has_a_name_of_its_own_and_comes_back(void **state)
{
    (void)state;
    for (enum decision i = 0; i < DECISION_COUNT; i++) {
        assert_int_equal(decision_from_name(decision_name(i)), i);
        assert_true(strlen(decision_help(i)) > 0);
        assert_true(strlen(monitor_action_name(decision_action(i))) > 0);
    }
    assert_int_equal(decision_from_name("no such"), DECISION_COUNT);
    assert_int_equal(decision_from_name(NULL), DECISION_COUNT);
}

TEST_FILE(test_monitor_legacy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gibibyte_is_begun_units_of_a_billion),
        cmocka_unit_test(progress_is_less_than_the_sample_before),
        cmocka_unit_test(without_progress_it_is_given_up_after_more_than_the_timeout),
        cmocka_unit_test(no_progress_timeout_means_never),
        cmocka_unit_test(inputs_without_statistics_do_not_count_as_progress),
        cmocka_unit_test(a_large_downtime_has_a_limit),
        cmocka_unit_test(a_pause_has_one_more_budget_counted_from_the_start),
        cmocka_unit_test(a_pause_is_not_ordered_twice_while_the_mode_is_not_known),
        cmocka_unit_test(a_guest_paused_already_is_not_paused_again),
        cmocka_unit_test(a_paused_guest_without_progress_is_given_up),
        cmocka_unit_test(late_comes_before_stuck),
        cmocka_unit_test(post_copy_has_no_limit),
        cmocka_unit_test(an_abort_is_requested_once_and_again_when_it_failed),
        cmocka_unit_test(somebody_elses_abort_is_not_disturbed),
        cmocka_unit_test(the_ramp_is_kubevirts),
        cmocka_unit_test(the_ramp_begins_no_higher_than_it_may_end),
        cmocka_unit_test(small_steps_are_at_least_one),
        cmocka_unit_test(without_tuning_the_downtime_is_left_alone),
        cmocka_unit_test(the_ramp_does_not_undo_a_large_downtime),
        cmocka_unit_test(every_decision_has_a_name_of_its_own_and_comes_back),
    };
    struct CMUnitTest told[COUNT(lates)];
    for (size_t i = 0; i < COUNT(lates); i++)
        told[i] = (struct CMUnitTest){lates[i].name, plays_late, NULL, NULL,
                                      (void *)(uintptr_t)&lates[i]};
    return cmocka_run_group_tests_name("late", told, NULL, NULL) +
           cmocka_run_group_tests_name("legacy", tests, NULL, NULL);
}
