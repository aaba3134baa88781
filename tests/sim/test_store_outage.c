/* test_store_outage.c - commits that fail for minutes, beginning at any commit of a migration's
 * life: nothing new is started, a stop still stops, nothing is carried out late, nothing is lost.
 */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/sim/fleet_sim.h"

static const int64_t OUTAGE_MS = 200 * 1000;

/* The real store, failing from its n-th commit on for minutes. */
static struct {
    struct store_ops ops;
    const struct store_ops *real;
    unsigned commits, good;
    int64_t until_ms;
    struct fleet_sim *fs;
} outage; /* store_ops have no context of their own */

static bool fail_commit(struct store *store, struct err *err)
{
    int64_t now_ms = fleet_sim_now(outage.fs);
    if (outage.commits++ == outage.good)
        outage.until_ms = now_ms + OUTAGE_MS;
    if (now_ms >= outage.until_ms)
        return outage.real->commit(store, err);
    outage.real->rollback(store);
    return err_set(err, ERR_FULL, "the disk is full, says the test");
}

static struct fleet_sim *world_failing_after(unsigned good)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fleet_sim_init(fs, 7, 2, 2, 2ULL << 30);
    fleet_sim_run(fs, 2000);
    outage.ops = *fs->store->ops;
    outage.real = fs->store->ops;
    outage.commits = 0;
    outage.good = good;
    outage.until_ms = 0;
    outage.fs = fs;
    outage.ops.commit = fail_commit;
    fs->store->ops = &outage.ops;
    return fs;
}

static void end_world(struct fleet_sim *fs)
{
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

static bool find_name(void *ctx, const struct store_job *row)
{
    (void)text_copy(ctx, SNAPSHOT_NAME_MAX, row->name);
    return true;
}

static void a_cancel_during_an_outage_is_never_followed_by_a_move(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(0, uuid);
    for (unsigned good = 1; good < 8; good++) { /* the first commit accepts the job */
        struct fleet_sim *fs = world_failing_after(good);
        struct err err = {0};
        fleet_sim_migrate(fs, 0, 1);
        fleet_sim_run(fs, 3000);
        char name[SNAPSHOT_NAME_MAX] = "";
        assert_true(fs->store->ops->each_job(fs->store, false, find_name, name, &err));
        assert_true(engine_post_cancel(fleet_sim_engine(fs), "default", name, "test", false, &err));
        fleet_sim_run(fs, 3 * OUTAGE_MS);
        if (strcmp(sim_guest_host(fs->sim, uuid), "h0") != 0)
            fail_msg("commits failed after %u: the cancelled migration was carried out", good);
        assert_int_equal(fs->finished[OUTCOME_ABORTED], 1);
        end_world(fs);
    }
}

static void an_outage_loses_no_job_and_its_outcome_is_true(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(0, uuid);
    for (unsigned good = 1; good < 8; good++) {
        struct fleet_sim *fs = world_failing_after(good);
        fleet_sim_migrate(fs, 0, 1);
        fleet_sim_run(fs, 3 * OUTAGE_MS);
        bool moved = fs->finished[OUTCOME_SUCCEEDED] == 1; /* else a wait ran out: said so */
        assert_int_equal(fs->finished[OUTCOME_SUCCEEDED] + fs->finished[OUTCOME_FAILED], 1);
        assert_string_equal(sim_guest_host(fs->sim, uuid), moved ? "h1" : "h0");
        end_world(fs);
    }
}

static void nothing_is_accepted_while_it_cannot_be_stored(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_failing_after(0);
    fleet_sim_migrate(fs, 0, 1);
    fleet_sim_run(fs, 60000);
    fleet_sim_migrate(fs, 1, 0); /* refused: the store is known to fail */
    fleet_sim_run(fs, 60000 + 1000);
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(0, uuid);
    assert_string_equal(sim_guest_host(fs->sim, uuid), "h0");
    struct engine_stats stats;
    engine_stats(fleet_sim_engine(fs), &stats);
    assert_false(stats.store_ok);
    assert_int_equal(stats.active_jobs, 1);
    end_world(fs);
}

TEST_FILE(test_store_outage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_during_an_outage_is_never_followed_by_a_move),
        cmocka_unit_test(an_outage_loses_no_job_and_its_outcome_is_true),
        cmocka_unit_test(nothing_is_accepted_while_it_cannot_be_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
