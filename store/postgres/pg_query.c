/* pg_query.c - see pg_query.h. */
#include "store/postgres/pg_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/postgres/pg.h"
#include "store/postgres/pg_schema.h"

enum { VALUE_OVERHEAD = 32 }; /* bytes counted for a value besides its text */
enum {
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_NUMERIC = 1700,
    OID_OID = 26
};

struct query {
    struct pg pg;
    int64_t began_ms, until_ms, rows_max;
    size_t bytes; /* of the result so far */
    struct err *err;
};

/* The role, and all that it could become with set_config('role', ...), may only read. */
static bool set_up(struct query *query, int64_t ms)
{
    char sql[512];
    int64_t writes = 0;
    (void)snprintf(sql, sizeof sql,
                   "SET statement_timeout = %lld; SET lock_timeout = '2s'; SET work_mem = '16MB';"
                   "SET max_parallel_workers_per_gather = 0; SET jit = off;"
                   "SET default_transaction_read_only = on",
                   (long long)ms);
    if (!pg_exec(&query->pg, "cannot set up a session", sql, query->err) ||
        !pg_schema_check(&query->pg, query->err) ||
        !pg_int(&query->pg, "cannot see its rights",
                "SELECT EXISTS (SELECT 1 FROM pg_roles AS r, pg_class AS t WHERE"
                " pg_has_role(r.oid, 'MEMBER') AND t.relnamespace = current_schema()::regnamespace"
                " AND t.relkind IN ('r', 'p', 'v') AND (r.rolsuper OR r.rolbypassrls OR r.rolname ="
                " 'pg_signal_backend' OR r.oid = t.relowner OR"
                " has_table_privilege(r.oid, t.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')))",
                &writes, query->err))
        return false;
    if (writes != 0)
        return err_set(query->err, ERR_FORBIDDEN,
                       "%s: the user of this URL may write; queries need a role that may only read "
                       "(docs/configuration.md, storeQuery)",
                       query->pg.place);
    /* Never committed: it may write large objects before PostgreSQL 16. */
    return pg_exec(&query->pg, "cannot begin a transaction", "BEGIN READ ONLY", query->err);
}

static bool refuse(struct query *query, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    state = state != NULL ? state : "";
    words = words != NULL ? words : "";
    if (strcmp(state, "57014") == 0)
        return err_set(query->err, ERR_TIMEOUT,
                       "the query was stopped after %lld ms; restrict it, for example with "
                       "WHERE ended_ms > ...",
                       (long long)(clock_mono_ms(clock_system()) - query->began_ms));
    if (strcmp(state, "25006") == 0 || strcmp(state, "42501") == 0)
        return err_set(query->err, ERR_FORBIDDEN, "only reading is allowed: %s", words);
    if (strcmp(state, "42601") == 0 && strstr(words, "multiple commands") != NULL)
        return err_set(query->err, ERR_INVALID, "only one statement is allowed");
    if (strncmp(state, "53", 2) == 0)
        return err_set(query->err, ERR_UNPROCESSABLE,
                       "the query needs more than the database gives it (%s); sort or join fewer "
                       "rows",
                       words);
    if (strncmp(state, "42", 2) == 0 || strncmp(state, "22", 2) == 0)
        return err_set(query->err, ERR_INVALID, "%s", words);
    return pg_fail(&query->pg, result, "cannot run the query", query->err);
}

static bool next(struct query *query, PGresult **out)
{
    if (pg_next(&query->pg, query->until_ms, "cannot run the query", out, query->err))
        return true;
    if (query->err->code == ERR_TIMEOUT)
        (void)err_set(query->err, ERR_TIMEOUT,
                      "the query was stopped after %lld ms; restrict it, for example with "
                      "WHERE ended_ms > ...",
                      (long long)(clock_mono_ms(clock_system()) - query->began_ms));
    return false;
}

/* One result, and the end after it; a new reference. */
static PGresult *only(struct query *query)
{
    PGresult *result = NULL, *end = NULL;
    if (!next(query, &result))
        return NULL;
    if (!next(query, &end)) {
        PQclear(result);
        return NULL;
    }
    return result;
}

/* A statement that returns no columns is none that only reads. */
static bool check_statement(struct query *query, const char *sql)
{
    if (PQsendPrepare(query->pg.conn, "", sql, 0, NULL) != 1)
        return pg_fail(&query->pg, NULL, "cannot run the query", query->err);
    PGresult *made = only(query);
    bool good = made != NULL && (PQresultStatus(made) == PGRES_COMMAND_OK || refuse(query, made));
    PQclear(made);
    if (!good || PQsendDescribePrepared(query->pg.conn, "") != 1)
        return false;
    PGresult *seen = only(query);
    if (seen == NULL)
        return false;
    if (PQnparams(seen) > 0)
        good = err_set(query->err, ERR_INVALID, "the statement has parameters; use literal values");
    else if (PQnfields(seen) == 0)
        good = strspn(sql, " \t\r\n;") == strlen(sql)
                   ? err_set(query->err, ERR_INVALID, "no statement; expected SELECT")
                   : err_set(query->err, ERR_FORBIDDEN, "only reading is allowed: SELECT");
    else if (PQnfields(seen) > QUERY_COLUMNS_MAX)
        good = err_set(query->err, ERR_INVALID, "too many columns: at most %d", QUERY_COLUMNS_MAX);
    PQclear(seen);
    return good;
}

