/* test_store_hangs.c - a commit that does not return, at any commit of a migration's life: stop
 * orders leave the process meanwhile, nothing starts, it can be seen, and when the commit returns
 * at last nothing is lost or stored twice.
 */
#include "tests/test.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/sim/fleet_sim.h"

enum { PATIENCE_MS = 150, HANG_MS = 30 * 1000 };

/* The real store, of which the n-th commit waits until it is released. */
static struct {
    struct store_ops ops;
    const struct store_ops *real;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned commits, good;
    bool hangs, released, fails; /* fails: and then it does not succeed */
    unsigned retained;           /* steps of retention while it hung */
    unsigned slept;              /* waits for a commit that is only slow */
    int64_t since_ms;
    unsigned aborts, migrates; /* orders that left the process while it hung */
} hang = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool hanging_commit(struct store *store, struct err *err)
{
    (void)pthread_mutex_lock(&hang.lock);
    bool is_it = hang.commits++ == hang.good;
    hang.hangs = hang.hangs || is_it;
    while (is_it && !hang.released)
        (void)pthread_cond_wait(&hang.changed, &hang.lock);
    (void)pthread_mutex_unlock(&hang.lock);
    bool done = true;
    if (is_it && hang.fails) {
        hang.real->rollback(store);
        done = err_set(err, ERR_IO, "the disk, says the test");
    } else {
        done = hang.real->commit(store, err);
    }
    (void)pthread_mutex_lock(&hang.lock);
    hang.hangs = hang.hangs && !is_it;
    (void)pthread_cond_broadcast(&hang.changed);
    (void)pthread_mutex_unlock(&hang.lock);
    return done;
}

static bool is_hanging(void)
{
    (void)pthread_mutex_lock(&hang.lock);
    bool hangs = hang.hangs;
    (void)pthread_mutex_unlock(&hang.lock);
    return hangs;
}

static void release(void)
{
    (void)pthread_mutex_lock(&hang.lock);
    hang.released = true;
    (void)pthread_cond_broadcast(&hang.changed);
    while (hang.hangs)
        (void)pthread_cond_wait(&hang.changed, &hang.lock);
    (void)pthread_mutex_unlock(&hang.lock);
}

static bool count_retention(struct store *store, int64_t now_ms, bool *out_more, struct err *err)
{
    if (!is_hanging())
        return hang.real->retain(store, now_ms, out_more, err);
    hang.retained++;
    *out_more = false;
    return true;
}

static bool count_order(struct fleet_sim *fs, const struct hv_request *request)
{
    (void)fs;
    bool hangs = is_hanging();
    hang.aborts += hangs && request->call == HV_CALL_ABORT;
    hang.migrates += hangs && request->call == HV_CALL_MIGRATE;
    return true;
}

static struct engine_stats stats_of(struct fleet_sim *fs)
{
    struct engine_stats stats;
    engine_stats(fleet_sim_engine(fs), &stats);
    return stats;
}

/* Simulated time runs far ahead of the thread that commits: on a busy machine a good commit may be
 * late too, and gets real time. */
static void await_slow_commit(struct fleet_sim *fs)
{
    enum { SLEEPS_MAX = 5000 };
    if (!stats_of(fs).store_ok && hang.slept++ < SLEEPS_MAX)
        (void)usleep(1000);
}

static void release_in_time(struct fleet_sim *fs)
{
    if (!is_hanging()) {
        await_slow_commit(fs);
        return;
    }
    if (hang.since_ms == 0)
        hang.since_ms = fleet_sim_now(fs);
    if (fleet_sim_now(fs) - hang.since_ms >= HANG_MS)
        release();
}

static struct fleet_sim *world_hanging_after(unsigned good, uint64_t guest_bytes)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->commit_patience_ms = PATIENCE_MS;
    fs->on_submit = count_order;
    fleet_sim_init(fs, 7, 2, 2, guest_bytes);
    fleet_sim_run(fs, 2000);
    hang.ops = *fs->store->ops;
    hang.real = fs->store->ops;
    hang.commits = hang.aborts = hang.migrates = hang.slept = 0;
    hang.good = good;
    hang.hangs = hang.released = hang.fails = false;
    hang.retained = 0;
    hang.since_ms = 0;
    hang.ops.commit = hanging_commit;
    if (hang.ops.retain != NULL)
        hang.ops.retain = count_retention;
    fs->store->ops = &hang.ops;
    return fs;
}

