/* test_analysis.c - the analysis worker beside a simulated fleet: every job that ends is judged
 * once, soon, also when the process dies before its verdict was stored, or nobody told of the end.
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/record/analysis.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

#define MIB (UINT64_C(1) << 20)
#define OTHERS "other-" /* jobs whose verdicts the test makes, not the analysis worker */
enum { HOSTS = 3, GUESTS = 12, LATE_MS = 2000 };

struct rig {
    struct fleet_sim fs;
    struct analysis *analysis;
    struct analysis_host hosts[HOSTS];
    char log_dir[64];
    bool idle;            /* the analysis worker does nothing */
    unsigned ended, told; /* jobs; verdicts */
    int64_t worst_ms;     /* from an end to its verdict, stored */
    char last_cause[64], last_guest_at[64];
    bool falls;            /* whoever arrives turns itself off at once */
    void (*falling)(void); /* called when that is seen, or NULL */
};

static struct ruleset *rules; /* of all tests: reading it takes longer than most of them */

static bool post(void *ctx, const struct verdict_rows *verdict_rows, struct err *err)
{
    struct rig *rig = ctx;
    return engine_post_verdict_rows(fleet_sim_engine(&rig->fs), verdict_rows, err);
}

static void open_analysis(struct rig *rig)
{
    struct err err = {0};
    analysis_free(rig->analysis);
    for (size_t i = 0; i < HOSTS; i++) {
        rig->hosts[i].name = rig->fs.hosts[i].name;
        rig->hosts[i].log_dir = rig->log_dir;
    }
    const struct analysis_parts parts = {.store = rig->fs.store,
                                         .rules = rules,
                                         .clock = sim_clock(rig->fs.sim),
                                         .ctx = rig,
                                         .post = post};
    rig->analysis = analysis_new(&parts, &err);
    assert_non_null(rig->analysis);
    assert_true(analysis_set_hosts(rig->analysis, rig->hosts, HOSTS, &err));
}

static void on_end(struct fleet_sim *fs, const struct snapshot_job *job)
{
    struct rig *rig = fs->ctx;
    rig->ended++;
    analysis_on_finished(rig->analysis, job);
    struct err err = {0};
    struct sim_fault off = {.kind = SIM_FAULT_GUEST_POWEROFF, .after_iteration_ms = -1};
    off.at_ms = fleet_sim_now(fs) + 100;
    TEXT_SET(off.guest, job->guest_uuid);
    assert_true(!rig->falls || sim_add_fault(fs->sim, &off, &err));
}

static void on_crashed(struct fleet_sim *fs, const char *job_uid)
{
    struct rig *rig = fs->ctx;
    if (rig->falling != NULL)
        rig->falling();
    analysis_on_crashed(rig->analysis, job_uid);
}

static void on_verdict(struct fleet_sim *fs, const struct verdict_rows *verdict_rows)
{
    struct rig *rig = fs->ctx;
    int64_t now_ms = clock_wall_ms(sim_clock(fs->sim));
    int64_t spent_ms = now_ms - verdict_rows->verdict.at_ms;
    rig->told++;
    TEXT_SET(rig->last_cause, verdict_rows->verdict.cause);
    TEXT_SET(rig->last_guest_at, verdict_rows->verdict.guest_at);
    if (spent_ms > rig->worst_ms)
        rig->worst_ms = spent_ms;
    if (strncmp(verdict_rows->verdict.job_uid, OTHERS, strlen(OTHERS)) != 0)
        analysis_on_judged(rig->analysis, verdict_rows);
}

static void work(struct fleet_sim *fs)
{
    struct rig *rig = fs->ctx;
    if (!rig->idle)
        (void)analysis_step(rig->analysis);
}

static void run(struct rig *rig, int64_t ms)
{
    fleet_sim_run(&rig->fs, fleet_sim_now(&rig->fs) + ms);
}

static int rig_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    *state = rig;
    rig->fs.ctx = rig;
    rig->fs.on_finished = on_end;
    rig->fs.on_crashed = on_crashed;
    rig->fs.on_judged = on_verdict;
    rig->fs.between = work;
    rig->fs.wants_snapshots = true;
    rig->idle = true;
    TEXT_SET(rig->log_dir, "/tmp/ferry-logs-XXXXXX");
    if (mkdtemp(rig->log_dir) == NULL)
        return -1;
    fleet_sim_init(&rig->fs, 11, HOSTS, GUESTS, 64 * MIB);
    open_analysis(rig);
    rig->idle = false;
    run(rig, 5000);
    return 0;
}

