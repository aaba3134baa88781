/* test_eta.c - the expected end of a running migration: stories, and laws over traces of guests
 * moved under the monitor. */
#include "tests/test.h"

#include <stdio.h>

#include "base/own.h"
#include "engine/model/forecast/eta.h"
#include "tests/unit/test_monitor_world.h"

/* ---- stories: what moves the end, and what is said ---- */

static void each_cause_is_told_from_the_others(void **state)
{
    (void)state;
    const struct eta_input calm = {.now_ms = 10000,
                                   .remaining = 1000 * MIB,
                                   .bandwidth_bps = 100 * MIB,
                                   .dirty_bps = 20 * MIB,
                                   .iteration = 3};
    struct eta_input slow = calm, busy = calm, still = calm, hopeless = calm, post = calm,
                     more = calm, disks = calm, first = calm;
    slow.bandwidth_bps = 50 * MIB;
    busy.dirty_bps = 60 * MIB;
    still.bandwidth_bps = 0;
    hopeless.dirty_bps = 120 * MIB;
    post.postcopy = true;
    post.remaining = 2000 * MIB;
    more.remaining = 1500 * MIB;
    disks.iteration = 0;
    disks.dirty_bps = 0;
    first.iteration = 1;
    first.dirty_bps = 0;
    const struct {
        struct eta_input before, after;
        enum eta_move why;
        bool known;
    } rows[] = {
        {calm, calm, ETA_MOVE_NONE, true},
        {calm, slow, ETA_MOVE_BANDWIDTH, true},
        {calm, busy, ETA_MOVE_DIRTY, true},
        {calm, still, ETA_MOVE_STALLED, false},
        {calm, hopeless, ETA_MOVE_DIVERGES, false},
        {calm, post, ETA_MOVE_POSTCOPY, true},
        {calm, more, ETA_MOVE_SLOWER, true},
        {disks, calm, ETA_MOVE_MEMORY, true},
        {first, calm, ETA_MOVE_FIRST_ITERATION, true},
        {busy, calm, ETA_MOVE_NONE, true}, /* nearer needs no reason */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct eta eta = {0};
        eta_step(&eta, &rows[i].before);
        struct eta_input after = rows[i].after;
        after.now_ms += 100;
        eta_step(&eta, &after);
        assert_int_equal(eta.why, rows[i].why);
        assert_int_equal(eta.known, rows[i].known);
        assert_int_equal(eta.moves, rows[i].why != ETA_MOVE_NONE);
        assert_int_equal(eta.note[0] != '\0', rows[i].why != ETA_MOVE_NONE);
        assert_int_equal(eta_left_ms(&eta) >= 0, rows[i].known);
    }
}

static void an_end_that_was_lost_and_found_says_so(void **state)
{
    (void)state;
    struct eta_input input = {
        .now_ms = 1, .remaining = GIB, .bandwidth_bps = 100 * MIB, .iteration = 2};
    struct eta eta = {0};
    eta_step(&eta, &input);
    input.bandwidth_bps = 0;
    input.now_ms += 1000;
    eta_step(&eta, &input);
    assert_int_equal(eta_left_ms(&eta), -1);
    input.bandwidth_bps = 100 * MIB;
    input.now_ms += 30000;
    eta_step(&eta, &input);
    assert_int_equal(eta.why, ETA_MOVE_RETURNED);
    assert_in_range(eta_left_ms(&eta), 10000, 10300);
}

static void before_two_samples_nothing_is_said_and_nothing_moved(void **state)
{
    (void)state;
    struct eta_input input = {.now_ms = 5, .remaining = GIB, .iteration = 1};
    struct eta eta = {0};
    eta_step(&eta, &input);
    assert_int_equal(eta_left_ms(&eta), -1);
    assert_int_equal(eta.moves, 0);
    input.remaining = 0; /* all is through */
    eta_step(&eta, &input);
    assert_int_equal(eta_left_ms(&eta), 0);
}

/* ---- laws over traces ---- */

