/* query_guard.h - restricts a statement to reading and the functions listed in query_guard.c, and
 * limits its sizes.
 *
 * The limits keep one instruction of SQLite short, because it cannot be interrupted: with values of
 * 64 KiB and patterns of 128 bytes the slowest call takes about 0.1 s. Two functions are quadratic
 * and take longer: json_patch() is not listed, and trim(X, Y) is replaced. Private to store/.
 */
#ifndef STORE_QUERY_GUARD_H
#define STORE_QUERY_GUARD_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/own.h"

struct query_guard {
    char refused[96]; /* what the authorizer denied; empty: nothing */
};

/* The guard lives as long as the connection. ERR_NOMEM. */
MUST_CHECK bool query_guard_set(struct query_guard *guard, sqlite3 *db, struct err *err);

#endif
