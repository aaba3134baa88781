/* test_store_postgres.c - what only a database can do to the store: be away, refuse, belong to
 * somebody else, lose an answer. The contract of the port itself is in the other test_store files.
 */
#include "tests/unit/test_store.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/postgres/pg_lane.h"
#include "store/postgres/postgres.h"
#include "tests/unit/postgres_proxy.h"

static void end_sessions(const char *url)
{
    postgres_exec(url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                       " WHERE application_name LIKE 'ferry %'");
}

static bool try_job(struct store *s, const char *uid, struct err *err)
{
    s->ops->begin(s);
    put_job(s, uid, 1, "");
    return s->ops->commit(s, err);
}

/* ---- one appliance ---- */

static void a_second_appliance_is_refused_until_the_first_has_ended(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    assert_null(store_open(f->url, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_non_null(strstr(err.text, "another appliance (from this machine, session "));
    commit_job(f->store, "a", 1); /* nothing was taken from it */
    must_close(f);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 1);
}

/* Its sessions ended, as after a cut of the network, and somebody else came. */
static void an_appliance_that_was_replaced_stores_nothing_more(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    commit_job(f->store, "first", 1);
    end_sessions(f->url);
    struct store *second = store_open(f->url, &err);
    assert_non_null(second);
    commit_job(second, "second", 2);
    for (int i = 0; i < 3; i++) {
        struct err late = {0};
        assert_false(try_job(f->store, "late", &late));
        assert_int_equal(late.code, ERR_LOCKED);
        assert_non_null(strstr(late.text, "another appliance"));
        if (i == 1)
            store_free(second); /* the lock is free again: what it knows is still old */
    }
    assert_int_equal(postgres_int(f->url, "SELECT count(*) FROM jobs"), 2);
}

/* The row of ferry_writer, not only the lock: a session that is still there writes nothing either.
 */
static void a_transaction_of_a_former_writer_is_rolled_back(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    postgres_exec(f->url, "UPDATE ferry_writer SET token = 'somebody'");
    assert_false(try_job(f->store, "late", &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_int_equal(postgres_int(f->url, "SELECT count(*) FROM jobs"), 0);
}

/* ---- away ---- */

static void a_connection_that_broke_is_made_again(void **state)
{
    struct fixture *f = *state;
    commit_job(f->store, "a", 1);
    assert_int_equal(jobs_in(f->store), 1);
    end_sessions(f->url);
    commit_job(f->store, "b", 2);
    assert_int_equal(jobs_in(f->store), 2);
}

static void a_database_that_is_away_fails_commits_until_it_is_back(void **state)
{
    struct fixture *f = *state;
    struct err read = {0}, lost = {0};
    struct store_sample sample = {.job_uid = "j"};
    size_t n = 0;
    commit_job(f->store, "before", 1);
    postgres_stop();
    for (int i = 0; i < 3; i++) {
        struct err err = {0};
        assert_false(try_job(f->store, "away", &err));
        assert_int_equal(err.code, ERR_UNREACHABLE);
    }
    assert_false(f->store->ops->each_job(f->store, false, count_job, &n, &read));
    assert_int_equal(read.code, ERR_UNREACHABLE);
    assert_true(f->store->ops->append_samples(f->store, &sample, 1)); /* nobody waits */
    assert_false(f->store->ops->flush_samples(f->store, 20000, &lost));
    assert_int_equal(lost.code, ERR_UNREACHABLE);
    postgres_start();
    commit_job(f->store, "after", 2);
    assert_int_equal(jobs_in(f->store), 2);
    sample.seq = 1;
    assert_true(f->store->ops->append_samples(f->store, &sample, 1));
    assert_true(f->store->ops->flush_samples(f->store, 20000, &lost));
    struct store_stats stats;
    f->store->ops->stats(f->store, &stats);
    assert_int_equal(stats.samples_dropped, 1);
    assert_int_equal(stats.samples_written, 1);
    assert_int_equal(stats.commit_failures, 3);
}

static void an_appliance_does_not_start_on_a_database_that_is_away(void **state)
{
    (void)state;
    struct err err = {0};
    const char *url = "postgresql://somebody:secret@127.0.0.1:1/ferry?sslmode=disable";
    assert_null(store_open(url, &err));
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_non_null(strstr(err.text, "postgresql://127.0.0.1:1/ferry"));
    assert_null(strstr(err.text, "secret"));
}

/* ---- slow ---- */

struct committing {
    struct store *store;
    struct err err;
    bool good;
};

static void *commit_in_thread(void *ctx)
{
    struct committing *c = ctx;
    c->good = c->store->ops->commit(c->store, &c->err);
    return NULL;
}

/* The engine's thread begins and puts; only its committer waits. */
static void begin_and_put_do_not_wait_for_the_database(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    struct committing c = {.store = f->store};
    commit_job(f->store, "a", 1);
    assert_int_equal(postgres_signal("ferry objects", SIGSTOP), 1);
    int64_t began_ms = clock_mono_ms(clock_system());
    f->store->ops->begin(f->store);
    for (int i = 0; i < 100; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof uid, "slow-%d", i);
        put_job(f->store, uid, i, "");
    }
    assert_true(clock_mono_ms(clock_system()) - began_ms < 1000);
    assert_int_equal(pthread_create(&thread, NULL, commit_in_thread, &c), 0);
    assert_int_equal(jobs_in(f->store), 1); /* readers go on */
    assert_int_equal(postgres_signal("ferry objects", SIGCONT), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(c.good);
    assert_int_equal(jobs_in(f->store), 101);
}

/* ---- an answer is lost ---- */

static struct committing lose(struct fixture *f, enum proxy_fault fault, struct proxy **out_proxy,
                              struct store **out_store)
{
    char url[POSTGRES_URL_MAX];
    pthread_t thread;
    struct err err = {0};
    must_close(f);
    *out_proxy = proxy_start(f->url, url);
    *out_store = store_open(url, &err);
    if (*out_store == NULL)
        fail_msg("%s", err.text);
    commit_job(*out_store, "before", 1);
    struct committing c = {.store = *out_store};
    (*out_store)->ops->begin(*out_store);
    put_job(*out_store, "unknown", 2, "");
    (*out_store)
        ->ops->put_transition(*out_store,
                              &(struct store_transition){.job_uid = "unknown", .seq = 1});
    proxy_set(*out_proxy, fault);
    assert_int_equal(pthread_create(&thread, NULL, commit_in_thread, &c), 0);
    while (proxy_now(*out_proxy) != PROXY_REFUSE) /* the answer is lost, and nobody connects */
        clock_sleep_ms(5);
    clock_sleep_ms(200);
    assert_false(c.good);
    assert_int_equal(c.err.code, ERR_NONE); /* it has not returned: nothing is assumed */
    proxy_set(*out_proxy, PROXY_NONE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return c;
}

static void a_commit_whose_answer_is_lost_is_found_to_be_stored(void **state)
{
    struct proxy *proxy;
    struct store *s;
    struct committing c = lose(*state, PROXY_COMMIT_ANSWER_LOST, &proxy, &s);
    if (!c.good)
        fail_msg("%s", c.err.text);
    assert_true(has_job(s, "unknown"));
    commit_job(s, "after", 3);
    assert_int_equal(jobs_in(s), 3);
    store_free(s);
    proxy_stop(proxy);
}

static void a_commit_that_never_arrived_is_found_not_to_be_stored(void **state)
{
    struct proxy *proxy;
    struct store *s;
    struct committing c = lose(*state, PROXY_COMMIT_LOST, &proxy, &s);
    assert_false(c.good);
    assert_int_equal(c.err.code, ERR_UNREACHABLE);
    assert_false(has_job(s, "unknown"));
    s->ops->begin(s); /* the same rows again, as the engine does */
    put_job(s, "unknown", 2, "");
    s->ops->put_transition(s, &(struct store_transition){.job_uid = "unknown", .seq = 1});
    must_commit(s);
    assert_int_equal(jobs_in(s), 2);
    store_free(s);
    proxy_stop(proxy);
}

/* ---- a standby that was promoted lacks what was acknowledged ---- */

static void lost_commits_are_noticed_and_counted(void **state)
{
    struct fixture *f = *state;
    struct store_stats stats;
    commit_job(f->store, "replicated", 1);
    int64_t there = postgres_int(f->url, "SELECT number FROM ferry_writer WHERE lane = 'objects'");
    commit_job(f->store, "lost", 2);
    end_sessions(f->url);
    commit_job(f->store, "kept", 3); /* a connection that broke is no loss */
    f->store->ops->stats(f->store, &stats);
    assert_int_equal(stats.commits_lost, 0);

    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "DELETE FROM jobs WHERE uid = 'lost';"
                   "UPDATE ferry_writer SET number = %lld WHERE lane = 'objects'",
                   (long long)there);
    end_sessions(f->url);
    postgres_exec(f->url, sql);
    commit_job(f->store, "after", 4);
    f->store->ops->stats(f->store, &stats);
    assert_int_equal(stats.commits_lost, 2);
    end_sessions(f->url);
    commit_job(f->store, "again", 5); /* once is enough */
    f->store->ops->stats(f->store, &stats);
    assert_int_equal(stats.commits_lost, 2);
}

/* With several hosts in the URL a reader may end at one. The schema's function is the server's. */
static void the_appliance_does_not_read_from_a_standby(void **state)
{
    struct fixture *f = *state;
    char url[POSTGRES_URL_MAX];
    struct err err = {0};
    size_t n = 0;
    must_close(f);
    (void)snprintf(url, sizeof url, "%s,pg_catalog", f->url);
    struct store *s = store_open(url, &err);
    if (s == NULL)
        fail_msg("%s", err.text);
    commit_job(s, "a", 1);
    postgres_exec(f->url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                          " WHERE application_name = 'ferry reader'");
    postgres_exec(url, "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS"
                       " 'SELECT true'");
    assert_false(s->ops->each_job(s, false, count_job, &n, &err));
    assert_int_equal(err.code, ERR_READ_ONLY);
    store_free(s);
    s = store_read(url, &err); /* `ferry report` may */
    assert_int_equal(jobs_in(s), 1);
    store_free(s);
}

/* `ferry store copy` of many rows takes long. */
static void a_long_reading_is_not_cut_off(void **state)
{
    struct fixture *f = *state;
    struct store_sql *s = store_sql_of(f->store);
    struct err err = {0};
    int64_t limit_ms = -1;
    assert_true(store_sql_int(s, LANE_OBJECTS,
                              "SELECT setting::bigint FROM pg_settings WHERE name ="
                              " 'statement_timeout'",
                              &limit_ms, &err));
    assert_true(limit_ms == 0);
}

static void query(const char *url, const char *sql, struct err *err)
{
    OWNED(json_object) answer = query_run(url, sql, &(struct query_limits){0}, err);
    assert_true((answer != NULL) == (err->code == ERR_NONE));
}

/* A read-only transaction may write large objects before PostgreSQL 16. */
static void what_a_query_wrote_all_the_same_is_undone(void **state)
{
    struct fixture *f = *state;
    char url[POSTGRES_URL_MAX];
    struct err err = {0};
    postgres_query_url(f->url, url);
    query(url, "SELECT lo_from_bytea(0, 'x')", &err);
    assert_int_equal(postgres_int(f->url, "SELECT count(*) FROM pg_largeobject_metadata"), 0);
}

static void a_role_that_may_become_more_is_refused(void **state)
{
    static const struct {
        const char *give, *take;
    } rows[] = {
        {"CREATE ROLE more; GRANT ferry TO more; ALTER ROLE ferry_query NOINHERIT;"
         "GRANT more TO ferry_query",
         "REVOKE more FROM ferry_query; ALTER ROLE ferry_query INHERIT; DROP ROLE more"},
        {"GRANT pg_signal_backend TO ferry_query", "REVOKE pg_signal_backend FROM ferry_query"},
        {"ALTER ROLE ferry_query BYPASSRLS", "ALTER ROLE ferry_query NOBYPASSRLS"},
        {"GRANT DELETE ON objects TO ferry_query", "REVOKE DELETE ON objects FROM ferry_query"},
    };
    struct fixture *f = *state;
    char url[POSTGRES_URL_MAX];
    postgres_query_url(f->url, url);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        postgres_exec(f->url, rows[i].give);
        query(url, "SELECT 1", &err);
        postgres_exec(f->url, rows[i].take);
        if (err.code != ERR_FORBIDDEN || strstr(err.text, "storeQuery") == NULL)
            fail_msg("%s: %s", rows[i].give, err.text);
        err = (struct err){0};
        query(url, "SELECT 1", &err);
        assert_int_equal(err.code, ERR_NONE);
    }
}

/* ---- refused ---- */

static void a_schema_that_is_missing_is_named(void **state)
{
    struct fixture *f = *state;
    char url[POSTGRES_URL_MAX];
    struct err err = {0};
    (void)snprintf(url, sizeof url, "%s_missing", f->url);
    assert_null(store_open(url, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "schema"));
}

static void each_refusal_of_the_database_has_its_code(void **state)
{
    static const struct {
        const char *sqlstate;
        enum err_code code;
    } rows[] = {{"53100", ERR_FULL},    {"53200", ERR_NOMEM},     {"25006", ERR_READ_ONLY},
                {"40P01", ERR_LOCKED},  {"57014", ERR_TIMEOUT},   {"58030", ERR_IO},
                {"XX001", ERR_CORRUPT}, {"42501", ERR_FORBIDDEN}, {"P0001", ERR_INTERNAL}};
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char sql[512];
        struct err err = {0};
        (void)snprintf(sql, sizeof sql,
                       "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
                       " BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$;"
                       "CREATE OR REPLACE TRIGGER refusal BEFORE INSERT ON jobs FOR EACH ROW"
                       " EXECUTE FUNCTION refuse()",
                       rows[i].sqlstate);
        postgres_exec(f->url, sql);
        assert_false(try_job(f->store, "no", &err));
        if (err.code != rows[i].code || strstr(err.text, "cannot write to jobs") == NULL)
            fail_msg("%s: %s: %s", rows[i].sqlstate, err_name(err.code), err.text);
    }
    postgres_exec(f->url, "DROP TRIGGER refusal ON jobs");
    commit_job(f->store, "yes", 1);
    assert_int_equal(jobs_in(f->store), 1);
}

static void a_read_only_database_is_refused_at_start_and_later(void **state)
{
    struct fixture *f = *state;
    struct err err = {0}, start = {0};
    commit_job(f->store, "a", 1);
    postgres_exec(NULL, "ALTER DATABASE postgres SET default_transaction_read_only = on");
    end_sessions(f->url);
    assert_false(try_job(f->store, "b", &err));
    must_close(f);
    assert_null(store_open(f->url, &start));
    postgres_exec(NULL, "BEGIN; SET TRANSACTION READ WRITE;"
                        "ALTER DATABASE postgres RESET default_transaction_read_only; COMMIT");
    assert_int_equal(err.code, ERR_READ_ONLY);
    assert_int_equal(start.code, ERR_READ_ONLY);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 1);
}

