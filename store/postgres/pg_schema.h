/* pg_schema.h - the schema on PostgreSQL: made of the same steps as SQLite's files (schema.def) and
 * of the same views (views.def).
 *
 * Both lanes are tables of one database. Table ferry_schema holds the version; ferry_writer who
 * writes, one row per lane (pg_lane.h). Only the holder of the appliance's lock calls this, so one
 * appliance upgrades at a time. Private to store/postgres/.
 */
#ifndef STORE_POSTGRES_PG_SCHEMA_H
#define STORE_POSTGRES_PG_SCHEMA_H

#include "store/postgres/pg.h"

/* Creates what is missing and upgrades what is older, step by step, each in a transaction.
 * ERR_NEWER: made by a later Ferry; ERR_FOREIGN: tables of another program. Nothing is changed
 * then. */
MUST_CHECK bool pg_schema_bring_forward(struct pg *pg, struct err *err);
/* For readers: ERR_NOT_FOUND, ERR_NEWER, or ERR_REFUSED when it is older. */
MUST_CHECK bool pg_schema_check(struct pg *pg, struct err *err);

/* A step of SQLite's in PostgreSQL's SQL. NULL: no memory; free(). */
char *pg_schema_translate(const char *sql);

#endif
