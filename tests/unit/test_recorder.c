/* test_recorder.c - the flight recorder: what the ring keeps, what the store gets, what is
 * counted when it cannot. */
#include "tests/test.h"

#include "base/text.h"
#include "collector/collector.h"
#include "collector/recorder.h"
#include "tests/unit/test_collector_fake.h"

struct fake_store {
    struct store store; /* first: the port's rule */
    struct store_sample last;
    uint64_t rows;
    bool is_full;
};

static bool fake_append(struct store *store, const struct store_sample *rows, size_t n)
{
    struct fake_store *fake = (struct fake_store *)store;
    if (fake->is_full)
        return false;
    fake->rows += n;
    fake->last = rows[n - 1];
    return true;
}
static const struct store_ops fake_ops = {.append_samples = fake_append};

static struct sample sample_of(const char *job_uid, int64_t seq)
{
    struct sample sample = {.seq = seq, .mono_ms = 100 * seq, .wall_ms = 1700000000000 + 100 * seq};
    TEXT_SET(sample.job_uid, job_uid);
    return sample;
}

static void samples_come_back_oldest_first(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    assert_non_null(r);
    for (int64_t seq = 0; seq < 100; seq++) {
        struct sample a = sample_of("a", seq), b = sample_of("b", 1000 + seq);
        recorder_append(r, &a);
        recorder_append(r, &b);
    }
    struct sample out[200];
    assert_int_equal(recorder_copy(r, "a", out, COUNT(out)), 100);
    for (int64_t seq = 0; seq < 100; seq++)
        assert_int_equal(out[seq].seq, seq);
    assert_int_equal(recorder_copy(r, "b", out, 3), 3);
    assert_int_equal(out[0].seq, 1097);
    assert_int_equal(out[2].seq, 1099);
    assert_int_equal(recorder_copy(r, "nobody", out, 3), 0);
    assert_int_equal(fake.rows, 200);
}

static void the_ring_keeps_the_newest_for_every_length(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    struct sample *out = calloc(RECORDER_RING_MAX + 1, sizeof *out);
    assert_non_null(out);
    for (int64_t seq = 0; seq < RECORDER_RING_MAX * 2 + 100; seq++) {
        struct sample sample = sample_of("a", seq);
        recorder_append(r, &sample);
        if (seq % 61 != 0)
            continue;
        int64_t want = seq + 1 < RECORDER_RING_MAX ? seq + 1 : RECORDER_RING_MAX;
        assert_int_equal(recorder_copy(r, "a", out, RECORDER_RING_MAX + 1), want);
        assert_int_equal(out[0].seq, seq - want + 1);
        assert_int_equal(out[want - 1].seq, seq);
    }
    assert_int_equal(fake.rows, RECORDER_RING_MAX * 2 + 100); /* the store got all */
    free(out);
}

