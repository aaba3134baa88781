/* test_collector.c - stories of watches: when statistics are asked and what becomes a sample. */
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
static void a_watch_queries_the_state_before_statistics(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_watch(s->c, job, HOST_A, GUEST_1, 0, &err));
    stage_step(s);
    assert_int_equal(n_states(s), 1);
    assert_int_equal(n_stats(s), 0);
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
    assert_int_equal(n_stats(s), 1);
    assert_string_equal(s->asks[1].request.host, HOST_A);
    assert_string_equal(s->asks[1].request.guest, GUEST_1);
}

static void a_first_state_query_that_fails_or_times_out_does_not_stop_sampling(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_watch(s->c, job, HOST_A, GUEST_1, 0, &err));
    stage_run(s, 999);
    assert_int_equal(n_stats(s), 0);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), 1);

    assert_true(collector_watch(s->c, "job-2", HOST_B, GUEST_2, 0, &err));
    stage_step(s);
    stage_answer_error(s, HV_CALL_DOMAIN_STATE, ERR_UNREACHABLE, 0);
    assert_int_equal(n_stats(s), 2);
}

static void statistics_are_polled_every_400_ms_counted_from_the_query(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    int64_t begin_ms = s->clock.now_ms;
    for (int i = 0; i < 10; i++) {
        stage_run(s, 30); /* the call takes 30 ms */
        answer_copying(s, (uint64_t)i * MIB, 900 * MIB);
        stage_run(s, 370);
    }
    assert_int_equal(n_stats(s), 11);
    size_t nth = 0;
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].request.call == HV_CALL_JOB_STATS)
            assert_int_equal(s->asks[i].at_ms, begin_ms + 400 * (int64_t)nth++);
    assert_int_equal(s->n_samples, 10);
    assert_int_equal(stats_of(s).samples, 10);
    assert_int_equal(stats_of(s).gap_max_ms, 400);
    assert_int_equal(stats_of(s).lag_ms, 0);
}

static void a_late_step_shows_as_lag(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    s->clock.now_ms += 450; /* nobody stepped */
    stage_step(s);
    assert_int_equal(n_stats(s), 2);
    assert_int_equal(stats_of(s).lag_ms, 50);
}

static void a_sample_has_time_source_and_bandwidth(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 41);
    answer_copying(s, 100 * MIB, 900 * MIB);
    stage_run(s, 400);
    answer_copying(s, 140 * MIB, 860 * MIB);
    const struct sample *first = &s->samples[0], *second = &s->samples[1];
    assert_string_equal(first->job_uid, job);
    assert_string_equal(first->host, HOST_A);
    assert_string_equal(first->guest, GUEST_1);
    assert_int_equal(first->source, SAMPLE_POLL);
    assert_int_equal(first->seq, 41);
    assert_int_equal(first->gap_ms, 0);
    assert_int_equal(first->bandwidth_bps, 0);
    assert_int_equal(first->wall_ms - first->mono_ms, s->clock.epoch_ms);
    assert_int_equal(second->seq, 42);
    assert_int_equal(second->gap_ms, 400);
    assert_int_equal(second->bandwidth_bps, 100 * MIB); /* and not memory_bps */
    assert_int_equal(second->stats.data_remaining, 860 * MIB);
}

static void the_time_of_a_sample_is_when_the_host_answered(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    struct stage_ask *a = stage_open(s, HV_CALL_JOB_STATS);
    stage_run(s, 10);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.stats = stage_copying(MIB, 900 * MIB);
    s->clock.now_ms += 300; /* the collector was busy */
    stage_send(a, &reply);
    stage_step(s);
    assert_int_equal(s->samples[0].mono_ms, reply.ended_ms);
    assert_int_equal(s->samples[0].wall_ms, reply.ended_ms + s->clock.epoch_ms);
}