static int rig_down(void **state)
{
    struct rig *rig = *state;
    char path[128];
    analysis_free(rig->analysis);
    fleet_sim_fini(&rig->fs);
    (void)snprintf(path, sizeof path, "%s/g0.log", rig->log_dir);
    (void)remove(path);
    (void)rmdir(rig->log_dir);
    free(rig);
    return 0;
}

static void move_all(struct rig *rig)
{
    for (size_t i = 0; i < GUESTS; i++)
        fleet_sim_migrate(&rig->fs, i, (i + 1) % HOSTS);
    run(rig, 300000);
}

static bool count_job(void *ctx, const struct store_job *row)
{
    (void)row;
    ++*(unsigned *)ctx;
    return true;
}

static unsigned unjudged(struct rig *rig)
{
    struct err err = {0};
    unsigned n = 0;
    assert_true(rig->fs.store->ops->each_unjudged(rig->fs.store, count_job, &n, &err));
    return n;
}

static void every_end_is_judged_once_and_soon(void **state)
{
    struct rig *rig = *state;
    move_all(rig);
    assert_true(rig->ended >= GUESTS);
    assert_int_equal(rig->told, rig->ended);
    assert_int_equal(unjudged(rig), 0);
    assert_true(rig->worst_ms < LATE_MS);
    assert_string_equal(rig->last_cause, "none");
}

/* The end is on disk and its verdict is not: the next process finds it. */
static void a_death_between_end_and_verdict_costs_nothing(void **state)
{
    struct rig *rig = *state;
    rig->idle = true;
    move_all(rig);
    assert_int_equal(rig->told, 0);
    assert_int_equal(unjudged(rig), rig->ended);
    fleet_sim_crash(&rig->fs);
    open_analysis(rig);
    rig->idle = false;
    run(rig, 60000);
    assert_int_equal(rig->told, rig->ended);
    assert_int_equal(unjudged(rig), 0);
    fleet_sim_crash(&rig->fs); /* and nothing is judged twice */
    open_analysis(rig);
    run(rig, 60000);
    assert_int_equal(rig->told, rig->ended);
}

static void what_ferry_knows_is_enough_where_it_asked(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    fleet_sim_migrate(&rig->fs, 0, 1);
    run(rig, 50);
    assert_true(engine_post_cancel(fleet_sim_engine(&rig->fs), "default", rig->fs.last_name, "bob",
                                   false, &err));
    run(rig, 60000);
    assert_int_equal(rig->told, 1);
    assert_string_equal(rig->last_cause, "user-cancelled");
}

/* A log, a lost connection and the samples become evidence that is stored. */
static bool see_evidence(void *ctx, const struct store_evidence *row)
{
    unsigned *seen = ctx;
    seen[0] += strstr(row->text, "reason=crashed") != NULL && strcmp(row->side, "target") == 0;
    seen[1] += strcmp(row->key, "target_lost_ms") == 0;
    seen[2] += strcmp(row->text, "gone away") == 0;
    seen[3] += strcmp(row->key, "source_log") == 0;
    return true;
}

static void logs_and_losses_are_stored_as_evidence(void **state)
{
    struct rig *rig = *state;
    struct err err = {0}, loss = {0};
    char path[128];
    struct store *s = rig->fs.store;
    (void)snprintf(path, sizeof path, "%s/g0.log", rig->log_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("2040-01-31 10:00:05.500+0000: shutting down, reason=crashed\n", file);
    (void)fclose(file);
    rig->hosts[0].log_dir = "/nonexistent";
    assert_true(analysis_set_hosts(rig->analysis, rig->hosts, HOSTS, &(struct err){0}));
    (void)err_set(&loss, ERR_UNREACHABLE, "gone away");
    int64_t now_ms = clock_wall_ms(sim_clock(rig->fs.sim));
    analysis_on_host(rig->analysis, "h1", false, &loss);
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "odd",
                                           .guest_name = "g0",
                                           .source = "h0",
                                           .target = "h1",
                                           .result.outcome = "failed",
                                           .times.handed_off_ms = now_ms - 1000,
                                           .times.ended_ms = now_ms + 1000});
    assert_true(s->ops->commit(s, &err));
    struct snapshot_job job = {.uid = "odd"};
    analysis_on_finished(rig->analysis, &job);
    run(rig, 5000);
    unsigned seen[4] = {0};
    assert_true(s->ops->each_evidence(s, "odd", see_evidence, seen, &err));
    for (size_t i = 0; i < COUNT(seen); i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(rig->told, 1);
}

/* ---- a guest that is gone pages, whatever becomes of the migration's object ---- */

