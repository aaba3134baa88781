/* test_chaos.c - seeded chaos: migrations, aborts, every recorded fault, and crashes of the
 * appliance at any moment. After each seed the laws must hold; a failing seed is printed and
 * replays exactly.
 *
 * Laws: no guest ever runs twice; whatever a finished job says of its guest is what the world
 * shows at that moment; every accepted job ends once the faults are over; nothing is dropped; no
 * guest is gone, and none is called irrecoverable, that no fault killed.
 *
 * Every other seed has links so slow and guests so busy that post-copy is the way, half of the
 * hosts have a helper, and faults go for what is in post-copy.
 */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

enum { HOSTS = 6, GUESTS = 24, ACTS = 120, SEEDS = 8, SEEDS_FULL = 20 };

/* Seeds that once broke a law. 148: one host's answer grew old while the other's was awaited.
 * 1094: a source left paused beside a running target was waited for in silence. */
static const uint64_t remembered[] = {148, 1094};

static bool killed[GUESTS];                           /* by a fault, wholly or half of it */
static unsigned postcopies, recovered, irrecoverable; /* over all seeds: chaos that is none... */

static size_t number_of(const char *uuid)
{
    return (size_t)strtoull(uuid + 24, NULL, 10);
}

static void law_of_the_living(struct fleet_sim *fs)
{
    char uuid[HV_UUID_MAX];
    for (size_t i = 0; i < GUESTS; i++) {
        fleet_sim_uuid(i, uuid);
        if (!killed[i] && sim_guest_host(fs->sim, uuid) == NULL)
            fail_msg("seed %llu: g%zu is nowhere and nothing killed it",
                     (unsigned long long)fs->seed, i);
    }
}

static void law_of_the_outcome(struct fleet_sim *fs, const struct snapshot_job *job)
{
    postcopies += job->mode == MODE_POSTCOPY;
    recovered += job->recovery.state == RECOVERY_RECOVERED;
    irrecoverable += job->result.outcome == OUTCOME_IRRECOVERABLE;
    if (clock_wall_ms(sim_clock(fs->sim)) - job->times.ended_ms > 1000)
        return; /* learned while commits failed, told now: the world has moved on */
    const char *host = sim_guest_host(fs->sim, job->guest_uuid);
    const char *where = host != NULL ? host : "(nowhere)";
    if (sim_running_copies(fs->sim, job->guest_uuid) > 1)
        fail_msg("seed %llu: %s runs twice", (unsigned long long)fs->seed, job->guest_name);
    bool true_word = true;
    if (job->result.outcome == OUTCOME_SUCCEEDED)
        true_word = strcmp(where, job->target) == 0;
    else if (job->result.outcome == OUTCOME_IRRECOVERABLE)
        true_word = killed[number_of(job->guest_uuid)];
    else if (job->result.outcome == OUTCOME_LOST)
        true_word = killed[number_of(job->guest_uuid)] &&
                    (host == NULL || sim_running_copies(fs->sim, job->guest_uuid) == 0);
    else if (job->resolution.guest_at == GUEST_AT_SOURCE && job->source[0] != '\0' &&
             job->epoch > 0)
        true_word = strcmp(where, job->source) == 0;
    if (!true_word)
        fail_msg("seed %llu: job %s of %s says %s (%s -> %s), the guest is on %s at "
                 "%lld; source looked %s %d/%d",
                 (unsigned long long)fs->seed, job->name, job->guest_name,
                 outcome_name(job->result.outcome), job->source, job->target, where,
                 (long long)fleet_sim_now(fs), hv_presence_name(job->resolution.source.presence),
                 job->resolution.source.state, job->resolution.source.reason);
}

/* An hour after the last fault only such jobs may be unfinished whose outcome no host can prove
 * (a source left paused while its target runs, say), and they must say so. */
