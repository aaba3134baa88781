/* test_metrics_pages.h - pages of /metrics made from the small fleet of test_api_world.h, in both
 * formats, with numbers about Ferry itself that never change. */
#ifndef TESTS_UNIT_TEST_METRICS_PAGES_H
#define TESTS_UNIT_TEST_METRICS_PAGES_H

#include "tests/test.h"

#include "exporter/http/limits.h"
#include "exporter/metrics/metrics.h"
#include "tests/unit/test_api_world.h"

static const struct exporter_lane lanes[] = {
    {"a", "look", 1, 250, 100, 2, 1500, 0, 0},
    {"a", "migrate", 2, 61000, 5, 1, 300000, 0, 0},
};
static const struct exporter_cell cells[] = {
    {"default", "a1", 3, 7500},
    {"rack-2", "a2", 1, -1},
    {"rack-3", "", 12, -1},
};
static const struct exporter_self self = {
    .samples = 1234,
    .samples_dropped = 1,
    .stats_failures = 2,
    .collector_lag_ms = 3,
    .sample_gap_max_ms = 412,
    .collector_queue = 4,
    .engine_queue = 5,
    .analyser_queue = 11,
    .verdict_failures = 6,
    .collector_drops = 8,
    .engine_drops = 9,
    .commits = 60,
    .commit_failures = 7,
    .commit_ms_total = 890,
    .turns = 99,
    .store_ok = true,
    .n_lanes = COUNT(lanes),
    .lanes = lanes,
    .appliance = "a1",
    .store_answer_ms = 4,
    .takeover_ms = 20100,
    .n_cells = COUNT(cells),
    .cells = cells,
};
static const struct process_stats process = {
    .cpu_s = 1.25,
    .start_s = 1763260000.12,
    .resident_bytes = 20 << 20,
    .virtual_bytes = 200 << 20,
    .open_fds = 21,
    .max_fds = 1024,
};

static inline char *page_in(enum promx_format format, const struct snapshot *snapshot,
                            struct metrics_counters *counters)
{
    struct metrics_view view = {.version = "0.1.0",
                                .number = snapshot != NULL ? snapshot->generation : 0,
                                .snapshot = snapshot,
                                .self = &self,
                                .process = &process};
    struct promx_page page;
    promx_page_init(&page, format, EXPORTER_PAGE_MAX);
    metrics_render(&view, &page);
    metrics_counters_render(counters, snapshot, &page);
    promx_page_end(&page);
    return buf_take(&page.out);
}

static inline char *page_of(const struct snapshot *snapshot, struct metrics_counters *counters)
{
    return page_in(PROMX_TEXT, snapshot, counters);
}

static inline struct metrics_counters *new_counters(void)
{
    static struct clock_fake clock;
    clock_fake_init(&clock, world_wall_ms);
    struct err err = {0};
    struct metrics_counters *counters = metrics_counters_new(&clock.clock, false, &err);
    assert_non_null(counters);
    return counters;
}

static inline char *counters_page(struct metrics_counters *counters)
{
    struct promx_page page;
    promx_page_init(&page, PROMX_TEXT, EXPORTER_PAGE_MAX);
    metrics_counters_render(counters, NULL, &page);
    return buf_take(&page.out);
}

static inline struct metrics_counters *busy_counters(const struct world *world)
{
    struct metrics_counters *counters = new_counters();
    metrics_count_step(counters, &world->jobs[0], PHASE_PENDING, PHASE_SCHEDULING, 20);
    metrics_count_step(counters, &world->jobs[0], PHASE_RUNNING, PHASE_SUCCEEDED, 30000);
    metrics_count_finished(counters, &world->jobs[0]);
    struct snapshot_job job = world->jobs[2];
    job.result.outcome = OUTCOME_ABORTED;
    job.abort.status = ABORT_SUCCEEDED;
    job.times.ended_ms = job.times.started_ms + 100;
    metrics_count_finished(counters, &job);
    struct verdict_rows judged = world_bad;
    judged.verdict.outcome = "aborted";
    judged.verdict.plane = "none";
    judged.verdict.cause = "user-cancelled";
    metrics_count_judged(counters, &judged, world_wall_ms);
    metrics_count_judged(counters, &world_good, world_wall_ms);
    return counters;
}

#endif
