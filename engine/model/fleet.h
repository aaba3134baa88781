/* fleet.h - everything the engine knows: nodes, guests and where they were seen, jobs.
 *
 * Plain memory with indexes; changed in place by engine/control and engine/data, which are pure:
 * they get the time as an argument and touch no clock, thread, socket or disk. Iteration is in
 * order of insertion, so that equal histories give equal fleets.
 *
 * Ownership: the fleet owns nodes, guests, places and jobs; pointers into it are good until the
 * object is removed. Thread: the engine's.
 */
#ifndef ENGINE_MODEL_FLEET_H
#define ENGINE_MODEL_FLEET_H

#include <uthash.h>
#include <utlist.h>

#include "base/own.h"
#include "engine/model/job.h"
#include "engine/model/migratable.h"
#include "hypervisor/types.h"

struct node {
    char name[HV_HOST_MAX];
    struct hv_host host;
    bool connected, has_facts;
    bool asked;  /* it connected or refused at least once */
    bool listed; /* its guests were seen since it connected */
    struct hv_facts facts;
    char error[JOB_REASON_MAX];
    int64_t since_wall_ms, created_wall_ms;
    uint64_t version;
    unsigned n_places;
    unsigned outbound, inbound; /* busy jobs from and to it */
    struct place *places;       /* guests seen here */
    uint64_t list_round;        /* number of the list being applied */
    UT_hash_handle hh;
};

/* One guest seen on one node. Kept when the node is lost: not seeing is not absence. */
struct place {
    struct guest *guest;
    struct node *node;
    int state, reason;
    struct migratable migratable; /* by its definition here */
    uint64_t list_round;
    struct place *next_here, *prev_here; /* on the node */
    struct place *next_of;               /* of the guest */
};

struct guest {
    char uuid[HV_UUID_MAX], name[HV_NAME_MAX], ns[HV_HOST_MAX];
    char *labels; /* JSON text or NULL */
    struct place *places;
    struct place *owner; /* where it lives, by what was seen; NULL when nowhere */
    bool persistent;
    uint64_t memory_kib;
    unsigned vcpus;
    int64_t seen_wall_ms;
    uint64_t version;
    char newest_job[JOB_UID_MAX];
    UT_hash_handle hh;
};

struct fleet_config {
    unsigned parallel_per_fleet, parallel_outbound_per_node; /* 0: none */
    unsigned parallel_inbound_per_node;
    int64_t pending_timeout_ms, unschedulable_timeout_ms, prepare_timeout_ms;
    int64_t abort_guard_ms, idle_call_timeout_ms;
    unsigned jobs_kept_per_guest, jobs_kept; /* finished ones in view; the store keeps all */
    unsigned migrate_flags;                  /* HV_MIGRATE_* that every migration gets */
    uint64_t bandwidth_mibs;                 /* for jobs that ask for none */
};

struct fleet {
    struct node *nodes;   /* hash by name */
    struct guest *guests; /* hash by uuid */
    struct job *jobs;     /* hash by uid, insertion order = creation order */
    struct job *active;   /* hash by guest uuid: the one unfinished job of a guest */
    struct job *named;    /* hash by namespace/name */
    struct job *newest;   /* hash by guest uuid: its newest finished job; ->older leads on */
    struct fleet_config config;
    uint64_t version;                    /* grows with every change; objects carry theirs */
    uint64_t guests_version;             /* version of the newest change to any guest */
    struct job *waiting[PRIORITY_COUNT]; /* not yet placed, by class, oldest first */
    unsigned busy_jobs, finished_jobs;
    bool reschedule; /* something changed that a waiting job may have waited for */
    bool store_ok;   /* false: commits fail, nothing new is handed off */
    uint64_t random; /* state of the generator for uids and names */
    uint64_t next_call_id;
};

struct fleet *fleet_new(const struct fleet_config *config, uint64_t seed, struct err *err);
void fleet_free(struct fleet *f);
DEFINE_OWNED(fleet)

MUST_CHECK bool fleet_add_node(struct fleet *f, const struct hv_host *host, int64_t wall_ms,
                               struct err *err);
struct node *fleet_node(struct fleet *f, const char *name); /* or NULL */
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
void fleet_apply_sight(struct fleet *f, struct node *node, const char *uuid,
                       const struct hv_sight *sight);

/* What the guest's definition on that node says about moving it. */
void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct migratable *migratable);

struct job *fleet_job(struct fleet *f, const char *uid);
struct job *fleet_job_named(struct fleet *f, const char *ns, const char *name);
struct job *fleet_active_job(struct fleet *f, const char *guest_uuid);
/* Takes the job. Its guest must have no other unfinished one. */
void fleet_add_job(struct fleet *f, struct job *take_job);
void fleet_remove_job(struct fleet *f, struct job *job); /* final jobs only */
/* Keeps busy counters and indexes true after a job's phase changed. */
void fleet_job_moved(struct fleet *f, struct job *job, enum phase from);
/* Gives the job's place in the fleet's limit to others: it may be stuck for days. */
void fleet_release_slot(struct fleet *f, struct job *job);
/* Forgets all but the newest finished jobs of a guest (the store keeps them). */
void fleet_prune_jobs(struct fleet *f, const char *guest_uuid);

uint64_t fleet_touch(struct fleet *f); /* the next version */
uint64_t fleet_random(struct fleet *f);
void fleet_make_uid(struct fleet *f, char out_uid[static JOB_UID_MAX]);
uint64_t fleet_hash(const struct fleet *f);

#endif
