/* test_collector_stall.c - stories of guests that must not be asked for statistics: a call that
 * hangs, the switch-over, an adopted switch-over; and how polling begins again. */
#include "tests/unit/test_collector_fake.h"

static const char job[] = "job-1";

static size_t n_stats(const struct stage *s)
{
    return s->n_of[HV_CALL_JOB_STATS];
}
static size_t n_states(const struct stage *s)
{
    return s->n_of[HV_CALL_DOMAIN_STATE];
}
static struct collector_stats stats_of(struct stage *s)
{
    struct collector_stats stats;
    collector_stats(s->c, &stats);
    return stats;
}
static void answer_copying(struct stage *s, uint64_t processed, uint64_t remaining)
{
    struct hv_job_stats stats = stage_copying(processed, remaining);
    stage_answer_stats(s, &stats);
}
/* A watch whose statistics call has been hanging until it was given up. */
static struct stage *stalled_stage(void)
{
    struct stage *s = stage_two_hosts();
    stage_watch(s, job, 0);
    stage_run(s, 1000);
    assert_int_equal(stats_of(s).stalled_watches, 1);
    assert_int_equal(n_states(s), 2);
    return s;
}

static void an_adopted_guest_in_its_switchover_is_not_polled(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_watch(s->c, job, HOST_A, GUEST_1, 7, &err));
    stage_step(s);
    stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    for (int i = 0; i < 10; i++) {
        stage_run(s, 400);
        stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    }
    assert_int_equal(n_stats(s), 0);
    stage_run(s, 400);
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_UNPAUSED);
    assert_int_equal(n_stats(s), 1);
}

static void a_call_older_than_patience_ends_polling(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    stage_run(s, 999);
    assert_int_equal(stats_of(s).stalled_watches, 0);
    assert_int_equal(n_states(s), 1);
    stage_run(s, 1);
    assert_int_equal(stats_of(s).stalled_watches, 1);
    assert_int_equal(n_states(s), 2);
    for (int i = 0; i < 20; i++) { /* the state is asked every 400 ms, one at a time */
        stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
        stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, i, 0);
        stage_run(s, 400);
        assert_int_equal(n_states(s), i + 3);
    }
    assert_int_equal(n_stats(s), 1);
}

static void a_running_guest_is_not_polled_while_the_old_call_hangs(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage();
    for (int i = 0; i < 5; i++) {
        stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
        assert_int_equal(n_states(s), i + 2); /* no hurry */
        stage_run(s, 400);
    }
    assert_int_equal(n_stats(s), 1);
    assert_int_equal(stats_of(s).stalled_watches, 1);
}

static void polling_continues_when_the_call_returned_and_the_guest_runs(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage();
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    answer_copying(s, 5 * MIB, 900 * MIB); /* what it brings is still a measurement */
    assert_int_equal(s->n_samples, 1);
    assert_int_equal(n_stats(s), 1);
    assert_int_equal(n_states(s), 3); /* looked again at once */
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    assert_int_equal(n_stats(s), 2);
    assert_int_equal(stats_of(s).stalled_watches, 0);
}

static void a_call_that_returns_in_a_switchover_is_not_followed_by_another(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage();
    stage_answer_error(s, HV_CALL_JOB_STATS, ERR_HYPERVISOR, 68);
    for (int i = 0; i < 5; i++) {
        stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
        stage_run(s, 400);
    }
    assert_int_equal(n_stats(s), 1);
    stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER); /* a user's pause is none */
    assert_int_equal(n_stats(s), 2);
}

static void a_guest_that_is_absent_or_unreachable_gets_state_queries_only(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage();
    stage_answer_error(s, HV_CALL_JOB_STATS, ERR_UNREACHABLE, 0);
    stage_answer_state(s, HV_ABSENT, 0, 0);
    stage_run(s, 400);
    stage_answer_error(s, HV_CALL_DOMAIN_STATE, ERR_UNREACHABLE, 0);
    stage_run(s, 400);
    assert_int_equal(n_stats(s), 1);
    assert_int_equal(n_states(s), 4);
}