static void other_schemas_are_refused_and_left_alone(void **state)
{
    static const struct {
        const char *sql;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"UPDATE ferry_schema SET version = version + 1", ERR_NEWER, "newer Ferry"},
        {"ALTER TABLE transitions DROP COLUMN why CASCADE", ERR_CORRUPT, "changed by hand"},
        {"DROP TABLE ferry_schema", ERR_FOREIGN, "another program"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = {0};
        struct err err = {0};
        postgres_new_url(f.url);
        must_open(&f);
        commit_job(f.store, "a", 1);
        must_close(&f);
        postgres_exec(f.url, rows[i].sql);
        assert_null(store_open(f.url, &err));
        if (err.code != rows[i].code || strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: %s: %s", rows[i].sql, err_name(err.code), err.text);
        assert_int_equal(postgres_int(f.url, "SELECT count(*) FROM jobs"), 1);
    }
}

static void a_wrong_url_is_refused_without_its_password(void **state)
{
    static const char *const urls[] = {"postgresql://u:secret@h/d?nonsense=1",
                                       "postgresql://u:secret@h", "postgresql://u:secret@[::1/x"};
    (void)state;
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct err err = {0};
        assert_null(store_open(urls[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_null(strstr(err.text, "secret"));
    }
}

/* ---- the schema ---- */

static void every_column_is_in_its_table_and_the_other_way_round(void **state)
{
    struct fixture *f = *state;
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        const struct row_type *type = rows_type(kind);
        char sql[512];
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM information_schema.columns WHERE table_schema ="
                       " current_schema() AND table_name = '%s' AND column_name <> 'id'",
                       type->table);
        int64_t n = postgres_int(f->url, sql);
        /* jobs has columns that no version uses any more, as in SQLite's files */
        if (kind == ROW_JOB ? n < (int64_t)type->column_count : n != (int64_t)type->column_count)
            fail_msg("%s: %lld columns, not %zu", type->table, (long long)n, type->column_count);
        for (size_t i = 0; i < type->column_count; i++) {
            (void)snprintf(sql, sizeof sql, "SELECT count(%s) FROM %s", type->columns[i].name,
                           type->table);
            assert_int_equal(postgres_int(f->url, sql), 0);
        }
    }
}

static void a_commit_of_objects_is_never_weaker_than_on(void **state)
{
    static const struct {
        const char *database, *objects;
    } rows[] = {{"off", "on"},
                {"local", "on"},
                {"remote_write", "on"},
                {"on", "on"},
                {"remote_apply", "remote_apply"}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char url[POSTGRES_URL_MAX], sql[128];
        struct pg_lane lane;
        struct err err = {0};
        postgres_new_url(url);
        (void)snprintf(sql, sizeof sql, "ALTER ROLE ferry SET synchronous_commit = %s",
                       rows[i].database);
        postgres_exec(NULL, sql);
        pg_lane_init(&lane, LANE_OBJECTS,
                     &(struct pg_writer){.url = url, .token = "t", .fence = ""});
        if (!pg_lane_take(&lane, &err))
            fail_msg("%s", err.text);
        PGresult *now = pg_ask(&lane.pg, "ask", "SHOW synchronous_commit", 0, NULL, &err);
        assert_string_equal(PQgetvalue(now, 0, 0), rows[i].objects);
        PQclear(now);
        pg_lane_fini(&lane);
    }
    postgres_exec(NULL, "ALTER ROLE ferry RESET synchronous_commit");
}

/* libvirt's and QEMU's texts may be anything; a commit must not fail for ever because of them. */
static bool expect_mended(void *ctx, const struct store_error *row)
{
    (void)ctx;
    assert_string_equal(row->text, "a?b\xc3\xa9?");
    return true;
}

static void text_that_is_no_utf8_is_stored_with_question_marks(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    s->ops->begin(s);
    s->ops->put_error(s, &(struct store_error){.job_uid = "j",
                                               .text = "a\xff"
                                                       "b\xc3\xa9\xe2"});
    must_commit(s);
    assert_true(s->ops->each_error(s, "j", expect_mended, NULL, &err));
}

/* ---- retention ---- */

static void what_is_too_old_is_dropped_in_the_background(void **state)
{
    struct fixture *f = *state;
    struct store *s = f->store;
    struct err err = {0};
    const int64_t day_ms = 24 * 3600 * 1000LL, now_ms = 1700000000000;
    static const struct {
        const char *uid, *outcome;
        int64_t days;
    } jobs[] = {
        {"new", "failed", 1}, {"old", "failed", 20}, {"gone", "failed", 400}, {"runs", "", 400}};
    for (size_t i = 0; i < COUNT(jobs); i++) {
        int64_t at_ms = now_ms - jobs[i].days * day_ms;
        struct store_sample sample = {.at_ms = at_ms};
        (void)snprintf(sample.job_uid, sizeof sample.job_uid, "%s", jobs[i].uid);
        s->ops->begin(s);
        s->ops->put_job(s, &(struct store_job){.uid = jobs[i].uid,
                                               .ns = "default",
                                               .name = jobs[i].uid,
                                               .result.outcome = jobs[i].outcome,
                                               .times.created_ms = at_ms,
                                               .times.ended_ms = jobs[i].outcome[0] ? at_ms : 0});
        s->ops->put_transition(s, &(struct store_transition){.job_uid = jobs[i].uid, .seq = 1});
        must_commit(s);
        assert_true(s->ops->append_samples(s, &sample, 1));
    }
    assert_true(s->ops->flush_samples(s, 5000, &err));
    s->ops->set_retention(s, &(struct store_retention){.full_samples_ms = 2 * day_ms,
                                                       .samples_ms = 14 * day_ms,
                                                       .history_ms = 365 * day_ms});
    bool more = false;
    assert_true(s->ops->retain(s, now_ms, &more, &err));
    for (int i = 0; i < 200 && (postgres_int(f->url, "SELECT count(*) FROM jobs") > 3 ||
                                postgres_int(f->url, "SELECT count(*) FROM samples") > 2);
         i++)
        clock_sleep_ms(50);
    assert_false(has_job(s, "gone"));
    assert_int_equal(jobs_in(s), 3);
    assert_int_equal(postgres_int(f->url, "SELECT count(*) FROM transitions"), 3);
    assert_int_equal(
        postgres_int(f->url, "SELECT count(*) FROM samples WHERE job_uid IN ('new', 'runs')"), 2);
    assert_int_equal(postgres_int(f->url, "SELECT count(*) FROM samples"), 2);
}

TEST_FILE(test_store_postgres)
{
    const struct CMUnitTest slice[] = {
        POSTGRES_TEST(a_second_appliance_is_refused_until_the_first_has_ended),
        POSTGRES_TEST(an_appliance_that_was_replaced_stores_nothing_more),
        POSTGRES_TEST(a_transaction_of_a_former_writer_is_rolled_back),
        POSTGRES_TEST(a_connection_that_broke_is_made_again),
        POSTGRES_TEST(a_database_that_is_away_fails_commits_until_it_is_back),
        cmocka_unit_test(an_appliance_does_not_start_on_a_database_that_is_away),
        POSTGRES_TEST(begin_and_put_do_not_wait_for_the_database),
        POSTGRES_TEST(a_commit_whose_answer_is_lost_is_found_to_be_stored),
        POSTGRES_TEST(a_commit_that_never_arrived_is_found_not_to_be_stored),
        POSTGRES_TEST(a_commit_of_objects_is_never_weaker_than_on),
        POSTGRES_TEST(lost_commits_are_noticed_and_counted),
        POSTGRES_TEST(the_appliance_does_not_read_from_a_standby),
        POSTGRES_TEST(a_long_reading_is_not_cut_off),
        POSTGRES_TEST(what_a_query_wrote_all_the_same_is_undone),
        POSTGRES_TEST(a_role_that_may_become_more_is_refused),
    };
    const struct CMUnitTest others[] = {
        POSTGRES_TEST(each_refusal_of_the_database_has_its_code),
        POSTGRES_TEST(a_read_only_database_is_refused_at_start_and_later),
        POSTGRES_TEST(a_schema_that_is_missing_is_named),
        cmocka_unit_test(other_schemas_are_refused_and_left_alone),
        cmocka_unit_test(a_wrong_url_is_refused_without_its_password),
        POSTGRES_TEST(every_column_is_in_its_table_and_the_other_way_round),
        POSTGRES_TEST(text_that_is_no_utf8_is_stored_with_question_marks),
        POSTGRES_TEST(what_is_too_old_is_dropped_in_the_background),
    };
    int failed = 0;
    if (postgres_in_slice())
        failed += cmocka_run_group_tests_name("store_postgres", slice, NULL, NULL);
    if (postgres_in_full())
        failed += cmocka_run_group_tests_name("store_postgres, all", others, NULL, NULL);
    return failed;
}
