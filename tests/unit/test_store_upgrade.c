/* test_store_upgrade.c - files of version 1, as they are in the field: brought forward with
 * everything that is in them, or left alone. */
#include "tests/unit/test_store_v1.h"

#include "store/sqlite/impl.h"

static int v1_setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    v1_build(*state);
    return 0;
}

static int64_t ask(const struct fixture *f, const char *sql)
{
    char path[TEST_PATH_MAX];
    return raw_int(path_in(f, "ferry.db", path), sql);
}

static int64_t count_events(const struct fixture *f)
{
    return ask(f, "SELECT count(*) FROM events");
}

/* ---- what was stored is still there ---- */

static bool expect_v1_job(void *ctx, const struct store_job *row)
{
    static const char *const uids[V1_JOBS] = {"first-0", "first-1"};
    static const char *const texts[V1_JOBS] = {"text 0", "text 1"};
    size_t i = (*(size_t *)ctx)++;
    assert_true(i < V1_JOBS);
    assert_string_equal(row->uid, uids[i]);
    assert_string_equal(row->request.wanted, "h3");
    assert_string_equal(row->request.origin, "user");
    assert_string_equal(row->result.error_text, texts[i]);
    assert_true(row->resolving && !row->recovering && row->adopted &&
                !row->request.remove_when_final);
    assert_int_equal(row->call.flags, 513);
    assert_int_equal(row->epoch, 3);
    assert_int_equal(row->times.created_ms, 1000 + (int64_t)i);
    assert_int_equal(row->result.error_hv_code, -2);
    const char *const added[] = {row->request.policy,       row->request.selector_json,
                                 row->request.volumes_json, row->request.evacuates,
                                 row->wait.pending,         row->wait.reason,
                                 row->placement.launcher};
    for (size_t k = 0; k < COUNT(added); k++)
        assert_string_equal(added[k], "");
    assert_int_equal(row->wait.since_ms, 0);
    assert_int_equal(row->placement.launcher_since_ms, 0);
    return true;
}

static bool expect_v1_transition(void *ctx, const struct store_transition *row)
{
    ++*(size_t *)ctx;
    assert_string_equal(row->to, "Running");
    assert_int_equal(row->spent_ms, 5);
    return true;
}
static bool expect_v1_intent(void *ctx, const struct store_intent *row)
{
    ++*(size_t *)ctx;
    assert_string_equal(row->status, "open");
    assert_string_equal(row->action, "migrate");
    return true;
}
static bool expect_v1_sample(void *ctx, const struct store_sample *row)
{
    assert_int_equal(row->seq, (*(size_t *)ctx)++);
    assert_int_equal(row->bandwidth_bps, 24);
    return true;
}

static void expect_v1_rows(struct store *s)
{
    struct err err = {0};
    size_t jobs = 0, transitions = 0, intents = 0, samples = 0;
    assert_true(s->ops->each_job(s, true, expect_v1_job, &jobs, &err));
    assert_true(s->ops->each_transition(s, "first-0", expect_v1_transition, &transitions, &err));
    assert_true(s->ops->each_intent(s, "first-0", expect_v1_intent, &intents, &err));
    assert_true(s->ops->each_sample(s, "first-0", expect_v1_sample, &samples, &err));
    assert_int_equal(jobs, V1_JOBS);
    assert_int_equal(transitions, 1);
    assert_int_equal(intents, 1);
    assert_int_equal(samples, V1_SAMPLES);
}

static void a_file_of_version_1_comes_forward_with_all_its_rows(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    assert_int_equal(ask(f, "PRAGMA user_version"), 1);
    must_open(f);
    expect_v1_rows(f->store);
    must_close(f);
    assert_int_equal(ask(f, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_int_equal(raw_int(path_in(f, "samples.db", path), "PRAGMA user_version"),
                     STORE_SCHEMA_VERSION);
    must_open(f); /* nothing left to do */
    expect_v1_rows(f->store);
}

/* Killed while it ran: the newest commits are in the log only. */
static void a_file_of_version_1_with_a_log_comes_forward_too(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    raw_exec(path_in(f, "ferry.db", path), "UPDATE jobs SET wanted_node = 'h4'", false);
    raw_exec(path, "UPDATE jobs SET wanted_node = 'h3'", true);
    must_open(f);
    expect_v1_rows(f->store);
    commit_job(f->store, "new", 5000);
    assert_int_equal(jobs_in(f->store), V1_JOBS + 1);
}

static void an_upgraded_file_takes_the_new_rows(void **state)
{
    struct fixture *f = *state;
    struct store *s;
    must_open(f);
    s = f->store;
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "first-0", .wait.pending = "quota"});
    s->ops->put_object(s, &(struct store_object){.kind = "Drain", .name = "d"});
    s->ops->put_rejection(s, &(struct store_rejection){.job_uid = "first-0", .node = "h2"});
    must_commit(s);
    must_close(f);
    assert_int_equal(ask(f, "SELECT count(*) FROM jobs WHERE pending = 'quota'"), 1);
    assert_int_equal(ask(f, "SELECT count(*) FROM objects"), 1);
    assert_int_equal(ask(f, "SELECT count(*) FROM rejections"), 1);
}

/* ---- the same tables, whichever way they came ---- */

