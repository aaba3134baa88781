/* leases.h - who may give orders to which cell of hosts, in the store: rows of leases and
 * appliances.
 *
 * A lease is (cell, owner, epoch, until). `until` is by the database's clock (ferry_now_ms() in
 * SQL), never by a host's. Whoever takes a lease raises its epoch, so (cell, epoch) names one
 * tenure; a renewal and a release name it and change nothing when it is over. A released lease has
 * no owner and may be taken at once; one that ran out tells in quiet_ms how long the one before may
 * still believe that it holds it: the taker gives no order before that has passed by its own clock.
 *
 * Each function is one statement, committed before it returns true, on a connection of its own: it
 * never waits for a transaction of the lanes. False: not done, or (ERR_UNREACHABLE, ERR_TIMEOUT)
 * not known. Any thread.
 */
#ifndef STORE_LEASES_H
#define STORE_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum { STORE_CELL_MAX = 64, STORE_CELLS_MAX = 64, STORE_ADDRESS_MAX = 256 };

struct store_lease {
    char cell[STORE_CELL_MAX], owner[STORE_CELL_MAX]; /* owner empty: nobody's */
    int64_t epoch;
    int64_t left_ms;  /* until it runs out; 0 or less: it has */
    int64_t ttl_ms;   /* as it was taken */
    int64_t quiet_ms; /* how long whoever had it before may act; 0: it was released */
    int64_t taken_ms; /* by the database's clock */
};

struct store_appliance {
    char name[STORE_CELL_MAX], address[STORE_ADDRESS_MAX], version[STORE_CELL_MAX];
    int64_t age_ms; /* since it was last seen */
};

typedef bool store_lease_fn(void *ctx, const struct store_lease *row);
typedef bool store_appliance_fn(void *ctx, const struct store_appliance *row);

struct store;
struct store_lease_ops {
    /* A cell that nobody ever held gets its row, so that it shows as one without a holder. */
    bool (*declare)(struct store *s, const char *cell, struct err *err);
    /* Takes a lease that nobody has or that ran out, for ttl_ms; its epoch grows by one.
     * ERR_REFUSED: somebody has it. */
    bool (*take)(struct store *s, const char *cell, const char *owner, int64_t ttl_ms,
                 struct store_lease *out_lease, struct err *err);
    /* ttl_ms from now. ERR_FENCED: that tenure is over. */
    bool (*renew)(struct store *s, const char *cell, int64_t epoch, int64_t ttl_ms,
                  struct err *err);
    bool (*release)(struct store *s, const char *cell, int64_t epoch, struct err *err);
    bool (*each)(struct store *s, store_lease_fn *fn, void *ctx, struct err *err);

    /* An appliance is alive; age_ms is not read. */
    bool (*note)(struct store *s, const struct store_appliance *appliance, struct err *err);
    bool (*leave)(struct store *s, const char *name, struct err *err);
    bool (*each_appliance)(struct store *s, store_appliance_fn *fn, void *ctx, struct err *err);
};

/* The tenures that a writer names in each of its statements. n 0: none, it may change nothing. */
struct store_fence {
    size_t n;
    struct {
        char cell[STORE_CELL_MAX];
        int64_t epoch;
    } list[STORE_CELLS_MAX];
};

/* How an appliance opens a store that others write too. */
struct store_sharing {
    const char *appliance; /* its name; borrowed */
    struct store_fence fence;
};

#endif
