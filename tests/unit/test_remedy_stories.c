/* test_remedy_stories.c - stall remedies in the life of a migration. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/recovery.h"
#include "engine/data/remedy.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static void stops_for_the_switch(struct core_world *w)
{
    w->source = CORE_SWITCHING;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_MIGRATED);
}

static void goes_on_at_the_source(struct core_world *w)
{
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, 0);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
}

static void disks_that_stand_still_are_yanked_before_any_abort(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall(w, 3600);
    assert_int_equal(core_remedies(w), 0);
    core_stall_until(w, HV_CALL_YANK, 1, 2000); /* libvirt's patience may be 6 s */
    assert_int_equal(w->aborts, 0);
    assert_int_equal(core_job(w)->wait.pending, PENDING_STALLED);
    assert_true(core_intents(w, "yank") == 1 &&
                core_count_events(w, "StreamStalled", "disks") == 1);
    core_answers(w, HV_CALL_YANK, ERR_NONE);
    goes_on_at_the_source(w);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "breaking the streams"));
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
    core_free(w);
}

static void a_yank_that_did_not_help_is_tried_again_not_sooner_than_its_limit(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall_until(w, HV_CALL_YANK, 1, 6000);
    core_answers(w, HV_CALL_YANK, ERR_HYPERVISOR);
    assert_int_equal(core_count_events(w, "RemedyFailed", "yank at h1"), 1);
    core_stall(w, REMEDY_AGAIN_MS - 800);
    assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
    core_stall_until(w, HV_CALL_YANK, 2, 2400);
    core_stall(w, 20000); /* that one is not answered: no other is given */
    assert_int_equal(core_orders(w, HV_CALL_YANK), 2);
    core_free(w);
}

static void an_abort_that_would_freeze_the_guest_becomes_a_yank(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall(w, 2400);
    core_cancel(w);
    assert_int_equal(w->aborts, 0);
    assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
    core_answers(w, HV_CALL_YANK, ERR_NONE);
    assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_job(w)->abort.status, ABORT_SUCCEEDED);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void an_abort_of_disks_that_move_is_an_abort(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_flow(w, 2000);
    core_cancel(w);
    assert_int_equal(w->aborts, 0); /* the newest bytes may have been the last */
    core_flow(w, 1600);
    assert_int_equal(w->aborts, 1);
    assert_int_equal(core_orders(w, HV_CALL_YANK), 0);
    core_free(w);
}

/* Cut a moment before it is asked for: by the last sample all is well. */
static void an_abort_right_after_a_cut_freezes_no_guest(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_flow(w, 2000);
    core_cancel(w);
    core_stall(w, 1600);
    assert_int_equal(w->aborts, 0);
    assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
    core_free(w);
}

static void an_abort_yanked_by_an_earlier_process_was_an_abort(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall(w, 2400);
    core_cancel(w);
    core_answers(w, HV_CALL_YANK, ERR_NONE);
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_restart(w, 3000);
    core_advance(w, 4000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

/* Ferry itself, or the source's libvirtd, was stopped: whether data moved is not known. */
static void silence_is_not_a_stall(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    w->now.mono_ms += 20000;
    w->now.wall_ms += 20000;
    core_settle(w);
    core_advance(w, 20000);
    assert_int_equal(core_remedies(w), 0);
    core_flow(w, 2000);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);

    w = core_in_postcopy();
    core_advance(w, 30000);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);

    w = core_flowing(NULL, false); /* asleep in a switch-over that is over long since */
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_advance(w, 1000);
    w->now.mono_ms += 20000;
    w->now.wall_ms += 20000;
    core_settle(w);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);
}

static void a_guest_its_user_paused_is_not_taken_for_a_switch_over(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_flow(w, 20000);
    assert_int_equal(core_remedies(w), 0);
    assert_int_equal(core_job(w)->wait.pending, PENDING_NONE);
    core_free(w);
}

/* libvirt gives no numbers of a paused source, so silence proves nothing there. */
static void the_copy_of_a_guest_its_user_paused_is_left_alone(void **state)
{
    (void)state;
    for (int restarts = 0; restarts < 2; restarts++) {
        struct core_world *w = core_flowing(NULL, false);
        core_job(w)->userpause.requested = core_job(w)->changed = true;
        stops_for_the_switch(w);
        core_advance(w, 1000);
        if (restarts)
            core_restart(w, 1000);
        core_advance(w, 60000);
        assert_true(core_job(w)->userpause.requested);
        assert_int_equal(core_remedies(w), 0);
        core_free(w);
    }
}

