/* schema.h - the schema of each file as numbered steps, and the upgrade from any older version.
 * Private to the SQLite implementation.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"

/* One file of the store and its identification. */
struct schema {
    const char *file; /* its name in the state directory */
    const char *what; /* for people */
    uint32_t
        application_id; /* of the SQLite header; one per file, so that swapped files are detected */
    const char *synchronous;  /* PRAGMA value */
    const char *const *steps; /* steps[v] leads from version v to v + 1 */
    size_t step_count;        /* also the current version */
};

const struct schema *schema_of(enum lane lane);

/* Upgrades the file step by step, each in a transaction that also sets the new version. The error
 * names `path`. No effect at the current version. */
MUST_CHECK bool schema_bring_forward(sqlite3 *db, const char *path, const struct schema *schema,
                                     struct err *err);
/* Checks that a file of the current version has every table and column. Read-only. */
MUST_CHECK bool schema_check(sqlite3 *db, const char *path, enum lane lane, struct err *err);

#endif
