/* engine.c - statements on SQLite: transactions of a lane's writer, and the readers.
 *
 * Readers in WAL mode see the last commit and never wait; each has a connection of its own. A few
 * idle ones are kept, because opening costs more than most queries.
 */
#include <assert.h>
#include <stdio.h>

#include "store/sqlite/impl.h"

static struct lane_db *lane_of(struct store_sql *s, enum lane lane)
{
    return &store_sqlite_of(&s->store)->lanes[lane];
}

static bool run_plain(struct lane_db *lane, const char *sql, const char *doing, struct err *err)
{
    int rc = sqlite3_exec(lane->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || db_fail(lane->db, rc, lane_path(lane), doing, err);
}

bool engine_begin(struct store_sql *s, enum lane which, struct err *err)
{
    struct lane_db *lane = lane_of(s, which);
    if (lane->in_memory)
        (void)pthread_mutex_lock(&lane->lock); /* until commit or rollback */
    return run_plain(lane, "BEGIN IMMEDIATE", "cannot begin a transaction", err);
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct sql_value *value)
{
    switch (value->type) {
    case SQL_TEXT:
        return sqlite3_bind_text64(stmt, at, value->text, value->bytes, SQLITE_STATIC, SQLITE_UTF8);
    case SQL_INT: return sqlite3_bind_int64(stmt, at, value->number);
    case SQL_REAL: return sqlite3_bind_double(stmt, at, value->real);
    }
    return SQLITE_MISUSE;
}

/* Parameters are numbered in the order of their first use, and named $1, $2, ... in that order. */
static int bind_values(sqlite3_stmt *stmt, const struct sql_value *values, size_t n)
{
    int rc = SQLITE_OK;
    assert(sqlite3_bind_parameter_count(stmt) == (int)n);
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = bind_value(stmt, (int)i + 1, &values[i]);
    return rc;
}

bool engine_write(struct store_sql *s, enum lane which, const struct sql_write *write,
                  struct err *err)
{
    struct lane_db *lane = lane_of(s, which);
    sqlite3_stmt *stmt = lane->statements[write->id];
    assert(stmt != NULL);
    int64_t returned = 0;
    int rc = bind_values(stmt, write->values, write->n);
    if (rc == SQLITE_OK)
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            returned += sqlite3_column_int64(stmt, 0);
    bool done = rc == SQLITE_DONE;
    if (done && write->tally != NULL)
        *write->tally += sqlite3_column_count(stmt) > 0 ? returned : sqlite3_changes64(lane->db);
    if (done && s->fence[0] != '\0' && which == LANE_OBJECTS && statement_is_put(write->id) &&
        sqlite3_changes64(lane->db) == 0)
        done = err_set(err, ERR_FENCED, "%s: another appliance holds the lease by now",
                       lane_path(lane));
    else if (!done) {
        char doing[STATEMENT_DOING_MAX];
        statement_doing(write->id, doing);
        (void)db_fail(lane->db, rc, lane_path(lane), doing, err);
    }
    (void)sqlite3_reset(stmt);          /* returns the step's result again */
    (void)sqlite3_clear_bindings(stmt); /* bindings point into the row */
    return done;
}

bool engine_settle(struct store_sql *s, enum lane lane, struct err *err)
{
    (void)s, (void)lane, (void)err; /* nothing is queued */
    return true;
}

/* Also of a transaction that only deletes, which may change nothing for good reasons. */
static bool holds_fence(struct store_sql *s, struct lane_db *lane, struct err *err)
{
    char sql[FENCE_SQL_MAX + 32];
    int64_t holds = 0;
    (void)snprintf(sql, sizeof sql, "SELECT %s", s->fence);
    return db_int(lane->db, lane_path(lane), sql, &holds, err) &&
           (holds != 0 || err_set(err, ERR_FENCED, "%s: another appliance holds the lease by now",
                                  lane_path(lane)));
}

bool engine_commit(struct store_sql *s, enum lane which, struct err *err)
{
    struct lane_db *lane = lane_of(s, which);
    if (which == LANE_OBJECTS && s->fence[0] != '\0' && !holds_fence(s, lane, err))
        return false;
    if (!run_plain(lane, "COMMIT", "cannot commit", err))
        return false; /* rollback follows */
    if (lane->in_memory)
        (void)pthread_mutex_unlock(&lane->lock);
    return true;
}

void engine_rollback(struct store_sql *s, enum lane which)
{
    struct lane_db *lane = lane_of(s, which);
    db_rollback(lane->db);
    if (lane->in_memory)
        (void)pthread_mutex_unlock(&lane->lock);
}

/* ---- reading ---- */

static sqlite3 *borrow_reader(struct lane_db *lane, struct err *err)
{
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->in_memory)
        return lane->db; /* with the lock, until it is returned */
    sqlite3 *db = lane->idle_count > 0 ? lane->idle[--lane->idle_count] : NULL;
    (void)pthread_mutex_unlock(&lane->lock);
    return db != NULL ? db : db_open(lane->file.path, SQLITE_OPEN_READONLY, err);
}

