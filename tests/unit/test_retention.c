/* test_retention.c - what is kept and what goes: samples thin out, then go, then the history goes;
 * never what an unfinished migration has, or an open incident is about; in bounded steps. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "store/any/any.h"
#include "store/archive.h"
#include "store/sqlite/impl.h"
#include "store/sqlite/sqlite.h"

enum { DAY_MS = 24 * 3600 * 1000, SAMPLES = 50 };
static const int64_t NOW_MS = 1700000000000;
static const struct store_retention usual = {
    .full_samples_ms = 2LL * DAY_MS, .samples_ms = 14LL * DAY_MS, .history_ms = 365LL * DAY_MS};

static void put(struct store *s, const char *uid, const char *outcome, int64_t ended_ms)
{
    struct err err = {0};
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = uid,
                                           .ns = "default",
                                           .name = uid,
                                           .guest_uuid = uid,
                                           .result.outcome = outcome,
                                           .times.created_ms = ended_ms - 60000,
                                           .times.ended_ms = outcome[0] != '\0' ? ended_ms : 0});
    s->ops->put_transition(s, &(struct store_transition){.job_uid = uid, .seq = 1});
    s->ops->put_intent(s, &(struct store_intent){.job_uid = uid, .epoch = 1, .seq = 1});
    s->ops->put_observation(s, &(struct store_observation){.job_uid = uid});
    s->ops->put_error(s, &(struct store_error){.job_uid = uid});
    s->ops->put_mode(s, &(struct store_mode){.job_uid = uid});
    s->ops->put_decision(s, &(struct store_decision){.job_uid = uid, .seq = 1});
    s->ops->put_rejection(s, &(struct store_rejection){.job_uid = uid});
    s->ops->put_verdict(s, &(struct store_verdict){.job_uid = uid});
    s->ops->put_point(s, &(struct store_point){.job_uid = uid, .seq = 1});
    s->ops->put_number(s, &(struct store_number){.job_uid = uid, .seq = 1});
    s->ops->put_evidence(s, &(struct store_evidence){.job_uid = uid, .seq = 1});
    assert_true(s->ops->commit(s, &err));
    for (int i = 0; i < SAMPLES; i++) { /* five a second, each tenth between two passes */
        struct store_sample sample = {.seq = i, .at_ms = ended_ms - (SAMPLES - i) * 200};
        struct store_monitor_input input = {
            .seq = i, .at_ms = sample.at_ms, .sample_seq = i, .kind = "look"};
        TEXT_SET(sample.source, i % 10 == 3 ? "iteration" : "poll");
        TEXT_SET(sample.job_uid, uid);
        TEXT_SET(input.job_uid, uid);
        assert_true(s->ops->append_samples(s, &sample, 1) &&
                    s->ops->append_monitor_input(s, &input));
    }
    assert_true(s->ops->flush_samples(s, 5000, &err));
}

struct kept {
    bool job;
    size_t samples, monitor_inputs, rows;
};

static struct kept kept_of(struct store *s, const char *uid)
{
    struct err err = {0};
    OWNED(archive) a = archive_load(s, "default", uid, &err);
    if (a == NULL)
        return (struct kept){0};
    return (struct kept){true, a->samples.n, a->monitor_inputs.n,
                         a->transitions.n + a->intents.n + a->observations.n + a->errors.n +
                             a->modes.n + a->decisions.n + a->rejections.n + a->has_verdict +
                             a->points.n + a->numbers.n + a->evidence.n};
}

/* To the end; returns how many steps it took. */
static unsigned retain(struct store *s, int64_t now_ms)
{
    struct err err = {0};
    bool more = true;
    unsigned steps = 0;
    for (; more && steps < 10000; steps++)
        assert_true(s->ops->retain(s, now_ms, &more, &err));
    return steps;
}

static struct store *must_open(const struct store_retention *retention)
{
    struct err err = {0};
    struct store *s = store_sqlite_open(NULL, &err);
    assert_non_null(s);
    s->ops->set_retention(s, retention);
    return s;
}

/* ---- by age ---- */

