/* test_metrics.c - the page of /metrics: its table, its bytes, its judge (promtool). */
#include "tests/test.h"

#include <ctype.h>

#include "analyzer/judge/verdict.h"
#include "tests/unit/golden.h"
#include "tests/unit/test_metrics_pages.h"

static void the_page_is_the_recorded_one(void **state)
{
    (void)state;
    struct world *world = world_new(42);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    assert_non_null(page);
    assert_golden(page, "tests/golden/metrics.txt");
    snapshot_unref(&world->snapshot);
}

static void one_view_gives_the_same_bytes_twice(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT first = page_of(&world->snapshot, counters);
    OWNED_TEXT second = page_of(&world->snapshot, counters);
    assert_string_equal(first, second);
    snapshot_unref(&world->snapshot);
}

static void a_finished_migration_leaves_no_series(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT before = page_of(&world->snapshot, counters);
    assert_non_null(strstr(before, "migration=\"moving\""));
    assert_null(strstr(before, "migration=\"done\""));
    for (size_t i = 0; i < WORLD_JOBS; i++)
        world->jobs[i].phase = PHASE_FAILED;
    world->snapshot.n_incidents = 0; /* those stay until somebody closes them */
    OWNED_TEXT after = page_of(&world->snapshot, counters);
    assert_null(strstr(after, "migration=\""));
    snapshot_unref(&world->snapshot);
}

static void values_without_a_sample_are_absent_not_zero(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    size_t seen = 0;
    for (const char *at = page; (at = strstr(at, "\nferry_migration_data_")) != NULL; seen++) {
        char line[256];
        at++;
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        assert_non_null(strstr(line, "migration=\"moving\""));
    }
    assert_int_equal(seen, 3);
    assert_null(strstr(page, "elapsed_seconds{namespace=\"default\",name=\"vm3\""));
    snapshot_unref(&world->snapshot);
}

/* Hosts that rejected a guest are counted once, wherever its scheduling ended. */
static void rejections_are_counted_when_scheduling_ends(void **state)
{
    (void)state;
    static const struct {
        enum phase from, to;
        int n;
    } rows[] = {
        {PHASE_PENDING, PHASE_SCHEDULING, 0}, {PHASE_SCHEDULING, PHASE_SCHEDULED, 1},
        {PHASE_SCHEDULING, PHASE_FAILED, 1},  {PHASE_PENDING, PHASE_FAILED, 1},
        {PHASE_RUNNING, PHASE_FAILED, 0},
    };
    struct world *world = world_new(1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(metrics_counters) counters = new_counters();
        metrics_count_step(counters, &world->jobs[3], rows[i].from, rows[i].to, 5);
        OWNED_TEXT page = counters_page(counters);
        char line[64];
        (void)snprintf(line, sizeof line, "\nferry_nodes_rejected_total{reason=\"memory\"} %d\n",
                       rows[i].n);
        if (strstr(page, line) == NULL)
            fail_msg("row %zu: no %s", i, line);
    }
    snapshot_unref(&world->snapshot);
}

static void the_control_plane_is_counted(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    static const char *const lines[] = {
        "ferry_node_schedulable{node=\"a\"} 1",
        "ferry_node_schedulable{node=\"b\"} 0", /* cordoned */
        "ferry_node_schedulable{node=\"c\"} 0", /* lost */
        "ferry_node_running_bytes{node=\"a\"} 2147483648",
        "ferry_node_reserved_bytes{node=\"b\"} 1073741824",
        "ferry_jobs_waiting{reason=\"unschedulable-now\"} 1",
        "ferry_launchers{state=\"Ready\"} 1",
        "ferry_launchers{state=\"Gone\"} 0", /* of a job that is over */
        "ferry_placement_rejections{reason=\"memory\"} 1",
        "ferry_placement_rejections{reason=\"source-node\"} 1",
        "ferry_placement_rejections{reason=\"cpu\"} 0",
        "ferry_nodes{state=\"draining\"} 1",
        "ferry_nodes{state=\"lost\"} 1",
        "ferry_jobs_queued{priority=\"system-critical\"} 1",
        "ferry_drains{state=\"Draining\"} 1",
        "ferry_drains{state=\"Failed\"} 0",
        "ferry_drain_state{node=\"b\",state=\"Draining\"} 1",
        "ferry_drain_deadline_timestamp_seconds{node=\"b\"} 1763273259",
        "ferry_drain_guests{node=\"b\",state=\"Moved\"} 2",
        "ferry_drain_guests{node=\"b\",state=\"Waiting\"} 0",
        "ferry_drain_guests{node=\"b\",state=\"Blocked\"} 1",
        "ferry_drain_blocked_guests{node=\"b\",reason=\"NotLiveMigratable\"} 1",
        "ferry_drain_blocked_guests{node=\"b\",reason=\"External\"} 0",
        "ferry_queue_depth{queue=\"analyser\"} 11", /* the analyser is shown too */
        "ferry_verdict_failures_total 6",
    };
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    for (size_t i = 0; i < COUNT(lines); i++) {
        char line[160];
        (void)snprintf(line, sizeof line, "\n%s\n", lines[i]);
        if (strstr(page, line) == NULL)
            fail_msg("no line '%s'", lines[i]);
    }
    TEXT_SET(world->nodes[1].drain, "");
    world->jobs[3].phase = PHASE_FAILED; /* what is over waits for nothing and fits nowhere */
    OWNED_TEXT after = page_of(&world->snapshot, counters);
    assert_non_null(strstr(after, "\nferry_nodes{state=\"cordoned\"} 1\n"));
    assert_non_null(strstr(after, "\nferry_placement_rejections{reason=\"memory\"} 0\n"));
    assert_non_null(strstr(after, "\nferry_jobs_waiting{reason=\"unschedulable-now\"} 0\n"));
    snapshot_unref(&world->snapshot);
}