static void answers_without_a_running_migration_are_not_samples(void **state)
{
    (void)state;
    struct hv_job_stats none = {.type = HV_JOB_NONE};
    struct hv_job_stats zeros = {.type = HV_JOB_UNBOUNDED, .operation = HV_OPERATION_MIGRATION_OUT};
    struct hv_job_stats failed = stage_copying(MIB, MIB);
    failed.type = HV_JOB_FAILED;
    struct hv_job_stats backup = stage_copying(MIB, MIB);
    backup.operation = 9;
    const struct hv_job_stats *rows[] = {&none, &zeros, &failed, &backup};
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        stage_answer_stats(s, rows[i]);
        stage_run(s, 400);
        assert_int_equal(n_stats(s), i + 2); /* and it keeps asking */
    }
    assert_int_equal(s->n_samples, 0);
}

/* Statistics show for a moment how a migration ended, before there are none. */
static void an_end_in_the_statistics_is_reported_once(void **state)
{
    (void)state;
    static const enum hv_job_type ends[] = {HV_JOB_FAILED, HV_JOB_CANCELLED};
    for (size_t i = 0; i < COUNT(ends); i++) {
        OWNED(stage) s = stage_two_hosts();
        struct hv_job_stats ended = stage_copying(MIB, MIB), backup = ended;
        ended.type = (int)ends[i];
        backup.type = (int)ends[i];
        backup.operation = HV_OPERATION_BACKUP;
        stage_watch(s, job, 0);
        stage_answer_stats(s, &backup);
        assert_int_equal(s->n_events, 0);
        for (unsigned twice = 0; twice < 2; twice++) {
            stage_run(s, 400);
            stage_answer_stats(s, &ended);
            assert_int_equal(s->n_events, 1);
        }
        assert_int_equal(s->last_event.kind, HV_EVENT_JOB_ENDED);
        assert_int_equal(s->last_event.a, ends[i]);
        assert_string_equal(s->last_event.host, HOST_A);
        assert_string_equal(s->last_event.guest, GUEST_1);
        assert_int_equal(s->n_samples, 0);
    }
}

/* libvirt ends the copy on the target just before the source's job is gone. */
static void the_end_of_the_copy_makes_it_ask_at_once(void **state)
{
    (void)state;
    for (unsigned foreign = 0; foreign < 2; foreign++) {
        OWNED(stage) s = stage_two_hosts();
        struct hv_job_stats copying = stage_copying(MIB, 900 * MIB);
        struct err err = {0};
        assert_true(foreign != 0 ? collector_watch_foreign(s->c, job, HOST_A, GUEST_1, 0, &err)
                                 : collector_watch(s->c, job, HOST_A, GUEST_1, 0, &err));
        stage_step(s);
        stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
        stage_run(s, foreign != 0 ? 500 : 0); /* its begin is left alone */
        stage_answer_stats(s, &copying);
        stage_run(s, 40);
        assert_int_equal(n_stats(s), 1);
        stage_event(s, HV_EVENT_LIFECYCLE, HOST_B, GUEST_1, HV_LIFECYCLE_STOPPED, 5);
        stage_run(s, 10);
        assert_int_equal(n_stats(s), 1 + foreign);
    }
}

static void the_race_with_the_end_is_no_failure_but_others_are(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        int hv_code;
        bool is_failure;
    } rows[] = {
        {ERR_HYPERVISOR, 55, false}, {ERR_HYPERVISOR, 42, false}, {ERR_NOT_FOUND, 42, false},
        {ERR_HYPERVISOR, 68, true},  {ERR_UNREACHABLE, 0, true},  {ERR_LIMIT, 0, true},
    };
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    uint64_t failures = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        stage_answer_error(s, HV_CALL_JOB_STATS, rows[i].code, rows[i].hv_code);
        failures += rows[i].is_failure;
        assert_int_equal(stats_of(s).stats_failures, failures);
        stage_run(s, 400);
        assert_int_equal(n_stats(s), i + 2);
    }
    assert_int_equal(s->n_samples, 0);
}

