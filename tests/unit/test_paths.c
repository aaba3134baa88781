/* test_paths.c - what earlier migrations between two nodes tell about the next. */
#include "tests/test.h"

#include <stdio.h>

#include "base/text.h"
#include "engine/model/fleet/paths.h"

#define MIB (UINT64_C(1) << 20)

static void move(struct paths *paths, const char *source, const char *target, uint64_t mibs,
                 uint64_t limit_mibs)
{
    struct job job = {.result.outcome = OUTCOME_SUCCEEDED};
    TEXT_SET(job.source, source);
    TEXT_SET(job.target, target);
    job.call.config.bandwidth = (int64_t)(limit_mibs * MIB);
    job.final = (struct job_final){.known = true, .total_ms = 10700, .bytes = 10 * mibs * MIB};
    job.forecast =
        (struct job_forecast){.made = true, .total_ms = 12840, .low_ms = 9000, .high_ms = 20000};
    paths_learn(paths, &job);
}

static void newer_migrations_count_more(void **state)
{
    (void)state;
    struct paths paths = {0};
    for (unsigned i = 0; i < 20; i++)
        move(&paths, "a", "b", 100, 0);
    const struct path *path = paths_find(&paths, "a", "b");
    assert_in_range((uint64_t)path->bandwidth / MIB, 99, 100);
    assert_null(paths_find(&paths, "b", "a")); /* the other direction is another path */
    struct path_speed steady = paths_speed(path, 0);
    assert_int_equal(steady.from, BANDWIDTH_PATH);
    assert_true(steady.low > 90 * MIB && steady.high < 110 * MIB);
    for (unsigned i = 0; i < 5; i++)
        move(&paths, "a", "b", 50, 0);
    struct path_speed changed = paths_speed(path, 0);
    assert_in_range(changed.likely / MIB, 50, 60);
    assert_true(changed.high - changed.low > steady.high - steady.low);
    assert_int_equal(path->forecasts, 25);
    assert_int_equal(path->held, 25);
    assert_in_range((uint64_t)(path->error * 100 + 0.5), 20, 20);
    paths_fini(&paths);
}

static void a_limit_is_no_measurement_of_the_path(void **state)
{
    (void)state;
    struct paths paths = {0};
    for (unsigned i = 0; i < 5; i++)
        move(&paths, "a", "b", 100, 0);
    for (unsigned i = 0; i < 9; i++)
        move(&paths, "a", "b", 10, 10); /* held at its limit */
    const struct path *path = paths_find(&paths, "a", "b");
    assert_in_range(paths_speed(path, 0).likely / MIB, 95, 100);
    assert_int_equal(paths_speed(path, 20 * MIB).from, BANDWIDTH_LIMIT);
    assert_in_range(paths_speed(path, 20 * MIB).likely / MIB, 18, 20);
    struct path_speed slow_path = paths_speed(path, 5000 * MIB);
    assert_int_equal(slow_path.from, BANDWIDTH_PATH);
    assert_in_range(slow_path.likely / MIB, 95, 100);
    assert_true(paths_speed(NULL, 5000 * MIB).low <= 100 * MIB); /* who knows what the link can */
    assert_int_equal(paths_speed(NULL, 0).likely, 0);
    paths_fini(&paths);
}

static void migrations_without_statistics_teach_no_path_speed(void **state)
{
    (void)state;
    struct paths paths = {0};
    struct job job = {.result.outcome = OUTCOME_SUCCEEDED, .source = "a", .target = "b"};
    paths_learn(&paths, &job); /* no numbers */
    job.final = (struct job_final){.known = true, .total_ms = 5000, .bytes = MIB};
    paths_learn(&paths, &job); /* too little */
    job.final.bytes = 1000 * MIB;
    job.result.outcome = OUTCOME_FAILED;
    paths_learn(&paths, &job);
    assert_null(paths.list);
    job.result.outcome = OUTCOME_SUCCEEDED;
    paths_learn(&paths, &job);
    assert_non_null(paths_find(&paths, "a", "b"));
    paths_fini(&paths);
}

static void the_pair_not_used_for_longest_is_forgotten(void **state)
{
    (void)state;
    struct paths paths = {0};
    char name[16];
    move(&paths, "a", "b", 100, 0);
    for (unsigned i = 0; i < PATHS_MAX - 1; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        move(&paths, "a", name, 100, 0);
    }
    assert_int_equal(HASH_COUNT(paths.list), PATHS_MAX);
    move(&paths, "a", "b", 100, 0); /* used again */
    move(&paths, "a", "new", 100, 0);
    assert_int_equal(HASH_COUNT(paths.list), PATHS_MAX);
    assert_non_null(paths_find(&paths, "a", "b"));
    assert_non_null(paths_find(&paths, "a", "new"));
    assert_null(paths_find(&paths, "a", "n0"));
    paths_fini(&paths);
}

TEST_FILE(test_paths)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newer_migrations_count_more),
        cmocka_unit_test(a_limit_is_no_measurement_of_the_path),
        cmocka_unit_test(migrations_without_statistics_teach_no_path_speed),
        cmocka_unit_test(the_pair_not_used_for_longest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