/* The target's QEMU is stopped: the abort is accepted, the call does not come back. */
static void an_aborted_call_that_a_dead_target_holds_is_freed(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    core_stall(w, 2400);
    core_cancel(w);
    w->migration.status = HV_MIGRATION_CANCELLED;
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_advance(w, REMEDY_KEEPALIVE_MS - 1000);
    assert_int_equal(core_remedies(w), 0);
    core_advance(w, 3000);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    core_answers(w, HV_CALL_DROP_COPY, ERR_NONE);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void a_stalled_switch_over_is_freed_by_dropping_the_copy(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    stops_for_the_switch(w);
    core_advance(w, 3500);
    assert_int_equal(core_remedies(w), 0);
    assert_true(w->observations >= 4); /* both were looked at before anything is done */
    core_advance(w, 1600);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    assert_string_equal(core_newest(w, HV_CALL_DROP_COPY)->of.act.node, "h2");
    core_advance(w, 20000);
    assert_non_null(strstr(core_job(w)->wait.reason, "not answered yet")); /* nobody knows */
    core_answers(w, HV_CALL_DROP_COPY, ERR_NONE);
    core_advance(w, 20000); /* it freed nobody: it is not done again, and that is said */
    assert_int_equal(core_remedies(w), 1);
    assert_int_equal(w->aborts, 0);
    assert_non_null(strstr(core_job(w)->wait.reason, "the target was destroyed, and"));
    goes_on_at_the_source(w);
    assert_non_null(
        strstr(core_job(w)->result.failure_reason, "destroying the copy on the target"));
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
    core_free(w);
}

static void a_helper_at_the_source_comes_before_the_copy(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_advance(w, 5200);
    assert_int_equal(core_orders(w, HV_CALL_KILL_STREAM), 1);
    assert_string_equal(core_newest(w, HV_CALL_KILL_STREAM)->of.act.node, "h1");
    assert_int_equal(core_remedies(w), 1);
    core_answers(w, HV_CALL_KILL_STREAM, ERR_HYPERVISOR);
    core_advance(w, 5200);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    core_free(w);
}

/* With several streams the target does not learn of it, and libvirt's call waits for the target. */
static void a_target_that_keeps_its_copy_after_its_socket_was_closed_loses_it(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_advance(w, 5200);
    core_answers(w, HV_CALL_KILL_STREAM, ERR_NONE);
    core_advance(w, 1000);
    assert_int_equal(core_remedies(w), 1); /* nothing is destroyed before the source was seen */
    w->source = CORE_RUNS;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, 0);
    w->migration.status = HV_MIGRATION_FAILED;
    core_advance(w, REMEDY_KEEPALIVE_MS + 2500);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    assert_int_equal(core_remedies(w), 2);
    core_free(w);
}

static void nothing_is_destroyed_while_one_side_is_in_doubt(void **state)
{
    (void)state;
    const struct hv_observation doubts[] = {CORE_BLIND, CORE_ABSENT, CORE_ARRIVED, CORE_SUSPENDED,
                                            CORE_PC_TARGET};
    for (size_t i = 0; i < COUNT(doubts); i++) {
        struct core_world *w = core_flowing(NULL, false);
        stops_for_the_switch(w);
        w->target = doubts[i];
        core_advance(w, 30000);
        assert_int_equal(core_remedies(w), 0);
        core_free(w);
    }
    struct core_world *w = core_flowing(NULL, false);
    stops_for_the_switch(w);
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_RESUMED, 1); /* it ran, whatever the look says */
    core_advance(w, 30000);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);
}

/* Post-copy lets the guest run on the target without anybody's leave. */
static void nothing_is_destroyed_once_post_copy_was_ordered(void **state)
{
    (void)state;
    struct core_world *w = core_flowing("{\"selectors\":{},\"allowPostCopy\":true}", false);
    w->rest_bytes = 48 << 20;
    for (int i = 0; i < 600 && core_orders(w, HV_CALL_START_POSTCOPY) == 0; i++)
        core_flow(w, 400);
    assert_int_equal(core_orders(w, HV_CALL_START_POSTCOPY), 1);
    stops_for_the_switch(w);
    core_advance(w, 30000);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 0);
    w->job_type = HV_JOB_NONE; /* the process after it knows too */
    core_restart(w, 1000);
    core_advance(w, 30000);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 0);
    core_free(w);
}

