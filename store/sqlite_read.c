/* sqlite_read.c - the readers of store.h: one query, one loop, a visitor per row type. */
#include <assert.h>

#include "base/text.h"
#include "store/sqlite_impl.h"

/* A visitor of any type; visit() restores the type. */
struct query {
    enum row kind;
    const char *sql;
    const char *uid;  /* NULL: the statement has no ?1 */
    int64_t limit;    /* < 0: the statement has no number ?2 */
    const char *name; /* NULL: no text ?2 */
    bool (*visit)(const struct query *query, const union any_row *row);
    void *ctx;
    union {
#define ROW(id, name, table, lane, put, again, order) store_##name##_fn *name;
#include "store/rows.def"
#undef ROW
    } fn;
};

#define ROW(id, name, table, lane, put, again, order)                             \
    static bool visit_##name(const struct query *query, const union any_row *row) \
    {                                                                             \
        return query->fn.name(query->ctx, &row->name);                            \
    }
#include "store/rows.def"
#undef ROW

static int bind(sqlite3_stmt *stmt, const struct query *query)
{
    int rc = SQLITE_OK;
    if (query->uid != NULL)
        rc = sqlite3_bind_text(stmt, 1, query->uid, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && query->limit >= 0)
        rc = sqlite3_bind_int64(stmt, 2, query->limit);
    if (rc == SQLITE_OK && query->name != NULL)
        rc = sqlite3_bind_text(stmt, 2, query->name, -1, SQLITE_STATIC);
    return rc;
}

/* SQLITE_DONE at the end, also when the visitor stopped. */
static int visit_all(sqlite3_stmt *stmt, const struct query *query)
{
    int rc = bind(stmt, query);
    if (rc != SQLITE_OK)
        return rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        union any_row row;
        if (!rows_read(stmt, query->kind, &row))
            return SQLITE_NOMEM;
        if (!query->visit(query, &row))
            return SQLITE_DONE;
    }
    return rc;
}

static bool run(struct store *s, const struct query *query, struct err *err)
{
    struct lane_db *lane = &store_sqlite_of(s)->lanes[rows_type(query->kind)->lane];
    sqlite3 *db = lane_borrow_reader(lane, err);
    if (db == NULL)
        return false;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, query->sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = visit_all(stmt, query);
    bool done = rc == SQLITE_DONE || db_fail(db, rc, lane_path(lane), "cannot read it", err);
    (void)sqlite3_finalize(stmt);
    lane_return_reader(lane, db);
    return done;
}

static void select_of_job(enum row kind, char *out_sql)
{
    char tail[128];
    (void)snprintf(tail, sizeof tail, "WHERE job_uid = ?1 ORDER BY %s", rows_type(kind)->order);
    rows_select_sql(kind, NULL, tail, out_sql);
}

#define READ(id, name)                                                                            \
    bool read_each_##name(struct store *s, const char *job_uid, store_##name##_fn *fn, void *ctx, \
                          struct err *err)                                                        \
    {                                                                                             \
        char sql[ROWS_SQL_MAX];                                                                   \
        assert(job_uid != NULL);                                                                  \
        select_of_job(ROW_##id, sql);                                                             \
        struct query query = {.kind = ROW_##id,                                                   \
                              .sql = sql,                                                         \
                              .uid = job_uid,                                                     \
                              .limit = -1,                                                        \
                              .visit = visit_##name,                                              \
                              .ctx = ctx,                                                         \
                              .fn.name = fn};                                                     \
        return run(s, &query, err);                                                               \
    }
READ(TRANSITION, transition)
READ(INTENT, intent)
READ(OBSERVATION, observation)
READ(ERROR, error)
READ(MODE, mode)
READ(DECISION, decision)
READ(REJECTION, rejection)
READ(POINT, point)
READ(NUMBER, number)
READ(EVIDENCE, evidence)
READ(SAMPLE, sample)
READ(MONITOR_INPUT, monitor_input)
#undef READ

bool read_each_audit(struct store *s, store_audit_fn *fn, void *ctx, struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_AUDIT, NULL, "ORDER BY id", sql);
    struct query query = {.kind = ROW_AUDIT,
                          .sql = sql,
                          .limit = -1,
                          .visit = visit_audit,
                          .ctx = ctx,
                          .fn.audit = fn};
    return run(s, &query, err);
}

bool read_each_job(struct store *s, bool unfinished, store_job_fn *fn, void *ctx, struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB, NULL,
                    unfinished ? "WHERE outcome = '' ORDER BY created_ms, uid"
                               : "ORDER BY created_ms, uid",
                    sql);
    struct query query = {
        .kind = ROW_JOB, .sql = sql, .limit = -1, .visit = visit_job, .ctx = ctx, .fn.job = fn};
    return run(s, &query, err);
}

bool read_each_unjudged(struct store *s, store_job_fn *fn, void *ctx, struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB, NULL,
                    "WHERE outcome <> '' AND NOT EXISTS"
                    " (SELECT 1 FROM verdicts WHERE job_uid = uid) ORDER BY created_ms, uid",
                    sql);
    struct query query = {
        .kind = ROW_JOB, .sql = sql, .limit = -1, .visit = visit_job, .ctx = ctx, .fn.job = fn};
    return run(s, &query, err);
}

