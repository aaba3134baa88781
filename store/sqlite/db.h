/* db.h - one SQLite connection: opens it with common settings, and maps SQLite's result codes to
 * err codes with a text for the operator. Private to store/.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum {
    DB_BUSY_MS = 1000, /* time to wait for the lock of a SQL shell */
    DB_PATH_MAX = 4096,
};

/* flags as of sqlite3_open_v2. NULL with *err set when it fails. */
sqlite3 *db_open(const char *path, int flags, struct err *err);
void db_close(sqlite3 *db); /* NULL is fine; every statement must be finalized */

/* "path: doing: error (SQLite's text); hint". Always false. */
bool db_fail(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err);
/* The same for a failed system call; `path` may be a directory. */
bool db_fail_errno(int errnum, const char *path, const char *doing, struct err *err);

MUST_CHECK bool db_exec(sqlite3 *db, const char *path, const char *doing, const char *sql,
                        struct err *err);
/* The first column of the first row. */
MUST_CHECK bool db_int(sqlite3 *db, const char *path, const char *sql, int64_t *out_value,
                       struct err *err);
/* Ends an open transaction, if there is one. */
void db_rollback(sqlite3 *db);

#endif
