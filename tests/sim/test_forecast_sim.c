/* test_forecast_sim.c - forecasts of the whole appliance on the simulator: guests are measured
 * through the very door that measures real ones, moved, and what was expected is compared with what
 * came. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/check.h"
#include "engine/data/expect.h"
#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

#define MIB (UINT64_C(1) << 20)
enum { HOSTS = 4, GUESTS = 60, MOVES_MAX = 200 };

struct tally {
    struct snapshot_job moves[MOVES_MAX];
    size_t n;
    int64_t lasts_ms; /* the longest that was ever said */
};

static void note_end(struct fleet_sim *fs, const struct snapshot_job *job)
{
    struct tally *tally = fs->ctx;
    if (tally->n < MOVES_MAX)
        tally->moves[tally->n++] = *job;
}

static void run(struct fleet_sim *fs, int64_t ms)
{
    fleet_sim_run(fs, fleet_sim_now(fs) + ms);
}

static struct fleet_sim *world(struct tally *tally)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    struct err err = {0};
    assert_non_null(fs);
    fs->ctx = tally;
    fs->on_finished = note_end;
    fleet_sim_open(fs, 23, HOSTS);
    for (size_t i = 0; i < HOSTS; i++) {
        struct sim_host host = {.memory_kib = 512ULL << 20, .cpus = 64};
        host.link_bps = (100 + 200 * i) * MIB;
        fleet_sim_host(fs, i, &host);
    }
    for (size_t i = 0; i < GUESTS; i++) {
        struct sim_guest guest = {.memory_bytes = (256 + fleet_sim_dice(fs, 4096)) * MIB,
                                  .dirty_bps = (1 + fleet_sim_dice(fs, 200)) * MIB,
                                  .vcpus = 2};
        guest.working_set_bytes = guest.memory_bytes / (2 + fleet_sim_dice(fs, 30));
        (void)snprintf(guest.name, sizeof guest.name, "g%zu", i);
        fleet_sim_uuid(i, guest.uuid);
        TEXT_SET(guest.ns, "default");
        assert_true(sim_add_guest(fs->sim, fs->hosts[i % HOSTS].name, &guest, &err));
    }
    fs->engine_config.parallel_per_fleet = 1; /* a path of one's own: what shares it is not known */
    fleet_sim_start(fs);
    run(fs, 10000);
    return fs;
}