static uint64_t hash_schema(const struct fixture *f, const char *file)
{
    char path[TEST_PATH_MAX];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    uint64_t hash = HASH_START;
    assert_int_equal(sqlite3_open(path_in(f, file, path), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema ORDER BY name", -1,
                                        &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(stmt, 0);
        hash = hash_text(hash, sql == NULL ? "" : sql);
    }
    (void)sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return hash;
}

/* Also says that the released first step was not edited. */
static void an_upgraded_file_has_the_tables_of_a_new_one(void **state)
{
    struct fixture *old = *state, *fresh = NULL;
    assert_int_equal(fixture_setup((void **)&fresh), 0);
    must_open(old);
    must_close(old);
    must_open(fresh);
    must_close(fresh);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        assert_int_equal(hash_schema(old, schema_of(lane)->file),
                         hash_schema(fresh, schema_of(lane)->file));
    (void)fixture_teardown((void **)&fresh);
}

/* ---- events: once each, and not too many ---- */

struct event_story {
    const char *uid, *type, *reason, *message;
    int64_t first_ms, at_ms, count;
};

static bool expect_story(void *ctx, const struct store_event *row)
{
    const struct event_story **story = ctx;
    assert_string_equal(row->uid, (*story)->uid);
    assert_string_equal(row->type, (*story)->type);
    assert_string_equal(row->reason, (*story)->reason);
    assert_string_equal(row->message, (*story)->message);
    assert_int_equal(row->first_ms, (*story)->first_ms);
    assert_int_equal(row->at_ms, (*story)->at_ms);
    assert_int_equal(row->count, (*story)->count);
    ++*story;
    return true;
}

static void events_that_repeat_become_one_with_its_count(void **state)
{
    static const struct event_story stories[V1_EVENTS_ONCE] = {
        {"first-1", "Normal", "Waiting", "no room", 150, 150, 1},
        {"first-1", "Warning", "Started", "", 159, 160, 3},
        {"first-0", "Normal", "Waiting", "no slot", 250, 250, 1},
        {"first-0", "Warning", "Waiting", "no room", 100, 300, 3},
    };
    struct fixture *f = *state;
    struct err err = {0};
    const struct event_story *at = stories;
    assert_int_equal(count_events(f), V1_EVENTS);
    must_open(f);
    assert_true(f->store->ops->each_event(f->store, NULL, 100, expect_story, &at, &err));
    assert_ptr_equal(at, stories + COUNT(stories));
}

/* 260 of one object and one each of 50,100: the newest 50,000, of one object the newest 200. */
static void an_old_file_with_too_many_events_keeps_the_newest(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    raw_exec(path_in(f, "ferry.db", path),
             "DELETE FROM events;"
             "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 50100)"
             "INSERT INTO events(kind, ns, name, uid, type, reason, message, at_ms)"
             "  SELECT '', '', '', 'u' || n, '', '', '', n FROM c;"
             "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 260)"
             "INSERT INTO events(kind, ns, name, uid, type, reason, message, at_ms)"
             "  SELECT '', '', '', 'busy', '', '', 'm' || n, 60000 + n FROM c;",
             false);
    must_open(f);
    must_close(f);
    assert_int_equal(count_events(f), STORE_EVENTS_MAX - 260 + STORE_OBJECT_EVENTS_MAX);
    assert_int_equal(ask(f, "SELECT count(*) FROM events WHERE uid = 'busy'"),
                     STORE_OBJECT_EVENTS_MAX);
    assert_int_equal(ask(f, "SELECT min(at_ms) FROM events WHERE uid = 'busy'"), 60061);
    assert_int_equal(ask(f, "SELECT min(at_ms) FROM events"), 361);
}

/* ---- what cannot come forward stays what it was ---- */

/* Somebody made the new table by hand: the step stops in the middle. */
static void a_step_that_stops_half_way_leaves_version_1(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX], before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
    struct err err = {0};
    raw_exec(path_in(f, "ferry.db", path), "CREATE TABLE rejections(x)", false);
    take_picture(f->dir, before);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_non_null(strstr(err.text, "cannot upgrade it to schema version 2"));
    take_picture(f->dir, after);
    assert_string_equal(before, after);
    raw_exec(path, "DROP TABLE rejections", false);
    must_open(f);
    expect_v1_rows(f->store);
}

/* The objects came forward, then the samples cannot: neither did. */
static void an_upgrade_changes_both_files_or_neither(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX], before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
    struct err err = {0};
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path_in(f, "samples.db", path), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    take_picture(f->dir, before);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    take_picture(f->dir, after);
    assert_string_equal(before, after);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(ask(f, "PRAGMA user_version"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, v1_setup, fixture_teardown)

TEST_FILE(test_store_upgrade)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_of_version_1_comes_forward_with_all_its_rows),
        TEST(a_file_of_version_1_with_a_log_comes_forward_too),
        TEST(an_upgraded_file_takes_the_new_rows),
        TEST(an_upgraded_file_has_the_tables_of_a_new_one),
        TEST(events_that_repeat_become_one_with_its_count),
        TEST(an_old_file_with_too_many_events_keeps_the_newest),
        TEST(a_step_that_stops_half_way_leaves_version_1),
        TEST(an_upgrade_changes_both_files_or_neither),
    };
    return cmocka_run_group_tests_name("store_upgrade", tests, NULL, NULL);
}
