/* query.c - see query.h. */
#include "store/query.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/db.h"
#include "store/dbfile.h"

enum { PROGRESS_OPS = 10000, LIKE_BYTES_MAX = 1000, DEPTH_MAX = 200, VALUE_MAX = 1024 * 1024 };

static const struct {
    const char *name, *sql;
} views[] = {
#define VIEW(name, help, sql) {name, sql},
#include "store/views.def"
#undef VIEW
};

struct asking {
    sqlite3 *db;
    const char *path;
    int64_t began_ms, until_ms, rows_max;
    bool is_late;
    char refused[96]; /* what the authorizer said no to */
    size_t bytes;
    struct err *err;
};

/* ---- what is let pass ---- */

static bool is_harmless(const char *function)
{
    static const char *const banned[] = {"load_extension", "fts3_tokenizer", "readfile",
                                         "writefile",      "edit",           "randomblob"};
    for (size_t i = 0; i < COUNT(banned); i++)
        if (strcasecmp(function, banned[i]) == 0)
            return false;
    return true;
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *database,
                     const char *view)
{
    struct asking *asking = ctx;
    (void)database, (void)view;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
        (action == SQLITE_FUNCTION && b != NULL && is_harmless(b)))
        return SQLITE_OK;
    const char *what = action == SQLITE_ATTACH     ? "ATTACH"
                       : action == SQLITE_PRAGMA   ? "PRAGMA"
                       : action == SQLITE_FUNCTION ? b
                       : a != NULL                 ? a
                                                   : "";
    if (asking->refused[0] == '\0')
        TEXT_SET(asking->refused, what == NULL ? "" : what);
    return SQLITE_DENY;
}

static int on_progress(void *ctx)
{
    struct asking *asking = ctx;
    asking->is_late = clock_mono_ms(clock_system()) > asking->until_ms;
    return asking->is_late ? 1 : 0;
}

/* ---- the connection ---- */

static bool attach(struct asking *asking, const char *samples)
{
    sqlite3_stmt *stmt = NULL;
    (void)sqlite3_limit(asking->db, SQLITE_LIMIT_ATTACHED, 1);
    int rc = sqlite3_prepare_v2(asking->db, "ATTACH ?1 AS trace", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, samples, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    bool done = rc == SQLITE_DONE ||
                db_fail(asking->db, rc, samples, "cannot open it to read", asking->err);
    (void)sqlite3_finalize(stmt);
    return done;
}

static bool make_views(struct asking *asking)
{
    for (size_t i = 0; i < COUNT(views); i++) {
        char sql[4096];
        int n = snprintf(sql, sizeof sql, "CREATE TEMP VIEW %s AS %s", views[i].name, views[i].sql);
        if (n < 0 || (size_t)n >= sizeof sql)
            return err_set(asking->err, ERR_INTERNAL, "view %s is too long", views[i].name);
        if (!db_exec(asking->db, asking->path, "cannot make a view", sql, asking->err))
            return false;
    }
    return true;
}

static void confine(struct asking *asking)
{
    sqlite3 *db = asking->db;
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, QUERY_SQL_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, DEPTH_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 64);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_BYTES_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_progress_handler(db, PROGRESS_OPS, on_progress, asking);
    (void)sqlite3_set_authorizer(db, authorize, asking);
}

static bool open_both(struct asking *asking, const char *dir)
{
    char path[DB_PATH_MAX], samples[DB_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, schema_of(LANE_OBJECTS)->file);
    int m = snprintf(samples, sizeof samples, "%s/%s", dir, schema_of(LANE_SAMPLES)->file);
    if (n < 0 || (size_t)n >= sizeof path || m < 0 || (size_t)m >= sizeof samples)
        return err_set(asking->err, ERR_LIMIT, "%.200s...: the path is too long", dir);
    sqlite3 *other = dbfile_open_read(samples, LANE_SAMPLES, asking->err); /* to see that it is */
    if (other == NULL)
        return false;
    db_close(other);
    asking->db = dbfile_open_read(path, LANE_OBJECTS, asking->err);
    /* A copy of the page in memory would cost more than it saves: the file is mapped. */
    return asking->db != NULL && attach(asking, samples) &&
           db_exec(asking->db, path, "cannot prepare it",
                   "PRAGMA main.mmap_size=17179869184; PRAGMA trace.mmap_size=17179869184;"
                   "PRAGMA cache_size=-16384; PRAGMA automatic_index=ON",
                   asking->err) &&
           make_views(asking);
}

/* ---- the statement ---- */

static bool refuse(struct asking *asking, int rc)
{
    if (asking->is_late || rc == SQLITE_INTERRUPT)
        return err_set(asking->err, ERR_TIMEOUT,
                       "the query was stopped after %lld ms; ask for less, for one with "
                       "WHERE ended_ms > ...",
                       (long long)(clock_mono_ms(clock_system()) - asking->began_ms));
    if (asking->refused[0] != '\0' || (rc & 0xff) == SQLITE_AUTH)
        return err_set(asking->err, ERR_FORBIDDEN, "only reading is allowed: SELECT, and no %s",
                       asking->refused);
    if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_TOOBIG ||
        (rc & 0xff) == SQLITE_MISMATCH || (rc & 0xff) == SQLITE_RANGE)
        return err_set(asking->err, ERR_INVALID, "%s", sqlite3_errmsg(asking->db));
    return db_fail(asking->db, rc, asking->path, "cannot answer", asking->err);
}

