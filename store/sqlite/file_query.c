/* file_query.c - see file_query.h.
 *
 * Any client of the API can send any SELECT, so every resource of a statement is limited:
 *   - one instruction: the sizes in query_guard.h, so that it ends soon after an interrupt;
 *   - all instructions: an interrupt at the deadline, from a thread (budget.h);
 *   - preparing, which cannot be interrupted: allocations fail after the deadline (budget.h);
 *   - memory and temporary files: counted by the allocator and the VFS (budget.h);
 *   - the result: bytes, counted before each value is copied.
 * Only the length of the statement limits the planning of a join of dozens of tables, which takes
 * seconds with few allocations (measured in api_query.c). `ferry query --state` is a process that
 * can be killed.
 */
#include "store/sqlite/file_query.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/sqlite/budget.h"
#include "store/sqlite/db.h"
#include "store/sqlite/dbfile.h"
#include "store/sqlite/query_guard.h"

enum { VALUE_OVERHEAD = 32 }; /* bytes counted for a value besides its text */

static const struct {
    const char *name, *sql;
} views[] = {
#define VIEW(name, help, sql) {name, sql},
#include "store/views.def"
#undef VIEW
};

struct query {
    sqlite3 *db;
    const char *path;
    int64_t began_ms, until_ms, rows_max;
    struct budget budget;
    struct query_guard guard;
    size_t bytes; /* of the result so far */
    struct err *err;
};

/* ---- the connection ---- */

