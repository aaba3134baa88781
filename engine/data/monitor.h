/* monitor.h - monitors one migration and decides: continue, more downtime, post-copy, pause, abort.
 * Pure: the same samples give the same decisions, in the appliance, in a replay, and in a shadow
 * monitor.
 *
 * Two algorithms. `legacy` is KubeVirt's default, quirks included (units of 10^9 bytes rounded up,
 * "progress" meaning less than in the sample before), with its downtime ramp, for a fair
 * comparison. `stall` is KubeVirt's stall detector with corrections: bandwidth from differences of
 * data_processed (memory_bps is stale in a stall), a low-water mark taken where iterations begin,
 * GiB of 2^30, a completion timeout of its own for disks, the downtime held at 1 ms until data
 * flows, a ramp only for a guest that does not converge by itself, and a gate that refuses
 * post-copy and switch-over while the path is sick. It aborts when no data flows for the stall
 * timeout, or when a switch-over does not end.
 *
 * Post-copy is never timed out and never aborted.
 *
 * A decision is a request, repeated at every input until monitor_done() reports it accepted. An
 * abort that was accepted, seen under way and then no longer has failed, and is requested again.
 */
#ifndef ENGINE_DATA_MONITOR_H
#define ENGINE_DATA_MONITOR_H

#include "engine/model/job/decision.h"
#include "engine/model/job/phase.h"
#include "engine/model/settings/migration_config.h"
#include "hypervisor/types.h"

enum {
    MONITOR_DOWNTIME_MAX_MS = 2000000, /* libvirt's own limit: any downtime */
    MONITOR_DOWNTIME_FIRST_MS = 300,
    MONITOR_DOWNTIME_HELD_MS = 1,
    MONITOR_FLOW_MS = 1000,         /* window in which moved bytes mean that data flows */
    MONITOR_STILL_MS = 2000,        /* no bytes for so long: the downtime is held again */
    MONITOR_DEAD_MS = 10000,        /* ... and for so long at the deadline: no data flows */
    MONITOR_RATE_MS = 200,          /* bandwidth is measured over at least this */
    MONITOR_ABORT_GUARD_MS = 30000, /* an accepted abort that is never seen has failed */
    MONITOR_MINIMA_MAX = 128,       /* number of slices of the window */
    MONITOR_LATER_MAX = 256,        /* the largest are dropped first */
};

struct monitor_input {  /* one input */
    int64_t elapsed_ms; /* since the migration began */
    bool has_stats;     /* of a running job */
    bool at_iteration;  /* an iteration has just begun; seen from the statistics where they count
                           iterations */
    struct hv_job_stats stats;
    enum mode mode;
    bool stopped_by_migration; /* the source is paused(migration) */
    bool abort_under_way;      /* by any requester */
};

struct monitor { /* plain memory: can be copied, stored and restored */
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
    size_t n_minima; /* remaining bytes where iterations began, within the stall window, oldest
                        first */
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
/* One step. The decision is a request: monitor_done() reports its result. */
void monitor_step(struct monitor *m, const struct monitor_input *input,
                  struct monitor_decision *out_decision);
/* The order was accepted, or refused (then it is requested again). With SET_DOWNTIME of a *_HARD
 * or LATE_VFIO row and with PAUSE the guest will be stopped: the mode becomes Paused. */
void monitor_done(struct monitor *m, const struct monitor_decision *decision, bool accepted,
                  int64_t elapsed_ms);
/* Does the newest step differ from the decision before? A repeated request does not. */
bool monitor_decision_changed(const struct monitor *m, const struct monitor_decision *decision);

/* The state as a new JSON text, and back; for adoption after a crash. False: it cannot be
 * parsed, and *out_m is unchanged. NULL: no memory. */
char *monitor_save(const struct monitor *m);
bool monitor_load(const char *json, struct monitor *out_m);
/* Continues a restored monitor: the time without samples does not count as a stall. Only with an
 * input that has statistics; until then nothing is known of that time. */
void monitor_continue(struct monitor *m, int64_t elapsed_ms);

#endif