static struct json_object *value_of(const PGresult *result, int at)
{
    const char *text = PQgetvalue(result, 0, at);
    switch (PQftype(result, at)) {
    case OID_BOOL: return json_object_new_int64(text[0] == 't');
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_OID: return json_object_new_int64(strtoll(text, NULL, 10));
    case OID_NUMERIC: /* sum() of whole numbers is one too */
        if (strpbrk(text, ".Nn") == NULL && strlen(text) < 19)
            return json_object_new_int64(strtoll(text, NULL, 10));
        return json_object_new_double(strtod(text, NULL));
    case OID_FLOAT4:
    case OID_FLOAT8: return json_object_new_double(strtod(text, NULL));
    default: return json_object_new_string(text);
    }
}

/* False: the result is full. A row is added completely or not at all. */
static bool add_row(struct query *query, const PGresult *result, struct json_object *rows)
{
    OWNED(json_object) row = json_object_new_array();
    for (int i = 0; i < PQnfields(result); i++) {
        query->bytes += VALUE_OVERHEAD + (size_t)PQgetlength(result, 0, i);
        if (query->bytes > QUERY_BYTES_MAX)
            return false;
        json_add(row, "", PQgetisnull(result, 0, i) ? NULL : value_of(result, i));
    }
    json_add(rows, "", TAKE(row));
    return true;
}

/* *out_cut: what was full. False: failed. */
static bool collect(struct query *query, struct json_object *answer, const char **out_cut)
{
    struct json_object *names = json_add_array(answer, "columns");
    struct json_object *rows = json_add_array(answer, "rows");
    bool has_names = false;
    PGresult *result = NULL;
    for (int64_t n = 0; next(query, &result);) {
        if (result == NULL)
            return true;
        ExecStatusType status = PQresultStatus(result);
        bool good =
            status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK || refuse(query, result);
        for (int i = 0; good && !has_names && i < PQnfields(result); i++)
            json_add_text(names, "", PQfname(result, i));
        has_names = true;
        if (good && status == PGRES_SINGLE_TUPLE)
            *out_cut = n++ == query->rows_max         ? "rows"
                       : add_row(query, result, rows) ? NULL
                                                      : "bytes";
        PQclear(result);
        if (!good || *out_cut != NULL)
            return good;
    }
    return false;
}

/* A server that goes on for a client that has left is told so. */
static void stop(struct query *query)
{
    char words[256];
    PGcancel *cancel = query->pg.conn != NULL ? PQgetCancel(query->pg.conn) : NULL;
    if (cancel != NULL && PQtransactionStatus(query->pg.conn) == PQTRANS_ACTIVE)
        (void)PQcancel(cancel, words, sizeof words);
    PQfreeCancel(cancel);
    pg_close(&query->pg);
}

static bool run(struct query *query, const char *sql, struct json_object *answer)
{
    const char *cut = NULL;
    if (!check_statement(query, sql))
        return false;
    if (PQsendQueryPrepared(query->pg.conn, "", 0, NULL, NULL, NULL, 0) != 1)
        return pg_fail(&query->pg, NULL, "cannot run the query", query->err);
    (void)PQsetSingleRowMode(query->pg.conn);
    if (!collect(query, answer, &cut))
        return false;
    if (cut != NULL)
        json_add_text(answer, "cut", cut);
    json_add_i64(answer, "tookMs", clock_mono_ms(clock_system()) - query->began_ms);
    return true;
}

struct json_object *pg_query_run(const char *url, const char *sql,
                                 const struct query_limits *limits, struct err *err)
{
    int64_t ms = query_ms(limits);
    struct query query = {
        .pg = {.url = url, .name = "ferry query"}, .rows_max = query_rows(limits), .err = err};
    OWNED(json_object) answer = json_object_new_object();
    if (strlen(sql) >= QUERY_SQL_MAX) {
        (void)err_set(err, ERR_INVALID, "the statement is longer than %d bytes", QUERY_SQL_MAX);
        return NULL;
    }
    if (!pg_check_url(url, err) || !pg_connect(&query.pg, err))
        return NULL;
    bool done = set_up(&query, ms);
    query.began_ms = clock_mono_ms(clock_system());
    query.until_ms = query.began_ms + ms + 1000; /* the server's own limit comes first */
    done = done && run(&query, sql, answer);
    stop(&query);
    return done ? TAKE(answer) : NULL;
}
