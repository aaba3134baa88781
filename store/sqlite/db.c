/* db.c - see db.h. */
#include "store/sqlite/db.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "store/sql.h"
#include "store/sqlite/budget.h"
#include "store/sqlite/sqlite.h"

struct failure {
    enum err_code code;
    const char *what, *remedy;
};

static struct failure failure_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT: return (struct failure){ERR_FULL, "the disk is full", "free some space"};
    case EACCES:
    case EPERM:
    case EROFS:
        return (struct failure){ERR_READ_ONLY, "not writable",
                                "give Ferry write permission to the file and its directory"};
    case ENOMEM: return (struct failure){ERR_NOMEM, "out of memory", "free some memory"};
    default:
        return (struct failure){ERR_IO, "I/O error", "check the disk and the file's permissions"};
    }
}

static struct failure failure_of(int rc, int system_errno)
{
    switch (rc & 0xff) {
    case SQLITE_FULL: return failure_of_errno(ENOSPC);
    case SQLITE_READONLY: return failure_of_errno(EACCES);
    case SQLITE_NOMEM: return failure_of_errno(ENOMEM);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return failure_of_errno(system_errno);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return (struct failure){ERR_CORRUPT, "the file is damaged",
                                "restore a backup, or move the file away to start empty"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return (struct failure){ERR_LOCKED, "locked by another program", "close the other program"};
    case SQLITE_TOOBIG: return (struct failure){ERR_LIMIT, "a value is too long", "shorten it"};
    default: return (struct failure){ERR_INTERNAL, "the statement was refused", "report this"};
    }
}

bool db_fail(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err)
{
    struct failure failure = failure_of(rc, db != NULL ? sqlite3_system_errno(db) : 0);
    /* errmsg describes the last call on db: the one that failed or its clean-up. */
    const char *words =
        db != NULL && sqlite3_extended_errcode(db) == rc ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    return err_set(err, failure.code, "%s: %s: %s (%s); %s", path, doing, failure.what, words,
                   failure.remedy);
}

bool db_fail_errno(int errnum, const char *path, const char *doing, struct err *err)
{
    char buffer[128];
    struct failure failure = failure_of_errno(errnum);
    return err_set(err, failure.code, "%s: %s: %s (%s); %s", path, doing, failure.what,
                   strerror_r(errnum, buffer, sizeof buffer), failure.remedy);
}

/* For untrusted files: a foreign schema must not run functions, and a damaged page must be an
 * error, not an invalid read. */
static void harden(sqlite3 *db)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, SQL_VALUE_BYTES_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_exec(db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
}

/* ---- the clock of leases ---- */

static _Atomic(const struct clock *) database_clock;

void store_sqlite_clock(const struct clock *clock)
{
    atomic_store(&database_clock, clock);
}

static void now_ms(sqlite3_context *context, int n, sqlite3_value **values)
{
    (void)n, (void)values;
    const struct clock *clock = atomic_load(&database_clock);
    sqlite3_result_int64(context, clock_wall_ms(clock != NULL ? clock : clock_system()));
}

sqlite3 *db_open(const char *path, int flags, struct err *err)
{
    sqlite3 *db = NULL;
    budget_install();
    int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                             budget_vfs());
    if (rc != SQLITE_OK) {
        db_fail(db, rc, path, "cannot open it", err);
        db_close(db);
        return NULL;
    }
    (void)sqlite3_busy_timeout(db, DB_BUSY_MS);
    (void)sqlite3_create_function(db, "ferry_now_ms", 0, SQLITE_UTF8, NULL, now_ms, NULL, NULL);
    harden(db);
    return db;
}

void db_close(sqlite3 *db)
{
    int rc = sqlite3_close(db);
    assert(rc == SQLITE_OK); /* otherwise a statement was not finalized */
    (void)rc;
}

bool db_exec(sqlite3 *db, const char *path, const char *doing, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || db_fail(db, rc, path, doing, err);
}

bool db_int(sqlite3 *db, const char *path, const char *sql, int64_t *out_value, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    bool found = rc == SQLITE_ROW;
    if (found)
        *out_value = sqlite3_column_int64(stmt, 0);
    else if (rc == SQLITE_DONE)
        (void)err_set(err, ERR_INTERNAL, "%s: '%s' returned no value; report this", path, sql);
    else
        (void)db_fail(db, rc, path, "cannot read it", err);
    (void)sqlite3_finalize(stmt);
    return found;
}

void db_rollback(sqlite3 *db)
{
    if (sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* ends the transaction */
}
