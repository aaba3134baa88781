/* test_volumes_sim.c - a guest with a disk of its own moves to another host's storage, through the
 * very code that serves real hosts: asked about, copied, cancelled, waited for, after a crash. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/sim/fleet_sim.h"

#define GIB (UINT64_C(1) << 30)

static char uuid[HV_UUID_MAX];
static struct snapshot_job ended; /* the newest job that is over */

static void note_end(struct fleet_sim *fs, const struct snapshot_job *job)
{
    (void)fs;
    ended = *job;
}

static struct fleet_sim *world_with_disk(void)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    memset(&ended, 0, sizeof ended);
    fs->on_finished = note_end;
    fs->wants_snapshots = true;
    fleet_sim_open(fs, 11, 2);
    for (size_t i = 0; i < 2; i++) {
        struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .link_bps = GIB};
        fleet_sim_host(fs, i, &host);
    }
    struct sim_guest guest = {.name = "g", .ns = "default", .memory_bytes = GIB, .vcpus = 1};
    struct err err = {0};
    fleet_sim_uuid(0, uuid);
    TEXT_SET(guest.uuid, uuid);
    guest.local_disk = guest.persistent = true;
    guest.disk_bytes = 8 * GIB;
    assert_true(sim_add_guest(fs->sim, "h0", &guest, &err));
    fleet_sim_start(fs);
    fleet_sim_run(fs, 10000);
    return fs;
}

static void ask(struct fleet_sim *fs, const char *volumes)
{
    struct err err = {0};
    struct migration_request request = {.ns = "default", .guest_name = "g", .target = "h1"};
    TEXT_SET(request.name, "m");
    TEXT_SET(request.requester, "test");
    request.volumes_json = volumes;
    assert_true(engine_post_create(fleet_sim_engine(fs), &request, &err));
}

static void run(struct fleet_sim *fs, int64_t ms)
{
    fleet_sim_run(fs, fleet_sim_now(fs) + ms);
}

static const struct snapshot_job *job_now(struct fleet_sim *fs)
{
    assert_non_null(fs->snapshot);
    return snapshot_find_job(fs->snapshot, "default", "m");
}