static void law_of_the_unfinished(struct fleet_sim *fs)
{
    const struct snapshot *now = fs->snapshot;
    for (size_t i = 0; now != NULL && i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (phase_is_final(job->phase) || (job->resolving && job->wait.reason[0] != '\0'))
            continue;
        fail_msg("seed %llu: job %s of %s never ended: %s, %s %d/%d, %s %d/%d",
                 (unsigned long long)fs->seed, job->name, job->guest_name, phase_name(job->phase),
                 job->source, job->resolution.source.state, job->resolution.source.reason,
                 job->target, job->resolution.target.state, job->resolution.target.reason);
    }
}

/* One that is in post-copy, if there is such a one. */
static size_t some_guest(struct fleet_sim *fs)
{
    const struct snapshot *now = fs->snapshot;
    for (size_t i = 0; now != NULL && i < now->n_jobs; i++)
        if (now->jobs[i]->phase == PHASE_RUNNING && now->jobs[i]->mode == MODE_POSTCOPY &&
            fleet_sim_dice(fs, 2) == 0)
            return number_of(now->jobs[i]->guest_uuid);
    return (size_t)fleet_sim_dice(fs, GUESTS);
}

static void throw_fault(struct fleet_sim *fs)
{
    struct err err = {0};
    struct sim_fault fault = {.kind =
                                  (enum sim_fault_kind)fleet_sim_dice(fs, SIM_FAULT_FINISH_LOST),
                              .at_ms = fleet_sim_now(fs) + (int64_t)fleet_sim_dice(fs, 5000),
                              .after_iteration_ms = -1,
                              .duration_ms = 1000 + (int64_t)fleet_sim_dice(fs, 60000)};
    static const enum sim_fault_kind streams[] = {SIM_FAULT_STREAM_RESET, SIM_FAULT_STREAM_STALL,
                                                  SIM_FAULT_STREAM_STALL_OUT,
                                                  SIM_FAULT_STREAM_HALF_RESET,
                                                  SIM_FAULT_KILL_TARGET_QEMU};
    if (fs->seed % 2 != 0 && fleet_sim_dice(fs, 2) == 0)
        fault.kind = streams[fleet_sim_dice(fs, COUNT(streams))];
    size_t guest = fs->seed % 2 == 0 ? (size_t)fleet_sim_dice(fs, GUESTS) : some_guest(fs);
    (void)snprintf(fault.host, sizeof fault.host, "h%d", (int)fleet_sim_dice(fs, HOSTS));
    fleet_sim_uuid(guest, fault.guest);
    bool kills = fault.kind == SIM_FAULT_KILL_SOURCE_QEMU ||
                 fault.kind == SIM_FAULT_KILL_TARGET_QEMU || fault.kind == SIM_FAULT_GUEST_POWEROFF;
    if (!sim_add_fault(fs->sim, &fault, &err))
        assert_int_equal(err.code, ERR_INVALID); /* one that makes no sense now is refused */
    else
        killed[guest] = killed[guest] || kills;
}

/* A store whose commits fail for a while: the real one, with one operation replaced. */
struct failing_store {
    struct store_ops ops;
    const struct store_ops *real;
    int64_t until_ms;
    struct fleet_sim *fs;
};
static struct failing_store failing; /* store_ops have no context of their own */

static bool fail_commit(struct store *store, struct err *err)
{
    if (fleet_sim_now(failing.fs) >= failing.until_ms)
        return failing.real->commit(store, err);
    failing.real->rollback(store);
    return err_set(err, ERR_FULL, "the disk is full, says the test");
}

static void make_store_fail_at_will(struct fleet_sim *fs)
{
    failing = (struct failing_store){*fs->store->ops, fs->store->ops, 0, fs};
    failing.ops.commit = fail_commit;
    fs->store->ops = &failing.ops;
}

/* Someone asks to stop, or to delete, a migration that may or may not be there any more. */
static void cancel_one(struct fleet_sim *fs)
{
    struct err err = {0};
    if (fs->last_name[0] != '\0')
        assert_true(engine_post_cancel(fleet_sim_engine(fs), "default", fs->last_name, "chaos",
                                       fleet_sim_dice(fs, 2) == 0, &err));
}

