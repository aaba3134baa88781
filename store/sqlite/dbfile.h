/* dbfile.h - a database file before SQLite may touch it.
 *
 * Invariant: a rejected file is not changed, and no new file is created beside it. Opening a WAL
 * database creates -wal and -shm, recovers, and checkpoints at close; so first read the header with
 * read(2), then check integrity through a read-only connection (see inspect_content() in dbfile.c),
 * then open it.
 *
 * A new database is built under the name FILE.new and renamed when it is complete: a crash or a
 * full disk leaves no partial file under the real name. Private to store/; the state directory's
 * lock is held throughout.
 */
#ifndef STORE_DBFILE_H
#define STORE_DBFILE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "store/sqlite/db.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/statedir.h"

/* Up to here the whole integrity check; beyond, SQLite's quick_check, which does not compare every
 * index with its table: that part costs a lookup per row and would delay the adoption of running
 * migrations, while an index can be rebuilt. Beyond the second bound neither: reading gigabytes
 * takes a minute, and damage is reported when it is read; header, version and tables are always
 * checked. */
enum {
    DBFILE_WHOLE_CHECK_BYTES = 64 * 1024 * 1024,
    DBFILE_QUICK_CHECK_BYTES = 512 * 1024 * 1024,
};

struct dbfile {
    enum lane lane;
    const struct schema *schema;
    char path[DB_PATH_MAX];
    bool is_new;           /* missing or empty: to be created */
    bool was_there;        /* an empty file, kept as FILE.old until dbfile_settle() */
    bool made;             /* by dbfile_make() */
    bool had_wal, had_shm; /* before opening */
};

/* Read-only: ERR_CORRUPT, FOREIGN, NEWER, READ_ONLY, IO, or the file may be opened. */
MUST_CHECK bool dbfile_inspect(struct dbfile *file, const struct statedir *state, enum lane lane,
                               struct err *err);
/* Creates the file if it is new. */
MUST_CHECK bool dbfile_make(struct dbfile *file, const struct statedir *state, struct err *err);
/* The writing connection, at the current schema version. Until dbfile_settle() nothing is moved
 * from the -wal into the file, so that dbfile_undo() can revert it. */
sqlite3 *dbfile_open(const struct dbfile *file, struct err *err);
void dbfile_settle(const struct dbfile *file, sqlite3 *db);
/* After a failure, with the connection closed: restores the file. A -wal left by a crash stays,
 * with whatever schema steps were committed to it. */
void dbfile_undo(struct dbfile *file);

/* A read-only connection, also beside a running appliance; needs no lock. Rejects another lane or
 * schema version. */
sqlite3 *dbfile_open_read(const char *path, enum lane lane, struct err *err);

#endif
