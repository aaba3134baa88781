/* pg_lane.c - see pg_lane.h. */
#include "store/postgres/pg_lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/pg_batch.h"
#include "store/postgres/pg_schema.h"

enum { ASK_AGAIN_MS = 500, ASK_AGAIN_MAX_MS = 5000 };

static const char *const lane_names[LANE_COUNT] = {
    [LANE_OBJECTS] = "objects",
    [LANE_SAMPLES] = "samples",
};

void pg_lane_init(struct pg_lane *lane, enum lane which, const struct pg_writer *writer)
{
    *lane = (struct pg_lane){.lane = which, .token = writer->token, .fence = writer->fence};
    lane->pg.url = writer->url;
    lane->pg.name = which == LANE_OBJECTS ? "ferry objects" : "ferry samples";
    pg_place(writer->url, lane->pg.place, sizeof lane->pg.place);
    (void)snprintf(lane->writer, sizeof lane->writer, "%s%s%s", lane_names[which],
                   writer->appliance != NULL ? "/" : "",
                   writer->appliance != NULL ? writer->appliance : "");
}

static bool is_shared(const struct pg_lane *lane)
{
    return strchr(lane->writer, '/') != NULL;
}

void pg_lane_fini(struct pg_lane *lane)
{
    pg_close(&lane->pg);
    pg_batch_fini(&lane->batch);
}

/* ---- connecting ---- */

/* The server ends what takes too long, and sessions whose other end is gone. Only the wait for a
 * COMMIT has no limit. Objects: never less than "on", whatever the database's default is; samples:
 * as SQLite's NORMAL, the last ones may be lost in a crash of the database. */
#define SETTINGS                                                     \
    "SET statement_timeout = '20s'; SET lock_timeout = '10s';"       \
    "SET idle_in_transaction_session_timeout = '60s';"               \
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;" \
    "SET tcp_keepalives_count = 3; SET default_transaction_isolation = 'read committed';"
static const char *const settings[LANE_COUNT] = {
    [LANE_OBJECTS] =
        SETTINGS "SELECT set_config('synchronous_commit', 'on', false) WHERE"
                 " current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
    [LANE_SAMPLES] = SETTINGS "SET synchronous_commit = off",
};

#define LOCK_KEY "1181053554, hashtext(current_schema())" /* "Ferr" */

static bool open_session(struct pg_lane *lane, struct err *err)
{
    int64_t is_standby = 0, has_schema = 0;
    if (!pg_connect(&lane->pg, err))
        return false;
    if (!pg_int(&lane->pg, "cannot use it",
                "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'",
                &is_standby, err))
        return false;
    if (is_standby != 0)
        return err_set(err, ERR_READ_ONLY,
                       "%s: is a standby or read-only; name the primary, or several hosts with"
                       " target_session_attrs=read-write",
                       lane->pg.place);
    if (!pg_int(&lane->pg, "cannot use it", "SELECT current_schema() IS NOT NULL", &has_schema,
                err))
        return false;
    if (has_schema == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "%s: no schema of its search_path exists there; create it", lane->pg.place);
    return pg_exec(&lane->pg, "cannot set up a session", settings[lane->lane], err) &&
           (!is_shared(lane) || pg_exec(&lane->pg, "cannot set up a session",
                                        "SET idle_in_transaction_session_timeout = '5s'", err));
}

/* Who holds the appliance's lock, for the text. */
static void name_holder(struct pg_lane *lane, char *out_text, size_t bytes)
{
    struct err ignored = {0};
    out_text[0] = '\0';
    PGresult *holder = pg_ask(
        &lane->pg, "cannot see who holds it",
        "SELECT a.pid, coalesce(a.client_addr::text, 'this machine') FROM pg_locks AS l"
        " JOIN pg_stat_activity AS a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
        " AND l.classid = 1181053554 AND l.database = (SELECT oid FROM pg_database WHERE datname ="
        " current_database()) LIMIT 1",
        0, NULL, &ignored);
    if (holder != NULL && PQntuples(holder) > 0)
        (void)snprintf(out_text, bytes, " (from %.60s, session %.20s)", PQgetvalue(holder, 0, 1),
                       PQgetvalue(holder, 0, 0));
    PQclear(holder);
}

