/* test_clock_jumps.c - somebody sets the machine's clock: no deadline comes earlier or later, and
 * nothing is deleted because of it. */
#include "tests/test.h"

#include <string.h>

#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

static const int64_t DAY_MS = 86400 * 1000, EPOCH_MS = 1700000000000;

static struct fleet_sim *world(void)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->engine_config.parallel_outbound_per_node = 1;
    fleet_sim_init(fs, 5, 2, 4, 2ULL << 30);
    fleet_sim_run(fs, 2000);
    return fs;
}

static void end_world(struct fleet_sim *fs)
{
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

/* The node of two guests cannot be reached for a while, and lets only one leave at a time. */
static void a_jump_forward_fails_no_job_that_waits(void **state)
{
    (void)state;
    struct fleet_sim *fs = world();
    struct err err = {0};
    const struct sim_fault lost = {.kind = SIM_FAULT_HOST_LOST,
                                   .host = "h0",
                                   .at_ms = 3000,
                                   .after_iteration_ms = -1,
                                   .duration_ms = 100 * 1000};
    assert_true(sim_add_fault(fs->sim, &lost, &err));
    fleet_sim_run(fs, 60 * 1000);
    fleet_sim_migrate(fs, 0, 1);
    fleet_sim_migrate(fs, 2, 1);
    fleet_sim_run(fs, 70 * 1000);
    fs->wall_shift_ms = 3 * DAY_MS;
    fleet_sim_run(fs, 300 * 1000);
    assert_int_equal(fs->finished[OUTCOME_FAILED], 0);
    assert_int_equal(fs->finished[OUTCOME_SUCCEEDED], 2);
    end_world(fs);
}

static struct {
    struct store_ops ops;
    const struct store_ops *real;
    int64_t now_ms;
} retaining; /* store_ops have no context of their own */

static bool note_retain(struct store *s, int64_t now_ms, bool *out_did, struct err *err)
{
    retaining.now_ms = now_ms;
    return retaining.real->retain(s, now_ms, out_did, err);
}

static void retention_does_not_believe_a_clock_that_jumped(void **state)
{
    (void)state;
    struct fleet_sim *fs = world();
    retaining.real = fs->store->ops;
    retaining.ops = *retaining.real;
    retaining.ops.retain = note_retain;
    fs->store->ops = &retaining.ops;
    fleet_sim_migrate(fs, 0, 1);
    fleet_sim_run(fs, 60 * 1000);
    assert_int_equal(fs->finished[OUTCOME_SUCCEEDED], 1);
    assert_in_range(retaining.now_ms, EPOCH_MS + 55 * 1000, EPOCH_MS + 60 * 1000);
    fs->wall_shift_ms = 2 * DAY_MS;
    fleet_sim_run(fs, 120 * 1000);
    assert_in_range(retaining.now_ms, EPOCH_MS + 115 * 1000, EPOCH_MS + 200 * 1000);
    fleet_sim_crash(fs); /* what is stored tells how late it was */
    fleet_sim_run(fs, 180 * 1000);
    assert_in_range(retaining.now_ms, EPOCH_MS, EPOCH_MS + 200 * 1000);
    fs->wall_shift_ms = 0; /* set right */
    fleet_sim_run(fs, 240 * 1000);
    assert_in_range(retaining.now_ms, EPOCH_MS + 120 * 1000, EPOCH_MS + 240 * 1000);
    fs->store->ops = retaining.real;
    end_world(fs);
}

TEST_FILE(test_clock_jumps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_forward_fails_no_job_that_waits),
        cmocka_unit_test(retention_does_not_believe_a_clock_that_jumped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
