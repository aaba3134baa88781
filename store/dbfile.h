/* dbfile.h - a database file before SQLite may touch it.
 *
 * The law: a file that is refused is left byte for byte as it was, and no new file lies beside
 * it. Merely opening a WAL database creates -wal and -shm, recovers, and checkpoints at close;
 * so the order is: look at the header with read(2); then check integrity through a connection
 * that cannot write (see inspect_content() in dbfile.c); only then open it for good.
 *
 * A new database is built under the name FILE.new and renamed when it is whole: a crash or a
 * full disk at that moment leaves no half-made file under the real name.
 * Private to store/; the state directory's lock is held throughout.
 */
#ifndef STORE_DBFILE_H
#define STORE_DBFILE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "store/db.h"
#include "store/schema.h"
#include "store/statedir.h"

/* Up to here the whole integrity check; beyond, SQLite's quick_check, which does not compare
 * every index with its table: that part costs a lookup per row and would hold up the adoption
 * of running migrations, while what it finds loses no data (an index can be rebuilt). Beyond the
 * second bound neither: reading a history of gigabytes takes a minute, and damage in it shows as
 * an error when it is read; header, marks and tables are looked at all the same. */
enum {
    DBFILE_WHOLE_CHECK_BYTES = 64 * 1024 * 1024,
    DBFILE_QUICK_CHECK_BYTES = 512 * 1024 * 1024,
};

struct dbfile {
    enum lane lane;
    const struct schema *schema;
    char path[DB_PATH_MAX];
    bool is_new;           /* missing or empty: to be made */
    bool was_there;        /* an empty file, kept as FILE.old until dbfile_settle() */
    bool made;             /* by dbfile_make() */
    bool had_wal, had_shm; /* before we came */
};

/* Looks, changes nothing: ERR_CORRUPT, FOREIGN, NEWER, READ_ONLY, IO, or it may be opened. */
MUST_CHECK bool dbfile_inspect(struct dbfile *file, const struct statedir *state, enum lane lane,
                               struct err *err);
/* Makes the file if it is new. */
MUST_CHECK bool dbfile_make(struct dbfile *file, const struct statedir *state, struct err *err);
/* The writing connection, at the current schema version. Until dbfile_settle() nothing is
 * moved from the -wal into the file, so that dbfile_undo() can still take it all back. */
sqlite3 *dbfile_open(const struct dbfile *file, struct err *err);
void dbfile_settle(const struct dbfile *file, sqlite3 *db);
/* After a failure, with the connection closed: as it was before. A -wal left by a crash stays,
 * with whatever schema steps were committed to it. */
void dbfile_undo(struct dbfile *file);

/* A connection that cannot write, also beside an appliance that runs; needs no lock. Refuses what
 * is not of this lane and of the current schema version. */
sqlite3 *dbfile_open_read(const char *path, enum lane lane, struct err *err);

#endif
