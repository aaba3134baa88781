/* api_query.c - /query: one SQL query on the store. Read-only and bounded (store/query.h), one at a
 * time, because requests share the workers.
 *
 * A query can take seconds of CPU, so cross-origin requests are refused, POST and GET. It runs in a
 * process with limits of its own (store/any/query_process.h): planning a join cannot be
 * interrupted, and its time grows with the length of the statement (4 KiB: up to 2.5 s, 8 KiB: 12
 * s). */
#include <stdatomic.h>
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"
#include "store/any/query_process.h"

enum { QUERY_HTTP_MS = 5000, QUERY_HTTP_ROWS = 10000, QUERY_HTTP_SQL = 4096 };

static bool read_limit(const char *text, struct query_limits *limits, struct err *err)
{
    return text == NULL || text_to_i64(text, 1, QUERY_HTTP_ROWS, &limits->rows) ||
           err_set(err, ERR_UNPROCESSABLE, "limit: '%.40s' is not a number from 1 to %d", text,
                   QUERY_HTTP_ROWS);
}

static bool read_format(const char *text, bool *out_csv, struct err *err)
{
    *out_csv = text != NULL && strcmp(text, "csv") == 0;
    return text == NULL || *out_csv || strcmp(text, "json") == 0 ||
           err_set(err, ERR_UNPROCESSABLE, "format: '%.40s' is none of json, csv", text);
}

/* The statement, from the URL or from the body, not both. */
static bool take_sql(const char *sql, char **out_sql, struct err *err)
{
    if (sql == NULL)
        return true;
    if (*out_sql != NULL)
        return err_set(err, ERR_INVALID, "sql: given in the URL and in the body; give one of them");
    if (strlen(sql) > QUERY_HTTP_SQL)
        return err_set(err, ERR_INVALID,
                       "sql: longer than %d bytes; `ferry query --state` takes up to %d",
                       QUERY_HTTP_SQL, QUERY_SQL_MAX);
    *out_sql = strdup(sql);
    return *out_sql != NULL || err_set(err, ERR_NOMEM, "no memory for a query");
}

/* The body of a POST: {"sql": "...", "limit": n}. */
static bool read_body(const struct http_request *http, char **out_sql, struct query_limits *limits,
                      struct err *err)
{
    OWNED(json_object) body = api_body(http, err);
    const char *sql = NULL;
    if (body == NULL || !json_get_text(body, "sql", NULL, &sql, err) ||
        !json_get_i64(body, "limit", limits->rows, &limits->rows, err))
        return false;
    if (limits->rows < 1 || limits->rows > QUERY_HTTP_ROWS)
        return err_set(err, ERR_UNPROCESSABLE, "limit: is not a number from 1 to %d",
                       QUERY_HTTP_ROWS);
    return take_sql(sql, out_sql, err);
}

static void ask(const struct api_call *call, const char *sql, const struct query_limits *limits,
                bool csv, struct http_reply *out_reply)
{
    struct err err = {0};
    struct exporter *x = call->x;
    if (atomic_exchange(&x->is_querying, true)) {
        reply_refusal(out_reply, 429, "another query is in progress; try again");
        out_reply->try_again = true;
        return;
    }
    struct json_object *answer = query_process_run(x->query_place, sql, limits, &err);
    atomic_store(&x->is_querying, false);
    if (answer == NULL) {
        reply_err(out_reply, &err, KIND_NONE, NULL);
        return;
    }
    if (!csv) {
        reply_json(out_reply, 200, answer);
        return;
    }
    struct buf text;
    buf_init(&text, EXPORTER_PAGE_MAX);
    query_csv(answer, &text);
    json_object_free(answer);
    reply_buf(out_reply, 200, &text);
    out_reply->type = "text/csv; charset=utf-8";
}

void serve_query(const struct api_call *call, struct http_reply *out_reply)
{
    const struct http_request *http = call->request;
    struct err err = {0};
    struct query_limits limits = {.rows = QUERY_ROWS_DEFAULT, .ms = QUERY_HTTP_MS};
    bool csv = false, is_post = strcmp(http->method, "POST") == 0;
    OWNED_TEXT sql = NULL;
    if (is_post && !api_is_json(http, out_reply))
        return;
    bool read = read_limit(http_query(http, "limit"), &limits, &err) &&
                read_format(http_query(http, "format"), &csv, &err) &&
                take_sql(http_query(http, "sql"), &sql, &err) &&
                (!is_post || read_body(http, &sql, &limits, &err));
    if (read && sql == NULL)
        read = err_set(&err, ERR_INVALID, "sql: is missing: /query?sql=SELECT...");
    if (read && call->x->query_place[0] == '\0')
        read = err_set(&err, ERR_REFUSED, "%s",
                       call->x->is_stored
                           ? "the records are in PostgreSQL, and the configuration has no "
                             "storeQuery: the URL of a role that may only read"
                           : "this appliance keeps records in memory only");
    if (read)
        ask(call, sql, &limits, csv, out_reply);
    else
        reply_err(out_reply, &err, KIND_NONE, NULL);
}