static const struct plan plans[] = {
    {.name = "idle", .memory = 2 * GIB, .link = 100 * MIB, .dirty = 0, .working_set = 0},
    {.name = "calm", .memory = 2 * GIB, .link = 100 * MIB, .dirty = 20 * MIB, .working_set = GIB},
    {.name = "busy", .memory = 2 * GIB, .link = 100 * MIB, .dirty = 70 * MIB, .working_set = GIB},
    {.name = "hot", .memory = 2 * GIB, .link = 100 * MIB, .dirty = 300 * MIB, .working_set = GIB},
    {.name = "wave",
     .memory = 2 * GIB,
     .link = 100 * MIB,
     .dirty = 90 * MIB,
     .working_set = GIB,
     .wave_ms = 5000},
    {.name = "blip",
     .memory = 2 * GIB,
     .link = 100 * MIB,
     .dirty = 10 * MIB,
     .working_set = GIB,
     .cut_ms = 8000,
     .mended_ms = 14000},
};

static struct eta_input see(const struct world *w, double before, int64_t since_ms)
{
    double bps = (w->processed - before) * 1000 / (double)since_ms;
    return (struct eta_input){.now_ms = w->now_ms,
                              .remaining = (uint64_t)w->remaining,
                              .bandwidth_bps = (uint64_t)bps,
                              .dirty_bps = w->iteration > 1 ? w->plan->dirty : 0,
                              .iteration = w->iteration,
                              .postcopy = w->mode == MODE_POSTCOPY,
                              .stopped = w->stopped};
}

static void check_step(const struct eta *was, const struct eta *is)
{
    bool worse =
        was->known && (!is->known || is->end_ms > was->end_ms || is->high_ms > was->high_ms);
    assert_true(!worse || (is->moves > was->moves && is->note[0] != '\0'));
    assert_true(is->moves == was->moves || is->why != ETA_MOVE_NONE);
    if (is->known)
        assert_true(is->low_ms <= is->end_ms && is->end_ms <= is->high_ms);
}

static void it_never_moves_later_without_saying_why(void **state)
{
    (void)state;
    enum { INPUTS_MAX = 4096 };
    static struct eta said[INPUTS_MAX];
    for (size_t i = 0; i < COUNT(plans); i++) {
        struct migration_config config;
        struct world w;
        struct eta eta = {0};
        size_t n = 0, held = 0, known = 0;
        migration_config_default(&config);
        config.post_copy = config.disruption = true;
        world_begin(&w, &plans[i], MONITOR_STALL, &config);
        while (w.ending == RUNS && n < INPUTS_MAX) {
            double before = w.processed;
            world_run(&w, w.now_ms + 400);
            struct eta was = eta;
            struct eta_input input = see(&w, before, 400);
            eta_step(&eta, &input);
            check_step(&was, &eta);
            said[n++] = eta;
        }
        assert_int_not_equal(w.ending, RUNS);
        for (size_t k = 0; k < n; k++) {
            known += said[k].known;
            held += said[k].known && said[k].low_ms - 1000 <= w.now_ms &&
                    said[k].high_ms + 1000 >= w.now_ms;
        }
        print_message("%-5s %lld ms: %zu looks, %zu with an end, %zu held it, %u moves, last: %s\n",
                      plans[i].name, (long long)w.now_ms, n, known, held, eta.moves,
                      eta_move_name(eta.why));
        assert_true(eta.moves < n / 4 + 4); /* it does not cry wolf */
        if (plans[i].wave_ms == 0 && plans[i].cut_ms == 0 && plans[i].dirty < plans[i].link / 2)
            assert_true(held * 10 >= known * 8);
    }
}

TEST_FILE(test_eta)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_is_told_from_the_others),
        cmocka_unit_test(an_end_that_was_lost_and_found_says_so),
        cmocka_unit_test(before_two_samples_nothing_is_said_and_nothing_moved),
        cmocka_unit_test(it_never_moves_later_without_saying_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