static void the_series_of_a_drain_vanish_with_it(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    for (enum drain_guest_state s = 0; s < DRAIN_GUEST_COUNT; s++) {
        char series[128];
        (void)snprintf(series, sizeof series, "\nferry_drain_guests{node=\"b\",state=\"%s\"} ",
                       drain_guest_state_name(s));
        assert_non_null(strstr(page, series));
    }
    assert_null(strstr(page, "reason=\"\"")); /* what nothing blocks has no series */
    world->snapshot.n_drains = 0;
    OWNED_TEXT after = page_of(&world->snapshot, counters);
    assert_non_null(strstr(after, "# TYPE ferry_drain_guests gauge\n"));
    assert_null(strstr(after, "\nferry_drain_guests{"));
    assert_null(strstr(after, "\nferry_drain_blocked_guests{"));
    snapshot_unref(&world->snapshot);
}

/* Every sample of a page once: Prometheus would keep quiet about a second one. */
static void no_series_is_duplicated(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    char *lines[4096];
    size_t n = 0;
    char *rest = page;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = strrchr(line, ' ');
        if (*line == '\0' || value == NULL)
            continue;
        if (*line != '#')
            *value = '\0';
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(lines[i], line);
        assert_true(n < COUNT(lines));
        lines[n++] = line;
    }
    assert_true(n > 100);
    snapshot_unref(&world->snapshot);
}

