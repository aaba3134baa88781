/* postgres.c - see postgres.h: opening, and the readers.
 *
 * Readers have connections of their own, read-only, and stream: a row is visited while the next
 * ones are still on their way. A few idle ones are kept.
 */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/text.h"
#include "store/postgres/pg_lane.h"
#include "store/postgres/pg_schema.h"

enum { URL_MAX = 4096, READERS_IDLE_MAX = 4, TEXT_NUMBER_MAX = 40 };

struct store_postgres {
    struct store_sql sql; /* first */
    char url[URL_MAX], token[PG_TOKEN_MAX], place[256], appliance[STORE_CELL_MAX];
    bool is_reader; /* has no lanes; a standby will do */
    struct pg_lane lanes[LANE_COUNT];
    struct pg leases;            /* the connection of leases.c */
    pthread_mutex_t leases_lock; /* guards it */
    pthread_mutex_t lock;        /* guards the idle readers */
    struct pg idle[READERS_IDLE_MAX];
    size_t idle_count;
};

static struct store_postgres *postgres_of(struct store_sql *s)
{
    return (struct store_postgres *)(void *)s;
}

static struct pg_lane *lane_of(struct store_sql *s, enum lane lane)
{
    return &postgres_of(s)->lanes[lane];
}

/* ---- readers ---- */

/* A standby lacks what was committed last; with several hosts in the URL libpq may end there. */
static bool refuse_standby(const struct store_postgres *p, struct pg *pg, struct err *err)
{
    int64_t is_standby = 0;
    if (p->is_reader)
        return true;
    return pg_int(pg, "cannot use it", "SELECT pg_is_in_recovery()", &is_standby, err) &&
           (is_standby == 0 || err_set(err, ERR_READ_ONLY,
                                       "%s: is a standby; name the primary, or several hosts with"
                                       " target_session_attrs=read-write",
                                       pg->place));
}

/* No limit for a whole statement: a copy reads for hours. This side waits PG_ANSWER_MS for the next
 * row, then leaves, and the server notices. */
static bool open_reader(struct store_postgres *p, struct pg *out_pg, struct err *err)
{
    *out_pg = (struct pg){.url = p->url, .name = "ferry reader"};
    if (pg_connect(out_pg, err) && refuse_standby(p, out_pg, err) &&
        pg_exec(out_pg, "cannot set up a session",
                "SET default_transaction_read_only = on; SET statement_timeout = 0;"
                "SELECT set_config('client_connection_check_interval', '10s', false)"
                " WHERE current_setting('server_version_num')::int >= 140000",
                err))
        return true;
    pg_close(out_pg);
    return false;
}

static bool borrow_reader(struct store_postgres *p, struct pg *out_pg, bool *out_is_used,
                          struct err *err)
{
    (void)pthread_mutex_lock(&p->lock);
    *out_is_used = p->idle_count > 0;
    if (*out_is_used)
        *out_pg = p->idle[--p->idle_count];
    (void)pthread_mutex_unlock(&p->lock);
    return *out_is_used || open_reader(p, out_pg, err);
}

static void return_reader(struct store_postgres *p, struct pg *pg)
{
    (void)pthread_mutex_lock(&p->lock);
    bool keep = p->idle_count < READERS_IDLE_MAX && pg_is_open(pg) &&
                PQtransactionStatus(pg->conn) == PQTRANS_IDLE;
    if (keep)
        p->idle[p->idle_count++] = *pg;
    (void)pthread_mutex_unlock(&p->lock);
    if (!keep)
        pg_close(pg);
}

static const char *text_at(const struct sql_cells *cells, int at)
{
    const PGresult *result = cells->of;
    return PQgetisnull(result, 0, at) ? NULL : PQgetvalue(result, 0, at);
}
static int64_t number_at(const struct sql_cells *cells, int at)
{
    return strtoll(PQgetvalue(cells->of, 0, at), NULL, 10);
}
static double real_at(const struct sql_cells *cells, int at)
{
    return strtod(PQgetvalue(cells->of, 0, at), NULL);
}

