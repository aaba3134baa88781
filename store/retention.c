/* retention.c - see retention.h: selects and deletes expired rows. History is deleted by the time
 * of the end (index jobs_ended). Samples have no such index: traces are visited round-robin by uid,
 * a few at a time; the age of a trace is that of its newest sample. While the file is too large
 * after a whole round, the next round halves the limits. */
#include "store/retention.h"

#include <string.h>

#include "base/text.h"
#include "store/sqlite_impl.h"

enum { ORPHAN_MS = 3600 * 1000, PRESSURE_MAX = 20 };
static const int64_t HOUR_MS = 3600 * 1000;
static const int64_t GIB = INT64_C(1) << 30;

void store_retention_default(struct store_retention *out_retention)
{
    *out_retention = (struct store_retention){
        .full_samples_ms = 48 * HOUR_MS,
        .samples_ms = 14 * 24 * HOUR_MS,
        .history_ms = 365 * 24 * HOUR_MS,
        .samples_bytes = 4 * GIB,
        .history_bytes = 16 * GIB,
    };
}

static int64_t used_bytes(sqlite3 *db)
{
    struct err ignored = {0};
    int64_t pages = 0, unused = 0, size = 0;
    if (!db_int(db, "", "PRAGMA page_count", &pages, &ignored) ||
        !db_int(db, "", "PRAGMA freelist_count", &unused, &ignored) ||
        !db_int(db, "", "PRAGMA page_size", &size, &ignored))
        return 0;
    return (pages - unused) * size;
}

/* Runs one statement with up to a text and a number. SQLite's result code. */
static int run(sqlite3 *db, const char *sql, const char *text, int64_t number)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK && text != NULL)
        rc = sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_index(stmt, "?2") > 0)
        rc = sqlite3_bind_int64(stmt, 2, number);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* ---- history ---- */

struct uids {
    size_t n;
    char uid[RETENTION_STEP_JOBS][64];
};

