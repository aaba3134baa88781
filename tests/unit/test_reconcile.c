/* test_reconcile.c - stories of migrations through the pure core: calls, aborts, outcomes. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/stray.h"
#include "tests/core_world.h"

static void a_plain_migration_succeeds(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(w->watches, 1);
    assert_int_equal(w->unwatches, 1);
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->owner->node->name, "h2");
    core_free(w);
}

static void an_error_with_the_guest_on_the_target_is_success(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void an_ok_with_the_guest_on_the_source_is_failure(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_failed_call_leaves_the_guest_on_the_source(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "Code=9, Domain=10"));
    core_free(w);
}

/* How often a side was seen once more after the end, and how at last. */
static unsigned seen_later(const struct core_world *w, const char *role,
                           struct hv_observation *out_last)
{
    unsigned times = 0;
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct effect *effect = &w->fx.list[i];
        if (effect->kind != EFFECT_OBSERVATION || strcmp(effect->of.observation.role, role) != 0 ||
            strcmp(effect->of.observation.moment, "later") != 0)
            continue;
        *out_last = effect->of.observation.observation;
        times++;
    }
    return times;
}

/* It moves on at once: that it is gone from where it arrived says nothing of the first move. */
static void a_guest_that_moves_on_is_not_looked_for_where_it_was(void **state)
{
    (void)state;
    for (unsigned moves_on = 0; moves_on < 2; moves_on++) {
        struct core_world *w = core_new();
        struct hv_observation observation;
        core_add_host(w, "h3");
        (void)core_add_guest(w, "g2", "h1", 64);
        const struct core_request to_h2 = {.target = "h2"}, to_h3 = {.target = "h3"};
        (void)core_ask(w, "g2", &to_h2);
        core_phase(w, "g2", PHASE_TARGET_READY);
        core_arrives(w, "g2");
        core_list(w, "h2");
        core_list(w, "h1");
        if (moves_on) {
            (void)core_ask(w, "g2", &to_h3);
            core_advance(w, 400);
            core_phase(w, "g2", PHASE_TARGET_READY);
        }
        core_advance(w, 3000);
        assert_int_equal(seen_later(w, "target", &observation), moves_on ? 0 : 1);
        core_free(w);
    }
}

static void both_sides_are_seen_once_more_a_second_later(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct hv_observation source, target;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    w->source = CORE_ABSENT; /* it died right after */
    core_advance(w, 900);
    assert_int_equal(seen_later(w, "source", &source), 0);
    core_advance(w, 200);
    assert_int_equal(seen_later(w, "source", &source), 1);
    assert_int_equal(seen_later(w, "target", &target), 1);
    assert_int_equal(source.presence, HV_ABSENT);
    assert_int_equal(target.presence, HV_ABSENT);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE); /* the record stands */
    unsigned observations = w->observations;
    core_advance(w, 60000);
    assert_int_equal(seen_later(w, "source", &source), 1);
    assert_int_equal(w->observations, observations);
    core_free(w);
}

static void a_late_observation_is_not_taken_by_the_next_job(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_create(w); /* at once, for the same guest */
    core_advance(w, 3000);
    struct hv_observation source;
    assert_int_equal(seen_later(w, "source", &source), 1);
    assert_int_equal(source.presence, HV_PRESENT);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void a_dead_target_libvirtd_is_unreachable_not_absent(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_BLIND;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_job(w)->resolution.target_side.observation.presence, HV_UNREACHABLE);
    core_free(w);
}

static void a_blind_source_never_ends_a_job(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_BLIND;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 600000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(core_job(w)->resolving);
    w->source = CORE_ABSENT; /* it can be asked again */
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void our_own_lost_connection_is_not_an_outcome(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED; /* it goes on without us */
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 30000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(w->migrates, 1);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_call_refused_because_another_is_at_work_is_no_failure(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED; /* somebody else's, or ours from an earlier life */
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 60000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_guest_gone_from_both_is_lost_only_after_a_second_observation(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_LOST, GUEST_AT_LOST);
    core_free(w);
}

static void a_split_guest_is_never_final(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 60000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(core_job(w)->resolution.guest_at, GUEST_AT_SPLIT);
    assert_string_equal(w->event, "Split");
    core_free(w);
}

/* Whether its incident was opened already is known from that after a restart. */
static void that_a_guest_is_split_is_stored(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct job *job = core_job(w);
    for (int round = 0; round < 2; round++) {
        job->changed = false; /* as after a commit */
        stray_note_split(w->fleet, job, OWNERSHIP_SPLIT, w->now);
        assert_int_equal(job->resolution.guest_at, GUEST_AT_SPLIT);
        assert_int_equal(job->changed, round == 0);
    }
    core_free(w);
}

static void a_broken_postcopy_is_final_once_a_half_is_proven_gone(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_BROKEN;
    w->target = CORE_BLIND;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 60000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_ABSENT;
    core_advance(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    assert_int_equal(core_count_events(w, "Irrecoverable", "irrecoverable"), 1);
    core_free(w);
}

static void an_abort_succeeds_only_when_the_source_is_proven(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    assert_int_equal(w->aborts, 1);
    assert_int_equal(core_job(w)->abort.status, ABORT_ABORTING);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    assert_int_equal(core_job(w)->abort.status, ABORT_ABORTING); /* accepted is not done */
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_job(w)->abort.status, ABORT_SUCCEEDED);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "tester"));
    core_free(w);
}

