/* pg_query.h - one SQL query on PostgreSQL: read-only and bounded.
 *
 * The user must not be able to write or to end others' sessions: with functions like
 * pg_terminate_backend() a single SELECT could. So the URL names a role of its own, which may only
 * read; a role that may write, or become one that may, is refused. Then: a read-only
 * transaction that is never committed, one statement, a statement timeout, and this side's own
 * limits (query.h) on rows, bytes and time. Any thread.
 */
#ifndef STORE_POSTGRES_PG_QUERY_H
#define STORE_POSTGRES_PG_QUERY_H

#include "store/query.h"

/* As query_run() (store/any/any.h). */
struct json_object *pg_query_run(const char *url, const char *sql,
                                 const struct query_limits *limits, struct err *err);

#endif
