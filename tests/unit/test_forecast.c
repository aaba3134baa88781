/* test_forecast.c - stories and laws of the forecast, and how often its interval holds the truth:
 * a guest on a link, moved under the very monitor that will watch the real one. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "engine/model/forecast/forecast.h"
#include "tests/unit/test_monitor_world.h"

struct case_of { /* what is true of a guest and its path */
    uint64_t memory, link, dirty, set;
    double faster; /* while it is moved */
};

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static uint64_t between(uint64_t *random, uint64_t low, uint64_t high)
{
    return low + next(random) % (high - low + 1);
}

/* What page sampling would say of it, over 1 and 5 seconds. */
static void sample_pages(const struct case_of *c, struct dirty_curve *out)
{
    static const unsigned windows[] = {1, 5};
    *out = (struct dirty_curve){.from = DIRTY_MEASURED, .n = COUNT(windows)};
    for (unsigned i = 0; i < COUNT(windows); i++) {
        uint64_t most = c->set / windows[i];
        out->at[i].seconds = windows[i];
        out->at[i].bps = c->dirty < most ? c->dirty : most;
    }
}

static void remember_path(uint64_t bps, struct path_speed *out)
{
    *out = (struct path_speed){.from = BANDWIDTH_PATH,
                               .moves = 5,
                               .low = bps * 8 / 10,
                               .likely = bps,
                               .high = bps * 12 / 10};
}

static void ask(const struct case_of *c, const struct migration_config *config,
                struct forecast *out)
{
    struct forecast_input in = {.memory_bytes = c->memory, .config = config};
    in.postcopy = config->post_copy;
    sample_pages(c, &in.dirty);
    remember_path(c->link, &in.path);
    forecast_make(&in, out);
}

static enum forecast_end truth(const struct case_of *c, const struct migration_config *config,
                               int64_t *out_ms)
{
    static const enum forecast_end ends[] = {[RUNS] = FORECAST_ABORT,
                                             [MOVED] = FORECAST_CONVERGES,
                                             [MOVED_POSTCOPY] = FORECAST_POSTCOPY,
                                             [MOVED_STOPPED] = FORECAST_PAUSE,
                                             [GAVE_UP] = FORECAST_ABORT};
    struct plan plan = {.memory = c->memory,
                        .link = c->link,
                        .dirty = (uint64_t)((double)c->dirty * c->faster),
                        .working_set = c->set};
    struct world w;
    world_begin(&w, &plan, MONITOR_STALL, config);
    world_run(&w, 3600 * 1000);
    assert_int_not_equal(w.ending, RUNS);
    *out_ms = w.now_ms;
    return ends[w.ending];
}

/* ---- stories ---- */

struct story {
    const char *what;
    uint64_t memory, dirty, set; /* on a link of 100 MiB/s */
    bool post_copy, disruption;
    enum forecast_end end;
    int low_percent, high_percent;
};

static void tell(const struct story *story)
{
    struct migration_config config;
    struct forecast f;
    migration_config_default(&config);
    config.post_copy = story->post_copy;
    config.disruption = story->disruption;
    ask(&(struct case_of){story->memory, 100 * MIB, story->dirty, story->set, 1}, &config, &f);
    print_message("%-21s %s %d %%, %lld ms (%lld..%lld), down %lld..%lld ms: %s\n", story->what,
                  forecast_end_name(f.end), f.percent, (long long)f.total_ms, (long long)f.low_ms,
                  (long long)f.high_ms, (long long)f.downtime_ms, (long long)f.downtime_high_ms,
                  f.why);
    assert_true(f.made);
    assert_int_equal(f.end, story->end);
    assert_in_range(f.percent, story->low_percent, story->high_percent);
    assert_true(f.low_ms <= f.total_ms && f.total_ms <= f.high_ms);
    assert_true(f.downtime_ms <= f.downtime_high_ms);
}

static void the_forecast_ends_as_the_policy_allows(void **state)
{
    (void)state;
    static const struct story stories[] = {
        {"idle", GIB, 0, 0, 0, 0, FORECAST_CONVERGES, 99, 99},
        {"calm", 4 * GIB, 8 * MIB, 64 * MIB, 0, 0, FORECAST_CONVERGES, 99, 99},
        {"hot, nothing allowed", 4 * GIB, 400 * MIB, 2 * GIB, 0, 0, FORECAST_ABORT, 1, 1},
        {"hot, post-copy", 4 * GIB, 400 * MIB, 2 * GIB, true, true, FORECAST_POSTCOPY, 1, 1},
        {"hot, pause", 4 * GIB, 400 * MIB, 2 * GIB, 0, true, FORECAST_PAUSE, 1, 1},
        {"fast in little memory", GIB, 800 * MIB, 20 * MIB, 0, 0, FORECAST_CONVERGES, 99, 99},
        {"either way", 4 * GIB, 60 * MIB, 2 * GIB, 0, 0, FORECAST_ABORT, 20, 70},
    };
    for (size_t i = 0; i < COUNT(stories); i++)
        tell(&stories[i]);
}

static void nothing_known_but_its_size_is_said_so(void **state)
{
    (void)state;
    struct migration_config config;
    struct forecast f;
    migration_config_default(&config);
    struct forecast_input in = {.memory_bytes = 2 * GIB, .config = &config};
    forecast_make(&in, &f);
    assert_true(f.made);
    assert_non_null(strstr(f.why, "(assumed)"));
    assert_true(f.high_ms > 4 * f.low_ms); /* honest about it */
    in.memory_bytes = 0;
    forecast_make(&in, &f);
    assert_false(f.made);
}