static void samples_are_thinned_and_deleted_before_verdicts_and_rows(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    static const struct {
        const char *uid;
        int64_t days;
        struct kept kept;
    } rows[] = {
        {"j0", 0, {true, SAMPLES, SAMPLES, 11}},
        {"j1", 1, {true, SAMPLES, SAMPLES, 11}},
        {"j3", 3, {true, 16, 0, 11}}, /* 10 or 11 seconds, 5 borders, the last */
        {"j13", 13, {true, 16, 0, 11}},
        {"j15", 15, {true, 0, 0, 11}},
        {"j364", 364, {true, 0, 0, 11}},
        {"j366", 366, {false, 0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        put(s, rows[i].uid, "succeeded", NOW_MS - rows[i].days * DAY_MS);
    (void)retain(s, NOW_MS);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct kept kept = kept_of(s, rows[i].uid);
        if (kept.job != rows[i].kept.job || kept.monitor_inputs != rows[i].kept.monitor_inputs ||
            kept.rows != rows[i].kept.rows || kept.samples + 2 < rows[i].kept.samples ||
            kept.samples > rows[i].kept.samples + 2)
            fail_msg("%s: %d, %zu samples, %zu looks, %zu rows", rows[i].uid, kept.job,
                     kept.samples, kept.monitor_inputs, kept.rows);
    }
    struct err err = {0};
    OWNED(archive) thin = archive_load(s, "default", "j3", &err);
    assert_int_equal(thin->samples.rows[thin->samples.n - 1].seq, SAMPLES - 1); /* where it ended */
    for (size_t i = 0, borders = 0; i < thin->samples.n; i++)
        if (strcmp(thin->samples.rows[i].source, "iteration") == 0 && ++borders == 5)
            return;
    fail_msg("a border between two passes is gone");
}

static void unfinished_jobs_and_open_incidents_are_kept_at_any_age(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    struct err err = {0};
    put(s, "unfinished", "", NOW_MS - 500LL * DAY_MS);
    put(s, "incident", "failed", NOW_MS - 500LL * DAY_MS);
    put(s, "settled", "failed", NOW_MS - 500LL * DAY_MS);
    s->ops->begin(s);
    s->ops->put_incident(s, &(struct store_incident){.job_uid = "incident", .opened_ms = 1});
    s->ops->put_incident(
        s, &(struct store_incident){.job_uid = "settled", .opened_ms = 1, .closed_ms = 2});
    assert_true(s->ops->commit(s, &err));
    (void)retain(s, NOW_MS);
    struct kept kept = kept_of(s, "unfinished");
    assert_true(kept.job && kept.samples == SAMPLES && kept.monitor_inputs == SAMPLES &&
                kept.rows == 11);
    assert_true(kept_of(s, "incident").rows == 11);
    assert_false(kept_of(s, "settled").job);
}

static unsigned count_incidents(struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = store_sqlite_of(s)->lanes[LANE_OBJECTS].db;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM incidents", -1, &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    unsigned n = (unsigned)sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return n;
}

/* Of a guest that no migration moved: no job takes it along. */
static void an_old_closed_incident_of_a_guest_without_a_migration_is_deleted(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    struct err err = {0};
    const int64_t old = NOW_MS - 500LL * DAY_MS, recent = NOW_MS - DAY_MS;
    put(s, "job", "failed", recent);
    s->ops->begin(s);
    const struct store_incident rows[] = {
        {.job_uid = "open", .opened_ms = old},
        {.job_uid = "closed", .opened_ms = old, .closed_ms = old + 1},
        {.job_uid = "closed-late", .opened_ms = old, .closed_ms = recent},
        {.job_uid = "job", .opened_ms = old, .closed_ms = old + 1}, /* goes with its job */
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        s->ops->put_incident(s, &rows[i]);
    assert_true(s->ops->commit(s, &err));
    (void)retain(s, NOW_MS);
    assert_int_equal(count_incidents(s), 3);
    (void)retain(s, NOW_MS + 400LL * DAY_MS);
    assert_int_equal(count_incidents(s), 1);
}

/* Where nothing else is written for long, the clock by which rows expire goes on where it was. */
static void the_time_is_stored_once_an_hour(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    struct err err = {0};
    struct store_identity identity = {0};
    static const struct {
        int64_t now_ms, stored_ms;
    } rows[] = {
        {NOW_MS, NOW_MS},
        {NOW_MS + 3599 * 1000, NOW_MS},
        {NOW_MS + 3600 * 1000, NOW_MS + 3600 * 1000},
        {NOW_MS, NOW_MS}, /* a clock that was set right */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        (void)retain(s, rows[i].now_ms);
        assert_true(s->ops->identity(s, &identity, &err));
        assert_int_equal(identity.seen_ms, rows[i].stored_ms);
    }
}

static void without_limits_nothing_is_deleted(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) s = must_open(&(struct store_retention){0});
    put(s, "old", "succeeded", 1000);
    (void)retain(s, NOW_MS);
    assert_int_equal(kept_of(s, "old").samples, SAMPLES);
    OWNED(store) plain = store_sqlite_open(NULL, &err); /* nobody said anything */
    put(plain, "old", "succeeded", 1000);
    (void)retain(plain, NOW_MS);
    assert_int_equal(kept_of(plain, "old").monitor_inputs, SAMPLES);
}

static void a_trace_without_a_job_is_deleted(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) s = must_open(&usual);
    struct store_sample sample = {.job_uid = "nobody", .source = "poll", .at_ms = NOW_MS - DAY_MS};
    assert_true(s->ops->append_samples(s, &sample, 1));
    TEXT_SET(sample.job_uid, "fresh"); /* its job may not be committed yet */
    sample.at_ms = NOW_MS - 1000;
    assert_true(s->ops->append_samples(s, &sample, 1));
    (void)retain(s, NOW_MS);
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_int_equal(stats.samples_retired, 1);
    (void)err;
}

/* ---- in steps ---- */

static void a_step_is_bounded(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    struct err err = {0};
    struct store_stats stats;
    char uid[32];
    for (int i = 0; i < 3 * RETENTION_STEP_JOBS; i++) {
        (void)snprintf(uid, sizeof uid, "j%02d", i);
        s->ops->begin(s);
        s->ops->put_job(s, &(struct store_job){.uid = uid,
                                               .ns = "default",
                                               .name = uid,
                                               .result.outcome = "failed",
                                               .times.created_ms = 1,
                                               .times.ended_ms = 10 + i});
        assert_true(s->ops->commit(s, &err));
    }
    bool more = false;
    assert_true(s->ops->retain(s, NOW_MS, &more, &err));
    s->ops->stats(s, &stats);
    assert_int_equal(stats.jobs_dropped, RETENTION_STEP_JOBS);
    assert_true(more);
    assert_false(kept_of(s, "j00").job); /* the oldest first */
    assert_true(kept_of(s, "j11").job);
    for (int i = 0; i < 3; i++)
        assert_true(s->ops->retain(s, NOW_MS, &more, &err));
    assert_false(more);
    s->ops->stats(s, &stats);
    assert_int_equal(stats.jobs_dropped, 3 * RETENTION_STEP_JOBS);
}

static void samples_are_deleted_in_bounded_steps(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    struct err err = {0};
    struct store_stats stats;
    bool more = false;
    put(s, "long", "failed", NOW_MS - 20LL * DAY_MS);
    for (int i = SAMPLES; i < RETENTION_STEP_ROWS + 100; i++) {
        struct store_sample sample = {
            .job_uid = "long", .source = "poll", .seq = i, .at_ms = NOW_MS - 20LL * DAY_MS};
        assert_true(s->ops->append_samples(s, &sample, 1));
    }
    assert_true(s->ops->retain(s, NOW_MS, &more, &err));
    s->ops->stats(s, &stats);
    assert_in_range(stats.samples_retired, RETENTION_STEP_ROWS, RETENTION_STEP_ROWS + SAMPLES);
    assert_true(more);
    assert_true(kept_of(s, "long").samples > 0);
    (void)retain(s, NOW_MS);
    assert_int_equal(kept_of(s, "long").samples, 0);
    assert_int_equal(kept_of(s, "long").rows, 11);
}

/* ---- by size ---- */

static void a_history_that_is_too_large_loses_its_oldest(void **state)
{
    (void)state;
    struct store_retention small = {.history_bytes = 600 * 1024};
    OWNED(store) s = must_open(&small);
    char uid[32], text[2048];
    struct err err = {0};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 400; i++) {
        (void)snprintf(uid, sizeof uid, "j%03d", i);
        s->ops->begin(s);
        s->ops->put_job(s,
                        &(struct store_job){
                            .uid = uid,
                            .ns = "default",
                            .name = uid,
                            .result.outcome = i == 0 ? "" : "failed",
                            .result.error_text = text,
                            .times.created_ms = NOW_MS - (400 - i) * 1000LL - DAY_MS,
                            .times.ended_ms = i == 0 ? 0 : NOW_MS - (400 - i) * 1000LL - DAY_MS});
        assert_true(s->ops->commit(s, &err));
    }
    (void)retain(s, NOW_MS);
    assert_true(kept_of(s, "j000").job); /* it has not ended */
    assert_false(kept_of(s, "j001").job);
    assert_true(kept_of(s, "j399").job);
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_in_range(stats.jobs_dropped, 100, 380);
}

