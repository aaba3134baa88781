/* query.h - one SQL query on the store: read-only, bounded, also beside a running appliance.
 *
 * A read-only connection with both files attached and the views of views.def. An authorizer allows
 * only reading and functions. Every resource has a limit: the size of the statement, columns, rows
 * and bytes of the result, memory, temporary disk space and time. Any thread; blocks up to the time
 * limit, and about 0.1 s for the current instruction.
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

/* {"columns": [names], "rows": [[values]], "cut": "rows" or "bytes" if there was more, "tookMs":
 * n}, a new reference. NULL: ERR_INVALID (error in the statement), FORBIDDEN (not read-only),
 * UNPROCESSABLE (it needs more memory or temporary space than allowed), TIMEOUT, or an error of the
 * files. */
struct json_object *query_run(const char *state_dir, const char *sql,
                              const struct query_limits *limits, struct err *err);
/* The answer as CSV (RFC 4180, with a line of names). */
void query_csv(struct json_object *answer, struct buf *out);

#endif
