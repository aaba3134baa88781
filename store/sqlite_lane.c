/* sqlite_lane.c - one lane: its writing connection with its statements, and the readers.
 *
 * Readers in WAL mode see the last commit and never wait; each has a connection of its own. A few
 * idle ones are kept, because opening costs more than most queries.
 */
#include "store/sqlite_impl.h"

#include <assert.h>

static const char *const chore_sql[CHORE_COUNT] = {
    [CHORE_CLEAR_REJECTIONS] = "DELETE FROM rejections WHERE job_uid = ?1",
    [CHORE_CLEAR_VERDICT] = "DELETE FROM verdicts WHERE job_uid = ?1",
    [CHORE_CLEAR_POINTS] = "DELETE FROM verdict_points WHERE job_uid = ?1",
    [CHORE_CLEAR_NUMBERS] = "DELETE FROM verdict_numbers WHERE job_uid = ?1",
    [CHORE_TRIM_OBJECT_EVENTS] =
        ("DELETE FROM events WHERE id IN (SELECT id FROM events WHERE uid = ?1"
         " ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?2)"),
    [CHORE_TRIM_EVENTS] =
        "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY at_ms, id LIMIT ?2)",
};

void lane_init(struct lane_db *lane)
{
    *lane = (struct lane_db){0};
    pthread_mutexattr_t attr;
    (void)pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr,
                                    PTHREAD_MUTEX_RECURSIVE); /* visitors may call the store */
    (void)pthread_mutex_init(&lane->lock, &attr);
    (void)pthread_mutexattr_destroy(&attr);
}

const char *lane_path(const struct lane_db *lane)
{
    return lane->in_memory ? "memory" : lane->file.path;
}

static bool prepare_one(struct lane_db *lane, const char *sql, sqlite3_stmt **out_stmt,
                        struct err *err)
{
    int rc = sqlite3_prepare_v3(lane->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out_stmt, NULL);
    return rc == SQLITE_OK || db_fail(lane->db, rc, lane_path(lane), "cannot use its tables", err);
}

static bool prepare(struct lane_db *lane, enum lane which, struct err *err)
{
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        char sql[ROWS_SQL_MAX];
        rows_insert_sql(kind, sql);
        if (rows_type(kind)->lane == which && !prepare_one(lane, sql, &lane->put[kind], err))
            return false;
    }
    for (enum chore chore = 0; chore < CHORE_COUNT; chore++)
        if (which == LANE_OBJECTS &&
            !prepare_one(lane, chore_sql[chore], &lane->chores[chore], err))
            return false;
    return true;
}

bool lane_open_memory(struct lane_db *lane, enum lane which, struct err *err)
{
    lane->in_memory = true;
    lane->db = db_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    return lane->db != NULL && schema_bring_forward(lane->db, "memory", schema_of(which), err) &&
           prepare(lane, which, err);
}

bool lane_open_file(struct lane_db *lane, struct err *err)
{
    lane->db = dbfile_open(&lane->file, err);
    return lane->db != NULL && prepare(lane, lane->file.lane, err);
}

void lane_fini(struct lane_db *lane)
{
    for (size_t i = 0; i < lane->idle_count; i++)
        db_close(lane->idle[i]);
    for (enum row kind = 0; kind < ROW_COUNT; kind++)
        (void)sqlite3_finalize(lane->put[kind]);
    for (enum chore chore = 0; chore < CHORE_COUNT; chore++)
        (void)sqlite3_finalize(lane->chores[chore]);
    db_close(lane->db); /* last: checkpoints and removes the log */
    (void)pthread_mutex_destroy(&lane->lock);
}

/* bound: result code of binding. */
static int step_once(sqlite3_stmt *stmt, int bound)
{
    int rc = bound == SQLITE_OK ? sqlite3_step(stmt) : bound;
    (void)sqlite3_reset(stmt);          /* returns the step's result again */
    (void)sqlite3_clear_bindings(stmt); /* bindings point into the row */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int lane_put(struct lane_db *lane, enum row kind, const void *row)
{
    sqlite3_stmt *stmt = lane->put[kind];
    assert(stmt != NULL);
    return step_once(stmt, rows_bind(stmt, kind, row));
}

int lane_do(struct lane_db *lane, enum chore chore, const char *uid, int64_t number)
{
    sqlite3_stmt *stmt = lane->chores[chore];
    assert(stmt != NULL);
    int rc = sqlite3_bind_text(stmt, 1, uid, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) == 2)
        rc = sqlite3_bind_int64(stmt, 2, number);
    return step_once(stmt, rc);
}

sqlite3 *lane_borrow_reader(struct lane_db *lane, struct err *err)
{
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->in_memory)
        return lane->db; /* with the lock, until it is returned */
    sqlite3 *db = lane->idle_count > 0 ? lane->idle[--lane->idle_count] : NULL;
    (void)pthread_mutex_unlock(&lane->lock);
    return db != NULL ? db : db_open(lane->file.path, SQLITE_OPEN_READONLY, err);
}

void lane_return_reader(struct lane_db *lane, sqlite3 *db)
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