static bool attach(struct query *query, const char *samples)
{
    sqlite3_stmt *stmt = NULL;
    (void)sqlite3_limit(query->db, SQLITE_LIMIT_ATTACHED, 1);
    int rc = sqlite3_prepare_v2(query->db, "ATTACH ?1 AS trace", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, samples, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    bool done =
        rc == SQLITE_DONE || db_fail(query->db, rc, samples, "cannot open it to read", query->err);
    (void)sqlite3_finalize(stmt);
    return done;
}

static bool make_views(struct query *query)
{
    for (size_t i = 0; i < COUNT(views); i++) {
        char sql[4096];
        int n = snprintf(sql, sizeof sql, "CREATE TEMP VIEW %s AS %s", views[i].name, views[i].sql);
        if (n < 0 || (size_t)n >= sizeof sql)
            return err_set(query->err, ERR_INTERNAL, "view %s is too long", views[i].name);
        if (!db_exec(query->db, query->path, "cannot make a view", sql, query->err))
            return false;
    }
    return true;
}

/* Tokens are no reader's: `objects` is a copy without them, and the table itself is refused
 * (query_guard.c). Not a view: SQLite tells the guard the name that the statement uses, which could
 * be anything's. Only for statements with that word. */
static bool hide_tokens(struct query *query, const char *sql)
{
    return strcasestr(sql, "objects") == NULL ||
           db_exec(query->db, query->path, "cannot copy the objects",
                   "CREATE TEMP TABLE objects AS SELECT * FROM main.objects WHERE kind <> 'Token'",
                   query->err);
}

static bool open_both(struct query *query, const char *dir)
{
    char path[DB_PATH_MAX], samples[DB_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, schema_of(LANE_OBJECTS)->file);
    int m = snprintf(samples, sizeof samples, "%s/%s", dir, schema_of(LANE_SAMPLES)->file);
    if (n < 0 || (size_t)n >= sizeof path || m < 0 || (size_t)m >= sizeof samples)
        return err_set(query->err, ERR_LIMIT, "%.200s...: the path is too long", dir);
    sqlite3 *other = dbfile_open_read(samples, LANE_SAMPLES, query->err); /* checks the file */
    if (other == NULL)
        return false;
    db_close(other);
    query->db = dbfile_open_read(path, LANE_OBJECTS, query->err);
    /* The file is mapped, so the cache is small. Its size is also how much is sorted in one
     * instruction: 4 MiB take 0.1 s. */
    return query->db != NULL && attach(query, samples) &&
           db_exec(query->db, path, "cannot prepare it",
                   "PRAGMA main.mmap_size=17179869184; PRAGMA trace.mmap_size=17179869184;"
                   "PRAGMA cache_size=-4096; PRAGMA automatic_index=ON; PRAGMA temp_store=FILE",
                   query->err) &&
           make_views(query);
}

/* ---- the statement ---- */

static bool refuse_late(struct query *query)
{
    return err_set(query->err, ERR_TIMEOUT,
                   "the query was stopped after %lld ms; restrict it, for example with "
                   "WHERE ended_ms > ...",
                   (long long)(clock_mono_ms(clock_system()) - query->began_ms));
}

static bool refuse_budget(struct query *query)
{
    if (query->budget.exceeded == BUDGET_TIME)
        return refuse_late(query);
    bool is_temp = query->budget.exceeded == BUDGET_TEMP;
    return err_set(
        query->err, ERR_UNPROCESSABLE,
        "the query needs more than %d MiB of %s; sort or join fewer rows, for example with "
        "WHERE ended_ms > ...",
        (is_temp ? QUERY_TEMP_MAX : QUERY_MEMORY_MAX) >> 20,
        is_temp ? "temporary space" : "memory");
}

static bool refuse_statement(struct query *query, int rc)
{
    const char *text = sqlite3_errmsg(query->db);
    if (rc == SQLITE_TOOBIG)
        return err_set(query->err, ERR_INVALID,
                       "%s: a value, or a row that is sorted, has at most %d bytes", text,
                       QUERY_VALUE_MAX);
    if (text_has_prefix(text, "too many columns"))
        return err_set(query->err, ERR_INVALID, "%s: at most %d", text, QUERY_COLUMNS_MAX);
    return err_set(query->err, ERR_INVALID, "%s", text);
}

static bool refuse(struct query *query, int rc)
{
    int what = rc & 0xff;
    if (what == SQLITE_INTERRUPT)
        return refuse_late(query);
    /* After the limit of temporary files the deadline may pass too, before SQLite returns. */
    if ((what == SQLITE_NOMEM || what == SQLITE_FULL) && query->budget.exceeded != BUDGET_NONE)
        return refuse_budget(query);
    if (query->guard.refused[0] != '\0' || what == SQLITE_AUTH)
        return err_set(query->err, ERR_FORBIDDEN, "only reading is allowed: SELECT, and no %s",
                       query->guard.refused);
    if (what == SQLITE_ERROR || what == SQLITE_TOOBIG || what == SQLITE_MISMATCH ||
        what == SQLITE_RANGE)
        return refuse_statement(query, what);
    return db_fail(query->db, rc, query->path, "cannot run the query", query->err);
}

/* Does anything but blanks, comments and semicolons follow? */
static bool is_more(sqlite3 *db, const char *tail)
{
    while (*tail != '\0') {
        sqlite3_stmt *next = NULL;
        const char *after = NULL;
        int rc = sqlite3_prepare_v2(db, tail, -1, &next, &after);
        (void)sqlite3_finalize(next);
        if (rc != SQLITE_OK || next != NULL || after == tail)
            return true;
        tail = after;
    }
    return false;
}

static sqlite3_stmt *prepare(struct query *query, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    const char *tail = "";
    int rc = sqlite3_prepare_v2(query->db, sql, -1, &stmt, &tail);
    if (rc != SQLITE_OK) {
        (void)refuse(query, rc);
        return NULL;
    }
    const char *wrong = NULL;
    bool writes = stmt != NULL && sqlite3_stmt_readonly(stmt) == 0; /* for example VACUUM INTO */
    if (stmt == NULL)
        wrong = "no statement; expected SELECT";
    else if (is_more(query->db, tail))
        wrong = "only one statement is allowed";
    else if (writes)
        wrong = "only reading is allowed: SELECT";
    else if (sqlite3_bind_parameter_count(stmt) > 0)
        wrong = "the statement has parameters; use literal values";
    if (wrong == NULL)
        return stmt;
    (void)sqlite3_finalize(stmt);
    (void)err_set(query->err, writes ? ERR_FORBIDDEN : ERR_INVALID, "%s", wrong);
    return NULL;
}

static struct json_object *text_of(const char *text)
{
    struct json_object *holder = json_object_new_array();
    json_add_text(holder, "", text != NULL ? text : ""); /* converted to UTF-8 */
    struct json_object *value = json_object_get(json_object_array_get_idx(holder, 0));
    json_object_free(holder);
    return value;
}

/* False: the result is full. */
static bool add_value(struct query *query, sqlite3_stmt *stmt, int at, struct json_object *row)
{
    int type = sqlite3_column_type(stmt, at);
    bool is_text = type == SQLITE_TEXT || type == SQLITE_BLOB;
    query->bytes += VALUE_OVERHEAD;
    if (is_text)
        query->bytes += (size_t)sqlite3_column_bytes(stmt, at);
    if (query->bytes > QUERY_BYTES_MAX)
        return false;
    if (type == SQLITE_INTEGER)
        json_add(row, "", json_object_new_int64(sqlite3_column_int64(stmt, at)));
    else if (type == SQLITE_FLOAT)
        json_add(row, "", json_object_new_double(sqlite3_column_double(stmt, at)));
    else
        json_add(row, "", is_text ? text_of((const char *)sqlite3_column_text(stmt, at)) : NULL);
    return true;
}

/* A row is added completely or not at all. */
static bool add_row(struct query *query, sqlite3_stmt *stmt, struct json_object *rows)
{
    OWNED(json_object) row = json_object_new_array();
    int columns = sqlite3_column_count(stmt);
    for (int i = 0; i < columns; i++)
        if (!add_value(query, stmt, i, row))
            return false;
    json_add(rows, "", TAKE(row));
    return true;
}

static bool collect(struct query *query, sqlite3_stmt *stmt, struct json_object *answer)
{
    struct json_object *names = json_add_array(answer, "columns");
    struct json_object *rows = json_add_array(answer, "rows");
    const char *cut = NULL;
    int rc;
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        json_add_text(names, "", sqlite3_column_name(stmt, i));
    for (int64_t n = 0; (rc = sqlite3_step(stmt)) == SQLITE_ROW && cut == NULL; n++) {
        if (n == query->rows_max)
            cut = "rows";
        else if (!add_row(query, stmt, rows))
            cut = "bytes";
    }
    if (cut != NULL)
        json_add_text(answer, "cut", cut);
    json_add_i64(answer, "tookMs", clock_mono_ms(clock_system()) - query->began_ms);
    return cut != NULL || rc == SQLITE_DONE || refuse(query, rc);
}

static bool run_statement(struct query *query, const char *sql, struct json_object *answer)
{
    struct watchdog dog;
    if (!query_guard_set(&query->guard, query->db, query->err) ||
        !watchdog_start(&dog, query->db, query->until_ms, query->err))
        return false;
    query->budget.until_ms = query->until_ms;
    sqlite3_stmt *stmt = prepare(query, sql);
    bool done = stmt != NULL && collect(query, stmt, answer);
    (void)sqlite3_finalize(stmt);
    watchdog_stop(&dog);
    return done;
}

struct json_object *file_query_run(const char *state_dir, const char *sql,
                                   const struct query_limits *limits, struct err *err)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    struct query query = {
        .path = state_dir,
        .began_ms = now_ms,
        .until_ms = now_ms + query_ms(limits),
        .budget = {.memory_max = QUERY_MEMORY_MAX,
                   .temp_max = QUERY_TEMP_MAX,
                   .until_ms = INT64_MAX}, /* no deadline while opening */
        .rows_max = query_rows(limits),
        .err = err,
    };
    OWNED(json_object) answer = json_object_new_object();
    if (strlen(sql) >= QUERY_SQL_MAX) {
        (void)err_set(err, ERR_INVALID, "the statement is longer than %d bytes", QUERY_SQL_MAX);
        return NULL;
    }
    if (!budget_begin(&query.budget, err))
        return NULL;
    bool done = open_both(&query, state_dir) && hide_tokens(&query, sql) &&
                run_statement(&query, sql, answer);
    db_close(query.db);
    budget_end();
    return done ? TAKE(answer) : NULL;
}