static void end_world(struct fleet_sim *fs)
{
    release();
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

static void an_abort_leaves_the_process_while_a_commit_hangs(void **state)
{
    (void)state;
    struct fleet_sim *fs = world_hanging_after(UINT_MAX, 64ULL << 30);
    struct err err = {0};
    fleet_sim_migrate(fs, 0, 1);
    fleet_sim_run(fs, 12000);
    assert_true(stats_of(fs).turn_age_ms < 2000 && stats_of(fs).store_ok);
    (void)pthread_mutex_lock(&hang.lock);
    hang.good = hang.commits; /* the next one: the request to abort */
    (void)pthread_mutex_unlock(&hang.lock);
    assert_true(
        engine_post_cancel(fleet_sim_engine(fs), "default", fs->last_name, "test", false, &err));
    fleet_sim_run(fs, 14000);
    assert_true(is_hanging());
    assert_int_equal(hang.aborts, 1);
    assert_false(stats_of(fs).store_ok);
    fleet_sim_run(fs, 30000); /* a minute would do as well: nobody waits for it */
    assert_true(stats_of(fs).turn_age_ms > 10000);
    assert_int_equal(fs->finished[OUTCOME_ABORTED], 0); /* not told before it is stored */
    release();
    fleet_sim_run(fs, 40000);
    assert_int_equal(fs->finished[OUTCOME_ABORTED], 1);
    assert_true(stats_of(fs).turn_age_ms < 2000 && stats_of(fs).store_ok);
    assert_int_equal(stats_of(fs).commit_failures, 0);
    end_world(fs);
}

static void a_commit_that_returns_late_loses_nothing_and_stores_nothing_twice(void **state)
{
    (void)state;
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(0, uuid);
    for (unsigned good = 0; good < 9; good++) {
        struct fleet_sim *fs = world_hanging_after(good, 2ULL << 30);
        fs->between = release_in_time;
        fleet_sim_migrate(fs, 0, 1);
        fleet_sim_run(fs, 10 * HANG_MS);
        assert_true(hang.released);
        assert_int_equal(hang.migrates, 0);
        assert_int_equal(stats_of(fs).commit_failures, 0);
        assert_int_equal(fs->finished[OUTCOME_SUCCEEDED], 1);
        assert_string_equal(sim_guest_host(fs->sim, uuid), "h1");
        end_world(fs);
    }
}

/* ---- commits that are lost afterwards ---- */

/* A standby that was promoted: commit `hang.good` was acknowledged and is not in it. */
static bool lost_commit(struct store *store, struct err *err)
{
    if (hang.commits++ != hang.good)
        return hang.real->commit(store, err);
    hang.real->rollback(store);
    return true;
}
static void count_lost(struct store *store, struct store_stats *out_stats)
{
    hang.real->stats(store, out_stats);
    out_stats->commits_lost = hang.commits > hang.good + 1;
}

static bool count_row(void *ctx, const struct store_job *row)
{
    (void)row;
    ++*(unsigned *)ctx;
    return true;
}

static unsigned jobs_in(struct fleet_sim *fs, bool unfinished)
{
    struct err err = {0};
    unsigned n = 0;
    assert_true(fs->store->ops->each_job(fs->store, unfinished, count_row, &n, &err));
    return n;
}

/* The last word on a migration is lost; nothing would ever change that job again. */
static void what_a_promoted_standby_lacks_is_stored_again(void **state)
{
    (void)state;
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fleet_sim_init(fs, 7, 2, 2, 2ULL << 30);
    fleet_sim_run(fs, 2000);
    hang.ops = *fs->store->ops;
    hang.real = fs->store->ops;
    hang.commits = 0;
    hang.good = UINT_MAX - 1;
    hang.ops.commit = lost_commit;
    hang.ops.stats = count_lost;
    fs->store->ops = &hang.ops;
    fleet_sim_migrate(fs, 0, 1);
    for (int64_t until_ms = 2000; fs->finished[OUTCOME_SUCCEEDED] == 0; until_ms += 10) {
        if (jobs_in(fs, true) == 1) /* each that may be the one which ends it */
            hang.good = hang.commits;
        fleet_sim_run(fs, until_ms);
        assert_true(until_ms < 10 * HANG_MS);
    }
    assert_int_equal(jobs_in(fs, true), 1);
    fleet_sim_migrate(fs, 1, 0);
    fleet_sim_run(fs, 20 * HANG_MS);
    assert_int_equal(fs->finished[OUTCOME_SUCCEEDED], 2);
    assert_int_equal(jobs_in(fs, false), 2);
    assert_int_equal(jobs_in(fs, true), 0);
    assert_int_equal(sim_violations(fs->sim), 0);
    fleet_sim_fini(fs);
    free(fs);
}

/* Rows of kinds that a second insert would double, as texts with their times. */
struct rows {
    char text[256][160];
    size_t n;
};

static bool keep_row(struct rows *rows, const char *kind, const char *a, const char *b,
                     int64_t at_ms)
{
    assert_true(rows->n < COUNT(rows->text));
    (void)snprintf(rows->text[rows->n++], sizeof rows->text[0], "%s %lld %.40s %.80s", kind,
                   (long long)at_ms, a, b);
    return true;
}
static bool keep_event(void *ctx, const struct store_event *row)
{
    return keep_row(ctx, "event", row->reason, row->message, row->at_ms);
}
static bool keep_observation(void *ctx, const struct store_observation *row)
{
    return keep_row(ctx, "observation", row->moment, row->role, row->at_ms);
}
static bool keep_error(void *ctx, const struct store_error *row)
{
    return keep_row(ctx, "error", row->call, row->text, row->at_ms);
}
static bool keep_mode(void *ctx, const struct store_mode *row)
{
    return keep_row(ctx, "mode", row->mode, row->cause, row->at_ms);
}
static bool keep_uid(void *ctx, const struct store_job *row)
{
    (void)text_copy(ctx, SNAPSHOT_NAME_MAX, row->uid);
    return true;
}

static void assert_no_row_is_there_twice(struct fleet_sim *fs)
{
    static struct rows rows;
    struct err err = {0};
    struct store *store = fs->store;
    char uid[SNAPSHOT_NAME_MAX] = "";
    rows.n = 0;
    assert_true(store->ops->each_job(store, false, keep_uid, uid, &err));
    assert_true(store->ops->each_event(store, uid, COUNT(rows.text), keep_event, &rows, &err));
    assert_true(rows.n > 3); /* accepted, created, handed over, migrating ... */
    assert_true(store->ops->each_observation(store, uid, keep_observation, &rows, &err));
    assert_true(store->ops->each_error(store, uid, keep_error, &rows, &err));
    assert_true(store->ops->each_mode(store, uid, keep_mode, &rows, &err));
    for (size_t i = 0; i < rows.n; i++)
        for (size_t j = i + 1; j < rows.n; j++)
            if (strcmp(rows.text[i], rows.text[j]) == 0)
                fail_msg("stored twice: %s", rows.text[i]);
}

/* A commit that hangs and then succeeds or fails, at any time of a migration's life. */
static void whatever_becomes_of_a_late_commit_each_row_is_stored_once(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 18; n++) {
        struct fleet_sim *fs = world_hanging_after(n / 2, 2ULL << 30);
        hang.fails = n % 2 == 1;
        fs->between = release_in_time;
        fleet_sim_migrate(fs, 0, 1);
        fleet_sim_run(fs, 10 * HANG_MS);
        assert_true(hang.released);
        assert_int_equal(stats_of(fs).commit_failures, hang.fails ? 1 : 0);
        assert_int_equal(fs->finished[OUTCOME_SUCCEEDED], 1);
        assert_int_equal(hang.retained, 0);
        assert_true(stats_of(fs).store_ok);
        assert_no_row_is_there_twice(fs);
        end_world(fs);
    }
}

TEST_FILE(test_store_hangs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abort_leaves_the_process_while_a_commit_hangs),
        cmocka_unit_test(a_commit_that_returns_late_loses_nothing_and_stores_nothing_twice),
        cmocka_unit_test(what_a_promoted_standby_lacks_is_stored_again),
        cmocka_unit_test(whatever_becomes_of_a_late_commit_each_row_is_stored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
