/* pg.h - one connection to PostgreSQL: opens it, waits with a deadline, and maps its errors to err
 * codes with a text for the operator. Private to store/postgres/.
 *
 * Connections are in libpq's nonblocking mode: nothing here waits longer than it says. TLS, the
 * password file and several hosts in one URL are libpq's own conventions.
 */
#ifndef STORE_POSTGRES_PG_H
#define STORE_POSTGRES_PG_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "store/rows.h"

enum {
    PG_CONNECT_S = 5,         /* per host, unless the URL has connect_timeout */
    PG_ANSWER_MS = 30 * 1000, /* for an answer; the server's own limits are below */
    PG_FOR_EVER = -1,
    PG_VERSION_MIN = 130000,
};

struct pg {
    PGconn *conn;     /* NULL: closed */
    const char *url;  /* borrowed */
    const char *name; /* of the session, as pg_stat_activity shows it */
    char place[256];  /* without secrets, for errors */
};

/* "postgresql://host:port/database": no user, password or parameters. */
void pg_place(const char *url, char *out_text, size_t bytes);
/* The URL is understood by libpq; ERR_INVALID. */
MUST_CHECK bool pg_check_url(const char *url, struct err *err);

/* Closed before. Settings are applied with pg_exec(). */
MUST_CHECK bool pg_connect(struct pg *pg, struct err *err);
void pg_close(struct pg *pg);
bool pg_is_open(const struct pg *pg);

/* "place: doing: what (server's words); remedy". result NULL: of the connection. Always false. */
bool pg_fail(const struct pg *pg, const PGresult *result, const char *doing, struct err *err);

/* The next result; *out NULL: the end of a statement's. False: no answer by until_ms (monotonic, or
 * PG_FOR_EVER) or the connection broke; then it is closed. */
MUST_CHECK bool pg_next(struct pg *pg, int64_t until_ms, const char *doing, PGresult **out,
                        struct err *err);
/* Statements without parameters, in one message. */
MUST_CHECK bool pg_exec(struct pg *pg, const char *doing, const char *sql, struct err *err);
/* One statement with text parameters; all its rows. NULL when it fails; PQclear(). */
PGresult *pg_ask(struct pg *pg, const char *doing, const char *sql, size_t n,
                 const char *const *texts, struct err *err);
/* The first value as a number; 0 when there is no row. */
MUST_CHECK bool pg_int(struct pg *pg, const char *doing, const char *sql, int64_t *out_value,
                       struct err *err);

/* Text that PostgreSQL takes: what is not UTF-8 becomes '?'. out holds bytes + 1. */
void pg_text(const char *text, size_t bytes, char *out);

#endif
