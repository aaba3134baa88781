/* pg.c - see pg.h. */
#include "store/postgres/pg.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/* ---- errors ---- */

struct failure {
    const char *state; /* SQLSTATE, or its class */
    enum err_code code;
    const char *what, *remedy;
};

/* The first that fits. https://www.postgresql.org/docs/15/errcodes-appendix.html */
static const struct failure failures[] = {
    {"25006", ERR_READ_ONLY, "the database is read-only", "name the primary, or allow writing"},
    {"53100", ERR_FULL, "the database's disk is full", "free some space there"},
    {"53200", ERR_NOMEM, "the database is out of memory", "free some memory there"},
    {"53300", ERR_UNREACHABLE, "the database has too many connections",
     "raise max_connections, or close others"},
    {"57014", ERR_TIMEOUT, "the statement took too long", "look at what the database is doing"},
    {"55P03", ERR_LOCKED, "another session holds a lock", "look at pg_locks"},
    {"40", ERR_LOCKED, "another session was in the way", "it is tried again"},
    {"57P", ERR_UNREACHABLE, "the database is not available", "start it, or look at its log"},
    {"08", ERR_UNREACHABLE, "the connection was lost", "look at the database and the network"},
    {"28", ERR_FORBIDDEN, "the database refuses this user",
     "check the user, the password file and pg_hba.conf"},
    {"42501", ERR_FORBIDDEN, "the database's user may not do this",
     "make it the owner of the schema"},
    {"3D000", ERR_NOT_FOUND, "there is no such database", "create it"},
    {"3F000", ERR_NOT_FOUND, "there is no such schema", "create it"},
    {"42P01", ERR_CORRUPT, "a table is missing or was changed by hand", "restore a backup"},
    {"42703", ERR_CORRUPT, "a table is missing or was changed by hand", "restore a backup"},
    {"XX001", ERR_CORRUPT, "the database is damaged", "restore a backup"},
    {"XX002", ERR_CORRUPT, "an index of the database is damaged", "REINDEX it"},
    {"54", ERR_LIMIT, "a value is too long", "shorten it"},
    {"58030", ERR_IO, "the database has an I/O error", "check its disk"},
    {"", ERR_INTERNAL, "the statement was refused", "report this"},
};

static const struct failure *failure_of(const char *state)
{
    size_t i = 0;
    while (!text_has_prefix(state, failures[i].state))
        i++;
    return &failures[i];
}

static void one_line(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
}

bool pg_fail(const struct pg *pg, const PGresult *result, const char *doing, struct err *err)
{
    char words[300];
    const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *primary =
        result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    if (primary == NULL)
        primary = PQerrorMessage(pg->conn);
    if (state == NULL) { /* libpq's own: of the connection; a refused password has no code */
        bool refused = strstr(primary, "authentication") != NULL ||
                       strstr(primary, "no password supplied") != NULL ||
                       strstr(primary, "pg_hba.conf") != NULL;
        bool is_missing =
            strstr(primary, "database \"") != NULL && strstr(primary, "does not exist") != NULL;
        state = refused ? "28000" : is_missing ? "3D000" : "08000";
    }
    (void)snprintf(words, sizeof words, "%s", primary);
    one_line(words);
    const struct failure *failure = failure_of(state);
    return err_set(err, failure->code, "%s: %s: %s (%s); %s", pg->place, doing, failure->what,
                   words, failure->remedy);
}

/* ---- opening ---- */

static const char *option_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options != NULL && options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val;
    return NULL;
}

void pg_place(const char *url, char *out_text, size_t bytes)
{
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    const char *host = option_of(options, "host"), *port = option_of(options, "port");
    const char *database = option_of(options, "dbname");
    (void)snprintf(out_text, bytes, "postgresql://%.120s%s%.30s/%.60s", host != NULL ? host : "",
                   port != NULL ? ":" : "", port != NULL ? port : "",
                   database != NULL ? database : "");
    PQconninfoFree(options);
}

bool pg_check_url(const char *url, struct err *err)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &why);
    bool good = options != NULL;
    if (good && option_of(options, "dbname") == NULL)
        good = err_set(err, ERR_INVALID,
                       "the URL names no database; expected postgresql://user@host/database");
    else if (!good) { /* libpq's words may repeat the URL, and with it a password */
        (void)err_set(err, ERR_INVALID,
                      "libpq does not understand the URL; expected "
                      "postgresql://user@host:port/database?sslmode=verify-full");
    }
    PQfreemem(why);
    PQconninfoFree(options);
    return good;
}

static void ignore_notice(void *ctx, const PGresult *result)
{
    (void)ctx, (void)result;
}

/* Settings that the URL may overrule come before it, those that must hold after it. */
static PGconn *start(const struct pg *pg)
{
    static const char seconds[] = "5";
    _Static_assert(PG_CONNECT_S == 5, "and its text");
    const char *const keywords[] = {
        "connect_timeout",  "keepalives_idle",           "keepalives_interval",
        "keepalives_count", "tcp_user_timeout",          "dbname",
        "client_encoding",  "fallback_application_name", NULL};
    const char *const values[] = {seconds, "10",   "5",      "3", "20000",
                                  pg->url, "UTF8", pg->name, NULL};
    return PQconnectdbParams(keywords, values, 1);
}

static bool check_server(struct pg *pg, struct err *err)
{
    const char *encoding = PQparameterStatus(pg->conn, "server_encoding");
    if (PQserverVersion(pg->conn) < PG_VERSION_MIN)
        return err_set(err, ERR_REFUSED, "%s: PostgreSQL %d; Ferry needs %d or later", pg->place,
                       PQserverVersion(pg->conn) / 10000, PG_VERSION_MIN / 10000);
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0)
        return err_set(err, ERR_REFUSED,
                       "%s: the database's encoding is %s; create it with ENCODING 'UTF8'",
                       pg->place, encoding != NULL ? encoding : "not known");
    return true;
}