static void a_lost_reply_times_out_and_polling_continues(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage(); /* its statistics will never be answered */
    struct stage_ask *lost = stage_open(s, HV_CALL_JOB_STATS);
    struct hv_reply reply = stage_reply(s, lost);
    reply.with.stats = stage_copying(MIB, MIB);
    stage_run(s, 14999);
    assert_int_equal(n_states(s), 2);
    stage_run(s, 1); /* nor is the look: asked again after 15 s */
    assert_int_equal(n_states(s), 3);
    while (s->clock.now_ms - lost->at_ms < 60000) {
        stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
        assert_int_equal(n_stats(s), 1);
        stage_run(s, 400);
    }
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    assert_int_equal(n_stats(s), 2);
    assert_int_equal(s->n_samples, 0);
    stage_send(lost, &reply); /* it comes after all: nobody waits for it any more */
    stage_step(s);
    assert_int_equal(s->n_samples, 0);
    answer_copying(s, MIB, 900 * MIB);
    assert_int_equal(s->n_samples, 1);
}

static void switchover_ends_polling(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 100);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 1);
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, 9, 0); /* QEMU sends one there */
    stage_run(s, 399);
    assert_int_equal(n_stats(s), 1);
    assert_int_equal(n_states(s), 1);
    stage_run(s, 1);
    assert_int_equal(n_states(s), 2);
    assert_int_equal(stats_of(s).stalled_watches, 0);
    stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    stage_run(s, 350);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_RESUMED, 0);
    assert_int_equal(n_states(s), 3); /* it failed and the guest runs again: look at once */
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_UNPAUSED);
    assert_int_equal(n_stats(s), 2);
}

static void a_state_from_before_the_switchover_is_ignored(void **state)
{
    (void)state;
    OWNED(stage) s = stalled_stage();
    answer_copying(s, MIB, 900 * MIB);
    struct stage_ask *before = stage_open(s, HV_CALL_DOMAIN_STATE);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 1);
    struct hv_reply reply = stage_reply(s, before);
    reply.with.observation =
        (struct hv_observation){.presence = HV_PRESENT, .state = HV_STATE_RUNNING};
    stage_send(before, &reply);
    stage_run(s, 399);
    assert_int_equal(n_stats(s), 1);
}

static void post_copy_is_sampled(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 100);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 7);
    stage_run(s, 300);
    assert_int_equal(n_stats(s), 2);
    answer_copying(s, 2 * MIB, 900 * MIB);

    /* libvirt may say "migrated" first and "postcopy" a moment later */
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 1);
    stage_run(s, 20);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 7);
    assert_int_equal(n_stats(s), 3);
    assert_int_equal(n_states(s), 1);
}

static void a_users_pause_does_not_end_polling(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 0);
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_B, GUEST_1, HV_LIFECYCLE_SUSPENDED, 1);
    stage_run(s, 400);
    assert_int_equal(n_stats(s), 2);
}

static void a_new_watch_waits_for_the_hanging_call_of_the_old_one(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    stage_run(s, 500); /* one call hangs */
    collector_unwatch(s->c, job);
    stage_watch(s, "job-2", 0);
    stage_run(s, 3000);
    assert_int_equal(n_stats(s), 1);
    answer_copying(s, MIB, MIB);
    assert_int_equal(s->n_samples, 0); /* asked for another job */
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    assert_int_equal(n_stats(s), 2);
    answer_copying(s, MIB, MIB);
    assert_int_equal(s->n_samples, 1);
    assert_string_equal(s->samples[0].job_uid, "job-2");
}

TEST_FILE(test_collector_stall)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adopted_guest_in_its_switchover_is_not_polled),
        cmocka_unit_test(a_call_older_than_patience_ends_polling),
        cmocka_unit_test(a_running_guest_is_not_polled_while_the_old_call_hangs),
        cmocka_unit_test(polling_continues_when_the_call_returned_and_the_guest_runs),
        cmocka_unit_test(a_call_that_returns_in_a_switchover_is_not_followed_by_another),
        cmocka_unit_test(a_guest_that_is_absent_or_unreachable_gets_state_queries_only),
        cmocka_unit_test(a_lost_reply_times_out_and_polling_continues),
        cmocka_unit_test(switchover_ends_polling),
        cmocka_unit_test(a_state_from_before_the_switchover_is_ignored),
        cmocka_unit_test(post_copy_is_sampled),
        cmocka_unit_test(a_users_pause_does_not_end_polling),
        cmocka_unit_test(a_new_watch_waits_for_the_hanging_call_of_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