static void near_the_end_statistics_are_polled_every_100_ms(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, 100 * MIB, 500 * MIB);
    stage_run(s, 400);
    answer_copying(s, 140 * MIB, 99 * MIB); /* 100 MiB/s: less than a second left */
    stage_run(s, 99);
    assert_int_equal(n_stats(s), 2);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), 3);
    answer_copying(s, 150 * MIB, 500 * MIB); /* a new pass begins */
    stage_run(s, 399);
    assert_int_equal(n_stats(s), 3);
    stage_run(s, 1);
    assert_int_equal(n_stats(s), 4);
}

static void an_iteration_is_measured_at_once(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 150);
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, 2, 0);
    assert_int_equal(n_stats(s), 2);
    answer_copying(s, 2 * MIB, 900 * MIB);
    assert_int_equal(s->samples[1].source, SAMPLE_ITERATION);
    assert_int_equal(s->n_events, 1);
    stage_run(s, 400);
    answer_copying(s, 3 * MIB, 900 * MIB);
    assert_int_equal(s->samples[2].source, SAMPLE_POLL);
}

static void an_iteration_during_a_call_is_measured_right_after_it(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    stage_run(s, 50);
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, 1, 0);
    assert_int_equal(n_stats(s), 1); /* one call in flight, never two */
    answer_copying(s, MIB, 900 * MIB);
    assert_int_equal(n_stats(s), 2);
    answer_copying(s, 2 * MIB, 900 * MIB);
    assert_int_equal(s->samples[0].source, SAMPLE_POLL);
    assert_int_equal(s->samples[1].source, SAMPLE_ITERATION);
}

static void iterations_of_others_are_not_measured(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 100);
    stage_event(s, HV_EVENT_ITERATION, HOST_B, GUEST_1, 1, 0);
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_2, 1, 0);
    assert_int_equal(n_stats(s), 1);
}

static void quick_iterations_mean_near_the_end_and_a_flood_of_them_is_bounded(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 100);
    for (int iteration = 1; iteration <= 3; iteration++) {
        stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, iteration, 0);
        answer_copying(s, MIB, 900 * MIB);
        stage_run(s, 90);
    }
    size_t before = n_stats(s);
    stage_run(s, 10); /* 100 ms after the last question, not 400 */
    assert_int_equal(n_stats(s), before + 1);
    answer_copying(s, MIB, 900 * MIB);

    before = n_stats(s);
    for (int ms = 0; ms < 100; ms++) {
        stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, 4 + ms, 0);
        if (stage_open(s, HV_CALL_JOB_STATS) != NULL)
            answer_copying(s, MIB, 900 * MIB);
        stage_run(s, 1);
    }
    assert_in_range(n_stats(s) - before, 4, 6);
}

static void completion_becomes_the_last_sample(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 3);
    stage_run(s, 50);
    struct hv_event event = {.kind = HV_EVENT_JOB_COMPLETED, .at_ms = s->clock.now_ms};
    TEXT_SET(event.host, HOST_A);
    TEXT_SET(event.guest, GUEST_1);
    event.stats = stage_copying(1000 * MIB, 0);
    event.stats.type = HV_JOB_COMPLETED;
    event.stats.downtime_ms = 21;
    s->events.on_event(s->events.ctx, &event);
    stage_step(s);
    assert_int_equal(s->n_samples, 1);
    assert_int_equal(s->samples[0].source, SAMPLE_COMPLETED);
    assert_int_equal(s->samples[0].seq, 3);
    assert_int_equal(s->samples[0].stats.downtime_ms, 21);
    assert_int_equal(s->samples_at_last_event, 1); /* sample first, then the event */
    answer_copying(s, 990 * MIB, 10 * MIB);        /* answered earlier, delivered later */
    assert_int_equal(s->n_samples, 1);
}

static void an_unwatched_job_is_not_polled(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_run(s, 400);
    collector_unwatch(s->c, job);
    stage_step(s);
    answer_copying(s, 2 * MIB, 900 * MIB);
    stage_event(s, HV_EVENT_ITERATION, HOST_A, GUEST_1, 2, 0);
    stage_run(s, 5000);
    assert_int_equal(s->n_samples, 1);
    assert_int_equal(n_stats(s), 2);
    assert_int_equal(n_states(s), 1);
}