static void kill_guest(struct rig *rig, size_t guest)
{
    struct err err = {0};
    struct sim_fault fault = {.kind = SIM_FAULT_KILL_SOURCE_QEMU, .after_iteration_ms = 1};
    fleet_sim_uuid(guest, fault.guest);
    assert_true(sim_add_fault(rig->fs.sim, &fault, &err));
}

/* It is deleted between its end and its verdict; the process may die there too. */
static void a_deleted_migration_pages_all_the_same(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    for (size_t guest = 0; guest < 2; guest++) {
        rig->idle = true;
        kill_guest(rig, guest);
        fleet_sim_migrate(&rig->fs, guest, (guest + 1) % HOSTS);
        run(rig, 30000);
        assert_int_equal(rig->ended, guest + 1);
        assert_true(engine_post_cancel(fleet_sim_engine(&rig->fs), "default", rig->fs.last_name,
                                       "bob", true, &err));
        run(rig, 1000);
        assert_int_equal(rig->fs.snapshot->n_jobs, 0);
        assert_int_equal(rig->fs.snapshot->n_incidents, guest);
        if (guest == 1) {
            fleet_sim_crash(&rig->fs);
            open_analysis(rig);
        }
        rig->idle = false;
        run(rig, 10000);
        assert_int_equal(rig->fs.snapshot->n_incidents, guest + 1);
        const struct incident *incident = &rig->fs.snapshot->incidents[guest];
        assert_true(incident->kind == INCIDENT_LOST || incident->kind == INCIDENT_DOWN);
        assert_string_equal(incident->migration, rig->fs.last_name);
    }
}

/* It arrived, and its verdict says so. Then it is gone, and nothing says that somebody wanted it:
 * the verdict is another one, and somebody is paged. One that is defined there and says that it
 * was turned off is left alone. */
static void a_guest_that_falls_after_it_arrived_is_judged_again(void **state)
{
    struct rig *rig = *state;
    unsigned crashed_jobs = 0;
    rig->falls = true;
    for (size_t guest = 0; guest < GUESTS; guest++) {
        char uuid[HV_UUID_MAX];
        fleet_sim_uuid(guest, uuid);
        bool persistent = sim_guest_persistent(rig->fs.sim, uuid);
        unsigned before = rig->told;
        fleet_sim_migrate(&rig->fs, guest, (guest + 1) % HOSTS);
        run(rig, 60000);
        assert_null(sim_guest_host(rig->fs.sim, uuid));
        crashed_jobs += !persistent;
        assert_int_equal(rig->told - before, persistent ? 1 : 2);
        assert_string_equal(rig->last_cause,
                            persistent ? "none" : "destination-crash-after-switchover");
        assert_string_equal(rig->last_guest_at,
                            persistent ? "running-on-target" : "stopped-on-target");
        assert_int_equal(rig->fs.snapshot->n_incidents, crashed_jobs);
    }
    assert_true(crashed_jobs > 0 && crashed_jobs < GUESTS);
    for (size_t i = 0; i < crashed_jobs; i++)
        assert_int_equal(rig->fs.snapshot->incidents[i].kind, INCIDENT_DOWN);
}

/* ---- what cannot be read or taken now is judged later ---- */

static struct {
    struct store_ops ops;
    const struct store_ops *real;
    unsigned fails; /* reads of a job that are still to fail */
    bool full;      /* commits fail */
} broken;           /* store_ops have no context of their own */

static bool fail_find(struct store *s, const char *ns, const char *name, store_job_fn *fn,
                      void *ctx, struct err *err)
{
    if (broken.fails == 0)
        return broken.real->find_job(s, ns, name, fn, ctx, err);
    broken.fails--;
    return err_set(err, ERR_IO, "the disk cannot be read, says the test");
}

static bool fail_commit(struct store *s, struct err *err)
{
    if (!broken.full)
        return broken.real->commit(s, err);
    broken.real->rollback(s);
    return err_set(err, ERR_FULL, "the disk is full, says the test");
}

static void break_store(struct rig *rig)
{
    broken.real = rig->fs.store->ops;
    broken.ops = *broken.real;
    broken.ops.find_job = fail_find;
    broken.ops.commit = fail_commit;
    broken.fails = 0;
    broken.full = false;
    rig->fs.store->ops = &broken.ops;
}

static void cannot_be_read(void)
{
    broken.fails = 2;
}