static void samples_that_are_too_large_lose_their_oldest_and_the_history_stays(void **state)
{
    (void)state;
    struct store_retention small = {
        .full_samples_ms = 2LL * DAY_MS, .samples_ms = 14LL * DAY_MS, .samples_bytes = 300 * 1024};
    OWNED(store) s = must_open(&small);
    char uid[32];
    for (int i = 0; i < 60; i++) {
        (void)snprintf(uid, sizeof uid, "j%02d", i);
        put(s, uid, "failed", NOW_MS - i * 3600 * 1000LL); /* all within the age */
    }
    put(s, "unfinished", "", NOW_MS - 3600 * 1000LL * 40);
    (void)retain(s, NOW_MS);
    assert_in_range(kept_of(s, "j59").samples, 0, SAMPLES / 2); /* thin, or gone */
    assert_int_equal(kept_of(s, "j59").rows, 11);
    assert_int_equal(kept_of(s, "j00").samples, SAMPLES);
    assert_int_equal(kept_of(s, "unfinished").samples, SAMPLES);
}

/* ---- who asked for what ---- */

static int64_t audit_number(struct store *s, const char *sql)
{
    struct err err = {0};
    int64_t number = -1;
    assert_true(db_int(store_sqlite_of(s)->lanes[LANE_SAMPLES].db, "", sql, &number, &err));
    return number;
}