/* The oldest deletable job: ended and without an open incident. */
static int find_old(sqlite3 *db, int64_t before_ms, struct uids *out)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(
        db,
        "SELECT uid FROM jobs WHERE outcome <> '' AND ended_ms < ?1 AND NOT EXISTS"
        " (SELECT 1 FROM incidents WHERE job_uid = uid AND closed_ms = 0)"
        " ORDER BY ended_ms LIMIT ?2",
        -1, &stmt, NULL);
    out->n = 0;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 1, before_ms);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int(stmt, 2, RETENTION_STEP_JOBS);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && out->n < RETENTION_STEP_JOBS)
        TEXT_SET(out->uid[out->n++], (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    return rc;
}

static int drop_job(sqlite3 *db, const char *uid)
{
    static const char *const statements[] = {
        "DELETE FROM transitions WHERE job_uid = ?1",
        "DELETE FROM intents WHERE job_uid = ?1",
        "DELETE FROM observations WHERE job_uid = ?1",
        "DELETE FROM errors WHERE job_uid = ?1",
        "DELETE FROM modes WHERE job_uid = ?1",
        "DELETE FROM decisions WHERE job_uid = ?1",
        "DELETE FROM rejections WHERE job_uid = ?1",
        "DELETE FROM verdict_points WHERE job_uid = ?1",
        "DELETE FROM verdict_numbers WHERE job_uid = ?1",
        "DELETE FROM evidence WHERE job_uid = ?1",
        "DELETE FROM verdicts WHERE job_uid = ?1",
        "DELETE FROM incidents WHERE job_uid = ?1",
        "DELETE FROM jobs WHERE uid = ?1",
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < COUNT(statements) && rc == SQLITE_OK; i++)
        rc = run(db, statements[i], uid, 0);
    return rc;
}

static bool drop_history(struct store_sqlite *sq, int64_t before_ms, bool *out_did, struct err *err)
{
    struct lane_db *lane = &sq->lanes[LANE_OBJECTS];
    struct uids old;
    int rc = find_old(lane->db, before_ms, &old);
    if (rc == SQLITE_OK && old.n == 0)
        return true;
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(lane->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < old.n && rc == SQLITE_OK; i++)
        rc = drop_job(lane->db, old.uid[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(lane->db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        (void)db_fail(lane->db, rc, lane_path(lane), "cannot delete expired rows", err);
        db_rollback(lane->db);
        return false;
    }
    atomic_fetch_add(&sq->jobs_dropped, old.n);
    *out_did = true;
    return true;
}

/* Incidents of guests that no migration moved; those of migrations go with them. */
static bool drop_incidents(struct store_sqlite *sq, int64_t before_ms, bool *out_did,
                           struct err *err)
{
    struct lane_db *lane = &sq->lanes[LANE_OBJECTS];
    int rc = run(lane->db,
                 "DELETE FROM incidents WHERE job_uid IN (SELECT job_uid FROM incidents"
                 " WHERE opened_ms < ?2 AND closed_ms > 0 AND closed_ms < ?2 AND NOT EXISTS"
                 " (SELECT 1 FROM jobs WHERE uid = job_uid) ORDER BY opened_ms LIMIT 100)",
                 NULL, before_ms);
    if (rc != SQLITE_OK)
        return db_fail(lane->db, rc, lane_path(lane), "cannot delete expired incidents", err);
    *out_did = *out_did || sqlite3_changes(lane->db) > 0;
    return true;
}

/* Where the clock of retention stands; see begin_retention() of the engine. */
static bool note_time(struct store_sqlite *sq, int64_t now_ms, struct err *err)
{
    struct lane_db *lane = &sq->lanes[LANE_OBJECTS];
    int64_t since_ms = now_ms - sq->retention.noted_ms;
    if (since_ms >= 0 && since_ms < HOUR_MS)
        return true;
    int rc = run(lane->db, "UPDATE appliance SET seen_ms = ?2", NULL, now_ms);
    sq->retention.noted_ms = now_ms;
    return rc == SQLITE_OK || db_fail(lane->db, rc, lane_path(lane), "cannot store the time", err);
}

static bool retain_history(struct store_sqlite *sq, int64_t now_ms, bool *out_did, struct err *err)
{
    const struct store_retention *r = &sq->retention.settings;
    bool too_large =
        r->history_bytes > 0 && used_bytes(sq->lanes[LANE_OBJECTS].db) > r->history_bytes;
    int64_t age_ms = too_large ? ORPHAN_MS : r->history_ms; /* too large: the oldest, of any age */
    return age_ms <= 0 || (drop_history(sq, now_ms - age_ms, out_did, err) &&
                           drop_incidents(sq, now_ms - age_ms, out_did, err));
}

/* ---- samples ---- */

struct trace {
    char uid[64];
    int64_t newest_ms;       /* of its samples and monitor inputs */
    bool has_monitor_inputs; /* not thinned yet */
};

/* The next trace after the cursor; uid "" at the end. */
static int next_trace(sqlite3 *db, const char *after, struct trace *out)
{
    sqlite3_stmt *stmt = NULL;
    *out = (struct trace){0};
    int rc = sqlite3_prepare_v2(
        db,
        "SELECT t.uid, max(coalesce((SELECT at_ms FROM samples WHERE job_uid = t.uid"
        " ORDER BY seq DESC LIMIT 1), 0), coalesce((SELECT at_ms FROM monitor_inputs WHERE job_uid "
        "= t.uid"
        " ORDER BY seq DESC LIMIT 1), 0)), EXISTS (SELECT 1 FROM monitor_inputs WHERE job_uid = "
        "t.uid)"
        " FROM (SELECT min(uid) AS uid FROM (SELECT min(job_uid) AS uid FROM samples WHERE job_uid"
        " > ?1 UNION ALL SELECT min(job_uid) FROM monitor_inputs WHERE job_uid > ?1)) AS t"
        " WHERE t.uid IS NOT NULL",
        -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, after, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        TEXT_SET(out->uid, (const char *)sqlite3_column_text(stmt, 0));
        out->newest_ms = sqlite3_column_int64(stmt, 1);
        out->has_monitor_inputs = sqlite3_column_int(stmt, 2) != 0;
    }
    (void)sqlite3_finalize(stmt);
    return rc;
}

enum job_state { JOB_ENDED, JOB_UNFINISHED, JOB_GONE, JOB_NOT_KNOWN };

/* Read from the other file: traces of unfinished jobs are kept. */
static enum job_state state_of(struct store_sqlite *sq, const char *uid)
{
    struct err ignored = {0};
    struct lane_db *lane = &sq->lanes[LANE_OBJECTS];
    sqlite3 *db = lane_borrow_reader(lane, &ignored);
    enum job_state state = JOB_NOT_KNOWN;
    sqlite3_stmt *stmt = NULL;
    if (db == NULL)
        return state;
    if (sqlite3_prepare_v2(db, "SELECT outcome = '' FROM jobs WHERE uid = ?1", -1, &stmt, NULL) ==
            SQLITE_OK &&
        sqlite3_bind_text(stmt, 1, uid, -1, SQLITE_STATIC) == SQLITE_OK) {
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            state = sqlite3_column_int(stmt, 0) != 0 ? JOB_UNFINISHED : JOB_ENDED;
        else if (rc == SQLITE_DONE)
            state = JOB_GONE;
    }
    (void)sqlite3_finalize(stmt);
    lane_return_reader(lane, db);
    return state;
}

static int drop_rows(sqlite3 *db, const char *uid)
{
    int rc = run(db,
                 "DELETE FROM samples WHERE job_uid = ?1 AND seq IN (SELECT seq FROM samples"
                 " WHERE job_uid = ?1 ORDER BY seq LIMIT ?2)",
                 uid, RETENTION_STEP_ROWS);
    return rc != SQLITE_OK
               ? rc
               : run(db,
                     "DELETE FROM monitor_inputs WHERE job_uid = ?1 AND seq IN (SELECT seq FROM"
                     " monitor_inputs WHERE job_uid = ?1 ORDER BY seq LIMIT ?2)",
                     uid, RETENTION_STEP_ROWS);
}

/* Keeps one per second, those at iterations, and the last. Monitor inputs are deleted when the
 * samples have been thinned: a replay needs all samples. */
static int thin_rows(sqlite3 *db, const char *uid)
{
    int rc = run(db,
                 "DELETE FROM samples WHERE job_uid = ?1 AND seq IN (SELECT seq FROM (SELECT seq,"
                 " source, row_number() OVER (PARTITION BY at_ms / 1000 ORDER BY seq) AS nth,"
                 " max(seq) OVER () AS last FROM samples WHERE job_uid = ?1)"
                 " WHERE nth > 1 AND source = 'poll' AND seq < last LIMIT ?2)",
                 uid, RETENTION_STEP_ROWS);
    if (rc != SQLITE_OK || sqlite3_changes(db) > 0)
        return rc;
    return run(
        db,
        "DELETE FROM monitor_inputs WHERE job_uid = ?1 AND seq IN (SELECT seq FROM monitor_inputs"
        " WHERE job_uid = ?1 ORDER BY seq LIMIT ?2)",
        uid, RETENTION_STEP_ROWS);
}

static int64_t under_pressure(int64_t age_ms, unsigned pressure)
{
    return age_ms <= 0 ? (pressure == 0 ? 0 : 365 * 24 * HOUR_MS >> pressure) : age_ms >> pressure;
}

/* True: rows were deleted. */
static bool retain_trace(struct store_sqlite *sq, const struct trace *trace, int64_t now_ms)
{
    struct retaining *r = &sq->retention;
    sqlite3 *db = sq->lanes[LANE_SAMPLES].db;
    int64_t age_ms = now_ms - trace->newest_ms;
    int64_t full_ms = under_pressure(r->settings.full_samples_ms, r->pressure);
    int64_t keep_ms = under_pressure(r->settings.samples_ms, r->pressure);
    if (age_ms < ORPHAN_MS && r->pressure < PRESSURE_MAX)
        return false; /* may be active or just ended */
    enum job_state state = state_of(sq, trace->uid);
    if (state == JOB_UNFINISHED || state == JOB_NOT_KNOWN)
        return false;
    int before = sqlite3_total_changes(db);
    if (state == JOB_GONE || (keep_ms > 0 && age_ms > keep_ms))
        (void)drop_rows(db, trace->uid);
    else if (full_ms > 0 && age_ms > full_ms && trace->has_monitor_inputs)
        (void)thin_rows(db, trace->uid);
    int deleted = sqlite3_total_changes(db) - before;
    atomic_fetch_add(&sq->samples_retired, (uint64_t)deleted);
    return deleted > 0;
}

/* After a whole round: adjusts the pressure to the file size. */
static void round_over(struct store_sqlite *sq)
{
    struct retaining *r = &sq->retention;
    r->cursor[0] = '\0';
    bool too_large = r->settings.samples_bytes > 0 &&
                     used_bytes(sq->lanes[LANE_SAMPLES].db) > r->settings.samples_bytes;
    r->pressure = !too_large ? 0 : r->pressure < PRESSURE_MAX ? r->pressure + 1 : PRESSURE_MAX;
}

/* By age, as the history, and by number: a flood of changes does not fill the disk. */
static void retain_audit(struct store_sqlite *sq, int64_t now_ms)
{
    sqlite3 *db = sq->lanes[LANE_SAMPLES].db;
    int64_t age_ms = sq->retention.settings.history_ms;
    if (age_ms > 0)
        (void)run(db,
                  "DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at_ms < ?2 AND"
                  " ?1 = '' LIMIT 1000)",
                  "", now_ms - age_ms);
    (void)run(db,
              "DELETE FROM audit_log WHERE ?1 = '' AND id <= (SELECT max(id) FROM audit_log) - ?2",
              "", RETENTION_AUDIT_ROWS);
}

bool retention_samples(struct store_sqlite *sq, int64_t now_ms)
{
    struct retaining *r = &sq->retention;
    if (!atomic_load(&r->is_set))
        return false;
    retain_audit(sq, now_ms);
    for (int i = 0; i < RETENTION_STEP_TRACES; i++) {
        struct trace trace;
        if (next_trace(sq->lanes[LANE_SAMPLES].db, r->cursor, &trace) != SQLITE_OK)
            return false;
        if (trace.uid[0] == '\0') {
            round_over(sq);
            return r->pressure > 0;
        }
        if (retain_trace(sq, &trace, now_ms))
            return true; /* visit it again: there may be more */
        TEXT_SET(r->cursor, trace.uid);
    }
    return false;
}

/* ---- the operations of store.h ---- */

void retention_set(struct store *s, const struct store_retention *retention)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    sq->retention.settings = *retention; /* before is_set */
    atomic_store(&sq->retention.is_set, true);
}

bool retention_step(struct store *s, int64_t now_ms, bool *out_did, struct err *err)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    struct lane_db *samples = &sq->lanes[LANE_SAMPLES];
    *out_did = false;
    atomic_store(&sq->retention.now_ms, now_ms);
    if (!atomic_load(&sq->retention.is_set))
        return true;
    if (samples->in_memory) { /* no thread: at once */
        (void)pthread_mutex_lock(&samples->lock);
        *out_did = retention_samples(sq, now_ms);
        (void)pthread_mutex_unlock(&samples->lock);
    }
    struct lane_db *objects = &sq->lanes[LANE_OBJECTS];
    if (objects->in_memory)
        (void)pthread_mutex_lock(&objects->lock);
    bool good = note_time(sq, now_ms, err) && retain_history(sq, now_ms, out_did, err);
    if (objects->in_memory)
        (void)pthread_mutex_unlock(&objects->lock);
    return good;
}