/* It has a verdict, so the store does not show that another is due. */
static void a_fall_that_cannot_be_read_is_judged_later(void **state)
{
    struct rig *rig = *state;
    char uuid[HV_UUID_MAX];
    size_t guest = 0;
    for (fleet_sim_uuid(guest, uuid); sim_guest_persistent(rig->fs.sim, uuid); guest++)
        fleet_sim_uuid(guest + 1, uuid);
    break_store(rig);
    rig->falls = true;
    rig->falling = cannot_be_read;
    fleet_sim_migrate(&rig->fs, guest, (guest + 1) % HOSTS);
    run(rig, 60000);
    assert_int_equal(broken.fails, 0);
    assert_int_equal(rig->told, 2);
    assert_string_equal(rig->last_guest_at, "stopped-on-target");
    assert_int_equal(rig->fs.snapshot->jobs[0]->resolution.guest_at, GUEST_AT_CRASHED);
    rig->fs.store->ops = broken.real;
}

static void a_job_whose_rows_cannot_be_read_is_judged_later(void **state)
{
    struct rig *rig = *state;
    struct analysis_stats stats;
    break_store(rig);
    broken.fails = 3;
    fleet_sim_migrate(&rig->fs, 0, 1);
    run(rig, 60000);
    analysis_stats(rig->analysis, &stats);
    assert_int_equal(stats.failures, 3);
    assert_int_equal(rig->ended, 1);
    assert_int_equal(rig->told, 1);
    assert_int_equal(unjudged(rig), 0);
    /* One that can never be read is tried ever less often, and keeps nobody else waiting. */
    broken.fails = 1000000;
    fleet_sim_migrate(&rig->fs, 1, 2);
    run(rig, 3600 * 1000);
    analysis_stats(rig->analysis, &stats);
    assert_true(stats.failures >= 3 + 60 && stats.failures <= 3 + 80);
    broken.fails = 0;
    run(rig, 61000);
    assert_int_equal(rig->told, 2);
    rig->fs.store->ops = broken.real;
}

/* More verdicts than the engine keeps while commits fail: none is lost, and the search for those
 * that nobody told of goes on. */
static void verdicts_beyond_what_is_kept_come_after_the_outage(void **state)
{
    enum { SPARE = 50, MANY = 2 * SPARE }; /* of the ENGINE_TURN_MAX that the engine keeps */
    struct rig *rig = *state;
    struct store *s = rig->fs.store;
    struct analysis_stats stats;
    struct err err = {0};
    char uid[16];
    int64_t now_ms = clock_wall_ms(sim_clock(rig->fs.sim));
    s->ops->begin(s);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(uid, sizeof uid, "old-%d", i);
        s->ops->put_job(s, &(struct store_job){.uid = uid,
                                               .result.outcome = "failed",
                                               .times.created_ms = now_ms,
                                               .times.ended_ms = now_ms});
    }
    assert_true(s->ops->commit(s, &err));
    break_store(rig);
    broken.full = true;
    for (int i = 0; i < ENGINE_TURN_MAX - SPARE; i++) {
        (void)snprintf(uid, sizeof uid, OTHERS "%d", i);
        assert_true(post(rig, &(struct verdict_rows){.verdict.job_uid = uid}, &err));
    }
    for (int i = 0; i < MANY; i++) {
        struct snapshot_job job = {.result.outcome = OUTCOME_FAILED};
        (void)snprintf(job.uid, sizeof job.uid, "old-%d", i);
        analysis_on_finished(rig->analysis, &job);
    }
    for (int i = 0; i < MANY; i++)
        (void)analysis_step(rig->analysis);
    run(rig, 10000);
    analysis_stats(rig->analysis, &stats);
    assert_int_equal(stats.judged, SPARE); /* the others were not taken */
    assert_int_equal(rig->told, 0);
    broken.full = false;
    run(rig, 120000);
    assert_int_equal(rig->told, ENGINE_TURN_MAX - SPARE + MANY);
    assert_int_equal(unjudged(rig), 0);
    s->ops = broken.real;
}

static int read_rules(void **state)
{
    struct err err = {0};
    (void)state;
    rules = ruleset_new(NULL, NULL, NULL, &err);
    return rules == NULL ? -1 : 0;
}

static int free_rules(void **state)
{
    (void)state;
    ruleset_free(rules);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)

TEST_FILE(test_analysis)
{
    const struct CMUnitTest tests[] = {
        TEST(every_end_is_judged_once_and_soon),
        TEST(a_death_between_end_and_verdict_costs_nothing),
        TEST(what_ferry_knows_is_enough_where_it_asked),
        TEST(logs_and_losses_are_stored_as_evidence),
        TEST(a_deleted_migration_pages_all_the_same),
        TEST(a_guest_that_falls_after_it_arrived_is_judged_again),
        TEST(a_fall_that_cannot_be_read_is_judged_later),
        TEST(a_job_whose_rows_cannot_be_read_is_judged_later),
        TEST(verdicts_beyond_what_is_kept_come_after_the_outage),
    };
    return cmocka_run_group_tests_name("analysis", tests, read_rules, free_rules);
}
