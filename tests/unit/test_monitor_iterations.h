/* test_monitor_iterations.h - a stall monitor led through passes, one look per line of a story. */
#ifndef TESTS_UNIT_TEST_MONITOR_ITERATIONS_H
#define TESTS_UNIT_TEST_MONITOR_ITERATIONS_H

#include "tests/test.h"

#include "tests/unit/test_monitor_world.h"

enum { RATE = 100 }; /* MiB per second that move, unless a story says otherwise */

#define assert_why(is, should) assert_string_equal(decision_name(is), decision_name(should))

/* A look after bytes moved at so many MiB/s since the one before. */
static inline enum decision moves(struct rig *rig, int64_t at_ms, uint64_t left_mib,
                                  uint64_t rate_mib)
{
    uint64_t span_ms = (uint64_t)(at_ms - rig->in.elapsed_ms);
    rig->in.stats.data_processed += rate_mib * MIB * span_ms / 1000;
    rig->in.stats.memory_total = GIB;
    rig->in.stats.memory_remaining = rig->in.stats.data_remaining = left_mib * MIB;
    return step(rig, at_ms);
}

/* The same where a pass begins. */
static inline enum decision iteration(struct rig *rig, int64_t at_ms, uint64_t left_mib)
{
    rig->in.stats.memory_iteration++;
    return moves(rig, at_ms, left_mib, RATE);
}

/* Hold, then the first step: what comes before everything else. */
static inline void start(struct rig *rig)
{
    rig_begin(rig, MONITOR_STALL);
    assert_why(iteration(rig, 400, 1024), DECISION_HOLDS_DOWNTIME);
    accept(rig);
    assert_why(moves(rig, 800, 900, RATE), DECISION_FIRST_DOWNTIME);
    accept(rig);
}

/* The ramp is for stories of its own: here it is at its end. */
static inline void no_ramp(struct rig *rig)
{
    rig_default(rig);
    rig->config.downtime_after = 1000000;
}

static inline void fresh(struct rig *rig)
{
    no_ramp(rig);
    start(rig);
}

/* Passes that begin with 500 MiB every ten seconds: the stall is found at 60 s. */
static inline void up_to_stall(struct rig *rig)
{
    for (int64_t at = 10000; at <= 50000; at += 10000)
        assert_why(iteration(rig, at, 500), DECISION_GOES_ON);
    (void)moves(rig, 59900, 10, RATE);
}

#endif