/* Whether something but blanks, comments and semicolons follows. */
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

static sqlite3_stmt *prepare(struct asking *asking, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    const char *tail = "";
    int rc = sqlite3_prepare_v2(asking->db, sql, -1, &stmt, &tail);
    if (rc != SQLITE_OK) {
        (void)refuse(asking, rc);
        return NULL;
    }
    const char *wrong = NULL;
    bool writes = stmt != NULL && sqlite3_stmt_readonly(stmt) == 0; /* VACUUM INTO, for one */
    if (stmt == NULL)
        wrong = "there is no statement; ask with SELECT";
    else if (is_more(asking->db, tail))
        wrong = "one statement at a time";
    else if (writes)
        wrong = "only reading is allowed: SELECT";
    else if (sqlite3_bind_parameter_count(stmt) > 0)
        wrong = "the statement has parameters; write the values";
    if (wrong == NULL)
        return stmt;
    (void)sqlite3_finalize(stmt);
    (void)err_set(asking->err, writes ? ERR_FORBIDDEN : ERR_INVALID, "%s", wrong);
    return NULL;
}

static struct json_object *value_of(struct asking *asking, sqlite3_stmt *stmt, int at)
{
    asking->bytes += 16;
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_INTEGER: return json_object_new_int64(sqlite3_column_int64(stmt, at));
    case SQLITE_FLOAT: return json_object_new_double(sqlite3_column_double(stmt, at));
    case SQLITE_NULL: return NULL;
    default: break;
    }
    const char *text = (const char *)sqlite3_column_text(stmt, at);
    asking->bytes += (size_t)sqlite3_column_bytes(stmt, at);
    struct json_object *holder = json_object_new_array();
    json_add_text(holder, "", text != NULL ? text : ""); /* made UTF-8 there */
    struct json_object *value = json_object_get(json_object_array_get_idx(holder, 0));
    json_object_free(holder);
    return value;
}

static bool collect(struct asking *asking, sqlite3_stmt *stmt, struct json_object *answer)
{
    struct json_object *names = json_add_array(answer, "columns");
    struct json_object *rows = json_add_array(answer, "rows");
    int columns = sqlite3_column_count(stmt), rc;
    for (int i = 0; i < columns; i++)
        json_add_text(names, "", sqlite3_column_name(stmt, i));
    int64_t n = 0;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (n == asking->rows_max || asking->bytes > QUERY_BYTES_MAX) {
            json_add_text(answer, "cut", n == asking->rows_max ? "rows" : "bytes");
            rc = SQLITE_DONE;
            break;
        }
        struct json_object *row = json_add_array(rows, "");
        for (int i = 0; i < columns; i++)
            json_add(row, "", value_of(asking, stmt, i));
        n++;
    }
    json_add_i64(answer, "tookMs", clock_mono_ms(clock_system()) - asking->began_ms);
    return rc == SQLITE_DONE || refuse(asking, rc);
}

static bool answer_it(struct asking *asking, const char *sql, struct json_object *answer)
{
    confine(asking);
    sqlite3_stmt *stmt = prepare(asking, sql);
    bool done = stmt != NULL && collect(asking, stmt, answer);
    (void)sqlite3_finalize(stmt);
    return done;
}

static int64_t bounded(int64_t value, int64_t fallback, int64_t max)
{
    return value <= 0 ? fallback : value < max ? value : max;
}

struct json_object *query_run(const char *state_dir, const char *sql,
                              const struct query_limits *limits, struct err *err)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    struct asking asking = {
        .path = state_dir,
        .began_ms = now_ms,
        .until_ms = now_ms + bounded(limits->ms, QUERY_MS_DEFAULT, QUERY_MS_MAX),
        .rows_max = bounded(limits->rows, QUERY_ROWS_DEFAULT, QUERY_ROWS_MAX),
        .err = err,
    };
    OWNED(json_object) answer = json_object_new_object();
    if (strlen(sql) >= QUERY_SQL_MAX) {
        (void)err_set(err, ERR_INVALID, "the statement is longer than %d bytes", QUERY_SQL_MAX);
        return NULL;
    }
    bool done = open_both(&asking, state_dir) && answer_it(&asking, sql, answer);
    db_close(asking.db);
    return done ? TAKE(answer) : NULL;
}

/* ---- CSV ---- */

static void add_field(struct buf *out, struct json_object *value)
{
    if (value == NULL)
        return;
    const char *text = json_object_get_string(value);
    if (!json_object_is_type(value, json_type_string) || strpbrk(text, ",\"\r\n") == NULL) {
        buf_add(out, text);
        return;
    }
    buf_add(out, "\"");
    for (; *text != '\0'; text++)
        buf_add_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    buf_add(out, "\"");
}

static void add_line(struct buf *out, struct json_object *values)
{
    size_t n = values != NULL ? json_object_array_length(values) : 0;
    for (size_t i = 0; i < n; i++) {
        buf_add(out, i > 0 ? "," : "");
        add_field(out, json_object_array_get_idx(values, i));
    }
    buf_add(out, "\r\n");
}

void query_csv(struct json_object *answer, struct buf *out)
{
    struct json_object *rows = json_at(answer, "rows");
    size_t n = rows != NULL ? json_object_array_length(rows) : 0;
    add_line(out, json_at(answer, "columns"));
    for (size_t i = 0; i < n; i++)
        add_line(out, json_object_array_get_idx(rows, i));
}