static void end(struct fleet_sim *fs)
{
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

static const struct guest *guest_at(struct fleet_sim *fs, size_t i)
{
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(i, uuid);
    return fleet_guest(fleet_sim_engine(fs)->fleet, uuid);
}

static void measure(struct fleet_sim *fs, size_t i, unsigned seconds)
{
    struct question question = {.kind = QUESTION_CHECK, .ns = "default", .measure_s = seconds};
    (void)snprintf(question.name, sizeof question.name, "g%zu", i);
    probe_dirty(fleet_sim_engine(fs), &question);
}

/* ---- measuring ---- */

static void a_guest_is_measured_over_two_windows_and_checked(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct fleet_sim *fs = world(&tally);
    struct question question = {.kind = QUESTION_CHECK, .ns = "default", .name = "g0"};
    struct moment now = {fleet_sim_now(fs), clock_wall_ms(sim_clock(fs->sim))};
    struct err err = {0};
    measure(fs, 0, 5);
    char *text = check_guest(fleet_sim_engine(fs)->fleet, &question, now, &err);
    assert_non_null(strstr(text, "\"dirtyRate\":{\"measuring\":true}"));
    assert_non_null(strstr(text, "\"forecast\":{"));
    free(text);
    run(fs, 7000);
    const struct dirty_curve *curve = expect_curve(guest_at(fs, 0));
    assert_non_null(curve);
    assert_int_equal(curve->from, DIRTY_MEASURED);
    assert_int_equal(curve->n, 2);
    assert_int_equal(curve->at[0].seconds, 1);
    assert_int_equal(curve->at[1].seconds, 5);
    assert_true(curve->at[0].bps > 0 && curve->at[1].bps <= curve->at[0].bps);
    text = check_guest(fleet_sim_engine(fs)->fleet, &question, now, &err);
    assert_non_null(strstr(text, "\"dirtyRate\":{\"measuring\":false,\"from\":\"measured\""));
    free(text);
    end(fs);
}

static void a_few_guests_are_measured_at_once(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct fleet_sim *fs = world(&tally);
    for (size_t i = 0; i < EXPECT_MEASURES_MAX + 1; i++)
        measure(fs, i, 5);
    measure(fs, 0, 5); /* it is under way */
    assert_string_equal(guest_at(fs, 0)->dirty->error, "");
    assert_non_null(strstr(guest_at(fs, EXPECT_MEASURES_MAX)->dirty->error, "try again"));
    run(fs, 7000);
    for (size_t i = 0; i < EXPECT_MEASURES_MAX; i++)
        assert_non_null(expect_curve(guest_at(fs, i)));
    assert_null(expect_curve(guest_at(fs, EXPECT_MEASURES_MAX)));
    measure(fs, EXPECT_MEASURES_MAX, 5); /* there is room again, and one is out at the end */
    assert_string_equal(guest_at(fs, EXPECT_MEASURES_MAX)->dirty->error, "");
    end(fs);
}

/* ---- how good they are ---- */

static bool note_error(void *ctx, const struct store_event *row)
{
    bool *told = ctx;
    if (strcmp(row->reason, "ForecastAccuracy") == 0)
        *told = strstr(row->message, "expected ") != NULL && strstr(row->message, "took ") != NULL;
    return true;
}

/* With every migration that ended well, and no other. */
static void check_reported(struct fleet_sim *fs, const struct snapshot_job *job)
{
    bool told = false;
    struct err err = {0};
    assert_true(fs->store->ops->each_event(fs->store, job->uid, 100, note_error, &told, &err));
    assert_int_equal(told, job->result.outcome == OUTCOME_SUCCEEDED);
}

static void judge(struct fleet_sim *fs, const struct tally *tally, size_t from, const char *what)
{
    unsigned made = 0, held = 0;
    double error = 0, width = 0;
    for (size_t i = from; i < tally->n; i++) {
        const struct snapshot_job *job = &tally->moves[i];
        assert_true(job->forecast.made);
        check_reported(fs, job);
        if (job->result.outcome != OUTCOME_SUCCEEDED || !job->final.known)
            continue;
        int64_t took_ms = (int64_t)job->final.total_ms;
        made++;
        held += took_ms >= job->forecast.low_ms && took_ms <= job->forecast.high_ms;
        double off = (double)(job->forecast.total_ms - took_ms) / (double)took_ms;
        error += off < 0 ? -off : off;
        width += (double)job->forecast.high_ms / (double)job->forecast.low_ms;
    }
    print_message("%s: %u of %u intervals held the truth (%u %%), mean error %.0f %%, "
                  "interval 1:%.1f\n",
                  what, held, made, held * 100 / made, error * 100 / made, width / made);
    assert_true(made >= GUESTS / 2);
    assert_true(held * 100 >= made * 80);
}

static void move_all(struct fleet_sim *fs, size_t by)
{
    for (size_t i = 0; i < GUESTS; i++)
        fleet_sim_migrate(fs, i, (i + by) % HOSTS);
    run(fs, 7200 * 1000);
    for (size_t i = 0; i < GUESTS; i++) /* a guest left paused would make the next move easy */
        assert_int_equal(guest_at(fs, i)->owner->state, HV_STATE_RUNNING);
}

static void most_intervals_hold_what_comes(void **state)
{
    (void)state;
    static struct tally tally;
    struct fleet_sim *fs = world(&tally);
    for (size_t i = 0; i < GUESTS; i++) {
        measure(fs, i, 5);
        run(fs, 7000);
    }
    move_all(fs, 1);
    judge(fs, &tally, 0, "first moves, measured");
    size_t n = tally.n;
    move_all(fs, 2);
    judge(fs, &tally, n, "second moves, with the last ones known");
    const struct path *path = paths_find(&fleet_sim_engine(fs)->fleet->paths, "h0", "h1");
    assert_non_null(path);
    assert_in_range((uint64_t)path->bandwidth / MIB, 85, 105); /* of a link of 100 */
    unsigned moves = path->moves;
    fleet_sim_crash(fs); /* the record is made anew from the jobs in view */
    path = paths_find(&fleet_sim_engine(fs)->fleet->paths, "h0", "h1");
    assert_non_null(path);
    assert_int_equal(path->moves, moves);
    assert_in_range((uint64_t)path->bandwidth / MIB, 85, 105);
    end(fs);
}

TEST_FILE(test_forecast_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_is_measured_over_two_windows_and_checked),
        cmocka_unit_test(a_few_guests_are_measured_at_once),
        cmocka_unit_test(most_intervals_hold_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