static void an_answer_that_is_old_destroys_nothing(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    stops_for_the_switch(w);
    core_advance(w, 1200);
    w->loses.observations = true; /* both were seen standing, seconds ago */
    core_advance(w, 50000);
    assert_int_equal(core_remedies(w), 0);
    assert_int_equal(core_job(w)->wait.pending, PENDING_STALLED);
    core_free(w);
}

/* Looks that hang at the target keep the source from being seen, not from standing still. */
static void a_helper_is_asked_although_the_target_does_not_answer(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_advance(w, 1200);
    w->loses.observations = true;
    core_advance(w, 8000);
    assert_int_equal(core_orders(w, HV_CALL_KILL_STREAM), 1);
    core_free(w);
}

static void a_completed_switch_over_gets_no_remedy(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    stops_for_the_switch(w);
    core_advance(w, 1000);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 10000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);
}

static void the_remedy_is_climbed_after_a_restart_too(void **state)
{
    (void)state;
    for (int helps = 0; helps < 2; helps++) {
        struct core_world *w = core_flowing(NULL, false);
        stops_for_the_switch(w);
        core_advance(w, 1000);
        core_restart(w, 1000);
        if (helps)
            TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
        core_advance(w, 8000);
        assert_int_equal(core_orders(w, helps ? HV_CALL_KILL_STREAM : HV_CALL_DROP_COPY), 1);
        assert_int_equal(core_remedies(w), 1);
        assert_int_equal(core_job(w)->wait.pending, PENDING_STALLED);
        int64_t since_ms = core_job(w)->wait.since_ms;
        core_advance(w, 3000);
        assert_int_equal(core_job(w)->wait.pending,
                         PENDING_STALLED); /* one wait, not many short ones */
        assert_int_equal(core_job(w)->wait.since_ms, since_ms);
        core_free(w);
    }
}

