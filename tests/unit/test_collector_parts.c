/* test_collector_parts.c - the collector's pure parts: the rate and the heap of deadlines. */
#include "tests/test.h"

#include "collector/due.h"
#include "collector/rate.h"
#include "collector/sample.h"

static void a_steady_stream_has_its_true_rate_at_any_spacing(void **state)
{
    (void)state;
    static const int64_t spacings[] = {1, 20, 100, 400, 1000, 5000};
    for (size_t i = 0; i < COUNT(spacings); i++) {
        struct rate rate = {0};
        assert_int_equal(rate_add(&rate, 10, 777), 0);
        for (int64_t n = 1; n < 50; n++) {
            uint64_t counter = 777 + (uint64_t)(n * spacings[i]) * 1000;
            uint64_t bps = rate_add(&rate, 10 + n * spacings[i], counter);
            assert_in_range(bps, 999999, 1000001);
        }
    }
}

static void a_stall_shows_within_two_seconds(void **state)
{
    (void)state;
    struct rate rate = {0};
    (void)rate_add(&rate, 0, 0);
    uint64_t bps = rate_add(&rate, 400, 400000);
    assert_int_equal(bps, 1000000);
    uint64_t before = bps;
    for (int64_t at = 800; at <= 2400; at += 400) {
        bps = rate_add(&rate, at, 400000);
        assert_true(bps < before);
        before = bps;
    }
    assert_true(bps < 100000);
    assert_int_equal(rate_add(&rate, 3400, 400000), 0); /* a whole second says it all */
}

static void equal_times_and_falling_counters_are_handled(void **state)
{
    (void)state;
    struct rate rate = {0};
    (void)rate_add(&rate, 0, 0);
    assert_int_equal(rate_add(&rate, 0, 500), 0);
    assert_int_equal(rate_add(&rate, 1000, 1000), 1000);
    assert_int_equal(rate_add(&rate, 1000, 9000), 1000);
    assert_int_equal(rate_add(&rate, 2000, 10), 0); /* another job: no rate yet */
    assert_int_equal(rate_add(&rate, 3000, 510), 500);
    assert_true(rate_add(&rate, 3001, UINT64_MAX) > 0); /* no overflow */
}

static void deadlines_come_out_in_order_after_any_moves(void **state)
{
    (void)state;
    enum { N = 300 };
    struct due_heap heap = {0};
    struct err err = {0};
    struct due dues[N] = {0};
    assert_null(due_first(&heap));
    assert_true(due_reserve(&heap, N, &err));
    uint32_t random = 12345;
    for (int round = 0; round < 5 * N; round++) {
        random = random * 1103515245u + 12345u;
        struct due *due = &dues[(random >> 8) % N];
        if (random >> 30 == 0)
            due_clear(&heap, due);
        else
            due_set(&heap, due, (int64_t)(random >> 12) % 1000);
    }
    size_t left = 0;
    for (size_t i = 0; i < N; i++)
        left += dues[i].position != 0;
    assert_int_equal(left, heap.n);
    int64_t last_ms = -1;
    for (struct due *due = due_first(&heap); due != NULL; due = due_first(&heap)) {
        assert_true(due->at_ms >= last_ms);
        last_ms = due->at_ms;
        due_clear(&heap, due);
        left--;
    }
    assert_int_equal(left, 0);
    due_fini(&heap);
}

static void every_source_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(sample_source_name(SAMPLE_POLL), "poll");
    assert_string_equal(sample_source_name(SAMPLE_ITERATION), "iteration");
    assert_string_equal(sample_source_name(SAMPLE_COMPLETED), "completed");
}

TEST_FILE(test_collector_parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_stream_has_its_true_rate_at_any_spacing),
        cmocka_unit_test(a_stall_shows_within_two_seconds),
        cmocka_unit_test(equal_times_and_falling_counters_are_handled),
        cmocka_unit_test(deadlines_come_out_in_order_after_any_moves),
        cmocka_unit_test(every_source_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