static void end(struct fleet_sim *fs, const char *host)
{
    assert_string_equal(sim_guest_host(fs->sim, uuid), host);
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

#define TO(path) "[{\"name\":\"vda\",\"destination\":{\"path\":\"" path "\"}}]"

static void its_disk_moves_along_into_a_pool(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    ask(fs, "[{\"name\":\"vda\",\"destination\":{\"pool\":\"default\",\"volume\":\"g.img\"}}]");
    run(fs, 5000);
    const struct snapshot_job *job = job_now(fs);
    assert_int_equal(job->phase, PHASE_RUNNING);
    assert_true(job->progress.sample.stats.disk_total == 8 * GIB &&
                job->progress.sample.stats.disk_processed > 0);
    run(fs, 60000);
    assert_int_equal(ended.result.outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(ended.request.origin, ORIGIN_VOLUMES);
    assert_non_null(strstr(job_now(fs)->request.volumes_json, "\"capacity\":8589934592"));
    assert_non_null(strstr(job_now(fs)->request.volumes_json,
                           "\"source\":{\"path\":\"/var/lib/libvirt/images/"));
    end(fs, "h1");
}

static void without_its_disk_it_stays(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    ask(fs, NULL);
    run(fs, 60000);
    assert_null(job_now(fs)); /* refused */
    end(fs, "h0");
}

static void a_guest_with_a_snapshot_stays_until_that_is_dropped(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct sim_guest guest = {.local_disk = true, .snapshot = true};
    struct err err = {0};
    TEXT_SET(guest.uuid, uuid);
    assert_true(sim_set_guest(fs->sim, &guest, SIM_LIVE, &err));
    run(fs, 15000);
    assert_int_equal(fs->snapshot->n_guests, 1);
    assert_true(migratable_has(&fs->snapshot->guests[0].migratable, UNMOVABLE_SNAPSHOTS));
    guest.snapshot = false;
    assert_true(sim_set_guest(fs->sim, &guest, SIM_LIVE, &err));
    run(fs, 45000);
    assert_false(migratable_has(&fs->snapshot->guests[0].migratable, UNMOVABLE_SNAPSHOTS));
    end(fs, "h0");
}

static void a_disk_that_was_plugged_in_has_its_own_reason(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct sim_guest guest = {0};
    struct err err = {0};
    TEXT_SET(guest.uuid, uuid);
    assert_true(sim_set_guest(fs->sim, &guest, SIM_STORED, &err)); /* without the disk */
    run(fs, 15000);
    const struct migratable *m = &fs->snapshot->guests[0].migratable;
    assert_int_equal(m->rows, 1U << UNMOVABLE_HOTPLUG);
    assert_string_equal(m->plugged, "vda");
    end(fs, "h0");
}

static void a_place_is_waited_for_over_a_crash_and_used(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct err err = {0};
    ask(fs, TO("/mnt/g.img"));
    run(fs, 20000);
    assert_int_equal(job_now(fs)->wait.pending, PENDING_STORAGE);
    assert_string_equal(job_now(fs)->wait.reason,
                        "One of the destination volumes doesn't exist: /mnt/g.img");
    fleet_sim_crash(fs);
    run(fs, 20000);
    assert_int_equal(job_now(fs)->wait.pending, PENDING_STORAGE);
    assert_true(sim_set_volume(fs->sim, "h1", "/mnt/g.img", 10 * GIB, &err)); /* a bigger one */
    run(fs, 60000);
    assert_int_equal(ended.result.outcome, OUTCOME_SUCCEEDED);
    assert_non_null(strstr(job_now(fs)->request.volumes_json, "\"slice\":8589934592"));
    end(fs, "h1");
}

static void a_place_that_stays_too_small_fails_with_both_sizes(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct err err = {0};
    assert_true(sim_set_volume(fs->sim, "h1", "/mnt/g.img", GIB, &err));
    ask(fs, TO("/mnt/g.img"));
    run(fs, 20000);
    const struct rejections *why = job_now(fs)->placement.rejections;
    assert_non_null(why);
    assert_int_equal(why->counts[REJECT_VOLUME_SIZE], 1);
    run(fs, 20 * 60 * 1000);
    assert_int_equal(ended.result.outcome, OUTCOME_FAILED);
    assert_non_null(strstr(ended.result.failure_reason, "volume-size"));
    run(fs, 30 * 60 * 1000);
    assert_int_equal(fs->finished[OUTCOME_FAILED], 1); /* and nobody tries again */
    end(fs, "h0");
}

static void cancelled_half_way_it_keeps_its_old_disk(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct err err = {0};
    ask(fs, TO("/srv/default/g.img"));
    run(fs, 5000);
    assert_true(job_now(fs)->progress.sample.stats.disk_remaining > 0);
    assert_true(engine_post_cancel(fleet_sim_engine(fs), "default", "m", "test", false, &err));
    run(fs, 10000);
    assert_int_equal(ended.result.outcome, OUTCOME_ABORTED);
    assert_int_equal(ended.resolution.guest_at, GUEST_AT_SOURCE);
    end(fs, "h0");
}

static void a_crash_while_the_disk_goes_changes_nothing(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    ask(fs, TO("/srv/default/g.img"));
    run(fs, 5000);
    assert_true(job_now(fs)->progress.sample.stats.disk_remaining > 0);
    fleet_sim_crash(fs);
    run(fs, 60000);
    assert_int_equal(ended.result.outcome, OUTCOME_SUCCEEDED);
    end(fs, "h1");
}

/* ---- commits fail ---- */

static const struct store_ops *real_ops;
static unsigned yanks, aborts;

static bool fail_commit(struct store *store, struct err *err)
{
    real_ops->rollback(store);
    return err_set(err, ERR_FULL, "the disk is full, says the test");
}

static bool count_orders(struct fleet_sim *fs, const struct hv_request *request)
{
    (void)fs;
    yanks += request->call == HV_CALL_YANK;
    aborts += request->call == HV_CALL_ABORT;
    return true;
}

/* An abort of disks whose path is dead would freeze the guest: the streams are broken instead, and
 * that is a stop as well, so it waits for no commit. */
static void a_stop_of_stalled_disks_goes_out_while_commits_fail(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_with_disk();
    struct err err = {0};
    ask(fs, TO("/srv/default/g.img"));
    run(fs, 5000);
    assert_true(job_now(fs)->progress.sample.stats.disk_remaining > 0);
    struct sim_fault fault = {
        .kind = SIM_FAULT_STREAM_STALL, .at_ms = fleet_sim_now(fs), .after_iteration_ms = -1};
    TEXT_SET(fault.guest, uuid);
    assert_true(sim_add_fault(fs->sim, &fault, &err));
    real_ops = fs->store->ops;
    struct store_ops failing = *real_ops;
    failing.commit = fail_commit;
    fs->store->ops = &failing;
    fs->on_submit = count_orders;
    yanks = aborts = 0;
    run(fs, 1000);
    assert_true(engine_post_cancel(fleet_sim_engine(fs), "default", "m", "test", false, &err));
    run(fs, 20000);
    assert_int_equal(aborts, 0);
    assert_int_equal(yanks, 1);
    fs->store->ops = real_ops;
    run(fs, 30000);
    assert_int_equal(ended.result.outcome, OUTCOME_ABORTED);
    assert_int_equal(sim_frozen_ms(fs->sim, uuid), 0);
    end(fs, "h0");
}

TEST_FILE(test_volumes_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_disk_moves_along_into_a_pool),
        cmocka_unit_test(without_its_disk_it_stays),
        cmocka_unit_test(a_guest_with_a_snapshot_stays_until_that_is_dropped),
        cmocka_unit_test(a_disk_that_was_plugged_in_has_its_own_reason),
        cmocka_unit_test(a_place_is_waited_for_over_a_crash_and_used),
        cmocka_unit_test(a_place_that_stays_too_small_fails_with_both_sizes),
        cmocka_unit_test(cancelled_half_way_it_keeps_its_old_disk),
        cmocka_unit_test(a_crash_while_the_disk_goes_changes_nothing),
        cmocka_unit_test(a_stop_of_stalled_disks_goes_out_while_commits_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
