/* fleet.h - everything the engine knows: nodes, guests and where they were seen, jobs.
 *
 * Plain memory with indexes; changed in place by engine/control and engine/data, which are pure:
 * they get the time as an argument and touch no clock, thread, socket or disk. Iteration is in
 * order of insertion, so that equal histories give equal fleets.
 *
 * Ownership: the fleet owns nodes, guests, places and jobs; pointers into it are good until the
 * object is removed. Thread: the engine's.
 */
#ifndef ENGINE_MODEL_FLEET_FLEET_H
#define ENGINE_MODEL_FLEET_FLEET_H

#include "base/own.h"
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
    unsigned jobs_kept_per_guest, jobs_kept; /* finished ones in view; the store keeps all */
    struct migration_config migration;       /* what a policy is laid over */
    enum strategy eviction_strategy;         /* for guests that say nothing */
    unsigned memory_overcommit_percent;      /* 0: 100 */
    unsigned vcpus_per_cpu;                  /* 0: 10 */
};

enum { FLEET_INBOUND_LISTS = 8 };

struct fleet_queue {            /* jobs before their hand-off, and what wakes them */
    struct heap ready;          /* jobs that nothing but their turn keeps back, best first */
    struct heap unplaced;       /* jobs no node would do for, best first */
    struct heap near;           /* the same, for the company a node has or lacks */
    struct job *fresh;          /* put into `ready` since the queue was last looked at */
    struct node *improved;      /* nodes that may do for somebody now */
    struct namespace *stirred;  /* namespaces whose quota may have room now */
    struct rejections *scratch; /* room to think in */
    bool crowded;               /* more were ready than one look at the queue takes */
    bool company_changed; /* a guest came up, went or has other labels: who may be near to whom */
};

struct fleet {
    struct node *nodes;         /* hash by name */
    struct guest *guests;       /* hash by uuid */
    struct job *jobs;           /* hash by uid, insertion order = creation order */
    struct job *active;         /* hash by guest uuid: the one unfinished job of a guest */
    struct job *named;          /* hash by namespace/name */
    struct job *newest;         /* hash by guest uuid: its newest finished job; ->older leads on */
    struct guest *guests_named; /* hash by namespace/name; ->next_namesake leads on */
    struct namespace *namespaces; /* hash by name */
    struct object *objects;       /* hash by key */
    struct object *of_kind[OBJECT_COUNT];
    struct host_requirements *requirements;       /* shared sets */
    struct cpus cpus;                             /* what preparation learned */
    struct paths paths;                           /* what earlier migrations showed */
    struct incidents incidents;                   /* that somebody must look at */
    struct node *by_inbound[FLEET_INBOUND_LISTS]; /* by number of arrivals, capped */
    struct fleet_config config;
    struct fleet_queue queue;
    uint64_t version;           /* grows with every change; objects carry theirs */
    uint64_t guests_version;    /* version of the newest change to any guest */
    uint64_t policies_version;  /* grows when a policy or a namespace's labels change */
    struct heap pending_change; /* guests whose definition asks for a migration, by time */
    struct heap twice;          /* guests seen running on two nodes, by time */
    struct heap timers;         /* unfinished jobs by the time to look at them again */
    struct heap finished;       /* finished jobs in view, oldest first */
    struct job *changed;        /* must be stored */
    struct job *broken;         /* frozen by an internal error; the shell rolls them back */
    struct object *changed_objects;
    uint64_t objects_version; /* of the newest change to any document */
    int64_t next_order;
    unsigned waiting_jobs, busy_jobs, finished_jobs;
    bool drains_due;  /* something changed that a drain looks at */
    bool store_waits; /* jobs were told that the store cannot be written */
    uint64_t missed;  /* times that something hosts said was dropped, nobody knows whose */
    bool store_ok;    /* false: commits fail, nothing new is handed off */
    uint64_t random;  /* state of the generator for uids and names */
    uint64_t next_call_id;
};

struct fleet *fleet_new(const struct fleet_config *config, uint64_t seed, struct err *err);
void fleet_free(struct fleet *f);
DEFINE_OWNED(fleet)

MUST_CHECK bool fleet_add_node(struct fleet *f, const struct hv_host *host, int64_t wall_ms,
                               struct err *err);
