/* test_control.c - stories before and around a migration: admission, waits, limits, adoption after
 * a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/core_world.h"

static void a_cancel_before_hand_off_asks_nothing_of_a_host(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    core_create(w);
    core_expect(w, PHASE_SCHEDULING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_non_null(strstr(core_job(w)->pending_reason, "h2"));
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
    core_pass(w, 10000);
    core_connect(w, "h2", true);
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
    core_pass(w, 301000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(strstr(core_job(w)->failure_reason, "300 s"));
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

static void a_namesake_on_the_target_is_refused_before_any_call(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct hv_guest guest = {.state = HV_STATE_RUNNING, .reason = HV_RUNNING_BOOTED};
    TEXT_SET(guest.uuid, CORE_OTHER);
    TEXT_SET(guest.name, "g1");
    TEXT_SET(guest.ns, "elsewhere");
    struct hv_guest_list list = {1, &guest};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h2");
    core_feed(w, &input);
    core_create(w);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

/* What a new process does with a job it finds in the store. */
static void restart(struct core_world *w)
{
    struct job *job = core_job(w);
    job->call_out = job->call_over = job->resolving = false;
    job->call_id = job->abort_call_id = 0;
    job->source_side = job->target_side = (struct job_side){0};
    job->round = job->judged_round = 0;
    job->hv_job_question = 0;
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    core_settle(w);
}

