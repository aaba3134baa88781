/* pg_lane.h - the writing connection of a lane, and its transactions.
 *
 * begin and write only fill a batch in memory: nothing of the network happens on the engine's
 * thread. settle and commit send it in one pipeline: the lane's row of ferry_writer, the
 * statements, and when all of them were answered well, COMMIT alone. So the result can be unknown
 * only for the COMMIT. Then the lane connects again until it is known: the row has the number of
 * the last transaction, and locking it waits for the former session's end. Nothing is assumed.
 *
 * Who writes: every transaction first updates its row of ferry_writer by the token of this opening.
 * A store that another appliance has opened since has no such row: ERR_LOCKED, for good. This is
 * the one place where a transaction begins and ends.
 *
 * Several appliances (leases.h): each has rows of its own in ferry_writer and the lock in shared
 * mode. Every statement has the fence, and the last one before COMMIT asks whether it held:
 * ERR_FENCED. It keeps the rows of the leases locked, so that a takeover waits for this
 * transaction; a session that stays idle in one for 5 s is ended by the server.
 *
 * A database that knows fewer transactions than it acknowledged is a standby that was promoted
 * without them, or an old backup: they are counted as lost. The engine still has them.
 *
 * One thread per lane. Private to store/postgres/.
 */
#ifndef STORE_POSTGRES_PG_LANE_H
#define STORE_POSTGRES_PG_LANE_H

#include "store/postgres/pg.h"
#include "store/sql.h"

enum { PG_TOKEN_MAX = 33, PG_BATCH_BYTES_MAX = 256 * 1024 * 1024 };

struct pg_op {
    enum statement id;
    size_t n, at; /* parameters, and where their texts begin in the batch */
    int64_t *tally;
};

struct pg_batch {
    char *text; /* the parameters, each with its NUL */
    size_t used, room;
    struct pg_op *ops;
    size_t n, max, sent;
};

struct pg_lane {
    struct pg pg;
    enum lane lane;
    const char *token; /* the store's */
    const char *fence; /* the store's; empty: it is alone on its database */
    char writer[96];   /* the row of ferry_writer: the lane, and of several appliances the name */
    int64_t number;    /* of the open or the last transaction */
    int64_t stored;    /* of the last one that was acknowledged */
    uint64_t lost;     /* acknowledged, and not in the database that answers now; at most */
    struct pg_batch batch;
    bool is_open;   /* BEGIN was answered */
    bool is_fenced; /* another appliance writes: for good */
};

struct pg_writer { /* all borrowed */
    const char *url, *token;
    const char *appliance; /* NULL: alone on its database */
    const char *fence;
};
void pg_lane_init(struct pg_lane *lane, enum lane which, const struct pg_writer *writer);
void pg_lane_fini(struct pg_lane *lane);

/* The first time: takes the appliance's lock, brings the schema forward, and takes both rows of
 * ferry_writer (objects lane only). ERR_LOCKED: another appliance has the lock. */
MUST_CHECK bool pg_lane_take(struct pg_lane *lane, struct err *err);
/* Connects if it is not: the lock (objects), settings, statements. */
MUST_CHECK bool pg_lane_connect(struct pg_lane *lane, struct err *err);

void pg_lane_begin(struct pg_lane *lane);
MUST_CHECK bool pg_lane_write(struct pg_lane *lane, const struct sql_write *write, struct err *err);
MUST_CHECK bool pg_lane_settle(struct pg_lane *lane, struct err *err);
MUST_CHECK bool pg_lane_commit(struct pg_lane *lane, struct err *err);
void pg_lane_rollback(struct pg_lane *lane);

#endif