static void every_row_of_the_table_is_on_the_page(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    for (enum metric m = 0; m < METRIC_COUNT; m++) {
        char header[256];
        if (metric_row(m)->plane == METRIC_PLANE_KUBEVIRT)
            continue;
        (void)snprintf(header, sizeof header, "# TYPE %s %s\n", metric_row(m)->name,
                       metric_row(m)->type == PROMX_COUNTER     ? "counter"
                       : metric_row(m)->type == PROMX_HISTOGRAM ? "histogram"
                                                                : "gauge");
        assert_non_null(strstr(page, header));
    }
    snapshot_unref(&world->snapshot);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void names_follow_the_rules(void **state)
{
    (void)state;
    for (enum metric m = 0; m < METRIC_COUNT; m++) {
        const struct metric_row *row = metric_row(m);
        assert_true(promx_is_metric_name(row->name));
        if (row->plane == METRIC_PLANE_KUBEVIRT)
            continue; /* its names are not ours to choose */
        assert_true(text_has_prefix(row->name, "ferry_") || text_has_prefix(row->name, "process_"));
        assert_int_equal(ends_with(row->name, "_total"), row->type == PROMX_COUNTER);
        char unit[64];
        (void)snprintf(unit, sizeof unit, "_%s%s", row->unit,
                       row->type == PROMX_COUNTER ? "_total" : "");
        assert_true(row->unit[0] == '\0' || ends_with(row->name, unit));
        assert_true(isupper((unsigned char)row->help[0]) || isdigit((unsigned char)row->help[0]));
        assert_true(ends_with(row->help, "."));
        for (enum metric other = 0; other < m; other++)
            assert_string_not_equal(row->name, metric_row(other)->name);
    }
}

static void outcomes_are_counted_from_zero(void **state)
{
    (void)state;
    OWNED(metrics_counters) counters = new_counters();
    OWNED_TEXT out = counters_page(counters);
    for (enum outcome o = OUTCOME_NONE + 1; o <= OUTCOME_COUNT; o++) {
        char want[128];
        const char *word = o < OUTCOME_COUNT ? outcome_name(o) : "gave-up";
        (void)snprintf(want, sizeof want,
                       "\nferry_migrations_total{outcome=\"%s\",trigger=\"user\",policy=\"\","
                       "managed_by=\"ferry\"} 0\n",
                       word);
        assert_non_null(strstr(out, want));
        (void)snprintf(want, sizeof want,
                       "\nferry_migration_duration_seconds_count{outcome=\"%s\"} 0\n", word);
        assert_non_null(strstr(out, want));
    }
    assert_null(strstr(out, "outcome=\"\""));
}

/* Each kind of end, and the samples that tell of it. */
static const struct ending {
    enum outcome outcome;
    enum abort_status abort;
    int64_t started, ended;
    const char *lines[3];
} endings[] = {
    {OUTCOME_SUCCEEDED,
     ABORT_NONE,
     1000,
     5000,
     {"ferry_migrations_total{outcome=\"succeeded\",trigger=\"user\",policy=\"\",managed_by="
      "\"ferry\"} 1\n",
      "ferry_migration_duration_seconds_sum{outcome=\"succeeded\"} 4\n",
      "ferry_migration_aborts_total{requester=\"operator\",result=\"Failed\"} 0\n"}},
    {OUTCOME_SUCCEEDED,
     ABORT_ABORTING,
     1000,
     5000,
     {"ferry_migrations_total{outcome=\"succeeded\",trigger=\"user\",policy=\"\",managed_by="
      "\"ferry\"} 1\n",
      "ferry_migration_aborts_total{requester=\"operator\",result=\"Failed\"} 1\n",
      "ferry_migration_aborts_total{requester=\"operator\",result=\"Succeeded\"} 0\n"}},
    {OUTCOME_ABORTED,
     ABORT_SUCCEEDED,
     0,
     5000,
     {"ferry_migrations_total{outcome=\"aborted\",trigger=\"user\",policy=\"\",managed_by="
      "\"ferry\"} 1\n",
      "ferry_migration_duration_seconds_sum{outcome=\"aborted\"} 4.5\n",
      "ferry_migration_aborts_total{requester=\"operator\",result=\"Succeeded\"} 1\n"}},
    {OUTCOME_LOST,
     ABORT_NONE,
     9000,
     5000, /* the wall clock was set back */
     {"ferry_migrations_total{outcome=\"lost\",trigger=\"user\",policy=\"\",managed_by=\"ferry\"} "
      "1\n",
      "ferry_migration_duration_seconds_sum{outcome=\"lost\"} 0\n",
      "ferry_migration_duration_seconds_bucket{outcome=\"lost\",le=\"+Inf\"} 1\n"}},
};

static void each_ending_is_counted_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(endings); i++) {
        OWNED(metrics_counters) counters = new_counters();
        struct snapshot_job job = {.result.outcome = endings[i].outcome,
                                   .abort.status = endings[i].abort,
                                   .times.created_ms = 500,
                                   .times.started_ms = endings[i].started,
                                   .times.ended_ms = endings[i].ended};
        metrics_count_finished(counters, &job);
        OWNED_TEXT out = counters_page(counters);
        for (size_t l = 0; l < COUNT(endings[i].lines); l++)
            assert_non_null(strstr(out, endings[i].lines[l]));
    }
}

static const char *verdict_line(enum outcome outcome, enum plane plane, enum cause cause, int n,
                                char out_line[static 256])
{
    (void)snprintf(out_line, 256,
                   "\nferry_migration_verdicts_total{outcome=\"%s\",plane=\"%s\",cause=\"%s\"} "
                   "%d\n",
                   outcome_name(outcome), plane_name(plane), cause_row(cause)->name, n);
    return out_line;
}

/* Exactly the combinations that a verdict can have. */
static void every_possible_verdict_has_its_counter(void **state)
{
    (void)state;
    OWNED(metrics_counters) counters = new_counters();
    char line[256];
    OWNED_TEXT out = counters_page(counters);
    for (enum outcome o = OUTCOME_NONE; o < OUTCOME_COUNT; o++)
        for (enum plane p = 0; p < PLANE_COUNT; p++)
            for (enum cause c = 0; c < CAUSE_COUNT; c++) {
                bool told = c == CAUSE_FALSE_FAILURE_REPORT || /* of one that arrived, too */
                            (o == OUTCOME_SUCCEEDED) == (c == CAUSE_NONE);
                bool fits = cause_has_plane(c, p) && o != OUTCOME_NONE && told;
                assert_int_equal(strstr(out, verdict_line(o, p, c, 0, line)) != NULL, fits);
            }
}