static void disks_are_copied_first(void **state)
{
    (void)state;
    struct migration_config config;
    struct forecast without, with;
    migration_config_default(&config);
    struct forecast_input in = {.memory_bytes = GIB, .used_bytes = GIB, .config = &config};
    remember_path(100 * MIB, &in.path);
    forecast_make(&in, &without);
    in.disk_bytes = 10 * GIB;
    forecast_make(&in, &with);
    assert_in_range(with.total_ms - without.total_ms, 100000, 105000);
}

/* ---- laws ---- */

static void no_limit_and_every_extreme_ends(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 4096, GIB, UINT64_C(24) << 40, UINT64_MAX};
    struct migration_config config;
    struct forecast f;
    migration_config_default(&config);
    config.completion_timeout = config.stall_timeout = 0;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < COUNT(sizes); k++)
            for (size_t l = 0; l < COUNT(sizes); l++) {
                struct forecast_input in = {.memory_bytes = sizes[i], .config = &config};
                in.dirty = (struct dirty_curve){.from = DIRTY_LAST_MOVE, .n = 1};
                in.dirty.at[0].seconds = 1;
                in.dirty.at[0].bps = sizes[k];
                in.path.likely = sizes[l];
                config.auto_converge = (i + k + l) % 2 == 0;
                forecast_make(&in, &f);
                assert_true(f.made && f.low_ms >= 0);
                assert_true(f.low_ms <= f.total_ms && f.total_ms <= f.high_ms);
                assert_in_range(f.percent, 1, 99);
            }
}

/* One step of the law: the same curve x times as high, or the path x times as slow. */
static void ask_scaled(uint64_t longer_bps, bool writes, uint64_t x,
                       const struct migration_config *config, struct forecast *out)
{
    struct forecast_input in = {.memory_bytes = 8 * GIB, .config = config};
    in.dirty = (struct dirty_curve){.from = DIRTY_MEASURED, .n = 2};
    in.dirty.at[0].seconds = 1;
    in.dirty.at[0].bps = MIB * (writes ? x : 32);
    in.dirty.at[1].seconds = 5;
    in.dirty.at[1].bps = longer_bps * (writes ? x : 32);
    remember_path(writes ? 200 * MIB : 4096 * MIB / x, &in.path);
    forecast_make(&in, out);
}

/* Neither more writing nor a slower path ever betters the chance; and where it converges for sure,
 * neither takes less time. */
static void more_writing_and_less_bandwidth_are_never_better(void **state)
{
    (void)state;
    static const uint64_t longer[] = {MIB / 5, MIB / 2, MIB};
    struct migration_config config;
    migration_config_default(&config);
    for (size_t i = 0; i < COUNT(longer); i++)
        for (unsigned writes = 0; writes < 2; writes++) {
            struct forecast f, before = {.percent = 99};
            for (uint64_t x = 1; x <= 1024; x *= 2) {
                ask_scaled(longer[i], writes != 0, x, &config, &f);
                assert_true(f.percent <= before.percent);
                if (f.percent == 99)
                    assert_true(f.total_ms >= before.total_ms && f.high_ms >= before.high_ms);
                before = f;
            }
            assert_true(f.percent < 50); /* it was gone through from one end to the other */
        }
}

/* ---- how often it is right ---- */

static void the_interval_holds_what_happens_under_the_monitor(void **state)
{
    (void)state;
    enum { CASES = 400 };
    uint64_t random = 88172645463325252u;
    unsigned held = 0, right_end = 0, converged = 0;
    double promised = 0, error = 0;
    for (unsigned i = 0; i < CASES; i++) {
        struct migration_config config;
        struct forecast f;
        int64_t took_ms;
        struct case_of c = {.memory = between(&random, 256, 8192) * MIB,
                            .link = between(&random, 50, 1000) * MIB,
                            .faster = (double)between(&random, 10, 30) / 10};
        c.set = c.memory / between(&random, 1, 32);
        c.dirty = c.link / 100 * between(&random, 1, 20) * between(&random, 1, 20) / 2;
        migration_config_default(&config);
        config.disruption = config.post_copy = i % 3 == 0;
        struct case_of known = c;
        known.link = c.link * between(&random, 85, 115) / 100; /* as remembered */
        ask(&known, &config, &f);
        enum forecast_end end = truth(&c, &config, &took_ms);
        took_ms += 900; /* what a call takes besides */
        held += took_ms >= f.low_ms && took_ms <= f.high_ms;
        right_end += end == f.end;
        converged += end == FORECAST_CONVERGES;
        promised += f.percent;
        double off = (double)(f.total_ms - took_ms) / (double)took_ms;
        error += off < 0 ? -off : off;
    }
    print_message("forecasts: %u of %u intervals held the truth (%u %%), end right in %u %%, "
                  "mean error %.0f %%, converged %u %%, promised %.0f %%\n",
                  held, CASES, held * 100 / CASES, right_end * 100 / CASES, error * 100 / CASES,
                  converged * 100 / CASES, promised / CASES);
    assert_true(held * 100 >= CASES * 80);
    assert_true(right_end * 100 >= CASES * 80);
}

TEST_FILE(test_forecast)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_forecast_ends_as_the_policy_allows),
        cmocka_unit_test(nothing_known_but_its_size_is_said_so),
        cmocka_unit_test(disks_are_copied_first),
        cmocka_unit_test(no_limit_and_every_extreme_ends),
        cmocka_unit_test(more_writing_and_less_bandwidth_are_never_better),
        cmocka_unit_test(the_interval_holds_what_happens_under_the_monitor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
