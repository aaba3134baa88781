/* read.c - the readers of store.h: one query, one loop, a visitor per row type. */
#include <assert.h>

#include "base/text.h"
#include "store/sql.h"
#include "store/sql_ops.h"

/* A visitor of any type; visit() restores the type. */
struct query {
    enum row kind;
    const char *sql;
    struct sql_value values[2]; /* of $1 and $2 */
    size_t n;
    bool (*visit)(const struct query *query, const union any_row *row);
    void *ctx;
    union {
#define ROW(id, name, table, lane, key, again, order) store_##name##_fn *name;
#include "store/rows.def"
#undef ROW
    } fn;
};

#define ROW(id, name, table, lane, key, again, order)                             \
    static bool visit_##name(const struct query *query, const union any_row *row) \
    {                                                                             \
        return query->fn.name(query->ctx, &row->name);                            \
    }
#include "store/rows.def"
#undef ROW

static bool visit_row(void *ctx, struct sql_cells *cells)
{
    const struct query *query = ctx;
    union any_row row;
    return rows_read(cells, query->kind, &row) && query->visit(query, &row);
}

static bool run(struct store *store, struct query *query, struct err *err)
{
    struct store_sql *s = store_sql_of(store);
    const struct sql_read read = {query->sql, query->values, query->n, visit_row, query};
    return s->engine->read(s, rows_type(query->kind)->lane, &read, err);
}

static void select_of_job(enum row kind, char *out_sql)
{
    char tail[128];
    (void)snprintf(tail, sizeof tail, "WHERE job_uid = $1 ORDER BY %s", rows_type(kind)->order);
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
                              .values = {sql_text(job_uid)},                                      \
                              .n = 1,                                                             \
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
        .kind = ROW_JOB, .sql = sql, .visit = visit_job, .ctx = ctx, .fn.job = fn};
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
        .kind = ROW_JOB, .sql = sql, .visit = visit_job, .ctx = ctx, .fn.job = fn};
    return run(s, &query, err);
}

bool read_each_recent_job(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                          struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB,
                    "(SELECT * FROM jobs WHERE outcome = '' UNION ALL SELECT * FROM (SELECT * FROM"
                    " jobs WHERE outcome <> '' ORDER BY created_ms DESC, uid DESC LIMIT $1) AS"
                    " ended) AS recent",
                    "ORDER BY created_ms, uid", sql);
    struct query query = {.kind = ROW_JOB,
                          .sql = sql,
                          .values = {sql_int(limit)},
                          .n = 1,
                          .visit = visit_job,
                          .ctx = ctx,
                          .fn.job = fn};
    return run(s, &query, err);
}

bool read_find_job(struct store *s, const char *ns, const char *name, store_job_fn *fn, void *ctx,
                   struct err *err)
{
    char sql[ROWS_SQL_MAX];
    rows_select_sql(ROW_JOB, NULL,
                    "WHERE (ns = $1 AND name = $2) OR uid = $2 ORDER BY created_ms DESC LIMIT 1",
                    sql);
    struct query query = {.kind = ROW_JOB,
                          .sql = sql,
                          .values = {sql_text(ns), sql_text(name)},
                          .n = 2,
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
                    job_uid != NULL ? "WHERE job_uid = $1" : "ORDER BY at_ms, job_uid", sql);
    struct query query = {.kind = ROW_VERDICT,
                          .sql = sql,
                          .values = {sql_text(job_uid != NULL ? job_uid : "")},
                          .n = job_uid != NULL,
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

                          .visit = visit_object,
                          .ctx = ctx,
                          .fn.object = fn};
    return run(s, &query, err);
}

bool read_each_event(struct store *s, const char *uid, size_t limit, store_event_fn *fn, void *ctx,
                     struct err *err)
{
    char sql[ROWS_SQL_MAX];
    const struct sql_value most = sql_int(limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    rows_select_sql(ROW_EVENT,
                    uid != NULL ? "(SELECT * FROM events WHERE uid = $1"
                                  " ORDER BY at_ms DESC, id DESC LIMIT $2) AS newest"
                                : "(SELECT * FROM events ORDER BY at_ms DESC, id DESC LIMIT $1)"
                                  " AS newest",
                    "ORDER BY at_ms, id", sql);
    struct query query = {.kind = ROW_EVENT,
                          .sql = sql,
                          .values = {most, most},
                          .n = uid != NULL ? 2 : 1,
                          .visit = visit_event,
                          .ctx = ctx,
                          .fn.event = fn};
    if (uid != NULL)
        query.values[0] = sql_text(uid);
    return run(s, &query, err);
}
