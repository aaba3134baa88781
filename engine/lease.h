/* lease.h - what an appliance that shares its store does about the leases of cells. Pure: it reads
 * no clock and no store (appliance/cells.c does).
 *
 * All times are of CLOCK_BOOTTIME, in milliseconds, except those that the store gives as spans. An
 * appliance counts a lease from the moment BEFORE it asked: whatever the way there took, the
 * database's clock began later. It gives orders only with a margin left, and none at all after a
 * takeover until whoever had the lease before cannot act any more (its whole lease and the call
 * limit have passed here). No host's wall clock plays a part.
 */
#ifndef ENGINE_LEASE_H
#define ENGINE_LEASE_H

#include "store/leases.h"

struct lease_times {
    int64_t ttl_ms;        /* how long a lease lasts */
    int64_t call_limit_ms; /* how long an order may be on its way to a host */
};
static inline int64_t lease_renew_ms(const struct lease_times *t)
{
    return t->ttl_ms / 4;
}
static inline int64_t lease_margin_ms(const struct lease_times *t)
{
    return t->ttl_ms / 4;
}
/* How often the leases of others are read. */
static inline int64_t lease_poll_ms(const struct lease_times *t)
{
    return t->ttl_ms / 5;
}

struct lease { /* one that this appliance took */
    char cell[STORE_CELL_MAX];
    int64_t epoch;
    int64_t taken_ms; /* before it was asked for the first time */
    int64_t asked_ms; /* before it was asked for the last time */
    int64_t ready_ms; /* from now on its holder may give orders */
    bool is_active;   /* its hosts are in this process' fleet */
};

/* A lease that was taken: asked at asked_ms, answered at now_ms. */
void lease_begin(struct lease *lease, const struct store_lease *row, const struct lease_times *t,
                 int64_t asked_ms, int64_t now_ms);
/* When it is no longer certain that nobody else has it. */
int64_t lease_sure_until_ms(const struct lease *lease, const struct lease_times *t);
bool lease_may_order(const struct lease *lease, const struct lease_times *t, int64_t now_ms);

/* What the store says, and what this appliance has. */
struct lease_view {
    const char *self; /* the appliance's name */
    const struct store_lease *rows;
    size_t n_rows;
    const struct lease *mine;
    size_t n_mine;
    size_t appliances; /* alive, this one among them */
    bool is_busy;      /* migrations are under way here: no cell is given away */
};
/* The row of a cell to take now; n_rows: none. Of several appliances each takes its share, rounded
 * up; a cell that was without a holder for a whole lease longer is anybody's. */
size_t lease_to_take(const struct lease_view *view, const struct lease_times *t);
/* The cell (of mine) to hand over, since this appliance has more than its share and all cells are
 * held; n_mine: none. */
size_t lease_to_give(const struct lease_view *view);
/* Fills err (ERR_UNREACHABLE) with what a client of an appliance without cells needs to know: who
 * holds each cell, and where that one is reached. Returns false. */
bool lease_refuse_standby(const struct lease_view *view, const struct store_appliance *appliances,
                          size_t n_appliances, struct err *err);

#endif
