/* query.h - what a SQL query on the store may use, and its answer as CSV.
 *
 * A query is read-only, and every resource has a limit: the size of the statement, columns, rows
 * and bytes of the result, memory, temporary disk space and time. query_run() (store/any/any.h)
 * asks; the engines have their own ways to hold the limits (sqlite/file_query.c,
 * postgres/pg_query.c).
 */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct json_object;

enum {
    QUERY_SQL_MAX = 64 * 1024,
    QUERY_ROWS_DEFAULT = 1000,
    QUERY_ROWS_MAX = 100 * 1000,
    QUERY_COLUMNS_MAX = 100,
    QUERY_VALUE_MAX = 64 * 1024,         /* bytes of a value, and of a row that is sorted */
    QUERY_BYTES_MAX = 16 * 1024 * 1024,  /* of all values together, as text */
    QUERY_MEMORY_MAX = 64 * 1024 * 1024, /* of SQLite, without the result */
    QUERY_TEMP_MAX = 256 * 1024 * 1024,  /* of temporary files: sorting, DISTINCT, WITH */
    QUERY_MS_DEFAULT = 10 * 1000,
    QUERY_MS_MAX = 300 * 1000,
};

struct query_limits { /* 0: the default */
    int64_t rows, ms;
};

int64_t query_rows(const struct query_limits *limits);
int64_t query_ms(const struct query_limits *limits);
/* The answer as CSV (RFC 4180, with a line of names). */
void query_csv(struct json_object *answer, struct buf *out);

#endif