static void a_running_migration_is_adopted_and_followed_to_its_end(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED;
    restart(w);
    core_pass(w, 2000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(core_job(w)->adopted);
    assert_false(core_job(w)->resolving); /* it is seen moving */
    assert_int_equal(w->migrates, 1);     /* never blindly repeated */
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_pass(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void a_migration_that_ended_while_we_were_away_gets_its_outcome(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    restart(w);
    core_pass(w, 3000);
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
    core_pass(w, 3000);
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
    core_pass(w, 60000);
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
    core_pass(w, 1000);
    core_cancel(w);
    assert_int_equal(w->aborts, 1);
    w->job_type = HV_JOB_NONE;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_pass(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_job(w)->abort_status, ABORT_SUCCEEDED);
    core_free(w);
}

static void refused(struct core_world *w, const char *guest, const char *target, enum err_code code)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, guest);
    TEXT_SET(input.of.create.request.target, target);
    struct migration_ref ref;
    struct err err = {0};
    unsigned jobs = HASH_COUNT(w->fleet->jobs);
    assert_false(reconcile(w->fleet, &input, w->now, &w->fx, &ref, &err));
    assert_string_equal(err_name(err.code), err_name(code));
    assert_int_equal(HASH_COUNT(w->fleet->jobs), jobs);
}

static void bad_requests_are_refused_with_a_type(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    refused(w, "", "", ERR_UNPROCESSABLE);
    refused(w, "nobody", "", ERR_NOT_FOUND);
    refused(w, "g1", "h9", ERR_UNPROCESSABLE);
    refused(w, "g1", "h1", ERR_REFUSED);
    core_create(w);
    refused(w, "g1", "", ERR_REFUSED); /* one unfinished job per guest */
    w->fleet->store_ok = false;
    refused(w, "g1", "", ERR_IO);
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

static void limits_are_kept_and_the_oldest_goes_first(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.parallel_per_fleet = 1;
    struct hv_guest guests[2] = {{.state = HV_STATE_RUNNING}, {.state = HV_STATE_RUNNING}};
    TEXT_SET(guests[0].uuid, CORE_GUEST);
    TEXT_SET(guests[0].name, "g1");
    TEXT_SET(guests[0].ns, "default");
    TEXT_SET(guests[1].uuid, CORE_OTHER);
    TEXT_SET(guests[1].name, "g2");
    TEXT_SET(guests[1].ns, "default");
    struct hv_guest_list list = {2, guests};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h1");
    core_feed(w, &input);
    core_create(w);
    struct input second = {.kind = INPUT_CREATE};
    TEXT_SET(second.of.create.request.ns, "default");
    TEXT_SET(second.of.create.request.guest_name, "g2");
    char first[JOB_UID_MAX];
    TEXT_SET(first, w->job);
    core_feed(w, &second);
    core_settle(w);
    core_expect(w, PHASE_PENDING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_non_null(strstr(core_job(w)->pending_reason, "limit"));
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR); /* the first ends */
    core_pass(w, 100);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void a_job_that_is_ending_is_not_over(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_FAILED; /* aborted, but the source has not let go of it */
    restart(w);
    core_pass(w, 10000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->job_type = HV_JOB_NONE;
    w->target = CORE_ABSENT;
    core_pass(w, 3000);
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
    core_pass(w, 4000);
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
    assert_true(core_job(w)->flags & HV_MIGRATE_PAUSED);
    w->source = CORE_RUNS; /* its user let it run again */
    restart(w);
    core_pass(w, 3000);
    assert_int_equal(w->migrates, 2);
    assert_false(core_job(w)->flags & HV_MIGRATE_PAUSED);
    core_free(w);
}

/* Two more guests on h1, all wanting to go to h2 while one place is free in the fleet. */
static void ask(struct core_world *w, const char *guest, const char *priority)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, guest);
    TEXT_SET(input.of.create.request.priority, priority);
    core_feed(w, &input);
}

static void three_guests(struct core_world *w)
{
    struct hv_guest guests[3] = {{.state = HV_STATE_RUNNING}};
    static const char *const uuids[] = {CORE_GUEST, CORE_OTHER,
                                        "33333333-3333-4333-8333-333333333333"};
    for (size_t i = 0; i < 3; i++) {
        guests[i].state = HV_STATE_RUNNING;
        TEXT_SET(guests[i].uuid, uuids[i]);
        (void)snprintf(guests[i].name, sizeof guests[i].name, "g%zu", i + 1);
        TEXT_SET(guests[i].ns, "default");
    }
    struct hv_guest_list list = {3, guests};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h1");
    core_feed(w, &input);
}

static void a_better_class_goes_first_and_then_the_older(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.parallel_per_fleet = 1;
    three_guests(w);
    core_create(w); /* g1 takes the only place */
    ask(w, "g2", "system-maintenance");
    char second[JOB_UID_MAX];
    TEXT_SET(second, w->job);
    ask(w, "g3", "system-critical");
    core_settle(w);
    assert_int_equal(core_job(w)->pending, PENDING_SLOT_FLEET);
    assert_true(core_job(w)->waits_until_ms > w->now.wall_ms);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR); /* g1 is done */
    core_pass(w, 100);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* g3, the later one */
    assert_int_equal(fleet_job(w->fleet, second)->phase, PHASE_PENDING);
    core_free(w);
}

static void a_full_target_is_waited_for_without_holding_a_place(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.parallel_inbound_per_node = 1;
    three_guests(w);
    core_create(w);
    ask(w, "g2", "");
    core_settle(w);
    core_expect(w, PHASE_PENDING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(core_job(w)->pending, PENDING_SLOT_TARGET);
    assert_int_equal(core_job(w)->priority, PRIORITY_USER_TRIGGERED);
    assert_int_equal(w->fleet->busy_jobs, 1);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_pass(w, 100);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void an_unknown_class_is_refused(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.priority, "urgent");
    struct migration_ref ref;
    struct err err = {0};
    assert_false(reconcile(w->fleet, &input, w->now, &w->fx, &ref, &err));
    assert_int_equal(err.code, ERR_UNPROCESSABLE);
    core_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_before_hand_off_asks_nothing_of_a_host),
        cmocka_unit_test(a_waiting_job_goes_on_when_its_target_comes_back),
        cmocka_unit_test(a_wait_has_a_deadline),
        cmocka_unit_test(a_target_that_has_the_guest_is_refused_before_any_call),
        cmocka_unit_test(a_namesake_on_the_target_is_refused_before_any_call),
        cmocka_unit_test(a_running_migration_is_adopted_and_followed_to_its_end),
        cmocka_unit_test(a_migration_that_ended_while_we_were_away_gets_its_outcome),
        cmocka_unit_test(a_recorded_call_that_was_never_made_is_made_after_proof),
        cmocka_unit_test(an_adopted_job_waits_for_a_source_it_cannot_see),
        cmocka_unit_test(an_abort_of_an_adopted_migration_works),
        cmocka_unit_test(bad_requests_are_refused_with_a_type),
        cmocka_unit_test(five_finished_jobs_of_a_guest_are_kept),
        cmocka_unit_test(limits_are_kept_and_the_oldest_goes_first),
        cmocka_unit_test(a_job_that_is_ending_is_not_over),
        cmocka_unit_test(a_backup_on_the_source_is_not_taken_for_our_migration),
        cmocka_unit_test(a_call_made_again_asks_for_what_the_guest_is_now),
        cmocka_unit_test(a_better_class_goes_first_and_then_the_older),
        cmocka_unit_test(a_full_target_is_waited_for_without_holding_a_place),
        cmocka_unit_test(an_unknown_class_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