static void return_reader(struct lane_db *lane, sqlite3 *db)
{
    if (lane->in_memory) {
        (void)pthread_mutex_unlock(&lane->lock);
        return;
    }
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->idle_count < READERS_IDLE_MAX)
        lane->idle[lane->idle_count++] = TAKE(db);
    (void)pthread_mutex_unlock(&lane->lock);
    db_close(db);
}

static const char *text_at(const struct sql_cells *cells, int at)
{
    return (const char *)sqlite3_column_text(cells->of, at);
}
static int64_t number_at(const struct sql_cells *cells, int at)
{
    return sqlite3_column_int64(cells->of, at);
}
static double real_at(const struct sql_cells *cells, int at)
{
    return sqlite3_column_double(cells->of, at);
}

/* SQLITE_DONE at the end, also when the reader has enough. */
static int visit_all(sqlite3_stmt *stmt, const struct sql_read *read)
{
    struct sql_cells cells = {.text = text_at, .number = number_at, .real = real_at, .of = stmt};
    int rc = bind_values(stmt, read->values, read->n);
    if (rc != SQLITE_OK)
        return rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (!read->row(read->ctx, &cells))
            return cells.failed ? SQLITE_NOMEM : SQLITE_DONE;
    return rc;
}

bool engine_read(struct store_sql *s, enum lane which, const struct sql_read *read, struct err *err)
{
    struct lane_db *lane = lane_of(s, which);
    sqlite3 *db = borrow_reader(lane, err);
    if (db == NULL)
        return false;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, read->sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = visit_all(stmt, read);
    bool done = rc == SQLITE_DONE || db_fail(db, rc, lane_path(lane), "cannot read it", err);
    (void)sqlite3_finalize(stmt);
    return_reader(lane, db);
    return done;
}

/* In files a connection of its own: the writer has a transaction open on another thread. */
bool engine_run(struct store_sql *s, const struct sql_read *read, struct err *err)
{
    struct lane_db *lane = lane_of(s, LANE_OBJECTS);
    sqlite3_stmt *stmt = NULL;
    (void)pthread_mutex_lock(&lane->lock);
    sqlite3 *db = lane->in_memory ? lane->db : db_open(lane->file.path, SQLITE_OPEN_READWRITE, err);
    if (db == NULL) {
        (void)pthread_mutex_unlock(&lane->lock);
        return false;
    }
    int rc = sqlite3_prepare_v2(db, read->sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = visit_all(stmt, read);
    bool done = rc == SQLITE_DONE || db_fail(db, rc, lane_path(lane), "cannot use a lease", err);
    (void)sqlite3_finalize(stmt);
    if (!lane->in_memory)
        db_close(db);
    (void)pthread_mutex_unlock(&lane->lock);
    return done;
}

/* synchronous=NORMAL syncs only at a checkpoint, so "on disk" takes one. */
bool engine_sync_samples(struct store_sql *s, struct err *err)
{
    struct lane_db *lane = lane_of(s, LANE_SAMPLES);
    int rc = sqlite3_wal_checkpoint_v2(lane->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY || /* another connection does it */
           db_fail(lane->db, rc, lane_path(lane), "cannot write samples to disk", err);
}

int64_t engine_bytes(struct store_sql *s, enum lane which)
{
    struct err ignored = {0};
    sqlite3 *db = lane_of(s, which)->db;
    int64_t pages = 0, unused = 0, size = 0;
    if (!db_int(db, "", "PRAGMA page_count", &pages, &ignored) ||
        !db_int(db, "", "PRAGMA freelist_count", &unused, &ignored) ||
        !db_int(db, "", "PRAGMA page_size", &size, &ignored))
        return 0;
    return (pages - unused) * size;
}

const char *engine_place(const struct store_sql *s, enum lane lane)
{
    return lane_path(&((const struct store_sqlite *)(const void *)s)->lanes[lane]);
}
