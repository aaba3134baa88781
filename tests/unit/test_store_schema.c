/* test_store_schema.c - the tables: forward from any older version, in step with rows.c, and
 * with an index for each question the port can ask. */
#include "tests/unit/test_store_files.h"

#include "store/sqlite/impl.h"

/* ---- forward ---- */

static const char *const good_steps[] = {
    "CREATE TABLE guests (name TEXT NOT NULL) STRICT",
    "", /* a version that changed the other file only */
    "ALTER TABLE guests ADD COLUMN age INTEGER NOT NULL DEFAULT 7",
    "CREATE TABLE nodes (name TEXT NOT NULL) STRICT; INSERT INTO nodes VALUES ('n1')",
};
static const char *const bad_steps[] = {
    "CREATE TABLE guests (name TEXT NOT NULL) STRICT",
    "CREATE TABLE nodes (name TEXT NOT NULL) STRICT; INSERT INTO guests VALUES ('half')",
    "CREATE TABLE racks (name TEXT) STRICT; INSERT INTO guests VALUES ('x'); SELECT no_such()",
};

static struct schema schema_with(const char *const *steps, size_t n)
{
    struct schema schema = *schema_of(LANE_OBJECTS);
    schema.steps = steps;
    schema.step_count = n;
    return schema;
}

static sqlite3 *open_raw(const char *path)
{
    struct err err = {0};
    sqlite3 *db = db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err);
    assert_non_null(db);
    return db;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
    struct err err = {0};
    int64_t value = -1;
    if (!db_int(db, "test", sql, &value, &err))
        fail_msg("%s", err.text);
    return value;
}

/* From every older version, with what was stored in between still there. */
static void every_older_version_is_upgraded(void **state)
{
    (void)state;
    for (size_t old = 0; old <= COUNT(good_steps); old++) {
        struct err err = {0};
        sqlite3 *db = open_raw(":memory:");
        struct schema then = schema_with(good_steps, old);
        struct schema now = schema_with(good_steps, COUNT(good_steps));
        assert_true(schema_bring_forward(db, "test", &then, &err));
        assert_int_equal(ask(db, "PRAGMA user_version"), old);
        if (old > 0)
            assert_true(db_exec(db, "test", "", "INSERT INTO guests(name) VALUES ('g')", &err));
        assert_true(schema_bring_forward(db, "test", &now, &err));
        assert_true(schema_bring_forward(db, "test", &now, &err)); /* nothing left to do */
        assert_int_equal(ask(db, "PRAGMA user_version"), COUNT(good_steps));
        assert_int_equal(ask(db, "PRAGMA application_id"), now.application_id);
        assert_int_equal(ask(db, "SELECT count(*) FROM nodes"), 1);
        assert_int_equal(ask(db, "SELECT coalesce(sum(age), 0) FROM guests"), old > 0 ? 7 : 0);
        db_close(db);
    }
}

static void a_step_that_fails_leaves_the_version_before_it(void **state)
{
    (void)state;
    struct err err = {0};
    sqlite3 *db = open_raw(":memory:");
    struct schema schema = schema_with(bad_steps, COUNT(bad_steps));
    assert_false(schema_bring_forward(db, "dir/file.db", &schema, &err));
    assert_non_null(strstr(err.text, "dir/file.db: cannot upgrade it to schema version 3"));
    assert_int_equal(ask(db, "PRAGMA user_version"), 2);
    assert_int_equal(ask(db, "SELECT count(*) FROM guests"), 1);
    assert_int_equal(ask(db, "SELECT count(*) FROM sqlite_schema WHERE name='racks'"), 0);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    db_close(db);
}

/* Version 0 of ours: owned, no tables yet. */
static void an_older_file_is_brought_forward_at_open(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX], sql[128];
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id=%u; PRAGMA journal_mode=WAL",
                   schema_of(LANE_OBJECTS)->application_id);
    raw_exec(path_in(f, "ferry.db", path), sql, false);
    must_open(f);
    commit_job(f->store, "a", 1);
    must_close(f);
    assert_int_equal(raw_int(path, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_int_equal(raw_int(path, "SELECT count(*) FROM jobs"), 1);
}

/* The table is there already, made by hand: the step cannot be followed. */
static void an_older_file_that_cannot_be_brought_forward_is_left_as_it_was(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX], sql[256], before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
    struct err err = {0};
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA application_id=%u; PRAGMA journal_mode=WAL; CREATE TABLE events(x)",
                   schema_of(LANE_OBJECTS)->application_id);
    raw_exec(path_in(f, "ferry.db", path), sql, false);
    take_picture(f->dir, before);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_non_null(strstr(err.text, "ferry.db: cannot upgrade it to schema version 1"));
    take_picture(f->dir, after); /* no samples.db either, no lock, no log */
    assert_string_equal(before, after);
}

/* ---- in step with rows.c ---- */