static void refused_queries_are_retried(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    s->refuse_call = HV_CALL_JOB_STATS;
    stage_watch(s, job, 0);
    stage_run(s, 2000);
    assert_int_equal(stats_of(s).stats_failures, 6);
    s->refuse_call = -1;
    stage_run(s, 400);
    assert_int_equal(n_stats(s), 1);
}

static void watches_are_bounded_and_bad_ones_refused(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_false(collector_watch(s->c, job, "nowhere", GUEST_1, 0, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    err = (struct err){0};
    assert_false(collector_watch(s->c, "", HOST_A, GUEST_1, 0, &err));
    assert_int_equal(err.code, ERR_INVALID);
    for (int round = 0; round < 2; round++) { /* the second: unwatched ones give room back */
        char uid[SAMPLE_JOB_MAX];
        for (int i = 0; i < COLLECTOR_WATCHES_MAX; i++) {
            (void)snprintf(uid, sizeof uid, "job-%d", i);
            err = (struct err){0};
            assert_true(collector_watch(s->c, uid, HOST_A, GUEST_1, 0, &err));
        }
        assert_false(collector_watch(s->c, "one-more", HOST_A, GUEST_1, 0, &err));
        assert_int_equal(err.code, ERR_LIMIT);
        stage_run(s, 1500); /* first looks unanswered, statistics hang */
        for (int i = 0; i < COLLECTOR_WATCHES_MAX; i++) {
            (void)snprintf(uid, sizeof uid, "job-%d", i);
            collector_unwatch(s->c, uid);
        }
        stage_step(s);
    }
}

static void a_second_watch_of_a_job_replaces_the_first(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_watch(s, job, 0);
    answer_copying(s, MIB, 900 * MIB);
    stage_watch(s, job, 10);
    stage_run(s, 20);
    answer_copying(s, 2 * MIB, 900 * MIB);
    assert_int_equal(stage_n_open(s, HV_CALL_JOB_STATS), 0);
    assert_int_equal(s->samples[1].seq, 10);
    collector_unwatch(s->c, job);
    stage_run(s, 2000);
    assert_int_equal(stage_n_open(s, HV_CALL_JOB_STATS), 0);
}

TEST_FILE(test_collector)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_queries_the_state_before_statistics),
        cmocka_unit_test(a_first_state_query_that_fails_or_times_out_does_not_stop_sampling),
        cmocka_unit_test(statistics_are_polled_every_400_ms_counted_from_the_query),
        cmocka_unit_test(a_late_step_shows_as_lag),
        cmocka_unit_test(a_sample_has_time_source_and_bandwidth),
        cmocka_unit_test(the_time_of_a_sample_is_when_the_host_answered),
        cmocka_unit_test(answers_without_a_running_migration_are_not_samples),
        cmocka_unit_test(an_end_in_the_statistics_is_reported_once),
        cmocka_unit_test(the_end_of_the_copy_makes_it_ask_at_once),
        cmocka_unit_test(the_race_with_the_end_is_no_failure_but_others_are),
        cmocka_unit_test(near_the_end_statistics_are_polled_every_100_ms),
        cmocka_unit_test(an_iteration_is_measured_at_once),
        cmocka_unit_test(an_iteration_during_a_call_is_measured_right_after_it),
        cmocka_unit_test(iterations_of_others_are_not_measured),
        cmocka_unit_test(quick_iterations_mean_near_the_end_and_a_flood_of_them_is_bounded),
        cmocka_unit_test(completion_becomes_the_last_sample),
        cmocka_unit_test(an_unwatched_job_is_not_polled),
        cmocka_unit_test(refused_queries_are_retried),
        cmocka_unit_test(watches_are_bounded_and_bad_ones_refused),
        cmocka_unit_test(a_second_watch_of_a_job_replaces_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