static bool send_read(struct pg *pg, const struct sql_read *read, struct err *err)
{
    const char *texts[SQL_VALUES_MAX];
    char numbers[SQL_VALUES_MAX][TEXT_NUMBER_MAX];
    char *owned[SQL_VALUES_MAX] = {NULL};
    bool good = true;
    for (size_t i = 0; i < read->n; i++) {
        const struct sql_value *value = &read->values[i];
        (void)snprintf(numbers[i], sizeof numbers[i], "%lld", (long long)value->number);
        if (value->type == SQL_TEXT) {
            owned[i] = malloc(value->bytes + 1);
            good = good && owned[i] != NULL;
            if (owned[i] != NULL)
                pg_text(value->text, value->bytes, owned[i]);
        }
        texts[i] = value->type == SQL_TEXT ? owned[i] : numbers[i];
    }
    if (!good)
        (void)err_set(err, ERR_NOMEM, "no memory to read");
    else if (PQsendQueryParams(pg->conn, read->sql, (int)read->n, NULL, texts, NULL, NULL, 0) != 1)
        good = pg_fail(pg, NULL, "cannot read it", err);
    else
        (void)PQsetSingleRowMode(pg->conn);
    for (size_t i = 0; i < read->n; i++)
        free(owned[i]);
    return good;
}

/* *out_began: a row was visited; it cannot be read once more. until: PG_FOR_EVER, as long as rows
 * come. */
static bool visit_all(struct pg *pg, const struct sql_read *read, int64_t whole_until_ms,
                      bool *out_began, struct err *err)
{
    struct sql_cells cells = {.text = text_at, .number = number_at, .real = real_at};
    PGresult *result = NULL;
    bool good = true, more = true;
    if (!send_read(pg, read, err))
        return false;
    while (true) {
        int64_t until_ms = whole_until_ms != PG_FOR_EVER
                               ? whole_until_ms
                               : clock_mono_ms(clock_system()) + PG_ANSWER_MS;
        if (!pg_next(pg, until_ms, "cannot read it", &result, err))
            return false;
        if (result == NULL)
            return good;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_SINGLE_TUPLE && more && good) {
            *out_began = true;
            cells.of = result;
            more = read->row(read->ctx, &cells);
            if (cells.failed)
                good = err_set(err, ERR_NOMEM, "%s: no memory to read", pg->place);
        } else if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK && good)
            good = pg_fail(pg, result, "cannot read it", err);
        PQclear(result);
        if (!more || !good) { /* what is on its way is not read: the connection goes */
            pg_close(pg);
            return good;
        }
    }
}

static bool engine_read(struct store_sql *s, enum lane lane, const struct sql_read *read,
                        struct err *err)
{
    struct store_postgres *p = postgres_of(s);
    (void)lane; /* one database */
    bool is_used = true, began = false;
    while (true) {
        struct pg pg;
        struct err failure = {0};
        if (!borrow_reader(p, &pg, &is_used, err))
            return false;
        bool good = visit_all(&pg, read, PG_FOR_EVER, &began, &failure);
        return_reader(p, &pg);
        if (good)
            return true;
        /* An idle connection that broke meanwhile: the next one, at last a new one. */
        if (!is_used || began || failure.code != ERR_UNREACHABLE) {
            *err = failure;
            return false;
        }
    }
}

/* ---- leases ---- */

/* Waiting is bounded here, on this side: a commit that waits for a standby is left to the server,
 * and whether it was stored is not known. */
enum { LEASE_ANSWER_MS = 4000 };

static bool open_leases(struct store_postgres *p, struct err *err)
{
    if (pg_is_open(&p->leases))
        return true;
    p->leases = (struct pg){.url = p->url, .name = "ferry leases"};
    if (pg_connect(&p->leases, err) && refuse_standby(p, &p->leases, err) &&
        pg_exec(&p->leases, "cannot set up a session",
                "SET statement_timeout = '3s'; SET lock_timeout = '2s';"
                "SET tcp_user_timeout = '5s';"
                "SELECT set_config('synchronous_commit', 'on', false) WHERE"
                " current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
                err))
        return true;
    pg_close(&p->leases);
    return false;
}

