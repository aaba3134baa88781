/* sqlite.h - the store port on SQLite, the default.
 *
 * DIR/ferry.db (objects) and DIR/samples.db, both WAL, STRICT tables, application_id and
 * user_version set; DIR/lock keeps a second appliance out. Opening checks integrity and brings an
 * older schema forward, step by step, each in a transaction.
 *
 * Rejected, with the file unchanged: ERR_CORRUPT (integrity check fails or it is not a database),
 * ERR_FOREIGN (another program's), ERR_NEWER (schema of a later Ferry), ERR_READ_ONLY, ERR_LOCKED
 * (another appliance runs on DIR; the text has its pid), ERR_FULL, ERR_IO. The text names the file
 * and what to do. At run time a full disk makes commit fail with ERR_FULL; a later one may succeed.
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "base/clock.h"
#include "store/store.h"

enum {
    STORE_SCHEMA_VERSION = 0
#define SCHEMA_STEP(objects, samples) +1
#include "store/schema.def"
#undef SCHEMA_STEP
};

/* Creates a missing dir. NULL dir: everything in memory (tests, simulation). */
struct store *store_sqlite_open(const char *dir, struct err *err);
/* Several stores on one database in memory, each with its tenures (leases.h): for simulations. It
 * lives as long as one of them. fence NULL: none. */
struct store *store_sqlite_share(const char *name, const struct store_fence *fence,
                                 struct err *err);
/* Whose time ferry_now_ms() is, of all stores of this process; NULL: the machine's. */
void store_sqlite_clock(const struct clock *clock);
/* Read-only, also beside an appliance that runs on dir: takes no lock, creates and upgrades
 * nothing. Only find_job, the each_* readers and free may be called. */
struct store *store_sqlite_read(const char *dir, struct err *err);

#endif