static void a_row_carries_every_number(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    struct sample sample = sample_of("a", 7);
    sample.source = SAMPLE_ITERATION;
    sample.bandwidth_bps = 26;
    sample.stats = (struct hv_job_stats){.time_elapsed_ms = 1,
                                         .downtime_ms = 2,
                                         .setup_ms = 3,
                                         .data_total = 4,
                                         .data_processed = 5,
                                         .data_remaining = 6,
                                         .memory_total = 7,
                                         .memory_processed = 8,
                                         .memory_remaining = 9,
                                         .memory_bps = 10,
                                         .memory_constant = 11,
                                         .memory_normal_bytes = 12,
                                         .memory_dirty_rate = 13,
                                         .memory_page_size = 14,
                                         .memory_iteration = 15,
                                         .memory_postcopy_requests = 16,
                                         .disk_total = 17,
                                         .disk_processed = 18,
                                         .disk_remaining = 19,
                                         .disk_bps = 20,
                                         .auto_converge_throttle = 21};
    recorder_append(r, &sample);
    struct store_sample want = {.job_uid = "a",
                                .source = "iteration",
                                .seq = 7,
                                .at_ms = 1700000000700,
                                .mono_ms = 700,
                                .time_elapsed_ms = 1,
                                .downtime_ms = 2,
                                .setup_ms = 3,
                                .data_total = 4,
                                .data_processed = 5,
                                .data_remaining = 6,
                                .memory_total = 7,
                                .memory_processed = 8,
                                .memory_remaining = 9,
                                .memory_bps = 10,
                                .memory_constant = 11,
                                .memory_normal_bytes = 12,
                                .memory_dirty_rate = 13,
                                .memory_page_size = 14,
                                .memory_iteration = 15,
                                .memory_postcopy_requests = 16,
                                .disk_total = 17,
                                .disk_processed = 18,
                                .disk_remaining = 19,
                                .disk_bps = 20,
                                .throttle_percent = 21,
                                .bandwidth_bps = 26};
    assert_memory_equal(&fake.last, &want, sizeof want);
    sample.stats.data_total = UINT64_MAX; /* nonsense from outside stays in range */
    recorder_append(r, &sample);
    assert_int_equal(fake.last.data_total, INT64_MAX);
}

static void what_the_store_cannot_take_is_counted_and_kept_in_the_ring(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}, .is_full = true};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    for (int64_t seq = 0; seq < 5; seq++) {
        struct sample sample = sample_of("a", seq);
        recorder_append(r, &sample);
    }
    struct sample out[8];
    assert_int_equal(recorder_dropped(r), 5);
    assert_int_equal(recorder_copy(r, "a", out, COUNT(out)), 5);
}

static void rings_are_bounded_and_the_most_silent_goes(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    char uid[SAMPLE_JOB_MAX];
    for (int i = 0; i < RECORDER_JOBS_MAX; i++) {
        (void)snprintf(uid, sizeof uid, "job-%d", i);
        struct sample sample = sample_of(uid, 0);
        recorder_append(r, &sample);
    }
    struct sample again = sample_of("job-0", 1), fresh = sample_of("fresh", 0), out[2];
    recorder_append(r, &again);
    recorder_append(r, &fresh);
    assert_int_equal(recorder_copy(r, "job-0", out, COUNT(out)), 2);
    assert_int_equal(recorder_copy(r, "job-1", out, COUNT(out)), 0);
    assert_int_equal(recorder_copy(r, "job-2", out, COUNT(out)), 1);
    assert_int_equal(recorder_copy(r, "fresh", out, COUNT(out)), 1);
    recorder_end(r, "job-0");
    recorder_end(r, "job-0");
    assert_int_equal(recorder_copy(r, "job-0", out, COUNT(out)), 0);
}

static void samples_are_recorded_before_anybody_hears_of_them(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {&fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    OWNED(stage) s = stage_new(r, NULL);
    stage_host(s, HOST_A);
    stage_watch(s, "job-1", 5);
    struct hv_job_stats stats = stage_copying(MIB, MIB);
    stage_answer_stats(s, &stats);
    struct sample out[2];
    assert_int_equal(recorder_copy(r, "job-1", out, COUNT(out)), 1);
    assert_memory_equal(&out[0], &s->samples[0], sizeof out[0]);
    assert_int_equal(fake.last.seq, 5);
    collector_unwatch(s->c, "job-1");
    stage_step(s);
    assert_int_equal(recorder_copy(r, "job-1", out, COUNT(out)), 0); /* the store has it */
}

TEST_FILE(test_recorder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_back_oldest_first),
        cmocka_unit_test(the_ring_keeps_the_newest_for_every_length),
        cmocka_unit_test(a_row_carries_every_number),
        cmocka_unit_test(what_the_store_cannot_take_is_counted_and_kept_in_the_ring),
        cmocka_unit_test(rings_are_bounded_and_the_most_silent_goes),
        cmocka_unit_test(samples_are_recorded_before_anybody_hears_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