static bool engine_run(struct store_sql *s, const struct sql_read *read, struct err *err)
{
    struct store_postgres *p = postgres_of(s);
    bool began = false;
    (void)pthread_mutex_lock(&p->leases_lock);
    bool good =
        open_leases(p, err) &&
        visit_all(&p->leases, read, clock_mono_ms(clock_system()) + LEASE_ANSWER_MS, &began, err);
    (void)pthread_mutex_unlock(&p->leases_lock);
    return good;
}

/* ---- the engine ---- */

static bool engine_begin(struct store_sql *s, enum lane lane, struct err *err)
{
    (void)err;
    pg_lane_begin(lane_of(s, lane));
    return true;
}
static bool engine_write(struct store_sql *s, enum lane lane, const struct sql_write *write,
                         struct err *err)
{
    return pg_lane_write(lane_of(s, lane), write, err);
}
static bool engine_settle(struct store_sql *s, enum lane lane, struct err *err)
{
    return pg_lane_settle(lane_of(s, lane), err);
}
static bool engine_commit(struct store_sql *s, enum lane lane, struct err *err)
{
    struct pg_lane *of = lane_of(s, lane);
    bool done = pg_lane_commit(of, err);
    if (lane == LANE_OBJECTS)
        atomic_store(&s->commits_lost, of->lost);
    return done;
}
static void engine_rollback(struct store_sql *s, enum lane lane)
{
    pg_lane_rollback(lane_of(s, lane));
}

/* The samples' commits do not wait for the disk; a later commit that does takes them along. */
static bool engine_sync_samples(struct store_sql *s, struct err *err)
{
    struct pg_lane *lane = lane_of(s, LANE_SAMPLES);
    char sql[320];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN; SET LOCAL synchronous_commit = local;"
                   "UPDATE ferry_writer SET number = number WHERE lane = '%s'; COMMIT",
                   lane->writer);
    return pg_lane_connect(lane, err) &&
           pg_exec(&lane->pg, "cannot write samples to disk", sql, err);
}

/* Rows that are alive by their mean width: what is deleted stays in the files, to be used again.
 * An estimate from the database's own statistics; 0 until it has some. */
static int64_t engine_bytes(struct store_sql *s, enum lane lane)
{
    struct err ignored = {0};
    int64_t bytes = 0;
    const char *sql =
        lane == LANE_SAMPLES
            ? "SELECT CAST(coalesce(sum(t.n_live_tup * (28 + (SELECT coalesce(sum(w.avg_width), 0)"
              " FROM pg_stats AS w WHERE w.schemaname = t.schemaname AND w.tablename = t.relname)"
              ")), 0) AS bigint) FROM pg_stat_user_tables AS t WHERE t.schemaname ="
              " current_schema() AND t.relname IN ('samples', 'monitor_inputs', 'audit_log')"
            : "SELECT CAST(coalesce(sum(t.n_live_tup * (28 + (SELECT coalesce(sum(w.avg_width), 0)"
              " FROM pg_stats AS w WHERE w.schemaname = t.schemaname AND w.tablename = t.relname)"
              ")), 0) AS bigint) FROM pg_stat_user_tables AS t WHERE t.schemaname ="
              " current_schema() AND t.relname NOT IN ('samples', 'monitor_inputs', 'audit_log')";
    return store_sql_int(s, lane, sql, &bytes, &ignored) ? bytes : 0;
}

static const char *engine_place(const struct store_sql *s, enum lane lane)
{
    (void)lane;
    return ((const struct store_postgres *)(const void *)s)->place;
}

