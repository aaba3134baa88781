/* test_control.c - stories around a migration: cancelled early, adopted after a restart. What comes
 * before has files of its own: admission, limits, pending, prepare. */
#include "tests/test.h"

#include <string.h>

#include "engine/data/stream.h"
#include "tests/core_world.h"

static void a_cancel_before_hand_off_asks_nothing_of_a_host(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    core_create(w);
    core_expect(w, PHASE_PENDING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_non_null(strstr(core_job(w)->wait.reason, "not-ready"));
    core_cancel(w);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates + w->aborts, 0);
    core_free(w);
}

static void a_waiting_job_goes_on_when_its_target_comes_back(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    core_create(w);
    core_advance(w, 10000);
    core_connect(w, "h2", true);
    core_settle(w);
    core_expect(w, PHASE_PENDING, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* who is there is not known */
    core_list(w, "h2");
    core_settle(w);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void a_wait_has_a_deadline(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    core_create(w);
    core_advance(w, 301000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "300 s"));
    core_free(w);
}

static void a_target_that_has_the_guest_is_refused_before_any_call(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_RUNS;
    core_create(w);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

/* What a new process does with a job it finds in the store. */
static void restart(struct core_world *w)
{
    struct job *job = core_job(w);
    job->call.over = job->resolving = false;
    job->orders[ORDER_MIGRATE].id = job->orders[ORDER_ABORT].id = 0;
    job->resolution.source_side = job->resolution.target_side = (struct job_side){0};
    job->resolution.round = job->resolution.decided_round = 0;
    job->resolution.hv_job_question = 0;
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    core_settle(w);
}

static void a_running_migration_is_adopted_and_followed_to_its_end(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED;
    restart(w);
    core_advance(w, 2000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(core_job(w)->adopted);
    assert_false(core_job(w)->resolving); /* it is seen moving */
    assert_int_equal(w->migrates, 1);     /* never blindly repeated */
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_migration_that_ended_while_we_were_away_gets_its_outcome(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    restart(w);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

static void a_recorded_call_that_was_never_made_is_made_after_proof(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_create(w);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    int64_t epoch = core_job(w)->epoch;
    restart(w);
    assert_int_equal(w->migrates, 1); /* not before the proof has stood for a while */
    core_advance(w, 3000);
    assert_int_equal(w->migrates, 2);
    assert_int_equal(core_job(w)->epoch, epoch + 1);
    core_free(w);
}

static void an_adopted_job_waits_for_a_source_it_cannot_see(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_create(w);
    w->source = CORE_BLIND;
    restart(w);
    core_advance(w, 60000);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void an_abort_of_an_adopted_migration_works(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED;
    restart(w);
    core_advance(w, 1000);
    core_cancel(w);
    assert_int_equal(w->aborts, 1);
    w->job_type = HV_JOB_NONE;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_job(w)->abort.status, ABORT_SUCCEEDED);
    core_free(w);
}

static void five_finished_jobs_of_a_guest_are_kept(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    for (int i = 0; i < 8; i++) {
        core_create(w);
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
        fleet_prune_jobs(w->fleet, CORE_GUEST);
    }
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 5);
    assert_int_equal(w->fleet->busy_jobs, 0);
    core_free(w);
}

static void a_job_that_is_ending_is_not_over(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_FAILED; /* aborted, but the source has not let go of it */
    restart(w);
    core_advance(w, 10000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->job_type = HV_JOB_NONE;
    w->target = CORE_ABSENT;
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_backup_on_the_source_is_not_taken_for_our_migration(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = 9; /* a backup */
    w->target = CORE_ABSENT;
    restart(w);
    core_cancel(w);
    core_advance(w, 4000);
    assert_int_equal(w->aborts, 0); /* what runs there is not ours to stop */
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_call_made_again_asks_for_what_the_guest_is_now(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_SUSPENDED;
    core_create(w);
    assert_true(core_job(w)->call.flags & HV_MIGRATE_PAUSED);
    w->source = CORE_RUNS; /* its user let it run again */
    restart(w);
    core_advance(w, 3000);
    assert_int_equal(w->migrates, 2);
    assert_false(core_job(w)->call.flags & HV_MIGRATE_PAUSED);
    core_free(w);
}

/* Preparing takes long on a busy host: that is no quiet of a stream, which none has measured. */
static void a_call_made_again_begins_a_new_stream(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_create(w);
    restart(w);
    core_advance(w, 3000);
    assert_int_equal(w->migrates, 2);
    core_advance(w, 8000);
    core_sample(w);
    assert_int_equal(stream_quiet_ms(core_job(w)), 0);
    core_free(w);
}

TEST_FILE(test_control)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_before_hand_off_asks_nothing_of_a_host),
        cmocka_unit_test(a_waiting_job_goes_on_when_its_target_comes_back),
        cmocka_unit_test(a_wait_has_a_deadline),
        cmocka_unit_test(a_target_that_has_the_guest_is_refused_before_any_call),
        cmocka_unit_test(a_running_migration_is_adopted_and_followed_to_its_end),
        cmocka_unit_test(a_migration_that_ended_while_we_were_away_gets_its_outcome),
        cmocka_unit_test(a_recorded_call_that_was_never_made_is_made_after_proof),
        cmocka_unit_test(an_adopted_job_waits_for_a_source_it_cannot_see),
        cmocka_unit_test(an_abort_of_an_adopted_migration_works),
        cmocka_unit_test(five_finished_jobs_of_a_guest_are_kept),
        cmocka_unit_test(a_job_that_is_ending_is_not_over),
        cmocka_unit_test(a_backup_on_the_source_is_not_taken_for_our_migration),
        cmocka_unit_test(a_call_made_again_asks_for_what_the_guest_is_now),
        cmocka_unit_test(a_call_made_again_begins_a_new_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
