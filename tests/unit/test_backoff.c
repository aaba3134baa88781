/* test_backoff.c - how long an automatic migration waits, by the guest's finished ones. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/core/reconcile.h"
#include "engine/model/job/backoff.h"

enum { JOBS_MAX = 16, END_MS = 1000000 };

/* A history as letters, newest first: f failed, s succeeded, l lost, c cancelled before anything
 * moved, a aborted while it moved, n without an outcome; capitals: a human's; - being removed. */
static void history(struct job *jobs, const char *letters)
{
    size_t n = strlen(letters);
    memset(jobs, 0, JOBS_MAX * sizeof *jobs);
    for (size_t i = 0; i < n; i++) {
        struct job *job = &jobs[i];
        char letter = (char)(letters[i] | 0x20);
        bool human = letters[i] >= 'A' && letters[i] <= 'Z';
        job->request.origin = human ? ORIGIN_HUMAN : i % 2 == 0 ? ORIGIN_EVACUATION : ORIGIN_UPDATE;
        job->result.outcome = letter == 's'                    ? OUTCOME_SUCCEEDED
                              : letter == 'l'                  ? OUTCOME_LOST
                              : letter == 'c' || letter == 'a' ? OUTCOME_ABORTED
                              : letter == 'n'                  ? OUTCOME_NONE
                                                               : OUTCOME_FAILED;
        job->call.moved = letter != 'c';
        job->request.remove_when_final = letters[i] == '-';
        job->entered_ms = END_MS - (int64_t)i;
        job->links.older = i + 1 < n ? &jobs[i + 1] : NULL;
    }
}

static const struct {
    const char *history;
    unsigned failures;
    int64_t wait_s; /* after the end of job `from` */
    int from;
} stories[] = {
    {"", 0, 0, 0},
    {"s", 0, 0, 0},
    {"f", 1, 20, 0},
    {"ff", 2, 40, 0},
    {"fff", 3, 80, 0},
    {"ffff", 4, 160, 0},
    {"fffff", 5, 320, 0},
    {"ffffff", 6, 320, 0}, /* no longer than that */
    {"fffffffff", 9, 320, 0},
    {"sfff", 0, 0, 0},  /* success resets */
    {"fsff", 1, 20, 0}, /* and what came before it does not count */
    {"Sff", 0, 0, 0},   /* a human's success as well */
    {"fSff", 1, 20, 0},
    {"F", 0, 0, 0}, /* a human's failure is not counted */
    {"FFf", 1, 20, 2},
    {"fFf", 2, 40, 0},
    {"c", 0, 0, 0}, /* cancelled before anything moved */
    {"cf", 1, 20, 1},
    {"fcf", 2, 40, 0},
    {"a", 1, 20, 0}, /* aborted on the way */
    {"l", 1, 20, 0},
    {"-", 0, 0, 0}, /* being removed */
    {"-f-f", 2, 40, 1},
    {"n", 0, 0, 0},
    {"nf", 1, 20, 1},
};

static void the_wait_follows_from_the_history(void **state)
{
    struct job *jobs = *state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct backoff backoff;
        history(jobs, stories[i].history);
        backoff_of(stories[i].history[0] == '\0' ? NULL : jobs, &backoff);
        print_message("'%s'\n", stories[i].history);
        assert_int_equal(backoff.failures, stories[i].failures);
        assert_int_equal(backoff.until_ms, stories[i].failures == 0 ? 0
                                                                    : END_MS - stories[i].from +
                                                                          stories[i].wait_s * 1000);
        assert_false(backoff.exhausted);
    }
}

static void after_ten_failures_in_a_row_nothing_is_tried_by_itself(void **state)
{
    struct job *jobs = *state;
    struct backoff backoff;
    assert_int_equal(BACKOFF_ATTEMPTS_MAX, 10);
    history(jobs, "ffffffffff");
    backoff_of(jobs, &backoff);
    assert_true(backoff.exhausted);
    history(jobs, "fffffffffffff");
    backoff_of(jobs, &backoff);
    assert_true(backoff.exhausted);
    history(jobs, "fffffffffsf");
    backoff_of(jobs, &backoff);
    assert_false(backoff.exhausted);
}

/* Law: who asked decides whether a failure counts, for every origin there is. */
static void only_automatic_failures_count(void **state)
{
    struct job *jobs = *state;
    for (enum origin origin = 0; origin < ORIGIN_COUNT; origin++) {
        struct backoff backoff;
        history(jobs, "f");
        jobs[0].request.origin = origin;
        backoff_of(jobs, &backoff);
        assert_int_equal(backoff.failures, origin_is_automatic(origin));
    }
    assert_false(origin_is_automatic(ORIGIN_HUMAN));
    assert_true(origin_is_automatic(ORIGIN_EVACUATION));
    assert_true(origin_is_automatic(ORIGIN_UPDATE));
    assert_false(origin_is_automatic(ORIGIN_VOLUMES));
}

static int jobs_new(void **state)
{
    *state = calloc(JOBS_MAX, sizeof(struct job));
    return *state == NULL;
}

static int jobs_free(void **state)
{
    free(*state);
    return 0;
}

static void a_restart_counts_from_the_end_and_a_clock_set_back_prolongs_nothing(void **state)
{
    struct job *jobs = *state;
    const struct moment now = {.mono_ms = 500, .wall_ms = 1000000};
    struct backoff backoff;
    history(jobs, "f");
    jobs[0].times.ended_ms = now.wall_ms - 5000;
    reconcile_restore_final(&jobs[0], now);
    backoff_of(jobs, &backoff);
    assert_int_equal(backoff.until_ms - now.mono_ms, BACKOFF_FIRST_MS - 5000);
    jobs[0].times.ended_ms = now.wall_ms + 2 * 86400 * 1000;
    reconcile_restore_final(&jobs[0], now);
    backoff_of(jobs, &backoff);
    assert_int_equal(backoff.until_ms - now.mono_ms, BACKOFF_FIRST_MS);
}

TEST_FILE(test_backoff)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_follows_from_the_history),
        cmocka_unit_test(after_ten_failures_in_a_row_nothing_is_tried_by_itself),
        cmocka_unit_test(only_automatic_failures_count),
        cmocka_unit_test(a_restart_counts_from_the_end_and_a_clock_set_back_prolongs_nothing),
    };
    return cmocka_run_group_tests_name("backoff", tests, jobs_new, jobs_free);
}
