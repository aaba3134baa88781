/* wild_fleet.h - a random fleet and what random people and a random world do to it, on the whole
 * appliance; the lawbook looks on. Everything follows from the seed. */
#ifndef TESTS_SIM_WILD_FLEET_H
#define TESTS_SIM_WILD_FLEET_H

#include "tests/sim/fleet_sim.h"
#include "tests/sim/lawbook.h"

enum { WILD_HOSTS_MAX = 12, WILD_GUESTS_MAX = 60, WILD_NAME_MAX = 32 };

enum wild_crash { CRASH_NONE, CRASH_BEFORE_COMMIT, CRASH_AFTER_COMMIT, CRASH_AFTER_ORDERS };

/* Sees each snapshot after the lawbook; see NULL: nobody. */
struct wild_reader {
    void *ctx;
    void (*see)(void *ctx, const struct snapshot *snapshot);
    void (*crashed)(void *ctx); /* the appliance ended: what follows comes from a new one */
};

/* Another way to live, die and take over than one appliance that starts again at once
 * (shared_fleet.h). Any may be NULL. */
struct wild_fleet;
struct wild_ways {
    void *ctx;
    void (*begin)(void *ctx, struct wild_fleet *w); /* before the first life */
    void (*turn)(void *ctx);                        /* between any two steps */
    void (*died)(void *ctx);                        /* instead of starting again */
    /* False: it does not reach the host. */
    bool (*order)(void *ctx, const struct hv_request *request);
    /* Instead of the store's; NULL: the store's. */
    bool (*commit)(void *ctx, struct store *store, struct err *err);
    void (*end)(void *ctx); /* before the world is freed */
};

struct wild_fleet {
    struct fleet_sim fs;
    struct wild_ways ways;
    struct lawbook *book;
    bool small;
    size_t n_guests;
    struct sim_host hosts[WILD_HOSTS_MAX];
    struct sim_guest guests[WILD_GUESTS_MAX];
    struct host_settings host_settings[WILD_HOSTS_MAX];
    unsigned asked;  /* migrations so far: their names are m0, m1, ... */
    unsigned drains; /* likewise d0, d1, ... */
    /* The store between the engine and the real one: it fails for a while, or the appliance dies
     * around a commit. */
    struct store_ops ops;
    const struct store_ops *real;
    int64_t fails_until_ms;
    enum wild_crash crash; /* at the next commit */
    bool dying;            /* nothing that it still does reaches anybody */
    unsigned orders_left;  /* CRASH_AFTER_ORDERS: those that still get out */
    unsigned crash_in;     /* steps; 0: not planned */
    bool traces;           /* tells what it does */
    bool resting;          /* nothing happens any more: what was asked comes to its end */
    struct wild_reader reader;
};

/* Lives through the seed; false: the book says which law was broken. Deterministic. */
struct wild_fleet *wild_fleet_run(uint64_t seed);
struct wild_fleet *wild_fleet_run_so(uint64_t seed, const struct wild_ways *ways);
struct wild_fleet *wild_fleet_run_seen(uint64_t seed, const struct wild_reader *reader);
void wild_fleet_free(struct wild_fleet *w);
uint64_t wild_fleet_hash(struct wild_fleet *w);

/* wild_acts.c: something happens. */
void wild_fleet_act(struct wild_fleet *w);
uint64_t wild_dice(struct wild_fleet *w, uint64_t sides);
bool wild_chance(struct wild_fleet *w, unsigned percent);

#endif
