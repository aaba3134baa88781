/* test_recorder.c - the flight recorder: what the store gets, and when. */
#include "tests/test.h"

#include "base/text.h"
#include "collector/collector.h"
#include "collector/recorder.h"
#include "tests/unit/test_collector_fake.h"

struct fake_store {
    struct store store; /* first: the port's rule */
    struct store_sample last;
    uint64_t rows;
};

static bool fake_append(struct store *store, const struct store_sample *rows, size_t n)
{
    struct fake_store *fake = (struct fake_store *)store;
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

static void a_row_carries_every_number(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {.ops = &fake_ops}};
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

static void samples_are_recorded_before_anybody_hears_of_them(void **state)
{
    (void)state;
    struct fake_store fake = {.store = {.ops = &fake_ops}};
    struct err err = {0};
    OWNED(recorder) r = recorder_new(&fake.store, &err);
    OWNED(stage) s = stage_new(r, NULL);
    stage_host(s, HOST_A);
    stage_watch(s, "job-1", 5);
    struct hv_job_stats stats = stage_copying(MIB, MIB);
    stage_answer_stats(s, &stats);
    assert_int_equal(fake.rows, 1);
    assert_int_equal(fake.last.seq, s->samples[0].seq);
}

TEST_FILE(test_recorder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_carries_every_number),
        cmocka_unit_test(samples_are_recorded_before_anybody_hears_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
