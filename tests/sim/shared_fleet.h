/* shared_fleet.h - the wild fleet with several appliances on one store: they are killed, stopped
 * and continued, cut off from the database and from the answers of its commits, and its primary is
 * replaced by a standby. Everything follows from the seed.
 *
 * The laws are the lawbook's, and those of the leases (broken ones are reported by the same book):
 * no order without a committed intent; the orders for one guest arrive at each host in the order of
 * the epochs; no commit of an older epoch after one of a newer one; no lease is taken while its
 * holder renews it; no acknowledged job is lost, whatever was promoted.
 *
 * Plants are bugs that a law must catch.
 */
#ifndef TESTS_SIM_SHARED_FLEET_H
#define TESTS_SIM_SHARED_FLEET_H

#include "tests/sim/wild_fleet.h"

enum shared_plant {
    PLANT_NONE,
    PLANT_NO_FENCE,      /* commits of a former tenure are stored */
    PLANT_HOST_CLOCK,    /* leases are compared with the asking host's clock */
    PLANT_UNKNOWN_FAILS, /* a commit whose answer was lost is taken for failed */
    PLANT_ASYNCHRONOUS,  /* a standby is promoted that lacks acknowledged commits */
    PLANT_NO_QUIET,      /* a taker gives orders at once */
    PLANT_NO_PERMIT,     /* orders go out without a look at the lease */
    PLANT_COUNT
};

/* What happened, so that a law that had nothing to look at is noticed. */
struct shared_counts {
    uint64_t takeovers, stopped, orders, withheld, fenced, lost_answers, promotions, commits;
};

struct shared_fleet *shared_fleet_run(uint64_t seed, enum shared_plant plant);
void shared_fleet_free(struct shared_fleet *s);
struct lawbook *shared_fleet_book(struct shared_fleet *s);
const struct shared_counts *shared_fleet_counts(const struct shared_fleet *s);

#endif