static void a_verdict_is_counted_unless_the_migration_is_old(void **state)
{
    (void)state;
    OWNED(metrics_counters) counters = new_counters();
    struct world *world = world_new(1);
    struct verdict_rows judged = world_bad, odd = world_bad;
    char line[256];
    metrics_count_finished(counters, &world->jobs[0]); /* has no say in it */
    metrics_count_judged(counters, &judged, world_wall_ms + 1000);
    metrics_count_judged(counters, &judged, world_wall_ms + METRICS_OLD_MS - 1);
    metrics_count_judged(counters, &judged, world_wall_ms + METRICS_OLD_MS);
    metrics_count_judged(counters, &world_good, world_wall_ms);
    odd.verdict.cause = "of-a-later-version";
    metrics_count_judged(counters, &odd, world_wall_ms);
    OWNED_TEXT out = counters_page(counters);
    assert_non_null(strstr(out, verdict_line(OUTCOME_FAILED, PLANE_CONTROL,
                                             CAUSE_CONTROL_CONNECTION_LOST, 2, line)));
    assert_non_null(strstr(out, verdict_line(OUTCOME_SUCCEEDED, PLANE_NONE, CAUSE_NONE, 1, line)));
    assert_null(strstr(out, "later-version"));
    snapshot_unref(&world->snapshot);
}

static void every_phase_transition_has_its_counter(void **state)
{
    (void)state;
    OWNED(metrics_counters) counters = new_counters();
    OWNED_TEXT out = counters_page(counters);
    for (enum phase from = PHASE_NONE + 1; from < PHASE_COUNT; from++)
        for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
            char want[256];
            enum phase to = phase_next(from, why);
            (void)snprintf(want, sizeof want,
                           "ferry_migration_phase_transitions_total{from=\"%s\",to=\"%s\"} 0\n",
                           phase_name(from), phase_name(to));
            assert_int_equal(strstr(out, want) != NULL, to != PHASE_NONE);
        }
}

static void promtool_accepts_the_page(void **state)
{
    (void)state;
    if (system("command -v promtool >/dev/null 2>&1") != 0)
        skip();
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    char path[] = "/tmp/ferry-page-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    write_file(path, page);
    char command[256];
    (void)snprintf(command, sizeof command, "promtool check metrics <%s 2>&1", path);
    FILE *said = popen(command, "r");
    assert_non_null(said);
    char line[512];
    bool silent = true;
    while (fgets(line, sizeof line, said) != NULL) {
        silent = false;
        (void)fprintf(stderr, "promtool: %s", line);
    }
    assert_int_equal(pclose(said), 0);
    assert_true(silent);
    (void)unlink(path);
    snapshot_unref(&world->snapshot);
}

static void the_process_is_read_from_the_kernel(void **state)
{
    (void)state;
    struct process_stats stats;
    process_read(&stats);
    double now_s = (double)clock_wall_ms(clock_system()) / 1000;
    assert_true(stats.start_s > now_s - 3600 && stats.start_s < now_s + 1);
    assert_true(stats.resident_bytes > 100000 && stats.virtual_bytes >= stats.resident_bytes);
    assert_true(stats.open_fds >= 3 && stats.max_fds >= stats.open_fds);
    FILE *one_more = fopen("/dev/null", "r");
    struct process_stats then;
    process_read(&then);
    assert_int_equal(then.open_fds, stats.open_fds + 1);
    (void)fclose(one_more);
}

static void a_page_over_its_limit_fails_as_a_whole(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct metrics_view view = {.version = "0.1.0", .snapshot = &world->snapshot, .self = &self};
    struct promx_page page;
    promx_page_init(&page, PROMX_TEXT, 1000);
    metrics_render(&view, &page);
    assert_true(page.out.failed);
    assert_null(buf_take(&page.out));
    snapshot_unref(&world->snapshot);
}

TEST_FILE(test_metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_the_recorded_one),
        cmocka_unit_test(one_view_gives_the_same_bytes_twice),
        cmocka_unit_test(a_finished_migration_leaves_no_series),
        cmocka_unit_test(values_without_a_sample_are_absent_not_zero),
        cmocka_unit_test(rejections_are_counted_when_scheduling_ends),
        cmocka_unit_test(the_control_plane_is_counted),
        cmocka_unit_test(the_series_of_a_drain_vanish_with_it),
        cmocka_unit_test(no_series_is_duplicated),
        cmocka_unit_test(every_row_of_the_table_is_on_the_page),
        cmocka_unit_test(names_follow_the_rules),
        cmocka_unit_test(outcomes_are_counted_from_zero),
        cmocka_unit_test(each_ending_is_counted_once),
        cmocka_unit_test(every_possible_verdict_has_its_counter),
        cmocka_unit_test(a_verdict_is_counted_unless_the_migration_is_old),
        cmocka_unit_test(every_phase_transition_has_its_counter),
        cmocka_unit_test(promtool_accepts_the_page),
        cmocka_unit_test(the_process_is_read_from_the_kernel),
        cmocka_unit_test(a_page_over_its_limit_fails_as_a_whole),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
