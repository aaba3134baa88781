/* test_monitor_compare.c - both algorithms on the same guests and links: what each decides and
 * when. Printed, and held to what must be. */
#include "tests/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/test_monitor_world.h"

enum allowed { NOTHING, DISRUPTION, BOTH };
enum { DAY_MS = 24 * 3600 * 1000 };

static const struct plan converging = {.name = "converging",
                                       .memory = 4 * GIB,
                                       .link = 100 * MIB,
                                       .dirty = 40 * MIB,
                                       .working_set = 2 * GIB};
static const struct plan idle = {
    .name = "idle", .memory = GIB, .link = 100 * MIB, .dirty = MIB / 4, .working_set = MIB};
static const struct plan faster = {.name = "dirties faster than the link",
                                   .memory = 4 * GIB,
                                   .link = 100 * MIB,
                                   .dirty = 150 * MIB,
                                   .working_set = 2 * GIB};
static const struct plan waves = {.name = "oscillating",
                                  .memory = 4 * GIB,
                                  .link = 100 * MIB,
                                  .dirty = 400 * MIB,
                                  .working_set = GIB,
                                  .wave_ms = 15000};
static const struct plan busy_set = {.name = "small busy set",
                                     .memory = 4 * GIB,
                                     .link = 100 * MIB,
                                     .dirty = 400 * MIB,
                                     .working_set = 60 * MIB};
static const struct plan just_too_busy = {.name = "busy set a bit too large",
                                          .memory = 4 * GIB,
                                          .link = 100 * MIB,
                                          .dirty = 4000 * MIB,
                                          .working_set = 120 * MIB};
static const struct plan dead = {.name = "dead path",
                                 .memory = 4 * GIB,
                                 .link = 100 * MIB,
                                 .dirty = 20 * MIB,
                                 .working_set = GIB,
                                 .cut_ms = 10000};
static const struct plan never = {.name = "never a byte",
                                  .memory = 4 * GIB,
                                  .link = 100 * MIB,
                                  .dirty = 20 * MIB,
                                  .working_set = GIB,
                                  .cut_ms = 1};
static const struct plan blip = {.name = "blip of 20 s",
                                 .memory = 4 * GIB,
                                 .link = 100 * MIB,
                                 .dirty = 20 * MIB,
                                 .working_set = GIB,
                                 .cut_ms = 10000,
                                 .mended_ms = 30000};
static const struct plan slow = {.name = "slow path",
                                 .memory = 4 * GIB,
                                 .link = 100 * MIB,
                                 .dirty = 20 * MIB,
                                 .working_set = GIB,
                                 .slow_ms = 10000};

static const struct row {
    const struct plan *plan;
    enum allowed allowed;
    enum ending legacy, stall;
    enum decision legacy_why, stall_why; /* GOES_ON: it never had to decide */
    bool sooner;                         /* stall decides while legacy still waits */
} rows[] = {
    {&converging, BOTH, MOVED, MOVED, DECISION_GOES_ON, DECISION_GOES_ON, false},
    {&converging, NOTHING, MOVED, MOVED, DECISION_GOES_ON, DECISION_GOES_ON, false},
    {&idle, BOTH, MOVED, MOVED, DECISION_GOES_ON, DECISION_GOES_ON, false},
    {&faster, BOTH, MOVED_POSTCOPY, MOVED_POSTCOPY, DECISION_LATE_POSTCOPY,
     DECISION_STALLED_POSTCOPY, true},
    {&faster, DISRUPTION, MOVED_STOPPED, MOVED_STOPPED, DECISION_LATE_PAUSE, DECISION_STALLED_HARD,
     true},
    {&faster, NOTHING, GAVE_UP, GAVE_UP, DECISION_LATE, DECISION_STALLED_ABORT, true},
    {&waves, BOTH, MOVED_POSTCOPY, MOVED_POSTCOPY, DECISION_LATE_POSTCOPY,
     DECISION_STALLED_POSTCOPY, true},
    {&waves, NOTHING, GAVE_UP, GAVE_UP, DECISION_LATE, DECISION_STALLED_ABORT, true},
    {&busy_set, NOTHING, GAVE_UP, MOVED, DECISION_LATE, DECISION_GOES_ON, false},
    {&just_too_busy, NOTHING, GAVE_UP, GAVE_UP, DECISION_LATE, DECISION_STALLED_SOFT, true},
    {&dead, BOTH, GAVE_UP, GAVE_UP, DECISION_NO_PROGRESS, DECISION_NO_PROGRESS, true},
    {&dead, NOTHING, GAVE_UP, GAVE_UP, DECISION_NO_PROGRESS, DECISION_NO_PROGRESS, true},
    {&never, BOTH, GAVE_UP, GAVE_UP, DECISION_NO_PROGRESS, DECISION_NO_PROGRESS, true},
    {&blip, BOTH, MOVED, MOVED, DECISION_GOES_ON, DECISION_GOES_ON, false},
    {&slow, NOTHING, GAVE_UP, GAVE_UP, DECISION_LATE, DECISION_LATE, true},
    {&slow, DISRUPTION, GAVE_UP, GAVE_UP, DECISION_LATE_PAUSE, DECISION_LATE, true},
};