static void every_column_is_in_its_table_and_the_other_way_round(void **state)
{
    struct fixture *f = *state;
    must_open(f);
    must_close(f);
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        const struct row_type *type = rows_type(kind);
        char path[TEST_PATH_MAX], sql[256];
        path_in(f, schema_of(type->lane)->file, path);
        for (size_t i = 0; i < type->column_count; i++) {
            const struct column *column = &type->columns[i];
            bool is_text = column->type == COLUMN_TEXT || column->type == COLUMN_ARRAY;
            (void)snprintf(sql, sizeof sql,
                           "SELECT count(*) FROM pragma_table_info('%s') WHERE name='%s'"
                           " AND type='%s' AND \"notnull\"=1",
                           type->table, column->name,
                           is_text                       ? "TEXT"
                           : column->type == COLUMN_REAL ? "REAL"
                                                         : "INTEGER");
            if (raw_int(path, sql) != 1)
                fail_msg("%s.%s is not in the schema as it is in rows.c", type->table,
                         column->name);
        }
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM pragma_table_info('%s') WHERE name <> 'id'",
                       type->table);
        assert_int_equal(raw_int(path, sql), type->column_count);
    }
}

/* Every member of a row type is a column: a field added to store.h and forgotten here would
 * leave a hole that no column covers. */
static size_t column_bytes(const struct column *column)
{
    switch (column->type) {
    case COLUMN_TEXT: return sizeof(const char *);
    case COLUMN_ARRAY: return column->bytes;
    case COLUMN_INT: return sizeof(int64_t);
    case COLUMN_REAL: return sizeof(double);
    case COLUMN_BOOL: return sizeof(bool);
    }
    return 0;
}

static void every_field_of_a_row_is_a_column(void **state)
{
    (void)state;
    static const size_t row_bytes[ROW_COUNT] = {
#define ROW(id, name, table, lane, key, again, order) [ROW_##id] = sizeof(struct store_##name),
#include "store/rows.def"
#undef ROW
    };
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        const struct row_type *type = rows_type(kind);
        size_t covered = 0;
        for (size_t i = 0; i < type->column_count; i++) {
            covered += column_bytes(&type->columns[i]);
            for (size_t j = 0; j < i; j++)
                assert_true(type->columns[i].offset != type->columns[j].offset);
        }
        /* What is not covered is padding after the booleans: less than one word. A job has some in
         * each of its parts; its members and its columns are the same rows (job_fields.def). */
        assert_true(covered <= row_bytes[kind]);
        if (kind != ROW_JOB)
            assert_true(row_bytes[kind] - covered < 8);
    }
}

/* ---- an index for each question ---- */

static void expect_indexed(sqlite3 *db, const char *sql)
{
    char explain[ROWS_SQL_MAX + 32];
    (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);
        bool walks_all = strncmp(step, "SCAN ", 5) == 0 && strstr(step, "INDEX") == NULL &&
                         strstr(step, "(subquery") == NULL;
        if (walks_all || strstr(step, "TEMP B-TREE") != NULL)
            fail_msg("%s: %s", sql, step);
    }
    (void)sqlite3_finalize(stmt);
}

static void every_question_of_a_job_has_an_index(void **state)
{
    struct fixture *f = *state;
    must_open(f);
    struct store_sqlite *sq = store_sqlite_of(f->store);
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        const struct row_type *type = rows_type(kind);
        char tail[128], sql[ROWS_SQL_MAX];
        const char *where = kind == ROW_JOB        ? "outcome = ''"
                            : kind == ROW_OBJECT   ? "removed = 0"
                            : kind == ROW_INCIDENT ? "closed_ms = 0"
                            : kind == ROW_AUDIT    ? "id > 0"
                            : kind == ROW_EVENT    ? "uid = ?1"
                                                   : "job_uid = ?1";
        (void)snprintf(tail, sizeof tail, "WHERE %s ORDER BY %s", where, type->order);
        rows_select_sql(kind, NULL, tail, sql);
        expect_indexed(sq->lanes[type->lane].db, sql);
    }
    sqlite3 *db = sq->lanes[LANE_OBJECTS].db;
    expect_indexed(db, "SELECT * FROM jobs ORDER BY created_ms, uid");
    expect_indexed(db, "SELECT * FROM verdicts ORDER BY at_ms, job_uid");
    expect_indexed(db, "SELECT * FROM incidents ORDER BY opened_ms, job_uid");
    expect_indexed(db, "SELECT * FROM events ORDER BY at_ms DESC, id DESC LIMIT 10");
    expect_indexed(db, "SELECT * FROM jobs WHERE ns = ?1 AND name = ?2");
    expect_indexed(db, "SELECT * FROM intents WHERE status = 'open'");
    for (enum statement id = STATEMENT_CLEAR_REJECTIONS; id <= STATEMENT_TRIM_EVENTS; id++)
        expect_indexed(db, sqlite3_sql(sq->lanes[LANE_OBJECTS].statements[id]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

TEST_FILE(test_store_schema)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_older_version_is_upgraded),
        cmocka_unit_test(a_step_that_fails_leaves_the_version_before_it),
        TEST(an_older_file_is_brought_forward_at_open),
        TEST(an_older_file_that_cannot_be_brought_forward_is_left_as_it_was),
        TEST(every_column_is_in_its_table_and_the_other_way_round),
        cmocka_unit_test(every_field_of_a_row_is_a_column),
        TEST(every_question_of_a_job_has_an_index),
    };
    return cmocka_run_group_tests_name("store_schema", tests, NULL, NULL);
}