static bool take_lock(struct pg_lane *lane, bool *out_taken, struct err *err)
{
    int64_t taken = 0;
    if (!pg_int(&lane->pg, "cannot take its lock",
                is_shared(lane) ? "SELECT pg_try_advisory_lock_shared(" LOCK_KEY ")"
                                : "SELECT pg_try_advisory_lock(" LOCK_KEY ")",
                &taken, err))
        return false;
    *out_taken = taken != 0;
    return true;
}

static bool prepare_all(struct pg_lane *lane, struct err *err)
{
    for (enum statement id = 0; id < STATEMENT_COUNT; id++) {
        char sql[ROWS_SQL_MAX], name[16];
        PGresult *result = NULL, *end = NULL;
        statement_sql(id, lane->fence, sql);
        (void)snprintf(name, sizeof name, "s%d", (int)id);
        if (PQsendPrepare(lane->pg.conn, name, sql, 0, NULL) == 0)
            return pg_fail(&lane->pg, NULL, "cannot use its tables", err);
        int64_t until_ms = clock_mono_ms(clock_system()) + PG_ANSWER_MS;
        if (!pg_next(&lane->pg, until_ms, "cannot use its tables", &result, err))
            return false;
        bool good = PQresultStatus(result) == PGRES_COMMAND_OK ||
                    pg_fail(&lane->pg, result, "cannot use its tables", err);
        PQclear(result);
        if (!good || !pg_next(&lane->pg, until_ms, "cannot use its tables", &end, err))
            return false;
    }
    return true;
}

static bool refuse_fenced(struct pg_lane *lane, struct err *err)
{
    lane->is_fenced = true;
    return err_set(err, ERR_LOCKED,
                   "%s: another appliance has opened this database since; this one stores nothing "
                   "more: stop one of them, then start the other again",
                   lane->pg.place);
}

/* Samples are committed without waiting for the disk: of them the last ones may be lost. */
static void note_lost(struct pg_lane *lane, int64_t number)
{
    int64_t lost = lane->stored - number;
    if (lost <= 0 || lane->lane != LANE_OBJECTS)
        return;
    lane->stored = number;
    lane->lost += (uint64_t)lost;
    LOG(ERROR, "commits_lost", FIELD_I64(COUNT, lost),
        FIELD_TEXT(TEXT, "the database no longer has the last commits that it acknowledged: a "
                         "standby without them was promoted, or an old backup restored"));
}

/* Is the row of ferry_writer still ours? */
static bool check_writer(struct pg_lane *lane, struct err *err)
{
    const char *const texts[] = {lane->writer, lane->token};
    PGresult *row = pg_ask(&lane->pg, "cannot read who writes",
                           "SELECT number FROM ferry_writer WHERE lane = $1 AND token = $2",
                           COUNT(texts), texts, err);
    bool good = row != NULL && (PQntuples(row) == 1 || refuse_fenced(lane, err));
    if (good)
        note_lost(lane, strtoll(PQgetvalue(row, 0, 0), NULL, 10));
    PQclear(row);
    return good;
}

/* After the connection was lost: the server may not have noticed yet, then the former session still
 * has the lock. */
static bool take_lock_again(struct pg_lane *lane, struct err *err)
{
    bool taken = false;
    if (!check_writer(lane, err) || !take_lock(lane, &taken, err))
        return false;
    if (!taken)
        return err_set(err, ERR_UNREACHABLE,
                       "%s: the former session of this appliance has not ended there; it is tried "
                       "again",
                       lane->pg.place);
    return check_writer(lane, err); /* nobody came in between */
}

bool pg_lane_connect(struct pg_lane *lane, struct err *err)
{
    if (lane->is_fenced)
        return refuse_fenced(lane, err);
    if (pg_is_open(&lane->pg))
        return true;
    pg_close(&lane->pg);
    if (open_session(lane, err) &&
        (lane->lane == LANE_OBJECTS ? take_lock_again(lane, err) : check_writer(lane, err)) &&
        prepare_all(lane, err))
        return true;
    pg_close(&lane->pg);
    return false;
}