static void an_abort_can_lose_the_race(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_job(w)->abort.status, ABORT_FAILED);
    core_free(w);
}

static void an_abort_too_early_is_tried_again(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_create(w);
    core_cancel(w);
    assert_int_equal(w->aborts, 1);
    core_returns(w, HV_CALL_ABORT, ERR_HYPERVISOR); /* no job is active yet */
    core_advance(w, 1000);
    assert_int_equal(w->aborts, 2);
    core_free(w);
}

static void an_abort_without_result_fails_after_the_guard_but_counts_late(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_advance(w, 31000);
    assert_int_equal(core_job(w)->abort.status, ABORT_FAILED);
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    assert_int_equal(core_job(w)->abort.status, ABORT_SUCCEEDED);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_paused_guest_is_asked_to_arrive_paused(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_SUSPENDED;
    core_create(w);
    assert_int_equal(w->migrates, 1);
    assert_true(core_job(w)->call.flags & HV_MIGRATE_PAUSED);
    w->source = CORE_ABSENT;
    w->target = CORE_SUSPENDED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_second_request_to_stop_is_tried_again(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_advance(w, 31000);
    assert_int_equal(core_job(w)->abort.status, ABORT_FAILED);
    unsigned before = w->aborts;
    core_cancel(w);
    assert_int_equal(core_job(w)->abort.status, ABORT_ABORTING);
    assert_true(w->aborts > before);
    core_free(w);
}

static void a_source_left_paused_beside_a_running_target_is_reported(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_INCOMING; /* paused(migration) */
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 5000);
    assert_int_equal(w->warnings, 1); /* the lost connection, nothing yet of the guest */
    core_advance(w, 20000);
    assert_string_equal(w->event, "Unfinished");
    assert_non_null(strstr(core_job(w)->wait.reason, "moving on h1, owns on h2"));
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void an_unproven_outcome_gives_its_place_to_others(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    assert_int_equal(w->fleet->busy_jobs, 1);
    w->source = CORE_BLIND;
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 70000);
    assert_int_equal(w->fleet->busy_jobs, 0);
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    core_advance(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->fleet->busy_jobs, 0);
    core_free(w);
}

static void observations_that_straddle_the_switch_over_report_no_split(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ARRIVED; /* the source was looked at just before it stopped */
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    assert_int_equal(w->warnings, 0);
    w->source = CORE_ABSENT;
    core_advance(w, 1000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(w->warnings, 0);
    core_free(w);
}

static void a_target_stopped_by_an_io_error_is_no_success(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_ABSENT;
    w->target = CORE_SUSPENDED;
    w->target.reason = HV_PAUSED_IOERROR;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 20000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(w->warnings > 0);
    w->target = CORE_ARRIVED; /* somebody mended its disk */
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_guest_turned_off_in_the_middle_is_not_lost(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = (struct hv_observation){
        HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN, true, false, -1, 0, 0};
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_STOPPED);
    core_free(w);
}

static void an_answer_that_never_comes_is_not_awaited_for_ever(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->loses.observations = true;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 10000);
    w->loses.observations = false;
    w->target = CORE_ABSENT;
    core_advance(w, 90000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

TEST_FILE(test_reconcile)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_migration_succeeds),
        cmocka_unit_test(an_error_with_the_guest_on_the_target_is_success),
        cmocka_unit_test(an_ok_with_the_guest_on_the_source_is_failure),
        cmocka_unit_test(a_failed_call_leaves_the_guest_on_the_source),
        cmocka_unit_test(a_guest_that_moves_on_is_not_looked_for_where_it_was),
        cmocka_unit_test(both_sides_are_seen_once_more_a_second_later),
        cmocka_unit_test(a_late_observation_is_not_taken_by_the_next_job),
        cmocka_unit_test(a_dead_target_libvirtd_is_unreachable_not_absent),
        cmocka_unit_test(a_blind_source_never_ends_a_job),
        cmocka_unit_test(our_own_lost_connection_is_not_an_outcome),
        cmocka_unit_test(a_call_refused_because_another_is_at_work_is_no_failure),
        cmocka_unit_test(a_guest_gone_from_both_is_lost_only_after_a_second_observation),
        cmocka_unit_test(a_split_guest_is_never_final),
        cmocka_unit_test(that_a_guest_is_split_is_stored),
        cmocka_unit_test(a_broken_postcopy_is_final_once_a_half_is_proven_gone),
        cmocka_unit_test(an_abort_succeeds_only_when_the_source_is_proven),
        cmocka_unit_test(an_abort_can_lose_the_race),
        cmocka_unit_test(an_abort_too_early_is_tried_again),
        cmocka_unit_test(an_abort_without_result_fails_after_the_guard_but_counts_late),
        cmocka_unit_test(a_paused_guest_is_asked_to_arrive_paused),
        cmocka_unit_test(a_second_request_to_stop_is_tried_again),
        cmocka_unit_test(a_source_left_paused_beside_a_running_target_is_reported),
        cmocka_unit_test(an_unproven_outcome_gives_its_place_to_others),
        cmocka_unit_test(observations_that_straddle_the_switch_over_report_no_split),
        cmocka_unit_test(a_target_stopped_by_an_io_error_is_no_success),
        cmocka_unit_test(a_guest_turned_off_in_the_middle_is_not_lost),
        cmocka_unit_test(an_answer_that_never_comes_is_not_awaited_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