static void close_all(struct store_sql *s)
{
    struct store_postgres *p = postgres_of(s);
    store_sql_stop(s);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        pg_lane_fini(&p->lanes[lane]);
    for (size_t i = 0; i < p->idle_count; i++)
        pg_close(&p->idle[i]);
    pg_close(&p->leases);
    (void)pthread_mutex_destroy(&p->leases_lock);
    (void)pthread_mutex_destroy(&p->lock);
    explicit_bzero(p->url, sizeof p->url); /* may have a password */
    free(p);
}

static const struct sql_engine postgres_engine = {
    .begin = engine_begin,
    .write = engine_write,
    .settle = engine_settle,
    .commit = engine_commit,
    .rollback = engine_rollback,
    .read = engine_read,
    .run = engine_run,
    .sync_samples = engine_sync_samples,
    .bytes = engine_bytes,
    .place = engine_place,
    .free = close_all,
    .is_remote = true,
};

/* ---- opening ---- */

static bool make_token(char *out_token, struct err *err)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set(err, ERR_IO, "the system gives no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(out_token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* sharing NULL: alone. */
static void init_lanes(struct store_postgres *p, const struct store_sharing *sharing)
{
    const struct pg_writer writer = {.url = p->url,
                                     .token = p->token,
                                     .appliance = sharing != NULL ? p->appliance : NULL,
                                     .fence = p->sql.fence};
    if (sharing != NULL) {
        TEXT_SET(p->appliance, sharing->appliance);
        fence_sql(&sharing->fence, true, p->sql.fence);
    }
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        pg_lane_init(&p->lanes[lane], lane, &writer);
}

static struct store_postgres *make(const char *url, bool read_only,
                                   const struct store_sharing *sharing, struct err *err)
{
    if (sharing != NULL &&
        (!text_is_dns_label(sharing->appliance) || !fence_is_valid(&sharing->fence, err))) {
        (void)err_set(err, ERR_INVALID, "appliance '%s' and its cells need DNS labels",
                      sharing->appliance);
        return NULL;
    }
    struct store_postgres *p = calloc(1, sizeof *p);
    if (p == NULL) {
        (void)err_set(err, ERR_NOMEM, "store");
        return NULL;
    }
    store_sql_init(&p->sql, &postgres_engine, read_only);
    p->is_reader = read_only;
    (void)pthread_mutex_init(&p->leases_lock, NULL);
    (void)pthread_mutex_init(&p->lock, NULL);
    bool good = text_copy(p->url, sizeof p->url, url) ||
                err_set(err, ERR_LIMIT, "the URL of the store is too long");
    if (good && pg_check_url(p->url, err) && make_token(p->token, err)) {
        pg_place(p->url, p->place, sizeof p->place);
        init_lanes(p, sharing);
        return p;
    }
    (void)pthread_mutex_destroy(&p->leases_lock);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

struct store *store_postgres_open(const char *url, struct err *err)
{
    return store_postgres_share(url, NULL, err);
}

struct store *store_postgres_share(const char *url, const struct store_sharing *sharing,
                                   struct err *err)
{
    struct store_postgres *p = make(url, false, sharing, err);
    if (p == NULL)
        return NULL;
    if (pg_lane_take(&p->lanes[LANE_OBJECTS], err) &&
        pg_lane_connect(&p->lanes[LANE_SAMPLES], err) && store_sql_start(&p->sql, err))
        return &p->sql.store;
    close_all(&p->sql);
    return NULL;
}

struct store *store_postgres_read(const char *url, struct err *err)
{
    struct store_postgres *p = make(url, true, NULL, err);
    struct pg pg;
    if (p == NULL)
        return NULL;
    if (open_reader(p, &pg, err)) {
        bool good = pg_schema_check(&pg, err);
        return_reader(p, &pg);
        if (good)
            return &p->sql.store;
    }
    close_all(&p->sql);
    return NULL;
}

void store_postgres_text(const char *url, char *out_text, size_t bytes)
{
    pg_place(url, out_text, bytes);
}