/* The samples' row too; the lane is that of objects. */
static bool take_writer(struct pg_lane *lane, struct err *err)
{
    for (enum lane which = 0; which < LANE_COUNT; which++) {
        char writer[sizeof lane->writer];
        (void)snprintf(writer, sizeof writer, "%s%s", lane_names[which],
                       lane->writer + strlen(lane_names[lane->lane]));
        const char *const texts[] = {writer, lane->token};
        PGresult *done = pg_ask(&lane->pg, "cannot take it",
                                "INSERT INTO ferry_writer (lane, token, number) VALUES ($1, $2, 0)"
                                " ON CONFLICT (lane) DO UPDATE SET token = $2, number = 0",
                                COUNT(texts), texts, err);
        PQclear(done);
        if (done == NULL)
            return false;
    }
    return true;
}

/* One appliance at a time, also where they share the other lock. */
static bool bring_forward(struct pg_lane *lane, struct err *err)
{
    const char *doing = "cannot take the lock of its schema";
    return pg_exec(&lane->pg, doing,
                   "SELECT pg_advisory_lock(1181053555, hashtext(current_schema()))", err) &&
           pg_schema_bring_forward(&lane->pg, err) &&
           pg_exec(&lane->pg, doing,
                   "SELECT pg_advisory_unlock(1181053555, hashtext(current_schema()))", err);
}

bool pg_lane_take(struct pg_lane *lane, struct err *err)
{
    bool taken = false;
    char holder[128];
    bool good = open_session(lane, err) && take_lock(lane, &taken, err);
    if (good && !taken) {
        name_holder(lane, holder, sizeof holder);
        good = err_set(err, ERR_LOCKED,
                       "%s: another appliance%s runs on this database%s; stop it, or name another "
                       "database",
                       lane->pg.place, holder,
                       is_shared(lane) ? " and does not share it (it has no `appliance:`)" : "");
    }
    good = good && bring_forward(lane, err) && take_writer(lane, err) && prepare_all(lane, err);
    if (!good)
        pg_close(&lane->pg);
    return good;
}

/* ---- a transaction ---- */

void pg_lane_begin(struct pg_lane *lane)
{
    pg_batch_clear(&lane->batch);
    lane->is_open = false;
    lane->number++;
}

bool pg_lane_write(struct pg_lane *lane, const struct sql_write *write, struct err *err)
{
    return pg_batch_add(&lane->batch, write, err);
}

static bool send_begin(struct pg_lane *lane)
{
    char number[32];
    const char *const texts[] = {number, lane->writer, lane->token};
    (void)snprintf(number, sizeof number, "%lld", (long long)lane->number);
    return PQsendQueryParams(lane->pg.conn, "BEGIN", 0, NULL, NULL, NULL, NULL, 0) == 1 &&
           PQsendQueryParams(lane->pg.conn,
                             "UPDATE ferry_writer SET number = $1 WHERE lane = $2 AND token = $3",
                             COUNT(texts), NULL, texts, NULL, NULL, 0) == 1;
}

static bool is_fenced_lane(const struct pg_lane *lane)
{
    return lane->fence[0] != '\0' && lane->lane == LANE_OBJECTS;
}

