/* test_split_sim.c - the target's last answer is lost after it let the guest run, and libvirt takes
 * the guest back to the source: it runs twice, and Ferry says so, also when it learns it late. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/move.h"
#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

static struct fleet_sim *world(char uuid[static HV_UUID_MAX])
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    struct err err = {0};
    assert_non_null(fs);
    fs->wants_snapshots = true;
    fleet_sim_init(fs, 5, 2, 2, 1ULL << 30);
    fleet_sim_run(fs, 2000);
    fleet_sim_uuid(0, uuid);
    struct sim_fault fault = {
        .kind = SIM_FAULT_FINISH_LOST, .at_ms = fleet_sim_now(fs), .after_iteration_ms = -1};
    TEXT_SET(fault.guest, uuid);
    assert_true(sim_add_fault(fs->sim, &fault, &err));
    fleet_sim_migrate(fs, 0, 1);
    return fs;
}

static void run(struct fleet_sim *fs, int64_t ms)
{
    fleet_sim_run(fs, fleet_sim_now(fs) + ms);
}

static const struct snapshot_job *the_job(const struct fleet_sim *fs)
{
    assert_int_equal(fs->snapshot->n_jobs, 1);
    return fs->snapshot->jobs[0];
}

static void end(struct fleet_sim *fs)
{
    fleet_sim_fini(fs);
    free(fs);
}

/* Both can be asked: it is split, never final. */
static void a_lost_answer_is_seen_as_a_split(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    struct fleet_sim *fs = world(uuid);
    run(fs, 120000);
    assert_int_equal(sim_running_copies(fs->sim, uuid), 2);
    assert_false(phase_is_final(the_job(fs)->phase));
    assert_int_equal(the_job(fs)->resolution.guest_at, GUEST_AT_SPLIT);
    end(fs);
}

/* The target is unreachable for ten minutes: no failure is reported, then the outcome is. */
static void a_target_out_of_observation_is_waited_for(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    struct fleet_sim *fs = world(uuid);
    struct err err = {0};
    while (sim_running_copies(fs->sim, uuid) < 2 && fleet_sim_now(fs) < 120000)
        run(fs, 1);
    assert_int_equal(sim_running_copies(fs->sim, uuid), 2);
    struct sim_fault lost = {.kind = SIM_FAULT_HOST_LOST,
                             .at_ms = fleet_sim_now(fs),
                             .after_iteration_ms = -1,
                             .host = "h1",
                             .duration_ms = 600000};
    assert_true(sim_add_fault(fs->sim, &lost, &err));
    run(fs, 300000);
    assert_false(phase_is_final(the_job(fs)->phase));
    assert_int_equal(the_job(fs)->wait.pending, PENDING_UNPROVEN);
    run(fs, 600000);
    assert_false(phase_is_final(the_job(fs)->phase));
    assert_int_equal(the_job(fs)->resolution.guest_at, GUEST_AT_SPLIT);
    end(fs);
}

static void plan(struct fleet_sim *fs, enum sim_fault_kind kind, const char *host,
                 const char *guest, int64_t after_iteration_ms, int64_t duration_ms)
{
    struct err err = {0};
    struct sim_fault fault = {.kind = kind,
                              .at_ms = fleet_sim_now(fs),
                              .after_iteration_ms = after_iteration_ms,
                              .duration_ms = duration_ms};
    TEXT_SET(fault.host, host);
    TEXT_SET(fault.guest, guest);
    assert_true(sim_add_fault(fs->sim, &fault, &err));
}

static int64_t run_while_copies(struct fleet_sim *fs, const char *uuid, bool two, int64_t most_ms)
{
    int64_t from_ms = fleet_sim_now(fs);
    while ((sim_running_copies(fs->sim, uuid) == 2) == two && fleet_sim_now(fs) - from_ms < most_ms)
        run(fs, 10);
    return fleet_sim_now(fs) - from_ms;
}

/* The target's daemon is stopped over the end of the pre-copy, for longer than its keepalive: two
 * copies run until Ferry has seen both, and no more than a few seconds longer. The one that ran
 * alone goes on. */
static void a_copy_started_late_is_suspended(void **state)
{
    (void)state;
    int split = 0;
    for (uint64_t seed = 1; seed <= 40; seed += test_size(5, 1, 1)) {
        struct fleet_sim *fs = calloc(1, sizeof *fs);
        assert_non_null(fs);
        char uuid[HV_UUID_MAX];
        fs->wants_snapshots = true;
        fleet_sim_init(fs, seed, 2, 2, 1ULL << 30);
        fleet_sim_run(fs, 2000);
        fleet_sim_uuid(0, uuid);
        plan(fs, SIM_FAULT_FINISH_LATE, "", uuid, -1, 0);
        plan(fs, SIM_FAULT_STOP_LIBVIRTD, "h1", uuid, (int64_t)(seed * 20),
             31000 + (int64_t)(seed * 500));
        fleet_sim_migrate(fs, 0, 1);
        (void)run_while_copies(fs, uuid, false, 120000);
        if (sim_running_copies(fs->sim, uuid) == 2) {
            split++;
            int64_t both_ms = run_while_copies(fs, uuid, true, 60000);
            if (both_ms > 5000)
                fail_msg("seed %d: two copies ran for %d ms", (int)seed, (int)both_ms);
            run(fs, 60000);
            assert_int_equal(sim_running_copies(fs->sim, uuid), 1);
            assert_false(phase_is_final(the_job(fs)->phase));
            assert_int_equal(the_job(fs)->resolution.guest_at, GUEST_AT_SPLIT);
        }
        end(fs);
    }
    print_message("%d of 40 were split\n", split);
    assert_true(split >= 5);
}

/* What hosts did and nobody heard: no job may go by its not having been told. */
static void a_job_is_told_that_events_were_dropped(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    struct fleet_sim *fs = world(uuid);
    struct engine *engine = fleet_sim_engine(fs);
    const struct job *job;
    while ((job = fleet_active_job(engine->fleet, uuid)) == NULL || job->epoch == 0)
        run(fs, 1);
    run(fs, 100);
    assert_true(move_saw_target(engine->fleet, job));
    atomic_fetch_add(&engine->messages_dropped, 1);
    run(fs, 100);
    assert_false(move_saw_target(engine->fleet, job));
    end(fs);
}

TEST_FILE(test_split_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_answer_is_seen_as_a_split),
        cmocka_unit_test(a_target_out_of_observation_is_waited_for),
        cmocka_unit_test(a_copy_started_late_is_suspended),
        cmocka_unit_test(a_job_is_told_that_events_were_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
