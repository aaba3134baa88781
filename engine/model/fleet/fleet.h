/* fleet.h - everything the engine knows: nodes, guests, their domains, jobs.
 *
 * Plain memory with indexes; changed in place by engine/control and engine/data, which are pure:
 * they get the time as an argument and use no clock, thread, socket or disk. Iteration is in
 * order of insertion, so that equal histories give equal fleets.
 *
 * Ownership: the fleet owns nodes, guests, domains and jobs; pointers into it are valid until
 * the object is removed. Thread: the engine's. */
#ifndef ENGINE_MODEL_FLEET_FLEET_H
#define ENGINE_MODEL_FLEET_FLEET_H

#include "base/own.h"
#include "engine/model/fleet/cells.h"
#include "engine/model/fleet/cpus.h"
#include "engine/model/fleet/node.h"
#include "engine/model/fleet/paths.h"
#include "engine/model/job/incident.h"
#include "engine/model/objects/object.h"

struct fleet_config {
    unsigned parallel_per_fleet, parallel_outbound_per_node; /* 0: none */
    unsigned parallel_inbound_per_node;
    uint64_t bandwidth_per_node; /* bytes per second for its migrations, each way; 0: any */
    int64_t pending_timeout_ms, unschedulable_timeout_ms, prepare_timeout_ms; /* 0: pending.def's */
    int64_t abort_guard_ms, idle_call_timeout_ms;
    unsigned jobs_kept_per_guest, jobs_kept; /* finished jobs in memory; the store keeps all */
    struct migration_config migration;       /* the defaults that a policy overrides */
    enum strategy eviction_strategy;         /* for guests without one */
    unsigned memory_overcommit_percent;      /* 0: 100 */
    unsigned vcpus_per_cpu;                  /* 0: 10 */
    bool needs_definition; /* no guest is migrated before its definition was read */
};

struct fleet_identity {      /* of this appliance: store/store.h */
    char id[HV_MARK_ID_MAX]; /* empty: guests are not marked */
    int64_t epoch;
    bool restored;
};

enum { FLEET_INBOUND_LISTS = 8 };

struct fleet_queue {            /* jobs before their hand-off, and what wakes them */
    struct heap ready;          /* jobs that wait only for their turn, best first */
    struct heap unplaced;       /* unschedulable jobs, best first */
    struct heap near;           /* the same, rejected for affinity */
    struct job *fresh;          /* put into `ready` since the last run of the queue */
    struct node *improved;      /* nodes that may take a waiting job now */
    struct namespace *stirred;  /* namespaces whose quota may have room now */
    struct rejections *scratch; /* scratch memory */
    bool crowded;               /* more jobs are ready than one run of the queue takes */
    bool affinity_changed; /* a guest came up, went or has other labels: affinities may change */
};

struct fleet {
    struct node *nodes;   /* hash by name */
    struct guest *guests; /* hash by uuid */
    struct job *jobs;     /* hash by uid, insertion order = creation order */
    struct job *active;   /* hash by guest uuid: the one unfinished job of a guest */
    struct fleet_observed observed;
    struct job *named;          /* hash by namespace/name */
    struct job *newest;         /* hash by guest uuid: its newest finished job; ->older leads on */
    struct guest *guests_named; /* hash by namespace/name; ->next_namesake leads on */
    struct namespace *namespaces; /* hash by name */
    struct object *objects;       /* hash by key */
    struct object *of_kind[OBJECT_COUNT];
    struct host_requirements *requirements;       /* shared sets */
    struct cpus cpus;                             /* cached CPU comparisons */
    struct paths paths;                           /* records of earlier migrations */
    struct incidents incidents;                   /* for operators */
    struct node *by_inbound[FLEET_INBOUND_LISTS]; /* by number of arrivals, capped */
    struct fleet_config config;
    struct fleet_queue queue;
    uint64_t version;        /* grows with every change; jobs and objects have that of their last */
    uint64_t guests_version; /* version of the newest change to any guest */
    struct heap pending_change; /* guests with a pending change, by time */
    struct heap split;          /* guests seen running on two nodes, by time */
    struct heap stranded;       /* guests left in a migration, by time */
    struct heap timers;         /* unfinished jobs by their next wake-up */
    struct heap finished;       /* finished jobs in view, oldest first */
    struct {
        struct fleet_identity identity; /* whose marks are ours */
        struct fleet_cells cells;       /* whose records are */
        struct domain *list;            /* domains with a mark */
        int64_t next_ms;                /* monotonic: when they are checked next */
    } marks;
    struct job *changed; /* must be stored */
    struct job *broken;  /* frozen by an internal error; the shell rolls them back */
    struct object *changed_objects;
    uint64_t objects_version; /* of the newest change to any object */
    int64_t next_order;
    unsigned waiting_jobs, busy_jobs, finished_jobs;
    bool drains_due;  /* a fact changed that drains depend on */
    bool store_waits; /* jobs wait for the store */
    uint64_t missed;  /* number of dropped host messages, of unknown hosts */
    bool store_ok;    /* false: commits fail, no job is handed off */
    uint64_t random;  /* state of the generator for uids and names */
    uint64_t next_call_id;
};

struct fleet *fleet_new(const struct fleet_config *config, uint64_t seed, struct err *err);
void fleet_free(struct fleet *f);
DEFINE_OWNED(fleet)
MUST_CHECK bool fleet_add_node(struct fleet *f, const struct hv_host *host, int64_t wall_ms,
                               struct err *err);
