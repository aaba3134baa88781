/* test_collector_foreign.c - somebody else's migration is sampled so that no statistics call is in
 * flight when it is likely to switch over: the call holds a lock that libvirt needs to end it. */
#include "tests/unit/test_collector_fake.h"

static const char job[] = "job-1";

static size_t n_stats(const struct stage *s)
{
    return s->n_of[HV_CALL_JOB_STATS];
}
static void answer_copying(struct stage *s, uint64_t processed, uint64_t remaining)
{
    struct hv_job_stats stats = stage_copying(processed, remaining);
    stage_answer_stats(s, &stats);
}
static void iteration(struct stage *s, int n)
{
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, n, 0);
}
/* Ten seconds of memory at 100 MiB/s are left, and two samples show the rate. */
static struct stage *copying_stage(void)
{
    struct stage *s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_watch_foreign(s->c, job, HOST_A, GUEST_1, 0, &err));
    stage_step(s);
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    assert_int_equal(n_stats(s), 0); /* it may just begin */
    iteration(s, 1);
    stage_run(s, 499);
    assert_int_equal(n_stats(s), 0);
    stage_run(s, 1);
    answer_copying(s, 0, 1040 * MIB);
    stage_run(s, 400);
    assert_int_equal(n_stats(s), 2);
    answer_copying(s, 40 * MIB, 1000 * MIB);
    return s;
}

static void far_from_its_end_it_is_sampled_like_any_other(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    for (uint64_t i = 1; i <= 18; i++) {
        stage_run(s, 400);
        answer_copying(s, 40 * (i + 1) * MIB, (1000 - 40 * i) * MIB);
    }
    assert_int_equal(n_stats(s), 20);
    assert_int_equal(s->n_samples, 20);
}

/* QEMU decides at the end of an iteration whether it switches over. */
static void no_call_is_made_while_an_iteration_ends(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    stage_run(s, 400);
    answer_copying(s, 800 * MIB, 210 * MIB); /* 2.1 s are left, a call in 0.4 s comes too late */
    stage_run(s, 2099);
    iteration(s, 2);
    stage_run(s, 499);
    assert_int_equal(n_stats(s), 3);
    stage_run(s, 1); /* it goes on: the next iteration is sampled */
    assert_int_equal(n_stats(s), 4);
}

static void a_planned_call_gives_way_to_an_iteration(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    stage_run(s, 400);
    size_t before = n_stats(s);
    answer_copying(s, 200 * MIB, 840 * MIB);
    stage_run(s, 399);
    iteration(s, 2); /* sooner than expected */
    stage_run(s, 499);
    assert_int_equal(n_stats(s), before);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), before + 1);
}

static void an_unanswered_call_of_a_busy_host_makes_the_next_one_rare(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    stage_run(s, 400);
    stage_run(s, 300); /* the call takes 300 ms */
    answer_copying(s, 41 * MIB, 999 * MIB);
    stage_run(s, 5699);
    assert_int_equal(n_stats(s), 3);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), 4);
}

static void a_stream_that_stalls_before_its_end_is_still_seen(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    stage_run(s, 400);
    answer_copying(s, 990 * MIB, 50 * MIB);
    stage_run(s, 4999);
    assert_int_equal(n_stats(s), 3);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), 4);
}

/* A guest that does not converge: each short iteration may be the last. */
static void short_iterations_are_sampled_rarely_and_never_at_their_begin(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    size_t before = n_stats(s);
    for (int i = 0; i < 200; i++) {
        iteration(s, i + 2);
        assert_int_equal(stage_n_open(s, HV_CALL_JOB_STATS), 0);
        stage_run(s, 150);
        assert_int_equal(stage_n_open(s, HV_CALL_JOB_STATS), 0);
        stage_run(s, 150);
        if (stage_n_open(s, HV_CALL_JOB_STATS) > 0)
            answer_copying(s, 2000 * MIB, 20 * MIB);
    }
    assert_in_range(n_stats(s) - before, 5, 12); /* in a minute */
}

static void the_switchover_and_what_hangs_are_left_alone_too(void **state)
{
    (void)state;
    OWNED(stage) s = copying_stage();
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_SUSPENDED, 1);
    iteration(s, 9);
    for (int i = 0; i < 20; i++) {
        stage_run(s, 400);
        stage_answer_state(s, HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    }
    assert_int_equal(n_stats(s), 2);
}

TEST_FILE(test_collector_foreign)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_from_its_end_it_is_sampled_like_any_other),
        cmocka_unit_test(no_call_is_made_while_an_iteration_ends),
        cmocka_unit_test(a_planned_call_gives_way_to_an_iteration),
        cmocka_unit_test(an_unanswered_call_of_a_busy_host_makes_the_next_one_rare),
        cmocka_unit_test(a_stream_that_stalls_before_its_end_is_still_seen),
        cmocka_unit_test(short_iterations_are_sampled_rarely_and_never_at_their_begin),
        cmocka_unit_test(the_switchover_and_what_hangs_are_left_alone_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