static void audit(struct store *s, int64_t at_ms)
{
    struct err err = {0};
    assert_true(s->ops->append_audit(
        s, &(struct store_audit){.at_ms = at_ms, .verb = "create", .identity = "token:ci"}));
    assert_true(s->ops->flush_samples(s, 5000, &err));
}

static void an_audit_row_is_kept_as_long_as_the_history(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&usual);
    OWNED(store) for_ever = must_open(&(struct store_retention){0});
    for (int days = 364; days <= 366; days++) {
        audit(s, NOW_MS - days * (int64_t)DAY_MS);
        audit(for_ever, NOW_MS - days * (int64_t)DAY_MS);
    }
    (void)retain(s, NOW_MS);
    assert_int_equal(audit_number(s, "SELECT count(*) FROM audit_log"), 2); /* 365 days: just */
    assert_int_equal(audit_number(s, "SELECT min(at_ms) FROM audit_log"), NOW_MS - 365LL * DAY_MS);
    (void)retain(for_ever, NOW_MS);
    assert_int_equal(audit_number(for_ever, "SELECT count(*) FROM audit_log"), 3);
}

/* A flood of changes does not fill the disk: the newest rows stay, whatever their age. */
static void of_a_flood_of_audit_rows_the_newest_stay(void **state)
{
    (void)state;
    OWNED(store) s = must_open(&(struct store_retention){0});
    struct err err = {0};
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "WITH number(id) AS (VALUES (1), (5), (6), (%d)) INSERT INTO audit_log "
                   "SELECT id, id, '', '', '', '', '', '', '', 1, 201, 1 FROM number",
                   RETENTION_AUDIT_ROWS + 5); /* rows are numbered in the order of their writing */
    assert_true(db_exec(store_sqlite_of(s)->lanes[LANE_SAMPLES].db, "", "", sql, &err));
    (void)retain(s, NOW_MS);
    assert_int_equal(audit_number(s, "SELECT min(id) FROM audit_log"), 6);
    assert_int_equal(audit_number(s, "SELECT count(*) FROM audit_log"), 2);
}

