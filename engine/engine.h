/* engine.h - the shell around the pure core: queue in, commit, act, publish.
 *
 * A turn: take the queued inputs, reconcile() each with the fleet (pure), commit all changes and
 * intents in one transaction, and only then dispatch actions, answer requests and publish a
 * snapshot. When a commit fails nothing is started or acknowledged; the commit is retried with
 * backoff, running migrations continue and aborts are still sent. The same while a commit hangs
 * (commit_patience_ms).
 *
 * Threads: one thread (or the simulator's) calls engine_step(). The collector's sink, the
 * replies of act and probe, and the requests may come from any thread: they only post. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/clock.h"
#include "collector/collector.h"
#include "engine/model/definition/migratable.h"
#include "engine/model/settings/migration_config.h"
#include "engine/model/settings/settings.h"
#include "engine/requests.h"
#include "engine/snapshot.h"
#include "hypervisor/act.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"
#include "store/store.h"

enum {
    ENGINE_QUEUE_MAX = 65536,
    ENGINE_TURN_MAX = 1024,
    ENGINE_JOBS_KEPT_PER_GUEST = 5,
    ENGINE_JOBS_KEPT = 10000
};

/* What a configuration says of a host beside how to reach it. Texts are NULL when there is none. */
struct host_settings {
    char *labels;  /* JSON object */
    char *taints;  /* JSON array */
    bool cordoned; /* unschedulable (schedulable: false) */
    char *log_dir; /* of its QEMU logs; the engine does not read it */
    bool mode_set; /* it has a `mode` of its own; the engine does not read it */
    char *origin;  /* "file:line", for messages of the appliance */
};

struct engine_config {
    const struct hv_host *hosts; /* borrowed during engine_new */
    size_t n_hosts;
    unsigned parallel_per_fleet;         /* 0 = no limit */
    unsigned parallel_outbound_per_node; /* 0 = no limit */
    unsigned parallel_inbound_per_node;  /* 0 = no limit */
    uint64_t bandwidth_per_node;         /* bytes per second each way; 0 = no limit */
    unsigned memory_overcommit_percent;  /* 0: 100 */
    unsigned vcpus_per_cpu;              /* 0: 10 */
    enum strategy eviction_strategy;     /* for guests without one */
    struct migration_config migration;   /* the defaults that policies override; unsafe: disks that
                                            libvirt takes for local are shared */
    int64_t pending_timeout_ms;          /* 0: 900 s */
    const struct host_settings *host_settings; /* one per host; NULL: none has any */
    const struct fleet_cells *cells;           /* NULL: the store is this engine's alone */
    struct migratable_config storage; /* which storage is shared; its texts outlive the engine */
};

/* Called after the commit, on the engine's thread; must be quick. */
struct engine_sink {
    void *ctx;
    void (*on_snapshot)(void *ctx, const struct snapshot *snapshot); /* take your own reference */
    void (*on_step)(void *ctx, const struct snapshot_job *job, enum phase from, enum trigger why,
                    int64_t spent_ms);
    /* A monitor decided; shadow: only recorded. May be NULL. */
    void (*on_decision)(void *ctx, const char *monitor, bool shadow, const char *decision);
    void (*on_finished)(void *ctx, const struct snapshot_job *job); /* once per job and process */
    void (*on_event)(void *ctx, const struct store_event *event);   /* is stored. May be NULL */
    /* A guest that arrived was no longer running there a second later. May be NULL. */
    void (*on_crashed)(void *ctx, const char *job_uid);
    /* A verdict is stored. Once per job, also when an earlier process saw the job end; once more
     * for a guest that crashed after arrival. */
    void (*on_judged)(void *ctx, const struct verdict_rows *verdict_rows);
};

struct engine_parts { /* all borrowed, outlive the engine */
    const struct clock *clock;
    struct store *store;
    struct collector *collector;
    const struct hv_observe *observe;
    const struct hv_probe *probe;
    const struct hv_act *act;
    struct engine_sink sink;
    struct hv_permit permit; /* of orders: the leases, where several appliances share the store */
    uint64_t seed;           /* for names and uids; 0: from the system */
    int64_t commit_patience_ms; /* a commit that takes longer hangs: turns go on without it. 0:
                                   wait for it on the engine's thread, for ever */
};

struct engine;
/* Loads the store; unfinished jobs are adopted in the first steps. */
struct engine *engine_new(const struct engine_config *config, const struct engine_parts *parts,
                          struct err *err);
void engine_free(struct engine *e);
DEFINE_OWNED(engine)

struct collector_sink engine_collector_sink(struct engine *e);
struct engine_requests engine_requests(struct engine *e);

/* Takes hosts, limits and defaults of a new configuration, or refuses all of it: ERR_REFUSED with
 * the job that needs a host which is to go. `storage` stays as it was. Blocks like a request; any
 * thread but the engine's. ERR_TIMEOUT: whether it was taken is not known; giving it again is
 * harmless. */
MUST_CHECK bool engine_configure(struct engine *e, const struct engine_config *config,
                                 struct err *err);

/* One turn; returns milliseconds until it must be called again without an input (at most 1000). */
int64_t engine_step(struct engine *e);
void engine_wait(struct engine *e, int64_t timeout_ms);

/* For a single-threaded driver (simulation): posts without waiting. */
MUST_CHECK bool engine_post_create(struct engine *e, const struct migration_request *request,
                                   struct err *err);
MUST_CHECK bool engine_post_cancel(struct engine *e, const char *ns, const char *name,
                                   const char *requester, bool remove, struct err *err);

MUST_CHECK bool engine_post_configure(struct engine *e, const struct engine_config *config,
                                      struct err *err);
MUST_CHECK bool engine_post_resolve(struct engine *e, const struct resolve_request *request,
                                    struct err *err);
MUST_CHECK bool engine_post_put(struct engine *e, const struct object_request *request,
                                struct err *err);
MUST_CHECK bool engine_post_remove(struct engine *e, const struct object_ref *ref, struct err *err);
MUST_CHECK bool engine_post_evict(struct engine *e, const struct eviction_request *request,
                                  struct err *err);

/* From the analyser: stored and published with the next turn. Any thread; copies. */
MUST_CHECK bool engine_post_verdict_rows(struct engine *e, const struct verdict_rows *verdict_rows,
                                         struct err *err);

struct engine_stats {
    uint64_t turns, events, posts_dropped, commit_failures;
    uint64_t internal_errors; /* internal errors: jobs rolled back; see rollback.c */
    size_t queue_depth, active_jobs;
    bool store_ok;
    bool is_fenced; /* another appliance has a lease by now: no order goes out any more */
    int64_t commit_ms_last, commit_ms_max;
    int64_t turn_age_ms; /* since a turn last ended; one whose commit hangs has not */
};
void engine_stats(struct engine *e, struct engine_stats *out_stats); /* any thread */
/* A hash over the fleet's state: equal for equal histories. */
uint64_t engine_hash(struct engine *e);

#endif