/* Forgets the node and the domains on it. No unfinished job refers to it. */
void fleet_remove_node(struct fleet *f, struct node *node);
struct node *fleet_node(struct fleet *f, const char *name); /* or NULL */
bool fleet_has_helper(struct fleet *f, const char *node);   /* its host has a `ferry hostd` */
/* May guests be migrated from and to it? Refused in observe mode. */
bool fleet_may_act(const struct node *node, struct err *err);
struct guest *fleet_guest(struct fleet *f, const char *uuid);
/* By namespace and name; *out_count: number of guests with that name. */
struct guest *fleet_guest_named(struct fleet *f, const char *ns, const char *name,
                                unsigned *out_count);
/* A guest with that name on that node and another uuid; NULL when there is none. */
const struct guest *fleet_namesake(const struct node *node, const char *name, const char *uuid);

/* Forgets a guest that no node has, unless a job or a timer of an incident refers to it. */
void fleet_forget_if_gone(struct fleet *f, struct guest *guest);
/* The complete list of a node's guests: a domain that is not in it is gone. */
void fleet_apply_list(struct fleet *f, struct node *node, const struct hv_guest_list *list,
                      int64_t wall_ms);
/* One new observation of one guest on one node. */
void fleet_apply_observation(struct fleet *f, struct node *node, const char *uuid,
                             const struct hv_observation *observation);

/* The parsed definition of a guest on that node. */
struct guest_facts { /* one definition, read */
    struct migratable migratable;
    struct host_requirements_facts requirements;
    struct pending_change pending_change;
    unsigned block_jobs, utility_disks;
    struct hv_mark mark; /* of a migration, in the live metadata; without a job: none */
};
void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct guest_facts *facts, int64_t wall_ms);

struct namespace *fleet_namespace(struct fleet *f,
                                  const char *name); /* created if missing; NULL: no memory */
/* Recomputes labels, taints and settings from configuration, metadata and overlay. */
void fleet_refresh_node(struct fleet *f, struct node *node);
void fleet_refresh_guest(struct fleet *f, struct guest *guest);
/* The node may take a waiting job now: it has room, reconnected, or has other labels. */
void fleet_node_improved(struct fleet *f, struct node *node);
/* Usage or quota changed: the queue checks the jobs that wait for it. */
void fleet_quota_changed(struct fleet *f, struct namespace *namespace);

struct object *fleet_object(struct fleet *f, enum object_kind kind, const char *ns,
                            const char *name);                      /* or NULL */
void fleet_add_object(struct fleet *f, struct object *take_object); /* and marks it changed */
void fleet_object_changed(struct fleet *f, struct object *object);
void fleet_remove_object(struct fleet *f, struct object *object); /* stored as removed first */
void fleet_objects_stored(struct fleet *f); /* the list of changed objects is committed */
/* object_parts.c: that object, created as Ferry's own if missing; NULL: no memory. */
struct object *object_make(struct fleet *f, enum object_kind kind, const char *ns, const char *name,
                           struct moment now);

struct job *fleet_job(struct fleet *f, const char *uid);
struct job *fleet_job_named(struct fleet *f, const char *ns, const char *name);
struct job *fleet_active_job(struct fleet *f, const char *guest_uuid);
/* The unfinished one that somebody else started (job_is_observed). */
struct job *fleet_observed_job(struct fleet *f, const char *guest_uuid);
/* The one that is on the hosts: Ferry's own after its hand-off, else the observed one. */
struct job *fleet_moving_job(struct fleet *f, const char *guest_uuid);
/* Takes the job. Its guest must have no other unfinished one. */
void fleet_add_job(struct fleet *f, struct job *take_job);
void fleet_remove_job(struct fleet *f, struct job *job); /* final jobs only */
/* Updates busy counters and indexes after a job's phase changed. */
void fleet_job_moved(struct fleet *f, struct job *job, enum phase from);
/* As far as is known this waiting job waits only for its turn. */
void fleet_queue_ready(struct fleet *f, struct job *job);
/* After any change of an unfinished job: updates its timer and the list of jobs to store. */
void fleet_settle_job(struct fleet *f, struct job *job);
/* Counts the target node's arrivals and updates its position in the lists by arrivals. */
void fleet_count_inbound(struct fleet *f, struct node *node, int by);
struct job *fleet_newest_finished(struct fleet *f, const char *guest_uuid);
/* How long an unproven outcome, or a frozen job, keeps its slots. */
enum { FLEET_SLOT_KEPT_MS = 60000 };
/* Gives the job's slots, of the fleet and of both nodes, and its bandwidth to others: it may be
 * stuck for days. The target's reservation stays, since the guest may be there. False: it had none.
 */
bool fleet_release_slot(struct fleet *f, struct job *job);
/* A job that goes on takes them again, even above the limits. */
void fleet_take_slot(struct fleet *f, struct job *job);
/* An internal error: the core found a contradiction in this job. No further decision or order is
 * made for it, and the shell rolls back what this turn did with it. A second call changes
 * nothing. */
void fleet_freeze_job(struct fleet *f, struct job *job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Removes a job in any phase, with everything it holds: it will be read again from the store. */
void fleet_drop_job(struct fleet *f, struct job *job);
/* Forgets all but the newest finished jobs of a guest (the store keeps them). */
void fleet_prune_jobs(struct fleet *f, const char *guest_uuid);

uint64_t fleet_touch(struct fleet *f); /* the next version */
uint64_t fleet_random(struct fleet *f);
void fleet_make_uid(struct fleet *f, char out_uid[static JOB_UID_MAX]);
uint64_t fleet_hash(const struct fleet *f);

#endif
