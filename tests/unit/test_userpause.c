/* test_userpause.c - a guest that its user pauses while it moves arrives paused. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

#define MAY_PAUSE                                                                 \
    "{\"selectors\":{},\"allowPostCopy\":false,\"allowWorkloadDisruption\":true," \
    "\"monitor\":\"legacy\"}"

enum { RESUMED_MIGRATED = 1 }; /* libvirt's detail */

static void user_pauses(struct core_world *w)
{
    w->source = CORE_SUSPENDED;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_PAUSED);
}

/* libvirt lets it run on the target. */
static void arrives_running(struct core_world *w, bool told)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    if (told)
        core_lifecycle_event(w, "h2", HV_LIFECYCLE_RESUMED, 1);
    if (w->migrate_id != 0 && order_is_out(core_job(w), ORDER_MIGRATE))
        core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 500);
}

static void a_guest_paused_by_its_user_is_paused_on_the_target_at_once(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct core_world *w = core_flowing(NULL, false);
        user_pauses(w);
        assert_int_equal(core_count_events(w, "PausedByUser", NULL), 1);
        core_stall(w, 400);
        arrives_running(w, told);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
        assert_string_equal(core_newest(w, HV_CALL_SUSPEND)->of.act.node, "h2");
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* not yet as wished */
        assert_true(core_job(w)->wait.reason[0] != '\0');
        w->target = CORE_SUSPENDED;
        core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
        core_advance(w, 2000);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_count_events(w, "PausedAtTarget", "it ran there for about"), 1);
        assert_true(core_job(w)->userpause.ran_ms >= 0 && core_job(w)->userpause.ran_ms <= 1000);
        assert_int_equal(core_open_intents(w), 0);
        core_clean(w);
        core_free(w);
    }
}

static void iteration_event(struct core_world *w)
{
    struct input input = {.kind = INPUT_EVENT};
    input.of.event.kind = HV_EVENT_ITERATION;
    input.of.event.a = 4;
    TEXT_SET(input.of.event.host, "h1");
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    TEXT_SET(input.host, "h1");
    TEXT_SET(input.guest, CORE_GUEST);
    core_feed(w, &input);
}

enum hint { NO_HINT, ITERATION_BEFORE, SAMPLE_AFTER };

/* The newest sample says that far more remains than a switch-over may take. Compressed, all of it
 * is gone a moment later, and the switch-over then takes seconds on a slow link. */
static void a_long_switch_over_after_the_last_sample_is_no_users_pause(void **state)
{
    (void)state;
    for (enum hint hint = NO_HINT; hint <= SAMPLE_AFTER; hint++) {
        struct core_world *w = core_flowing(NULL, false);
        w->rest_bytes = INT64_C(4) << 30;
        core_flow(w, 800);
        core_advance(w, 50);
        if (hint == ITERATION_BEFORE)
            iteration_event(w);
        w->source = CORE_SWITCHING;
        core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_MIGRATED);
        if (hint == SAMPLE_AFTER) {
            w->rest_bytes = 0;
            core_flow(w, 400);
        }
        core_advance(w, 3000);
        assert_int_equal(core_job(w)->userpause.requested, hint == NO_HINT);
        core_free(w);
    }
}

/* libvirt stops the guest for a moment and lets it run again; a switch-over later is not the
 * user's. */
static void a_stop_that_ended_is_no_sign_of_a_later_pause(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    w->rest_bytes = INT64_C(4) << 30;
    core_flow(w, 800);
    core_advance(w, 50);
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_MIGRATED);
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, RESUMED_MIGRATED);
    w->source = CORE_SWITCHING;
    core_advance(w, 3000);
    assert_false(core_job(w)->userpause.requested);
    core_free(w);
}