bool read_each_recent_job(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                          struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB,
                    "(SELECT * FROM jobs WHERE outcome = '' UNION ALL SELECT * FROM (SELECT * FROM"
                    " jobs WHERE outcome <> '' ORDER BY created_ms DESC, uid DESC LIMIT ?2))",
                    "ORDER BY created_ms, uid", sql);
    struct query query = {
        .kind = ROW_JOB, .sql = sql, .limit = limit, .visit = visit_job, .ctx = ctx, .fn.job = fn};
    return run(s, &query, err);
}

bool read_find_job(struct store *s, const char *ns, const char *name, store_job_fn *fn, void *ctx,
                   struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB, NULL,
                    "WHERE (ns = ?1 AND name = ?2) OR uid = ?2 ORDER BY created_ms DESC LIMIT 1",
                    sql);
    struct query query = {.kind = ROW_JOB,
                          .sql = sql,
                          .uid = ns,
                          .limit = -1,
                          .name = name,
                          .visit = visit_job,
                          .ctx = ctx,
                          .fn.job = fn};
    return run(s, &query, err);
}

bool read_each_verdict(struct store *s, const char *job_uid, store_verdict_fn *fn, void *ctx,
                       struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_VERDICT, NULL,
                    job_uid != NULL ? "WHERE job_uid = ?1" : "ORDER BY at_ms, job_uid", sql);
    struct query query = {.kind = ROW_VERDICT,
                          .sql = sql,
                          .uid = job_uid,
                          .limit = -1,
                          .visit = visit_verdict,
                          .ctx = ctx,
                          .fn.verdict = fn};
    return run(s, &query, err);
}

bool read_each_incident(struct store *s, bool only_open, store_incident_fn *fn, void *ctx,
                        struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_INCIDENT, NULL,
                    only_open ? "WHERE closed_ms = 0 ORDER BY opened_ms, job_uid"
                              : "ORDER BY opened_ms, job_uid",
                    sql);
    struct query query = {.kind = ROW_INCIDENT,
                          .sql = sql,
                          .limit = -1,
                          .visit = visit_incident,
                          .ctx = ctx,
                          .fn.incident = fn};
    return run(s, &query, err);
}

bool read_each_object(struct store *s, store_object_fn *fn, void *ctx, struct err *err)
{
    char tail[128], sql[ROWS_SQL_MAX];
    (void)snprintf(tail, sizeof tail, "WHERE removed = 0 ORDER BY %s",
                   rows_type(ROW_OBJECT)->order);
    rows_select_sql(ROW_OBJECT, NULL, tail, sql);
    struct query query = {.kind = ROW_OBJECT,
                          .sql = sql,
                          .limit = -1,
                          .visit = visit_object,
                          .ctx = ctx,
                          .fn.object = fn};
    return run(s, &query, err);
}

bool read_each_event(struct store *s, const char *uid, size_t limit, store_event_fn *fn, void *ctx,
                     struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_EVENT,
                    uid != NULL ? "(SELECT * FROM events WHERE uid = ?1"
                                  " ORDER BY at_ms DESC, id DESC LIMIT ?2)"
                                : "(SELECT * FROM events ORDER BY at_ms DESC, id DESC LIMIT ?2)",
                    "ORDER BY at_ms, id", sql);
    struct query query = {.kind = ROW_EVENT,
                          .sql = sql,
                          .uid = uid,
                          .limit = limit < INT64_MAX ? (int64_t)limit : INT64_MAX,
                          .visit = visit_event,
                          .ctx = ctx,
                          .fn.event = fn};
    return run(s, &query, err);
}

bool read_identity(struct store *s, struct store_identity *out_identity, struct err *err)
{
    struct lane_db *lane = &store_sqlite_of(s)->lanes[LANE_OBJECTS];
    const char *doing = "cannot read the appliance's identity";
    sqlite3 *db = lane_borrow_reader(lane, err);
    if (db == NULL)
        return false;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT id, epoch, restored_ms, seen_ms FROM appliance", -1,
                                &stmt, NULL);
    rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
    if (rc == SQLITE_ROW) {
        TEXT_SET(out_identity->id, (const char *)sqlite3_column_text(stmt, 0));
        out_identity->epoch = sqlite3_column_int64(stmt, 1);
        out_identity->restored_ms = sqlite3_column_int64(stmt, 2);
        out_identity->seen_ms = sqlite3_column_int64(stmt, 3);
    } else if (rc == SQLITE_DONE) {
        (void)err_set(err, ERR_CORRUPT, "%s: table appliance is empty; restore a backup",
                      lane_path(lane));
    } else {
        (void)db_fail(db, rc, lane_path(lane), doing, err);
    }
    (void)sqlite3_finalize(stmt);
    lane_return_reader(lane, db);
    return rc == SQLITE_ROW;
}