bool pg_connect(struct pg *pg, struct err *err)
{
    if (pg->place[0] == '\0')
        pg_place(pg->url, pg->place, sizeof pg->place);
    pg->conn = start(pg);
    if (pg->conn == NULL)
        return err_set(err, ERR_NOMEM, "no memory for a connection");
    bool good = PQstatus(pg->conn) == CONNECTION_OK || pg_fail(pg, NULL, "cannot connect", err);
    good = good && check_server(pg, err);
    if (good) {
        (void)PQsetNoticeReceiver(pg->conn, ignore_notice, NULL);
        good = PQsetnonblocking(pg->conn, 1) == 0 || pg_fail(pg, NULL, "cannot connect", err);
    }
    if (!good)
        pg_close(pg);
    return good;
}

void pg_close(struct pg *pg)
{
    PQfinish(pg->conn);
    pg->conn = NULL;
}

bool pg_is_open(const struct pg *pg)
{
    return pg->conn != NULL && PQstatus(pg->conn) == CONNECTION_OK;
}

/* ---- waiting ---- */

/* False: late. Also true when nothing came: the caller looks again. */
static bool wait_readable(struct pg *pg, int64_t until_ms, bool also_writable)
{
    int64_t left_ms =
        until_ms == PG_FOR_EVER ? PG_FOR_EVER : until_ms - clock_mono_ms(clock_system());
    struct pollfd fd = {.fd = PQsocket(pg->conn),
                        .events = (short)(POLLIN | (also_writable ? POLLOUT : 0))};
    if (until_ms != PG_FOR_EVER && left_ms <= 0)
        return false;
    int n = poll(&fd, 1, left_ms > 3600000 ? 3600000 : (int)left_ms);
    return n != 0 || until_ms == PG_FOR_EVER;
}

static bool wait_answer(struct pg *pg, int64_t until_ms, const char *doing, struct err *err)
{
    while (true) {
        int unsent = PQflush(pg->conn);
        if (unsent >= 0 && !PQisBusy(pg->conn))
            return true;
        if (unsent < 0)
            return true; /* broken: the next result says so */
        if (!wait_readable(pg, until_ms, unsent > 0))
            return err_set(err, ERR_TIMEOUT,
                           "%s: %s: no answer in time; look at the database and the network",
                           pg->place, doing);
        if (PQconsumeInput(pg->conn) == 0)
            return true;
    }
}

bool pg_next(struct pg *pg, int64_t until_ms, const char *doing, PGresult **out, struct err *err)
{
    if (pg->conn == NULL)
        return err_set(err, ERR_UNREACHABLE, "%s: %s: the connection is closed", pg->place, doing);
    if (!wait_answer(pg, until_ms, doing, err)) {
        pg_close(pg);
        return false;
    }
    PGresult *result = PQgetResult(pg->conn);
    if (PQstatus(pg->conn) != CONNECTION_OK) {
        (void)pg_fail(pg, result, doing, err);
        if (err->code == ERR_INTERNAL)
            err->code = ERR_UNREACHABLE;
        PQclear(result);
        pg_close(pg);
        return false;
    }
    *out = result;
    return true;
}

static int64_t answer_until(void)
{
    return clock_mono_ms(clock_system()) + PG_ANSWER_MS;
}

static bool is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* To the end of all results; the last good one, or the first failure. */
static PGresult *collect(struct pg *pg, const char *doing, struct err *err)
{
    PGresult *last = NULL, *result = NULL;
    int64_t until_ms = answer_until();
    bool failed = false;
    while (pg_next(pg, until_ms, doing, &result, err)) {
        if (result == NULL)
            return failed ? NULL : last;
        if (!failed && !is_good(result)) {
            failed = true;
            (void)pg_fail(pg, result, doing, err);
            PQclear(last);
            last = NULL;
        }
        if (failed) {
            PQclear(result);
            continue;
        }
        PQclear(last);
        last = result;
    }
    PQclear(last);
    return NULL;
}

bool pg_exec(struct pg *pg, const char *doing, const char *sql, struct err *err)
{
    if (!pg_is_open(pg) || PQsendQuery(pg->conn, sql) == 0)
        return pg_fail(pg, NULL, doing, err);
    PGresult *result = collect(pg, doing, err);
    PQclear(result);
    return result != NULL;
}

PGresult *pg_ask(struct pg *pg, const char *doing, const char *sql, size_t n,
                 const char *const *texts, struct err *err)
{
    if (!pg_is_open(pg) ||
        PQsendQueryParams(pg->conn, sql, (int)n, NULL, texts, NULL, NULL, 0) == 0) {
        (void)pg_fail(pg, NULL, doing, err);
        return NULL;
    }
    return collect(pg, doing, err);
}

bool pg_int(struct pg *pg, const char *doing, const char *sql, int64_t *out_value, struct err *err)
{
    PGresult *result = pg_ask(pg, doing, sql, 0, NULL, err);
    if (result == NULL)
        return false;
    const char *text = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "0";
    *out_value = text[0] == 't' ? 1 : strtoll(text, NULL, 10);
    PQclear(result);
    return true;
}

/* ---- text ---- */

void pg_text(const char *text, size_t bytes, char *out)
{
    for (size_t i = 0; i < bytes;) {
        size_t n = text_utf8_bytes(text + i);
        bool good = n > 0 && n <= bytes - i && text[i] != '\0';
        if (good)
            memcpy(out + i, text + i, n);
        else
            out[i] = '?';
        i += good ? n : 1;
    }
    out[bytes] = '\0';
}