static void act(struct fleet_sim *fs)
{
    uint64_t dice = fleet_sim_dice(fs, 100);
    if (fleet_sim_dice(fs, 100) < 8)
        failing.until_ms = fleet_sim_now(fs) + (int64_t)fleet_sim_dice(fs, 20000);
    if (fleet_sim_dice(fs, 100) < 20)
        cancel_one(fs);
    if (dice < 60)
        fleet_sim_migrate(fs, (size_t)fleet_sim_dice(fs, GUESTS),
                          (size_t)fleet_sim_dice(fs, HOSTS));
    else if (dice < 90)
        throw_fault(fs);
    else if (fs->n_lives < FLEET_SIM_LIVES_MAX)
        fleet_sim_crash(fs);
}

/* Guests that write faster than their links carry. */
static void make_busy(struct fleet_sim *fs, uint64_t seed)
{
    struct err err = {0};
    fleet_sim_open(fs, seed, HOSTS);
    for (size_t i = 0; i < HOSTS; i++)
        fleet_sim_host(fs, i,
                       &(struct sim_host){.memory_kib = 512ULL << 20,
                                          .cpus = 64,
                                          .link_bps = 200000000,
                                          .keepalive_ms = i % 3 == 0 ? 6000 : 0,
                                          .helper = fleet_sim_dice(fs, 2) == 0});
    for (size_t i = 0; i < GUESTS; i++) {
        struct sim_guest guest = {.memory_bytes = 1ULL << 30,
                                  .working_set_bytes = 1ULL << 29,
                                  .dirty_bps = (150 + fleet_sim_dice(fs, 256)) << 20,
                                  .vcpus = 2,
                                  .persistent = fleet_sim_dice(fs, 2) == 0};
        (void)snprintf(guest.name, sizeof guest.name, "g%zu", i);
        fleet_sim_uuid(i, guest.uuid);
        TEXT_SET(guest.ns, "default");
        assert_true(sim_add_guest(fs->sim, fs->hosts[i % HOSTS].name, &guest, &err));
    }
    fs->engine_config.migration.post_copy = true;
    fs->engine_config.migration.completion_timeout = 15;
    fs->engine_config.migration.post_copy_bandwidth = 16 << 20; /* long enough to be hit */
    fleet_sim_start(fs);
}

static void live_through(uint64_t seed)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->on_finished = law_of_the_outcome;
    fs->wants_snapshots = true;
    memset(killed, 0, sizeof killed);
    if (seed % 2 == 0)
        fleet_sim_init(fs, seed, HOSTS, GUESTS, 2ULL << 30);
    else
        make_busy(fs, seed);
    make_store_fail_at_will(fs);
    int64_t now_ms = 2000;
    for (int i = 0; i < ACTS; i++) {
        fleet_sim_run(fs, now_ms);
        act(fs);
        now_ms += (int64_t)fleet_sim_dice(fs, 3000);
        law_of_the_living(fs);
    }
    fleet_sim_run(fs, now_ms + 3600 * 1000); /* faults are over, waits have ended */

    struct engine_stats stats;
    engine_stats(fleet_sim_engine(fs), &stats);
    law_of_the_unfinished(fs);
    law_of_the_living(fs);
    assert_int_equal(stats.posts_dropped, 0);
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

static void print_counts(void)
{
    print_message("post-copies: %u, recovered: %u, irrecoverable: %u\n", postcopies, recovered,
                  irrecoverable);
}

static void no_chaos_breaks_the_laws(void **state)
{
    (void)state;
    const char *one = getenv("SEED");
    if (one != NULL) {
        live_through(strtoull(one, NULL, 10));
        print_counts();
        return;
    }
    for (size_t i = 0; i < COUNT(remembered); i++)
        live_through(remembered[i]);
    uint64_t seeds = test_size(0, SEEDS, SEEDS_FULL);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        live_through(seed);
    if (seeds == 0)
        live_through(5); /* recovered and irrecoverable guests in one seed */
    print_counts();
    assert_true(postcopies > 2 * seeds && recovered > 0 &&
                irrecoverable > 0); /* ... proves nothing */
}

TEST_FILE(test_chaos)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_chaos_breaks_the_laws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