static void only_a_user_takes_the_pause_of_a_user_back(void **state)
{
    (void)state;
    for (int detail = 0; detail < 3; detail++) { /* unpaused, migrated, from a snapshot */
        struct core_world *w = core_flowing(NULL, false);
        user_pauses(w);
        core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, detail);
        assert_int_equal(core_job(w)->userpause.requested, detail != 0);
        assert_int_equal(core_count_events(w, "UnpausedByUser", NULL), detail == 0);
        core_free(w);
    }
}

static void events_of_a_target_that_refuses_give_no_orders_without_end(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    user_pauses(w);
    for (int i = 0; i < 40; i++) {
        core_lifecycle_event(w, "h2", HV_LIFECYCLE_RESUMED, RESUMED_MIGRATED);
        if (core_job(w)->orders[ORDER_USER_PAUSE].id != 0)
            core_answers(w, HV_CALL_SUSPEND, ERR_HYPERVISOR);
        core_advance(w, 600);
    }
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 20);
    core_free(w);
}

static void a_user_who_lets_it_run_again_finds_it_running(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    user_pauses(w);
    w->source = CORE_RUNS;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, 0);
    assert_int_equal(core_count_events(w, "UnpausedByUser", NULL), 1);
    arrives_running(w, true);
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 0);
    core_free(w);
}

/* Its policy lets Ferry pause it to finish. */
static struct core_world *paused_by_ferry(enum err_code answer)
{
    struct core_world *w = core_flowing(MAY_PAUSE, false);
    w->rest_bytes = 48 << 20;
    for (int i = 0; i < 600 && core_orders(w, HV_CALL_SUSPEND) == 0; i++)
        core_flow(w, 400);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
    w->source = CORE_SUSPENDED;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED,
                         CORE_SUSPENDED_PAUSED); /* before the answer */
    core_answers(w, HV_CALL_SUSPEND, answer);
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_PAUSED); /* and after it */
    return w;
}

/* The source is paused then in any case, and the target must not be. */
static void in_post_copy_a_pause_of_the_source_is_not_the_user_s(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_PAUSED);
    core_advance(w, 5000);
    assert_false(core_job(w)->userpause.requested);
    core_free(w);
}

static void ferrys_own_pause_is_not_the_users(void **state)
{
    (void)state;
    const enum err_code answers[] = {ERR_NONE, ERR_UNREACHABLE};
    for (size_t i = 0; i < COUNT(answers); i++)
        for (int restarted = 0; restarted < 2; restarted++) {
            struct core_world *w = paused_by_ferry(answers[i]);
            if (restarted)
                core_restart(w, 1000);
            core_advance(w, 1000);
            assert_false(core_job(w)->userpause.requested);
            arrives_running(w, true);
            core_advance(w, 3000);
            core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
            assert_string_equal(core_newest(w, HV_CALL_SUSPEND)->of.act.node, "h1");
            core_free(w);
        }
}

static void what_ferry_paused_runs_again_when_it_fails(void **state)
{
    (void)state;
    struct core_world *w = paused_by_ferry(ERR_NONE);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 1000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME), 1);
    w->source = CORE_RUNS;
    core_answers(w, HV_CALL_RESUME, ERR_NONE);
    core_advance(w, 1000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static const struct hv_observation undone = {.presence = HV_PRESENT,
                                             .state = HV_STATE_RUNNING,
                                             .reason = HV_RUNNING_MIGRATION_CANCELED,
                                             .job_type = -1};

/* libvirt lets the guest run again, as before the migration. */
static void a_user_s_pause_survives_a_failed_or_aborted_migration(void **state)
{
    (void)state;
    for (int aborted = 0; aborted < 2; aborted++)
        for (int restarted = 0; restarted < 2; restarted++) {
            struct core_world *w = core_flowing(NULL, false);
            user_pauses(w);
            core_stall(w, 400);
            if (aborted) {
                core_cancel(w);
                core_returns(w, HV_CALL_ABORT, ERR_NONE);
            }
            w->source = undone;
            w->target = CORE_ABSENT;
            w->job_type = HV_JOB_NONE;
            if (restarted)
                core_restart(w, 1000); /* nobody saw it resume */
            else
                core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
            core_advance(w, 3000);
            assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
            assert_string_equal(core_newest(w, HV_CALL_SUSPEND)->of.act.node, "h1");
            core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_SOURCE); /* not yet as wished */
            w->source = CORE_SUSPENDED;
            core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
            core_advance(w, 2000);
            assert_int_equal(core_job(w)->phase, PHASE_FAILED);
            assert_int_equal(core_count_events(w, "PausedAtSource", "Paused on h1 again"), 1);
            assert_int_equal(core_count_events(w, "PausedAtSource", NULL), 1);
            assert_int_equal(core_orders(w, HV_CALL_RESUME), 0);
            assert_int_equal(core_open_intents(w), 0);
            core_free(w);
        }
}