static const char *const allowed_names[] = {"nothing", "disruption", "disruption and post-copy"};

static void play(const struct row *row, enum monitor_kind kind, struct world *w)
{
    struct migration_config config;
    migration_config_default(&config);
    config.disruption = row->allowed != NOTHING;
    config.post_copy = row->allowed == BOTH;
    world_begin(w, row->plan, kind, &config);
    world_run(w, DAY_MS);
    const struct monitor_decision *d = world_verdict(w);
    print_message("  %-6s %s at %" PRId64 " s: %s\n", kind == MONITOR_STALL ? "stall" : "legacy",
                  w->ending == GAVE_UP ? "gave up" : "moved", w->now_ms / 1000,
                  d == NULL ? "nothing had to be decided" : d->text);
    for (size_t i = 0; d != NULL && i < w->n_news && getenv("NEWS") != NULL; i++)
        print_message("    %8" PRId64 " ms %s: %s\n", w->news[i].elapsed_ms,
                      decision_name(w->news[i].why), w->news[i].text);
}

static void check(const struct world *w, enum ending ending, enum decision why)
{
    const struct monitor_decision *d = world_verdict(w);
    assert_int_equal(w->ending, ending);
    assert_string_equal(decision_name(d == NULL ? DECISION_GOES_ON : d->why), decision_name(why));
}

static void each_decides_what_it_must_and_stall_no_later(void **state)
{
    (void)state;
    static struct world legacy, stall;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        print_message("%s, allowed: %s\n", row->plan->name, allowed_names[row->allowed]);
        play(row, MONITOR_LEGACY, &legacy);
        play(row, MONITOR_STALL, &stall);
        check(&legacy, row->legacy, row->legacy_why);
        check(&stall, row->stall, row->stall_why);
        const struct monitor_decision *l = world_verdict(&legacy), *s = world_verdict(&stall);
        if (row->sooner)
            assert_true(s->elapsed_ms < l->elapsed_ms);
        assert_true(s == NULL || l == NULL || s->elapsed_ms <= l->elapsed_ms);
    }
}

/* What converges is slowed by watching no more than a poll or two. */
static void a_converging_guest_loses_no_time(void **state)
{
    (void)state;
    static struct world legacy, stall;
    static const struct plan *const plans[] = {&converging, &idle, &blip};
    struct migration_config config;
    migration_config_default(&config);
    for (size_t i = 0; i < COUNT(plans); i++) {
        world_begin(&legacy, plans[i], MONITOR_LEGACY, &config);
        world_run(&legacy, DAY_MS);
        world_begin(&stall, plans[i], MONITOR_STALL, &config);
        world_run(&stall, DAY_MS);
        assert_in_range(stall.now_ms, legacy.now_ms, legacy.now_ms + 2 * WORLD_POLL_MS);
    }
}

TEST_FILE(test_monitor_compare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_decides_what_it_must_and_stall_no_later),
        cmocka_unit_test(a_converging_guest_loses_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
