/* test_monitor_traces.c - both algorithms over the same recorded migrations, under the same policy:
 * what each would have done, and when. Printed, and held to who is sooner. The records are real,
 * of guests that write faster than their links carry. */
#include "tests/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/report/replay.h"
#include "base/own.h"
#include "base/text.h"

#define MIB (INT64_C(1) << 20)
enum { PAGE = 4096 };

struct trace_row {
    int64_t ms;
    bool first;
    int64_t iteration, moved, left, pages;
};
#define ROW(...) {__VA_ARGS__},
static const struct trace_row fast[] = {
#include "tests/unit/trace_fast.def"
};
static const struct trace_row even[] = {
#include "tests/unit/trace_even.def"
};
static const struct trace_row wide[] = {
#include "tests/unit/trace_wide.def"
};
#undef ROW

static const struct trace {
    const char *name;
    const struct trace_row *monitor_inputs;
    size_t n;
    int64_t memory;
    int64_t sooner_ms; /* by how much, at least */
} traces[] = {
    {"writes 40 MiB/s, 12 carried", fast, COUNT(fast), 64 * MIB, 90000},
    {"writes 14 MiB/s, 12 carried", even, COUNT(even), 64 * MIB, 30000},
    {"writes 60 MiB/s, 24 carried", wide, COUNT(wide), 128 * MIB, 90000},
};

/* As the store gives it. */
static struct archive *record_of(const struct trace *trace)
{
    struct archive *archive = calloc(1, sizeof *archive);
    struct store_monitor_input *monitor_inputs = calloc(trace->n + 1, sizeof *monitor_inputs);
    struct store_sample *samples = calloc(trace->n, sizeof *samples);
    assert_true(archive != NULL && monitor_inputs != NULL && samples != NULL);
    monitor_inputs[0] = (struct store_monitor_input){.kind = "begin",
                                                     .elapsed_ms = trace->monitor_inputs[0].ms,
                                                     .sample_seq = -1,
                                                     .mode = "PreCopy",
                                                     .memory_bytes = trace->memory};
    for (size_t i = 0; i < trace->n; i++) {
        const struct trace_row *row = &trace->monitor_inputs[i];
        monitor_inputs[i + 1] = (struct store_monitor_input){.kind = "look",
                                                             .seq = (int64_t)i + 1,
                                                             .at_ms = row->ms,
                                                             .elapsed_ms = row->ms,
                                                             .sample_seq = (int64_t)i,
                                                             .mode = "PreCopy"};
        samples[i] = (struct store_sample){.source = "poll",
                                           .seq = (int64_t)i,
                                           .at_ms = row->ms,
                                           .data_total = trace->memory,
                                           .memory_total = trace->memory,
                                           .data_processed = row->moved,
                                           .memory_processed = row->moved,
                                           .data_remaining = row->left,
                                           .memory_remaining = row->left,
                                           .memory_dirty_rate = row->pages,
                                           .memory_page_size = PAGE,
                                           .memory_iteration = row->iteration};
        if (row->first)
            TEXT_SET(samples[i].source, "iteration");
    }
    archive->monitor_inputs.rows = monitor_inputs;
    archive->monitor_inputs.n = trace->n + 1;
    archive->samples.rows = samples;
    archive->samples.n = trace->n;
    return archive;
}

static void record_free(struct archive *archive)
{
    free(archive->monitor_inputs.rows);
    free(archive->samples.rows);
    free(archive);
}

/* What it would have done about it; nothing: the test fails. */
static struct monitor_decision decide(const struct archive *archive, enum monitor_kind kind,
                                      const struct migration_config *config)
{
    struct replay_question question = {
        .has_kind = true, .kind = kind, .has_config = true, .config = *config};
    struct replay replay;
    struct err err = {0};
    if (!replay_run(archive, &question, &replay, &err))
        fail_msg("%s", err.text);
    assert_int_equal(replay.end, REPLAY_ACTED);
    struct monitor_decision is = replay.lines[replay.n_lines - 1].is;
    replay_fini(&replay);
    return is;
}

/* Law: the same record, the same policy, the same remedy; stall finds it while legacy waits. */
static void compare(const struct trace *trace, bool post_copy, enum monitor_action action)
{
    struct migration_config config;
    migration_config_default(&config);
    config.post_copy = config.disruption = post_copy;
    struct archive *archive = record_of(trace);
    struct monitor_decision legacy = decide(archive, MONITOR_LEGACY, &config);
    struct monitor_decision stall = decide(archive, MONITOR_STALL, &config);
    record_free(archive);
    print_message("%s, post-copy %s\n  legacy at %6.1f s: %s\n  stall  at %6.1f s: %s\n",
                  trace->name, post_copy ? "allowed" : "not allowed",
                  (double)legacy.elapsed_ms / 1000, legacy.text, (double)stall.elapsed_ms / 1000,
                  stall.text);
    assert_string_equal(monitor_action_name(legacy.action), monitor_action_name(action));
    assert_string_equal(monitor_action_name(stall.action), monitor_action_name(action));
    assert_true(stall.elapsed_ms + trace->sooner_ms <= legacy.elapsed_ms);
}

static void stall_starts_postcopy_sooner(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(traces); i++)
        compare(&traces[i], true, MONITOR_POSTCOPY);
}

static void stall_gives_up_sooner(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(traces); i++)
        compare(&traces[i], false, MONITOR_ABORT);
}

TEST_FILE(test_monitor_traces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stall_starts_postcopy_sooner),
        cmocka_unit_test(stall_gives_up_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