static void a_guest_that_its_user_resumed_is_not_paused_again(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    user_pauses(w);
    core_stall(w, 400);
    w->source = undone;
    w->source.reason = HV_RUNNING_UNPAUSED;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_restart(w, 1000); /* nobody saw it resume */
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 0);
    core_free(w);
}

static void a_source_that_does_not_pause_it_again_is_reported(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    user_pauses(w);
    core_stall(w, 400);
    w->source = undone;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    for (int i = 0; i < 60 && core_job(w)->phase == PHASE_RUNNING; i++) {
        core_advance(w, 1000);
        if (core_job(w)->orders[ORDER_USER_PAUSE].id != 0)
            core_answers(w, HV_CALL_SUSPEND, ERR_HYPERVISOR);
    }
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 20);
    assert_int_equal(core_count_events(w, "NotPausedAtSource", NULL), 1);
    core_free(w);
}

/* Seen in the lab: both hosts were observed while the answer to the pause was under way. */
static void a_guest_seen_paused_before_the_answer_is_reported_once(void **state)
{
    (void)state;
    for (int arrives = 0; arrives < 2; arrives++) {
        struct core_world *w = core_flowing(NULL, false);
        user_pauses(w);
        core_stall(w, 400);
        if (arrives) {
            arrives_running(w, false);
        } else {
            w->source = undone;
            w->target = CORE_ABSENT;
            w->job_type = HV_JOB_NONE;
            core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        }
        for (int i = 0; i < 20 && core_orders(w, HV_CALL_SUSPEND) == 0; i++)
            core_advance(w, 500);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
        *(arrives ? &w->target : &w->source) = CORE_SUSPENDED;
        core_advance(w, 3000);
        if (core_job(w)->orders[ORDER_USER_PAUSE].id != 0)
            core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
        core_advance(w, 1000);
        core_expect(w, arrives ? PHASE_SUCCEEDED : PHASE_FAILED,
                    arrives ? OUTCOME_SUCCEEDED : OUTCOME_FAILED,
                    arrives ? GUEST_AT_TARGET : GUEST_AT_SOURCE);
        assert_int_equal(core_count_events(w, arrives ? "PausedAtTarget" : "PausedAtSource", NULL),
                         1);
        core_free(w);
    }
}

/* The call fails while the order to pause is under way: it may still land. */
static void an_order_to_pause_is_awaited_before_the_end(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(MAY_PAUSE, false);
    w->rest_bytes = 48 << 20;
    for (int i = 0; i < 600 && core_orders(w, HV_CALL_SUSPEND) == 0; i++)
        core_flow(w, 400);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->source = CORE_SUSPENDED;
    core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME), 1);
    core_free(w);
}

