/* test_day.c - a scripted day of a fleet through the very code that serves real ones: migrations,
 * hosts that go away, faults. Twice, to the same hash. FERRY_TEST_SIZE=full: 200 hosts, 5,000
 * guests and 1,200 migrations; usually a quarter of that; in `make test-fast` six hours of a tenth
 * of it. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

static const int64_t HOUR_MS = 3600 * 1000LL;

struct size {
    int hours;
    size_t hosts, guests;
    int migrations, host_faults, guest_faults;
};
static const struct size full = {24, 200, 5000, 1200, 24, 200},
                         quarter = {24, 50, 1250, 300, 6, 50}, morning = {6, 20, 500, 60, 3, 60};

static void plan_faults(struct fleet_sim *fs, const struct size *size)
{
    static const enum sim_fault_kind of_a_host[] = {SIM_FAULT_KILL_LIBVIRTD,
                                                    SIM_FAULT_STOP_LIBVIRTD, SIM_FAULT_LINK_DOWN};
    static const enum sim_fault_kind of_a_move[] = {SIM_FAULT_KILL_TARGET_QEMU,
                                                    SIM_FAULT_STREAM_RESET, SIM_FAULT_PORT_REFUSED,
                                                    SIM_FAULT_NO_MEMORY};
    struct err err = {0};
    for (int i = 0; i < size->host_faults; i++) {
        struct sim_fault fault = {
            .kind = of_a_host[i % 3],
            .at_ms = (int64_t)fleet_sim_dice(fs, (uint64_t)size->hours * (uint64_t)HOUR_MS),
            .after_iteration_ms = -1,
            .duration_ms = 60000};
        (void)snprintf(fault.host, sizeof fault.host, "h%d", (int)fleet_sim_dice(fs, size->hosts));
        assert_true(sim_add_fault(fs->sim, &fault, &err));
    }
    for (int i = 0; i < size->guest_faults; i++) {
        bool in_an_iteration = i % 4 < 2; /* the others strike before anything moves */
        struct sim_fault fault = {.kind = of_a_move[i % 4],
                                  .after_iteration_ms = in_an_iteration ? 100 : -1};
        fleet_sim_uuid((size_t)fleet_sim_dice(fs, size->guests), fault.guest);
        assert_true(sim_add_fault(fs->sim, &fault, &err));
    }
}

static uint64_t live_one_day(const struct size *size, uint64_t seed,
                             uint64_t finished[static OUTCOME_COUNT])
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->collector_config.inventory_ms = 3600 * 1000; /* events tell what changes in between */
    fs->engine_config.parallel_outbound_per_node = 2;
    fleet_sim_init(fs, seed, size->hosts, size->guests, 4ULL << 30);
    plan_faults(fs, size);
    for (int i = 0; i < size->migrations; i++) {
        fleet_sim_run(fs, (i + 1) * (size->hours * HOUR_MS / (size->migrations + 1)));
        fleet_sim_migrate(fs, (size_t)fleet_sim_dice(fs, size->guests),
                          (size_t)fleet_sim_dice(fs, size->hosts));
    }
    fleet_sim_run(fs, (size->hours + 1) * HOUR_MS);

    struct engine_stats stats;
    engine_stats(fleet_sim_engine(fs), &stats);
    assert_int_equal(stats.active_jobs, 0); /* every accepted job has an outcome */
    assert_int_equal(stats.posts_dropped, 0);
    assert_int_equal(sim_violations(fs->sim), 0);
    assert_int_equal(sim_guest_count(fs->sim),
                     size->guests); /* none of these faults kills a guest */
    memcpy(finished, fs->finished, sizeof fs->finished);
    uint64_t hash = engine_hash(fleet_sim_engine(fs)) ^ sim_hash(fs->sim);
    fleet_sim_fini(fs);
    free(fs);
    return hash;
}

static void a_day_of_a_fleet_ends_the_same_twice(void **state)
{
    (void)state;
    static const struct size *const sizes[] = {&morning, &quarter, &full};
    const struct size *size = sizes[test_size(0, 1, 2)];
    uint64_t first[OUTCOME_COUNT], second[OUTCOME_COUNT];
    int64_t began_ms = clock_mono_ms(clock_system());
    uint64_t a = live_one_day(size, 42, first);
    int64_t spent_ms = clock_mono_ms(clock_system()) - began_ms;
    uint64_t b = live_one_day(size, 42, second);
    print_message("one day in %lld ms: %llu succeeded, %llu failed, %llu lost; hash %016llx\n",
                  (long long)spent_ms, (unsigned long long)first[OUTCOME_SUCCEEDED],
                  (unsigned long long)first[OUTCOME_FAILED],
                  (unsigned long long)first[OUTCOME_LOST], (unsigned long long)a);
    assert_true(a == b);
    assert_memory_equal(first, second, sizeof first);
    assert_true(first[OUTCOME_SUCCEEDED] > (uint64_t)size->migrations / 2);
    assert_true(first[OUTCOME_FAILED] > 0);
    assert_int_equal(first[OUTCOME_LOST], 0);
}

TEST_FILE(test_day)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_of_a_fleet_ends_the_same_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
