/* test_prepare_waits.c - what the preparation of a target waits for: an answer of the target,
 * utility volumes, the end of a backup. */
#include "tests/test.h"

#include <string.h>

#include "tests/core_world.h"

static void a_target_that_did_not_answer_once_is_asked_again_when_there_is_no_other(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    core_host(w, "h2")->unasked = ERR_UNREACHABLE;
    core_create(w);
    core_expect(w, PHASE_SCHEDULING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_host(w, "h2")->unasked = ERR_NONE;
    core_advance(w, 60000);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void a_target_that_never_answers_is_no_reason_for_an_event_each_second(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    core_host(w, "h2")->unasked = ERR_UNREACHABLE;
    core_create(w);
    core_advance(w, 400000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_true(core_count_events(w, "TargetRejected", NULL) <= 40);
    core_clean(w);
    core_free(w);
}

static void utility_volumes_that_appear_late_are_waited_for_only_as_long_as_they_stay(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->loses.jobs = true; /* no answer yet: it stays where it is */
    core_create(w);
    w->loses.jobs = false;
    core_advance(w, 10100); /* ... and goes on without it; then the second question is lost */
    struct job *job = core_job(w);
    if (job->phase != PHASE_SCHEDULING) {
        core_free(w);
        w = core_new();
        core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
        core_define(w, "g1");
        w->loses.cpus = true;
        core_create(w);
        job = core_job(w);
    }
    assert_string_equal(phase_name(job->phase), "Scheduling");
    core_guest(w, "g1")->facts.utility_disks = 1;
    core_define(w, "g1");
    core_advance(w, 3000);
    core_waits(w, "g1", PENDING_UTILITY_VOLUMES);
    core_guest(w, "g1")->facts.utility_disks = 0;
    core_define(w, "g1");
    w->loses.cpus = false;
    core_advance(w, 60000);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

/* The order to end a backup is nobody's abort: its answer says nothing about the migration. */
static void the_answer_of_a_stopped_backup_is_not_an_abort_of_the_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.migration.backup_abort = true;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    const struct core_request urgent = {.priority = "system-critical"};
    struct job *job = core_ask(w, "g1", &urgent);
    assert_non_null(job);
    assert_int_equal(w->backup_stops, 1); /* and answered */
    assert_false(job->resolving);
    assert_false(job->abort.accepted);
    core_waits(w, "g1", PENDING_BACKUP); /* it is being ended, not gone */
    for (size_t i = 0; i < w->fx.n; i++)
        assert_false(w->fx.list[i].kind == EFFECT_INTENT &&
                     w->fx.list[i].of.intent.kind == INTENT_ABORT);
    core_free(w);
}

TEST_FILE(test_prepare_waits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_that_did_not_answer_once_is_asked_again_when_there_is_no_other),
        cmocka_unit_test(a_target_that_never_answers_is_no_reason_for_an_event_each_second),
        cmocka_unit_test(utility_volumes_that_appear_late_are_waited_for_only_as_long_as_they_stay),
        cmocka_unit_test(the_answer_of_a_stopped_backup_is_not_an_abort_of_the_migration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