struct node *fleet_node(struct fleet *f, const char *name); /* or NULL */
bool fleet_has_helper(struct fleet *f, const char *node);   /* its host has a `ferry hostd` */
struct guest *fleet_guest(struct fleet *f, const char *uuid);
/* By namespace and name; *out_count says how many different guests carry it. */
struct guest *fleet_guest_named(struct fleet *f, const char *ns, const char *name,
                                unsigned *out_count);
/* A guest of that name on that node whose uuid is another; NULL when there is none. */
const struct guest *fleet_namesake(const struct node *node, const char *name, const char *uuid);

/* The complete list of a node's guests: what is not in it is not there any more. */
void fleet_apply_list(struct fleet *f, struct node *node, const struct hv_guest_list *list,
                      int64_t wall_ms);
/* One fresh look at one guest on one node. */
void fleet_apply_observation(struct fleet *f, struct node *node, const char *uuid,
                             const struct hv_observation *observation);

/* What the guest's definition on that node says about moving it. */
struct guest_facts { /* one definition, read */
    struct migratable migratable;
    struct host_requirements_facts requirements;
    struct pending_change pending_change;
    unsigned block_jobs, utility_disks;
};
void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct guest_facts *facts, int64_t wall_ms);

struct namespace *fleet_namespace(struct fleet *f,
                                  const char *name); /* made if need be; NULL: no memory */
/* Labels, taints and settings anew from configuration, metadata and overlay. */
void fleet_refresh_node(struct fleet *f, struct node *node);
void fleet_refresh_guest(struct fleet *f, struct guest *guest);
/* It may do for somebody now: has room, came back, has other labels. */
void fleet_node_improved(struct fleet *f, struct node *node);
/* What it uses, or may use, changed: the queue looks whether somebody waits for that. */
void fleet_quota_changed(struct fleet *f, struct namespace *namespace);

struct object *fleet_object(struct fleet *f, enum object_kind kind, const char *ns,
                            const char *name);                      /* or NULL */
void fleet_add_object(struct fleet *f, struct object *take_object); /* and marks it changed */
void fleet_object_changed(struct fleet *f, struct object *object);
void fleet_remove_object(struct fleet *f, struct object *object); /* stored as removed first */
void fleet_objects_stored(struct fleet *f); /* the list of changed ones is on disk */
/* object_parts.c: that document, made if there is none, as one of Ferry's own; NULL: no memory. */
struct object *object_make(struct fleet *f, enum object_kind kind, const char *ns, const char *name,
                           struct moment now);

struct job *fleet_job(struct fleet *f, const char *uid);
struct job *fleet_job_named(struct fleet *f, const char *ns, const char *name);
struct job *fleet_active_job(struct fleet *f, const char *guest_uuid);
/* Takes the job. Its guest must have no other unfinished one. */
void fleet_add_job(struct fleet *f, struct job *take_job);
void fleet_remove_job(struct fleet *f, struct job *job); /* final jobs only */
/* Keeps busy counters and indexes true after a job's phase changed. */
void fleet_job_moved(struct fleet *f, struct job *job, enum phase from);
/* Nothing but its turn keeps this waiting job back, as far as is known. */
void fleet_queue_ready(struct fleet *f, struct job *job);
/* After anything about an unfinished job changed: its timer and the list of what to store. */
void fleet_settle_job(struct fleet *f, struct job *job);
/* Counts the target node's arrivals, and keeps its place among the nodes. */
void fleet_count_inbound(struct fleet *f, struct node *node, int by);
struct job *fleet_newest_finished(struct fleet *f, const char *guest_uuid);
/* Gives the job's place in the fleet's limit to others: it may be stuck for days. */
void fleet_release_slot(struct fleet *f, struct job *job);
/* The core contradicted itself about this job: an internal error. Nothing more is decided or
 * ordered for it, and the shell rolls back what this turn did with it. A second call changes
 * nothing. */
void fleet_freeze_job(struct fleet *f, struct job *job, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes a job out in whatever phase it is, with all that it holds: it is about to be read again
 * from the store. */
void fleet_drop_job(struct fleet *f, struct job *job);
/* Forgets all but the newest finished jobs of a guest (the store keeps them). */
void fleet_prune_jobs(struct fleet *f, const char *guest_uuid);

uint64_t fleet_touch(struct fleet *f); /* the next version */
uint64_t fleet_random(struct fleet *f);
void fleet_make_uid(struct fleet *f, char out_uid[static JOB_UID_MAX]);
uint64_t fleet_hash(const struct fleet *f);

#endif