/* Both paused it: when Ferry resumes it, the pause of its user stays. */
static void what_its_user_paused_is_not_given_back_running(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(MAY_PAUSE, false);
    user_pauses(w);
    w->rest_bytes = 48 << 20;
    for (int i = 0; i < 600 && core_orders(w, HV_CALL_SUSPEND) == 0; i++)
        core_flow(w, 400);
    core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME), 0);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_user_pause_is_known_after_a_restart(void **state)
{
    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        struct core_world *w = core_flowing(NULL, false);
        if (!seen)
            user_pauses(w);
        else
            w->source = CORE_SUSPENDED; /* paused while nobody listened */
        core_restart(w, 1000);
        core_advance(w, 2000);
        assert_true(core_job(w)->userpause.requested);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 0); /* never at the source */
        arrives_running(w, false);
        core_advance(w, 1000);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
        core_restart(w, 1000); /* the answer is lost */
        core_advance(w, 2000);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 2);
        w->target = CORE_SUSPENDED;
        core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
        core_advance(w, 3000);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

static void a_target_that_refuses_is_asked_for_a_while_and_then_it_is_said(void **state)
{
    (void)state;
    const int64_t jumps_ms[] = {0, -3600000};
    for (size_t j = 0; j < COUNT(jumps_ms); j++) {
        struct core_world *w = core_flowing(NULL, false);
        user_pauses(w);
        arrives_running(w, true);
        w->now.wall_ms += jumps_ms[j];
        for (unsigned i = 0; i < 100 && core_job(w)->phase == PHASE_RUNNING; i++) {
            if (core_job(w)->orders[ORDER_USER_PAUSE].id != 0)
                core_answers(w, HV_CALL_SUSPEND, ERR_HYPERVISOR);
            core_advance(w, 1000);
        }
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 20);
        assert_int_equal(core_count_events(w, "NotPausedAtTarget", NULL), 1);
        assert_int_equal(core_count_events(w, "PausedAtTarget", NULL), 0);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

static void paused_before_the_move_it_arrives_paused_by_libvirt_itself(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_SUSPENDED;
    core_create(w);
    assert_true((w->last.flags & HV_MIGRATE_PAUSED) != 0);
    core_sample(w);
    w->source = CORE_ABSENT;
    w->target = CORE_SUSPENDED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 0);
    core_free(w);
}

static void a_paused_guest_that_stays_is_left_paused(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    user_pauses(w);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_orders(w, HV_CALL_RESUME) + core_orders(w, HV_CALL_SUSPEND), 0);
    assert_int_equal(core_count_events(w, "PausedAtSource", "stays paused on h1"), 1);
    core_free(w);
}

TEST_FILE(test_userpause)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_paused_by_its_user_is_paused_on_the_target_at_once),
        cmocka_unit_test(a_long_switch_over_after_the_last_sample_is_no_users_pause),
        cmocka_unit_test(a_stop_that_ended_is_no_sign_of_a_later_pause),
        cmocka_unit_test(only_a_user_takes_the_pause_of_a_user_back),
        cmocka_unit_test(events_of_a_target_that_refuses_give_no_orders_without_end),
        cmocka_unit_test(a_user_who_lets_it_run_again_finds_it_running),
        cmocka_unit_test(in_post_copy_a_pause_of_the_source_is_not_the_user_s),
        cmocka_unit_test(ferrys_own_pause_is_not_the_users),
        cmocka_unit_test(what_ferry_paused_runs_again_when_it_fails),
        cmocka_unit_test(a_user_s_pause_survives_a_failed_or_aborted_migration),
        cmocka_unit_test(a_guest_that_its_user_resumed_is_not_paused_again),
        cmocka_unit_test(a_source_that_does_not_pause_it_again_is_reported),
        cmocka_unit_test(a_guest_seen_paused_before_the_answer_is_reported_once),
        cmocka_unit_test(an_order_to_pause_is_awaited_before_the_end),
        cmocka_unit_test(what_its_user_paused_is_not_given_back_running),
        cmocka_unit_test(a_user_pause_is_known_after_a_restart),
        cmocka_unit_test(a_target_that_refuses_is_asked_for_a_while_and_then_it_is_said),
        cmocka_unit_test(paused_before_the_move_it_arrives_paused_by_libvirt_itself),
        cmocka_unit_test(a_paused_guest_that_stays_is_left_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
