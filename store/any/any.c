/* any.c - see any.h. */
#include "store/any/any.h"

#include "base/text.h"
#include "store/postgres/pg_query.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/file_query.h"
#include "store/sqlite/sqlite.h"

bool store_is_url(const char *place)
{
    return place != NULL &&
           (text_has_prefix(place, "postgresql://") || text_has_prefix(place, "postgres://"));
}

void store_place_text(const char *place, char *out_text)
{
    if (store_is_url(place))
        store_postgres_text(place, out_text, STORE_PLACE_MAX);
    else
        (void)text_copy(out_text, STORE_PLACE_MAX, place != NULL ? place : "memory");
}

struct store *store_open(const char *place, struct err *err)
{
    return store_is_url(place) ? store_postgres_open(place, err) : store_sqlite_open(place, err);
}

struct store *store_share(const char *place, const struct store_sharing *sharing, struct err *err)
{
    if (store_is_url(place))
        return store_postgres_share(place, sharing, err);
    (void)err_set(err, ERR_INVALID, "several appliances share a PostgreSQL database, not files");
    return NULL;
}

struct store *store_read(const char *place, struct err *err)
{
    return store_is_url(place) ? store_postgres_read(place, err) : store_sqlite_read(place, err);
}

struct json_object *query_run(const char *place, const char *sql, const struct query_limits *limits,
                              struct err *err)
{
    return store_is_url(place) ? pg_query_run(place, sql, limits, err)
                               : file_query_run(place, sql, limits, err);
}