/* Adopted while it copied, the next process watches and acts. */
static void disks_are_yanked_after_a_restart_too(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_restart(w, 1000);
    core_flow(w, 2000);
    assert_int_equal(core_job(w)->resolution.hv_job, JOB_SEEN_ACTIVE);
    core_stall_until(w, HV_CALL_YANK, 1, 8000);
    assert_int_equal(w->aborts, 0);
    core_answers(w, HV_CALL_YANK, ERR_NONE);
    core_restart(w, 1000);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void an_order_open_when_ferry_died_is_closed_by_the_next(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall_until(w, HV_CALL_YANK, 1, 8000);
    assert_true(core_open_intents(w) >= 2); /* the call itself, and the remedy */
    core_restart(w, 1000);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void an_answer_that_comes_after_the_end_closes_its_intent(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall_until(w, HV_CALL_YANK, 1, 8000);
    goes_on_at_the_source(w);
    core_answers(w, HV_CALL_YANK, ERR_NONE);
    assert_int_equal(core_open_intents(w), 0);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void no_remedy_is_ordered_while_nothing_can_be_recorded(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    w->fleet->store_ok = false;
    core_stall(w, 20000);
    assert_int_equal(core_remedies(w), 0);
    w->fleet->store_ok = true;
    core_stall_until(w, HV_CALL_YANK, 1, 2000);
    core_free(w);
}

static void a_dead_post_copy_stream_is_ended_once_in_ten_seconds(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_stall(w, 9200);
    assert_int_equal(core_remedies(w), 0);
    core_stall_until(w, HV_CALL_ABORT, 1, 2400);
    assert_true(core_newest(w, HV_CALL_ABORT)->of.act.postcopy);
    assert_int_equal(w->aborts, 0);
    core_answers(w, HV_CALL_ABORT, ERR_NONE);
    core_stall(w, REMEDY_AGAIN_MS - 800);
    assert_int_equal(core_orders(w, HV_CALL_ABORT), 1);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 1000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_free(w);
}

/* The source was reset, the target never heard of it: the call hangs, and no numbers come. */
static void a_stream_dead_at_one_end_is_told_to_the_target_by_its_helper(void **state)
{
    (void)state;
    for (int helps = 0; helps < 2; helps++) {
        struct core_world *w = core_in_postcopy();
        if (helps)
            TEXT_SET(core_node(w, "h2")->host.helper, "h2:9180");
        w->source = CORE_PC_BROKEN_SOURCE;
        core_advance(w, 8000);
        assert_int_equal(core_remedies(w), helps);
        assert_int_equal(core_job(w)->wait.pending, PENDING_RECOVERY);
        w->now.wall_ms += 3600000; /* a clock that jumps ends no window */
        core_advance(w, 5000);
        assert_int_equal(core_job(w)->recovery.state, RECOVERY_WATCHING);
        if (helps)
            assert_string_equal(core_newest(w, HV_CALL_KILL_STREAM)->of.act.node, "h2");
        core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
        core_advance(w, 1000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
        core_free(w);
    }
}

/* The window ran out while libvirt's call kept every try from being made: that the call came back
 * is news, and the first try is due. */
static void what_gave_up_before_any_try_tries_once_it_can(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    w->source = CORE_PC_BROKEN_SOURCE;
    core_advance(w, RECOVERY_WINDOW_MS + 20000);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_EXHAUSTED);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 1000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_free(w);
}

static void a_stream_that_moves_again_is_no_stall_any_more(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, true);
    core_stall(w, 3200);
    assert_int_equal(core_job(w)->wait.pending, PENDING_STALLED);
    core_flow(w, 2000);
    assert_int_equal(core_job(w)->wait.pending, PENDING_NONE);
    core_stall(w, 3200);
    assert_int_equal(core_remedies(w), 0); /* the clock began anew */
    core_free(w);
}

TEST_FILE(test_remedy_stories)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disks_that_stand_still_are_yanked_before_any_abort),
        cmocka_unit_test(a_yank_that_did_not_help_is_tried_again_not_sooner_than_its_limit),
        cmocka_unit_test(an_abort_that_would_freeze_the_guest_becomes_a_yank),
        cmocka_unit_test(an_abort_of_disks_that_move_is_an_abort),
        cmocka_unit_test(an_abort_right_after_a_cut_freezes_no_guest),
        cmocka_unit_test(an_abort_yanked_by_an_earlier_process_was_an_abort),
        cmocka_unit_test(silence_is_not_a_stall),
        cmocka_unit_test(a_guest_its_user_paused_is_not_taken_for_a_switch_over),
        cmocka_unit_test(the_copy_of_a_guest_its_user_paused_is_left_alone),
        cmocka_unit_test(an_aborted_call_that_a_dead_target_holds_is_freed),
        cmocka_unit_test(a_stalled_switch_over_is_freed_by_dropping_the_copy),
        cmocka_unit_test(a_helper_at_the_source_comes_before_the_copy),
        cmocka_unit_test(a_target_that_keeps_its_copy_after_its_socket_was_closed_loses_it),
        cmocka_unit_test(nothing_is_destroyed_while_one_side_is_in_doubt),
        cmocka_unit_test(nothing_is_destroyed_once_post_copy_was_ordered),
        cmocka_unit_test(an_answer_that_is_old_destroys_nothing),
        cmocka_unit_test(a_helper_is_asked_although_the_target_does_not_answer),
        cmocka_unit_test(a_completed_switch_over_gets_no_remedy),
        cmocka_unit_test(the_remedy_is_climbed_after_a_restart_too),
        cmocka_unit_test(disks_are_yanked_after_a_restart_too),
        cmocka_unit_test(an_order_open_when_ferry_died_is_closed_by_the_next),
        cmocka_unit_test(an_answer_that_comes_after_the_end_closes_its_intent),
        cmocka_unit_test(no_remedy_is_ordered_while_nothing_can_be_recorded),
        cmocka_unit_test(a_dead_post_copy_stream_is_ended_once_in_ten_seconds),
        cmocka_unit_test(a_stream_dead_at_one_end_is_told_to_the_target_by_its_helper),
        cmocka_unit_test(what_gave_up_before_any_try_tries_once_it_can),
        cmocka_unit_test(a_stream_that_moves_again_is_no_stall_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
