/* postgres.h - the store port on PostgreSQL, for who needs more than one machine's disk.
 *
 * One appliance per database and schema, unless they share it: an advisory lock of the session
 * keeps a second one out, and rows of ferry_writer refuse one that was replaced (pg_lane.h). The
 * schema is created and brought forward as SQLite's files are, from the same tables.
 *
 * Rejected, with the database unchanged: ERR_INVALID (URL), ERR_UNREACHABLE (away), ERR_FORBIDDEN
 * (user), ERR_NOT_FOUND (no such database), ERR_READ_ONLY (a standby), ERR_LOCKED (another
 * appliance), ERR_FOREIGN (tables of another program), ERR_NEWER (schema of a later Ferry),
 * ERR_CORRUPT (tables were changed by hand). The text names the database, never a user or a
 * password.
 *
 * At run time: begin and put touch nothing of the network. commit fails with ERR_UNREACHABLE,
 * ERR_FULL, ERR_READ_ONLY, ERR_TIMEOUT, ERR_LOCKED and nothing is stored; a later one may succeed.
 * When the connection is lost while COMMIT is under way, commit returns only when it is known
 * whether it was stored; engine/commit.c goes on meanwhile as if it had failed.
 */
#ifndef STORE_POSTGRES_POSTGRES_H
#define STORE_POSTGRES_POSTGRES_H

#include "store/store.h"

struct store *store_postgres_open(const char *url, struct err *err);
/* Beside other appliances that share it (leases.h). NULL: as above. */
struct store *store_postgres_share(const char *url, const struct store_sharing *sharing,
                                   struct err *err);
/* Read-only, also beside an appliance: see store_sqlite_read(). */
struct store *store_postgres_read(const char *url, struct err *err);
/* The URL without secrets. */
void store_postgres_text(const char *url, char *out_text, size_t bytes);

#endif
