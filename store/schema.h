/* schema.h - how each file of the store came to be, as numbered steps, and the way from any
 * older version to the current one. Private to the SQLite implementation.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"

/* One file of the store and what makes it ours. */
struct schema {
    const char *file;         /* its name in the state directory */
    const char *what;         /* for people */
    uint32_t application_id;  /* of the SQLite header; each file its own, so that a swap shows */
    const char *synchronous;  /* PRAGMA value */
    const char *const *steps; /* steps[v] leads from version v to v + 1 */
    size_t step_count;        /* also the current version */
};

const struct schema *schema_of(enum lane lane);

/* Follows the steps from the file's version on, each in a transaction of its own that also
 * writes the new version. The error names `path`. Nothing happens at the current version. */
MUST_CHECK bool schema_bring_forward(sqlite3 *db, const char *path, const struct schema *schema,
                                     struct err *err);
/* A file that claims the current version must have every table and column. Writes nothing. */
MUST_CHECK bool schema_check(sqlite3 *db, const char *path, enum lane lane, struct err *err);

#endif
