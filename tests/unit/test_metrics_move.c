/* test_metrics_move.c - what /metrics tells about modes and broken post-copies. */
#include "tests/test.h"

#include "exporter/metrics/metrics.h"
#include "tests/unit/test_metrics_pages.h"

/* How a post-copy that broke ended, and the samples that tell of it. */
static void each_end_of_a_broken_post_copy_is_counted(void **state)
{
    (void)state;
    static const char *const results[] = {"recovered", "irrecoverable", "unrecovered"};
    static const struct {
        enum recovery recovery;
        enum outcome outcome;
        const char *result; /* "": nothing broke */
        int irrecoverable;
    } rows[] = {
        {RECOVERY_NONE, OUTCOME_SUCCEEDED, "", 0},
        {RECOVERY_NONE, OUTCOME_FAILED, "", 0},
        {RECOVERY_RECOVERED, OUTCOME_SUCCEEDED, "recovered", 0},
        {RECOVERY_IRRECOVERABLE, OUTCOME_IRRECOVERABLE, "irrecoverable", 1},
        {RECOVERY_EXHAUSTED, OUTCOME_SUCCEEDED, "unrecovered", 0}, /* by somebody's word */
        {RECOVERY_BLIND, OUTCOME_LOST, "unrecovered", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(metrics_counters) counters = new_counters();
        const struct snapshot_job job = {.result.outcome = rows[i].outcome,
                                         .recovery.state = rows[i].recovery};
        metrics_count_finished(counters, &job);
        OWNED_TEXT page = counters_page(counters);
        char line[128];
        for (size_t r = 0; r < COUNT(results); r++) {
            (void)snprintf(line, sizeof line,
                           "\nferry_postcopy_recoveries_total{result=\"%s\"} %d\n", results[r],
                           strcmp(results[r], rows[i].result) == 0);
            assert_non_null(strstr(page, line));
        }
        (void)snprintf(line, sizeof line, "\nferry_irrecoverable_guests_total %d\n",
                       rows[i].irrecoverable);
        assert_non_null(strstr(page, line));
    }
}

/* Where Ferry itself gave up, nobody asked: that is a failure of the path, not somebody's wish. */
static void gave_up_is_counted_apart_from_aborted(void **state)
{
    (void)state;
    static const struct {
        enum outcome outcome;
        enum abort_cause cause;
        const char *word;
    } rows[] = {
        {OUTCOME_ABORTED, ABORT_CAUSE_NONE, "aborted"}, /* of an earlier version */
        {OUTCOME_ABORTED, ABORT_CAUSE_OPERATOR, "aborted"},
        {OUTCOME_ABORTED, ABORT_CAUSE_DRAIN, "aborted"},
        {OUTCOME_ABORTED, ABORT_CAUSE_PROGRESS, "gave-up"},
        {OUTCOME_ABORTED, ABORT_CAUSE_COMPLETION, "gave-up"},
        {OUTCOME_ABORTED, ABORT_CAUSE_STALLED, "gave-up"},
        {OUTCOME_ABORTED, ABORT_CAUSE_IDLE, "gave-up"},
        {OUTCOME_FAILED, ABORT_CAUSE_PROGRESS, "failed"}, /* it was not stopped by that */
        {OUTCOME_SUCCEEDED, ABORT_CAUSE_COMPLETION, "succeeded"},
    };
    static const char *const families[][2] = {
        {"ferry_migrations_total{outcome=\"",
         "\",trigger=\"user\",policy=\"\",managed_by=\"ferry\"}"},
        {"ferry_path_migrations_total{source=\"a\",target=\"b\",outcome=\"", "\"}"},
        {"ferry_migration_duration_seconds_count{outcome=\"", "\"}"},
    };
    static const char *const words[] = {"succeeded", "failed", "aborted", "gave-up"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(metrics_counters) counters = new_counters();
        const struct snapshot_job job = {.result.outcome = rows[i].outcome,
                                         .abort.cause = rows[i].cause,
                                         .abort.status = ABORT_SUCCEEDED,
                                         .source = "a",
                                         .target = "b",
                                         .epoch = 1};
        metrics_count_step(counters, &job, PHASE_SCHEDULED, PHASE_PREPARING_TARGET, 1);
        metrics_count_finished(counters, &job);
        OWNED_TEXT page = counters_page(counters);
        for (size_t f = 0; f < COUNT(families) * COUNT(words); f++) {
            char line[160];
            const char *word = words[f % COUNT(words)];
            const char *const *family = families[f / COUNT(words)];
            (void)snprintf(line, sizeof line, "\n%s%s%s %d\n", family[0], word, family[1],
                           strcmp(word, rows[i].word) == 0);
            if (strstr(page, line) == NULL)
                fail_msg("row %zu: no %s", i, line);
        }
    }
}

/* What came over what was forecast: only of those that arrived, and only where there was a
 * forecast. */
static void the_error_of_forecasts_is_counted(void **state)
{
    (void)state;
    static const struct {
        enum outcome outcome;
        bool made;
        int64_t total_ms, downtime_ms;
        int total, downtime; /* counted */
    } rows[] = {
        {OUTCOME_SUCCEEDED, true, 4000, 50, 1, 1}, {OUTCOME_SUCCEEDED, true, 4000, 0, 1, 0},
        {OUTCOME_SUCCEEDED, true, 0, 50, 0, 1},    {OUTCOME_SUCCEEDED, false, 4000, 50, 0, 0},
        {OUTCOME_FAILED, true, 4000, 50, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(metrics_counters) counters = new_counters();
        const struct snapshot_job job = {.result.outcome = rows[i].outcome,
                                         .epoch = 1,
                                         .mode = MODE_POSTCOPY,
                                         .final.known = true,
                                         .final.total_ms = 5000,
                                         .final.downtime_ms = 100,
                                         .forecast.made = rows[i].made,
                                         .forecast.total_ms = rows[i].total_ms,
                                         .forecast.downtime_ms = rows[i].downtime_ms};
        metrics_count_finished(counters, &job);
        OWNED_TEXT page = counters_page(counters);
        char lines[4][96];
        (void)snprintf(lines[0], sizeof lines[0],
                       "ferry_forecast_duration_ratio_bucket{mode=\"PostCopy\",le=\"1.25\"} %d\n",
                       rows[i].total); /* 5 s over 4 s */
        (void)snprintf(lines[1], sizeof lines[1],
                       "ferry_forecast_duration_ratio_bucket{mode=\"PostCopy\",le=\"1.1\"} 0\n");
        (void)snprintf(lines[2], sizeof lines[2],
                       "ferry_forecast_downtime_ratio_sum{mode=\"PostCopy\"} %d\n",
                       2 * rows[i].downtime);
        (void)snprintf(lines[3], sizeof lines[3],
                       "ferry_forecast_downtime_ratio_count{mode=\"PreCopy\"} 0\n");
        for (size_t l = 0; l < COUNT(lines); l++)
            if (strstr(page, lines[l]) == NULL)
                fail_msg("row %zu: no %s", i, lines[l]);
    }
}

static const char *mode_line(const char *from, const char *to, const char *cause, int n,
                             char out_line[static 256])
{
    (void)snprintf(out_line, 256,
                   "\nferry_migration_mode_changes_total{from=\"%s\",to=\"%s\",cause=\"%s\"} %d\n",
                   from, to, cause, n);
    return out_line;
}

static void changes_of_mode_are_counted_by_their_cause(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *cause;
        int n;
    } rows[] = {
        {"PreCopy", "Paused", "late-pause", 1},
        {"PreCopy", "Paused", "late-hard-switch", 0},
        {"PreCopy", "Paused", "stalled-hard-switch", 0},
        {"PreCopy", "Paused", "other", 0},
        {"Paused", "PostCopy", "post-copy began", 1},
        {"PreCopy", "PostCopy", "stalled-post-copy", 1},
        {"PreCopy", "PostCopy", "late-post-copy", 0},
        {"PreCopy", "PostCopy", "post-copy began", 0},
        {"PreCopy", "PostCopy", "other", 1}, /* a text that is none of ours */
    };
    char line[256];
    OWNED(metrics_counters) counters = new_counters();
    const struct snapshot_job twice = {.result.outcome = OUTCOME_SUCCEEDED,
                                       .history.modes = {{MODE_PRECOPY, 1, "started"},
                                                         {MODE_PAUSED, 2, "late-pause"},
                                                         {MODE_POSTCOPY, 3, "post-copy began"}},
                                       .history.n_modes = 3};
    struct snapshot_job once = {.result.outcome = OUTCOME_FAILED,
                                .history.modes = {{MODE_PRECOPY, 1, "started"},
                                                  {MODE_POSTCOPY, 2, "stalled-post-copy"}},
                                .history.n_modes = 2};
    OWNED_TEXT before = counters_page(counters);
    metrics_count_finished(counters, &twice);
    metrics_count_finished(counters, &once);
    TEXT_SET(once.history.modes[1].cause, "\"} 1\n");
    metrics_count_finished(counters, &once);
    OWNED_TEXT page = counters_page(counters);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_non_null(
            strstr(before, mode_line(rows[i].from, rows[i].to, rows[i].cause, 0, line)));
        if (strstr(page, mode_line(rows[i].from, rows[i].to, rows[i].cause, rows[i].n, line)) ==
            NULL)
            fail_msg("no line %s", line);
    }
    assert_null(strstr(page, "cause=\"started\"")); /* a beginning is no change */
}

