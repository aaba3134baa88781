/* any.h - the store by the name of its place: a state directory (SQLite, the default) or the URL of
 * a PostgreSQL database. The only room of store/ that knows both engines.
 */
#ifndef STORE_ANY_ANY_H
#define STORE_ANY_ANY_H

#include "store/query.h"
#include "store/store.h"

/* Is it postgresql:// or postgres://? Else it is a directory. */
bool store_is_url(const char *place);
/* The place without secrets, for people. out_text holds STORE_PLACE_MAX. */
enum { STORE_PLACE_MAX = 512 };
void store_place_text(const char *place, char *out_text);

/* See store/sqlite/sqlite.h, store/postgres/postgres.h. NULL: SQLite in memory. */
struct store *store_open(const char *place, struct err *err);
/* Beside other appliances that share it: only a database. */
struct store *store_share(const char *place, const struct store_sharing *sharing, struct err *err);
/* Read-only, also beside an appliance. */
struct store *store_read(const char *place, struct err *err);

/* One SQL query on the records: {"columns": [names], "rows": [[values]], "cut": "rows" or "bytes"
 * if there was more, "tookMs": n}, a new reference. NULL: ERR_INVALID (error in the statement),
 * FORBIDDEN (not read-only), UNPROCESSABLE (it needs more memory or temporary space than allowed),
 * TIMEOUT, or an error of the database. Any thread. */
struct json_object *query_run(const char *place, const char *sql, const struct query_limits *limits,
                              struct err *err);

#endif
