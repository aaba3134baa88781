/* test_chaos.c - seeded chaos: migrations, aborts, every recorded fault, and crashes of the
 * appliance at any moment. After each seed the laws must hold; a failing seed is printed and
 * replays exactly.
 *
 * Laws: no guest ever runs twice; whatever a finished job says of its guest is what the world
 * shows at that moment; every accepted job ends once the faults are over; nothing is dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

enum { HOSTS = 6, GUESTS = 24, ACTS = 120, SEEDS = 20 };

/* Seeds that once broke a law. 148: one host's answer grew old while the other's was awaited. */
static const uint64_t remembered[] = {148};

static void law_of_the_outcome(struct fleet_sim *fs, const struct snapshot_job *job)
{
    const char *host = sim_guest_host(fs->sim, job->guest_uuid);
    const char *where = host != NULL ? host : "(nowhere)";
    if (sim_running_copies(fs->sim, job->guest_uuid) > 1)
        fail_msg("seed %llu: %s runs twice", (unsigned long long)fs->seed, job->guest_name);
    bool true_word = true;
    if (job->outcome == OUTCOME_SUCCEEDED)
        true_word = strcmp(where, job->target) == 0;
    else if (job->outcome == OUTCOME_LOST)
        true_word = host == NULL || sim_running_copies(fs->sim, job->guest_uuid) == 0;
    else if (job->guest_at == GUEST_AT_SOURCE && job->source[0] != '\0' && job->epoch > 0)
        true_word = strcmp(where, job->source) == 0;
    if (!true_word)
        fail_msg("seed %llu: job %s of %s says %s (%s -> %s), the guest is on %s at "
                 "%lld; source looked %s %d/%d",
                 (unsigned long long)fs->seed, job->name, job->guest_name,
                 outcome_name(job->outcome), job->source, job->target, where,
                 (long long)fleet_sim_now(fs), hv_presence_name(job->source_sight.presence),
                 job->source_sight.state, job->source_sight.reason);
}

static void throw_fault(struct fleet_sim *fs)
{
    struct err err = {0};
    struct sim_fault fault = {.kind = (enum sim_fault_kind)fleet_sim_dice(fs, SIM_FAULT_COUNT),
                              .at_ms = fleet_sim_now(fs) + (int64_t)fleet_sim_dice(fs, 5000),
                              .after_pass_ms = -1,
                              .duration_ms = 1000 + (int64_t)fleet_sim_dice(fs, 60000)};
    (void)snprintf(fault.host, sizeof fault.host, "h%d", (int)fleet_sim_dice(fs, HOSTS));
    fleet_sim_uuid((size_t)fleet_sim_dice(fs, GUESTS), fault.guest);
    if (!sim_add_fault(fs->sim, &fault, &err))
        assert_int_equal(err.code, ERR_INVALID); /* one that makes no sense now is refused */
}

static void act(struct fleet_sim *fs)
{
    uint64_t dice = fleet_sim_dice(fs, 100);
    if (dice < 60)
        fleet_sim_migrate(fs, (size_t)fleet_sim_dice(fs, GUESTS),
                          (size_t)fleet_sim_dice(fs, HOSTS));
    else if (dice < 90)
        throw_fault(fs);
    else if (fs->n_lives < FLEET_SIM_LIVES_MAX)
        fleet_sim_crash(fs);
}

static void live_through(uint64_t seed)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->on_finished = law_of_the_outcome;
    fleet_sim_init(fs, seed, HOSTS, GUESTS, 2ULL << 30);
    int64_t now_ms = 2000;
    for (int i = 0; i < ACTS; i++) {
        fleet_sim_run(fs, now_ms);
        act(fs);
        now_ms += (int64_t)fleet_sim_dice(fs, 3000);
    }
    fleet_sim_run(fs, now_ms + 3600 * 1000); /* faults are over, waits have ended */

    struct engine_stats stats;
    engine_stats(fleet_sim_engine(fs), &stats);
    if (stats.active_jobs != 0)
        fail_msg("seed %llu: %zu jobs never ended", (unsigned long long)seed, stats.active_jobs);
    assert_int_equal(stats.posts_dropped, 0);
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

static void no_chaos_breaks_the_laws(void **state)
{
    (void)state;
    const char *one = getenv("SEED");
    if (one != NULL) {
        live_through(strtoull(one, NULL, 10));
        return;
    }
    for (size_t i = 0; i < COUNT(remembered); i++)
        live_through(remembered[i]);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        live_through(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_chaos_breaks_the_laws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