static void an_active_recovery_is_on_the_page(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct promx_page made;
    world->jobs[1].recovery.state = RECOVERY_EXHAUSTED;
    world->jobs[1].recovery.tries = 12;
    promx_page_init(&made, PROMX_TEXT, 1 << 20);
    metrics_render_migrations(&world->snapshot, &made);
    OWNED_TEXT page = buf_take(&made.out);
    assert_non_null(strstr(page, "migration=\"moving\",state=\"recovery-exhausted\"} 1\n"));
    assert_non_null(strstr(page, "migration=\"moving\",state=\"waiting\"} 0\n"));
    const char *tries = strstr(page, "\nferry_migration_recovery_attempts{");
    assert_non_null(tries);
    assert_non_null(strstr(tries, "migration=\"moving\"} 12\n"));
    snapshot_unref(&world->snapshot);
}

/* One run shows what was decided about it, never what was about another. */
static void a_migration_shows_its_own_decision(void **state)
{
    (void)state;
    static const char family[] = "\nferry_migration_decision_timestamp_seconds{";
    struct world *world = world_new(1);
    struct promx_page made;
    world->jobs[0].monitor.decision = world->jobs[1].monitor.decision = "downtime-more";
    world->jobs[0].monitor.decision_ms = 1000; /* is over */
    world->jobs[1].monitor.decision_ms = 1763270000500;
    promx_page_init(&made, PROMX_TEXT, 1 << 20);
    metrics_render_migrations(&world->snapshot, &made);
    OWNED_TEXT page = buf_take(&made.out);
    const char *line = strstr(page, family);
    assert_non_null(line);
    assert_null(strstr(line + 1, family)); /* "stopping" runs too; nothing was decided about it */
    char want[] = "migration=\"moving\",decision=\"downtime-more\"} 1763270000.5\n";
    const char *found = strstr(line, want);
    assert_true(found != NULL && found < strchr(line + 1, '\n'));
    snapshot_unref(&world->snapshot);
}

TEST_FILE(test_metrics_move)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_of_a_broken_post_copy_is_counted),
        cmocka_unit_test(gave_up_is_counted_apart_from_aborted),
        cmocka_unit_test(the_error_of_forecasts_is_counted),
        cmocka_unit_test(changes_of_mode_are_counted_by_their_cause),
        cmocka_unit_test(an_active_recovery_is_on_the_page),
        cmocka_unit_test(a_migration_shows_its_own_decision),
    };
    return cmocka_run_group_tests_name("metrics of moves", tests, NULL, NULL);
}