/* ---- with threads and files ---- */

static void the_sample_writer_runs_retention_once_it_knows_the_time(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-retention-XXXXXX", command[64];
    struct err err = {0};
    assert_non_null(mkdtemp(dir));
    struct store *s = store_sqlite_open(dir, &err);
    assert_non_null(s);
    int64_t now_ms = clock_wall_ms(clock_system());
    put(s, "old", "failed", now_ms - 20LL * DAY_MS);
    put(s, "new", "failed", now_ms - 2000);
    s->ops->set_retention(s, &usual);
    (void)retain(s, now_ms); /* whose caller knows whether the clock jumped */
    for (int i = 0; i < 100 && kept_of(s, "old").samples > 0; i++)
        clock_sleep_ms(100);
    assert_int_equal(kept_of(s, "old").samples, 0);
    assert_int_equal(kept_of(s, "old").rows, 11);
    assert_int_equal(kept_of(s, "new").samples, SAMPLES);
    store_free(s);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

/* ---- what is read at start ---- */

struct seen {
    size_t n;
    char last[32];
};

static bool see(void *ctx, const struct store_job *row)
{
    struct seen *seen = ctx;
    seen->n++;
    TEXT_SET(seen->last, row->uid);
    return true;
}

static void only_the_newest_and_the_unfinished_are_read_at_start(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) s = store_sqlite_open(NULL, &err);
    char uid[32];
    s->ops->begin(s);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(uid, sizeof uid, "j%02d", i);
        s->ops->put_job(s, &(struct store_job){.uid = uid,
                                               .result.outcome = i == 3 ? "" : "failed",
                                               .times.created_ms = 1000 + i});
    }
    assert_true(s->ops->commit(s, &err));
    struct seen seen = {0};
    assert_true(s->ops->each_recent_job(s, 10, see, &seen, &err));
    assert_int_equal(seen.n, 11);
    assert_string_equal(seen.last, "j99");
    seen = (struct seen){0};
    assert_true(s->ops->each_recent_job(s, 1000, see, &seen, &err));
    assert_int_equal(seen.n, 100);
}

TEST_FILE(test_retention)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_thinned_and_deleted_before_verdicts_and_rows),
        cmocka_unit_test(unfinished_jobs_and_open_incidents_are_kept_at_any_age),
        cmocka_unit_test(an_old_closed_incident_of_a_guest_without_a_migration_is_deleted),
        cmocka_unit_test(the_time_is_stored_once_an_hour),
        cmocka_unit_test(without_limits_nothing_is_deleted),
        cmocka_unit_test(a_trace_without_a_job_is_deleted),
        cmocka_unit_test(a_step_is_bounded),
        cmocka_unit_test(samples_are_deleted_in_bounded_steps),
        cmocka_unit_test(a_history_that_is_too_large_loses_its_oldest),
        cmocka_unit_test(samples_that_are_too_large_lose_their_oldest_and_the_history_stays),
        cmocka_unit_test(an_audit_row_is_kept_as_long_as_the_history),
        cmocka_unit_test(of_a_flood_of_audit_rows_the_newest_stay),
        cmocka_unit_test(the_sample_writer_runs_retention_once_it_knows_the_time),
        cmocka_unit_test(only_the_newest_and_the_unfinished_are_read_at_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