static bool send_fence(struct pg_lane *lane)
{
    char sql[FENCE_SQL_MAX + 32];
    (void)snprintf(sql, sizeof sql, "SELECT 1 WHERE %s", lane->fence);
    return !is_fenced_lane(lane) ||
           PQsendQueryParams(lane->pg.conn, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_ops(struct pg_lane *lane)
{
    const struct pg_batch *batch = &lane->batch;
    for (size_t i = batch->sent; i < batch->n; i++) {
        const char *texts[SQL_VALUES_MAX];
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", (int)batch->ops[i].id);
        pg_batch_texts(batch, &batch->ops[i], texts);
        if (PQsendQueryPrepared(lane->pg.conn, name, (int)batch->ops[i].n, texts, NULL, NULL, 0) !=
            1)
            return false;
    }
    return send_fence(lane) && PQpipelineSync(lane->pg.conn) == 1;
}

/* One statement's answer in the pipeline; *out stays NULL when an earlier one failed. */
static bool next_answer(struct pg_lane *lane, int64_t until_ms, const char *doing, PGresult **out,
                        struct err *err)
{
    struct err lost = {0};
    PGresult *result = NULL, *end = NULL;
    if (!pg_next(&lane->pg, until_ms, doing, &result, &lost) ||
        !pg_next(&lane->pg, until_ms, doing, &end, &lost)) {
        PQclear(result);
        if (err->code == ERR_NONE)
            *err = lost;
        return false;
    }
    PQclear(end);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        *out = result;
        return true;
    }
    if (status != PGRES_PIPELINE_ABORTED && err->code == ERR_NONE)
        (void)pg_fail(&lane->pg, result, doing, err);
    PQclear(result);
    return true;
}

static void count(const struct pg_op *op, const PGresult *result)
{
    if (op->tally == NULL)
        return;
    if (PQresultStatus(result) == PGRES_COMMAND_OK)
        *op->tally += strtoll(PQcmdTuples((PGresult *)(uintptr_t)result), NULL, 10);
    for (int i = 0; i < PQntuples(result); i++)
        *op->tally += strtoll(PQgetvalue(result, i, 0), NULL, 10);
}

static bool read_begin(struct pg_lane *lane, int64_t until_ms, struct err *err)
{
    const char *doing = "cannot begin a transaction";
    PGresult *begun = NULL, *writer = NULL;
    bool good = next_answer(lane, until_ms, doing, &begun, err) &&
                next_answer(lane, until_ms, doing, &writer, err);
    lane->is_open = begun != NULL;
    if (writer != NULL && err->code == ERR_NONE && strcmp(PQcmdTuples(writer), "1") != 0)
        (void)refuse_fenced(lane, err);
    PQclear(begun);
    PQclear(writer);
    return good;
}

static bool read_ops(struct pg_lane *lane, int64_t until_ms, struct err *err)
{
    struct pg_batch *batch = &lane->batch;
    for (; batch->sent < batch->n; batch->sent++) {
        const struct pg_op *op = &batch->ops[batch->sent];
        char doing[STATEMENT_DOING_MAX];
        PGresult *result = NULL;
        statement_doing(op->id, doing);
        if (!next_answer(lane, until_ms, doing, &result, err))
            return false;
        if (result != NULL)
            count(op, result);
        PQclear(result);
    }
    return true;
}

static bool read_fence(struct pg_lane *lane, int64_t until_ms, struct err *err)
{
    PGresult *result = NULL;
    if (!is_fenced_lane(lane))
        return true;
    if (!next_answer(lane, until_ms, "cannot read its leases", &result, err))
        return false;
    if (result != NULL && PQntuples(result) != 1 && err->code == ERR_NONE)
        (void)err_set(err, ERR_FENCED, "%s: another appliance holds the lease by now",
                      lane->pg.place);
    PQclear(result);
    return true;
}

static bool read_sync(struct pg_lane *lane, int64_t until_ms, struct err *err)
{
    struct err lost = {0};
    PGresult *result = NULL;
    bool good = pg_next(&lane->pg, until_ms, "cannot write", &result, &lost);
    if (!good && err->code == ERR_NONE)
        *err = lost;
    PQclear(result);
    return good;
}

static bool settle_once(struct pg_lane *lane, struct err *err)
{
    const char *doing = "cannot write";
    if (!pg_lane_connect(lane, err))
        return false;
    bool begins = !lane->is_open;
    if (PQenterPipelineMode(lane->pg.conn) != 1 || (begins && !send_begin(lane)) ||
        !send_ops(lane)) {
        (void)pg_fail(&lane->pg, NULL, doing, err);
        pg_close(&lane->pg);
        return false;
    }
    int64_t until_ms = clock_mono_ms(clock_system()) + PG_ANSWER_MS;
    if ((begins && !read_begin(lane, until_ms, err)) || !read_ops(lane, until_ms, err) ||
        !read_fence(lane, until_ms, err) || !read_sync(lane, until_ms, err))
        return false; /* and closed: nothing of it is stored */
    (void)PQexitPipelineMode(lane->pg.conn);
    return err->code == ERR_NONE;
}

bool pg_lane_settle(struct pg_lane *lane, struct err *err)
{
    struct err failure = {0};
    bool was_there = pg_is_open(&lane->pg);
    if (lane->is_open && !was_there)
        return err_set(err, ERR_UNREACHABLE, "%s: cannot write: the connection was lost",
                       lane->pg.place);
    if (settle_once(lane, &failure))
        return true;
    /* A connection that broke while nobody used it, before BEGIN was answered: once more with a new
     * one. */
    if (!was_there || lane->is_open || failure.code != ERR_UNREACHABLE) {
        *err = failure;
        return false;
    }
    pg_close(&lane->pg);
    lane->batch.sent = 0;
    return settle_once(lane, err);
}

/* The connection was lost while COMMIT was under way. The lock of the appliance is only granted
 * when the former session has ended, so what the row says then is final. */
static bool ask_number(struct pg_lane *lane, int64_t *out_number, struct err *err)
{
    const char *const texts[] = {lane->writer, lane->token};
    if (!pg_lane_connect(lane, err))
        return false;
    PGresult *row =
        pg_ask(&lane->pg, "cannot ask for a commit",
               "SELECT number FROM ferry_writer WHERE lane = $1 AND token = $2 FOR UPDATE",
               COUNT(texts), texts, err);
    bool good = row != NULL && (PQntuples(row) == 1 || refuse_fenced(lane, err));
    if (good)
        *out_number = strtoll(PQgetvalue(row, 0, 0), NULL, 10);
    PQclear(row);
    return good;
}

static bool find_out(struct pg_lane *lane, const struct err *lost, struct err *err)
{
    int64_t wait_ms = ASK_AGAIN_MS, number = 0;
    enum err_code last = lost->code;
    LOG(WARN, "commit_unknown", FIELD_TEXT(ERROR, err_name(lost->code)),
        FIELD_TEXT(TEXT, lost->text));
    while (true) {
        struct err failure = {0};
        if (ask_number(lane, &number, &failure))
            break;
        if (lane->is_fenced) {
            *err = failure;
            return false;
        }
        if (failure.code != last) /* for example a standby now: nobody else says why it waits */
            LOG(WARN, "commit_unknown", FIELD_TEXT(ERROR, err_name(failure.code)),
                FIELD_TEXT(TEXT, failure.text));
        last = failure.code;
        clock_sleep_ms(wait_ms);
        wait_ms = wait_ms * 2 < ASK_AGAIN_MAX_MS ? wait_ms * 2 : ASK_AGAIN_MAX_MS;
    }
    bool stored = number == lane->number;
    LOG(WARN, "commit_known", FIELD_TEXT(TEXT, stored ? "it was stored" : "it was not stored"));
    if (!stored)
        *err = *lost;
    return stored;
}

static bool send_commit(struct pg_lane *lane, bool *out_lost, struct err *err)
{
    const char *doing = "cannot commit";
    PGresult *result = NULL, *end = NULL;
    *out_lost = true;
    if (PQsendQuery(lane->pg.conn, "COMMIT") != 1) {
        (void)pg_fail(&lane->pg, NULL, doing, err);
        pg_close(&lane->pg);
        return false;
    }
    if (!pg_next(&lane->pg, PG_FOR_EVER, doing, &result, err))
        return false;
    *out_lost = false;
    lane->is_open = false;
    bool good =
        PQresultStatus(result) == PGRES_COMMAND_OK || pg_fail(&lane->pg, result, doing, err);
    if (good && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        good = err_set(err, ERR_INTERNAL, "%s: %s: the database rolled back; report this",
                       lane->pg.place, doing);
    PQclear(result);
    if (pg_next(&lane->pg, PG_FOR_EVER, doing, &end, &(struct err){0}))
        PQclear(end);
    return good;
}

bool pg_lane_commit(struct pg_lane *lane, struct err *err)
{
    bool is_lost = false;
    if (lane->batch.n == 0)
        return true;
    if ((!lane->is_open || lane->batch.sent < lane->batch.n) && !pg_lane_settle(lane, err))
        return false;
    struct err failure = {0};
    bool done = send_commit(lane, &is_lost, &failure);
    if (is_lost && lane->lane == LANE_OBJECTS)
        done = find_out(lane, &failure, &failure); /* samples: counted as lost */
    if (!done) {
        *err = failure;
        return false;
    }
    lane->stored = lane->number;
    pg_batch_clear(&lane->batch);
    return true;
}

void pg_lane_rollback(struct pg_lane *lane)
{
    struct err ignored = {0};
    pg_batch_clear(&lane->batch);
    if (pg_is_open(&lane->pg) && PQtransactionStatus(lane->pg.conn) != PQTRANS_IDLE) {
        if (PQpipelineStatus(lane->pg.conn) != PQ_PIPELINE_OFF ||
            !pg_exec(&lane->pg, "cannot roll back", "ROLLBACK", &ignored))
            pg_close(&lane->pg);
    }
    lane->is_open = false;
}
