/* monitor.h - watches one migration and decides: go on, allow more downtime, post-copy, pause,
 * abort. Pure: the same samples give the same decisions, in the appliance, in a replay of a record,
 * and in a shadow that runs beside the one that acts.
 *
 * Two algorithms. `legacy` is KubeVirt's default, quirks included (units of 10^9 bytes rounded up,
 * "progress" meaning less than in the sample before), with its downtime ramp, so that a comparison
 * is true. `stall` is KubeVirt's stall detector done right: bandwidth from differences of
 * data_processed (memory_bps goes stale in a stall), a low-water mark taken where passes begin, GiB
 * of 2^30, disks with a budget of their own, the downtime held at 1 ms until bytes are seen moving,
 * a ramp only for what does not converge by itself, and a gate that refuses post-copy and
 * switch-over while the path is sick. It gives up a path on which nothing moves for as long as
 * makes a stall, and a switch-over that does not end.
 *
 * Post-copy is never timed out and never aborted.
 *
 * A decision is a wish. It is wished again at every look until monitor_done says it was accepted;
 * an abort that was accepted, seen under way and then no more has failed, and is wished again.
 */
#ifndef ENGINE_DATA_MONITOR_H
#define ENGINE_DATA_MONITOR_H

#include "engine/model/job/decision.h"
#include "engine/model/job/phase.h"
#include "engine/model/settings/migration_config.h"
#include "hypervisor/types.h"

enum {
    MONITOR_DOWNTIME_MAX_MS = 2000000, /* libvirt's own limit: any downtime will do */
    MONITOR_DOWNTIME_FIRST_MS = 300,
    MONITOR_DOWNTIME_HELD_MS = 1,
    MONITOR_FLOW_MS = 1000,         /* bytes that moved within it: they flow */
    MONITOR_STILL_MS = 2000,        /* none moved for so long: the downtime is held again */
    MONITOR_DEAD_MS = 10000,        /* and for so long at the deadline: nothing moves */
    MONITOR_RATE_MS = 200,          /* bandwidth is measured over at least this */
    MONITOR_ABORT_GUARD_MS = 30000, /* an accepted abort that is never seen has failed */
    MONITOR_MINIMA_MAX = 128,       /* the window is kept in slices, of which this is enough */
    MONITOR_LATER_MAX = 256,        /* the largest go first */
};

struct monitor_input {  /* one look */
    int64_t elapsed_ms; /* since the migration was begun */
    bool has_stats;     /* of a job that runs */
    bool at_iteration;  /* a pass has just begun; seen from the numbers where they count passes */
    struct hv_job_stats stats;
    enum mode mode;
    bool stopped_by_migration; /* the source is paused(migration) */
    bool abort_under_way;      /* whoever asked */
};

struct monitor { /* plain memory: can be copied, stored and taken up again */
    enum monitor_kind kind;
    struct migration_config config;
    struct monitor_facts facts;
#define TYPE_BOOL bool
#define TYPE_TIME int64_t
#define TYPE_SIZE uint64_t
#define TYPE_RATE double
#define TYPE_WHY enum decision
#define STATE(type, id) TYPE_##type id;
#include "engine/data/monitor.def"
#undef STATE
    struct {
#define FLOW(type, id) TYPE_##type id;
#include "engine/data/monitor.def"
#undef FLOW
    } flow;
    struct {
#define PAST(type, id) TYPE_##type id;
#include "engine/data/monitor.def"
#undef PAST
    } past;
#undef TYPE_BOOL
#undef TYPE_TIME
#undef TYPE_SIZE
#undef TYPE_RATE
#undef TYPE_WHY
    size_t n_minima; /* what was left where passes began, within the stall window, oldest first */
    struct monitor_minimum {
        uint64_t remaining;
        int64_t at_ms;
    } minima[MONITOR_MINIMA_MAX];
    size_t n_later; /* the same since the stall was found, smallest first */
    uint64_t later[MONITOR_LATER_MAX];
};

/* Is a downtime ramp configured, other than the default one? For monitor_facts. */
bool monitor_wants_ramp(const struct migration_config *config);
void monitor_begin(struct monitor *m, enum monitor_kind kind, const struct migration_config *config,
                   const struct monitor_facts *facts);
/* One step. The decision is only a wish: what was done about it comes back by monitor_done. */
void monitor_step(struct monitor *m, const struct monitor_input *input,
                  struct monitor_decision *out_decision);
/* The order was accepted, or refused (then it is wished again). With SET_DOWNTIME of a *_HARD or
 * LATE_VFIO row and with PAUSE the guest will stand still: the mode becomes Paused. */
void monitor_done(struct monitor *m, const struct monitor_decision *decision, bool accepted,
                  int64_t elapsed_ms);
/* Of the newest step: is it another decision than the one before? A wish repeated is no news. */
bool monitor_is_news(const struct monitor *m, const struct monitor_decision *decision);

/* State as JSON text, new, and back; for adoption after a crash. False: it is not understood, and
 * *out_m is left alone. NULL: no memory. */
char *monitor_save(const struct monitor *m);
bool monitor_load(const char *json, struct monitor *out_m);
/* One that was loaded goes on now: what nobody saw meanwhile did not stand still. Only with a look
 * that has a sample; until there is one nothing is known of the time between. */
void monitor_take_up(struct monitor *m, int64_t elapsed_ms);

#endif
