/* node.h - the objects of a fleet: nodes, guests, domains, namespaces. Plain records; fleet.h
 * has the functions that change them. */
#ifndef ENGINE_MODEL_FLEET_NODE_H
#define ENGINE_MODEL_FLEET_NODE_H

#include <uthash.h>
#include <utlist.h>

#include "base/heap.h"
#include "engine/model/definition/host_requirements.h"
#include "engine/model/definition/migratable.h"
#include "engine/model/definition/pending_change.h"
#include "engine/model/forecast/forecast.h"
#include "engine/model/job/job.h"
#include "engine/model/objects/quota.h"
#include "engine/model/settings/settings.h"
#include "hypervisor/types.h"

struct object;

struct node {
    char name[HV_HOST_MAX];
    struct hv_host host;
    struct taint taints[TAINTS_MAX];
    struct hv_facts
        facts; /* ends with what placement reads: the next members should be near to it */
    bool connected, has_facts;
    bool facts_fresh; /* reported since it connected: its libvirt may have been updated */
    bool asked;       /* it connected or failed to at least once */
    bool listed;      /* its guests were listed since it connected */
    bool cordoned;
    bool cordoned_by_drain; /* by a drain, which lifts it when cancelled */
    bool improved;          /* since a job was rejected for lack of room */
    bool was_schedulable;   /* and not all waiting jobs were checked again since it became
                               unschedulable */
    size_t n_taints;
    unsigned outbound, inbound;               /* busy jobs from and to it */
    struct node *prev_inbound, *next_inbound; /* in the fleet's list of its number of arrivals */
    struct resources running;                 /* guests that are up here */
    struct resources reserved;                /* target launchers, not counting what came already */
    struct {
        unsigned good, bad;
    } arrivals;             /* recent migrations to it; halved from time to time */
    struct labels labels;   /* effective: the node's own, the configuration's, the overlay's */
    struct domain *domains; /* guests seen here */
    struct node *next_improved;

    struct hv_capabilities *capabilities; /* owned; NULL: not known yet */
    char error[JOB_REASON_MAX];
    int64_t since_wall_ms, created_wall_ms;
    struct {
        uint64_t times; /* it was disconnected: events of that time are lost */
        int64_t at_ms;  /* monotonic: the newest of them; 0: none */
        bool closed;    /* when its connection was closed: the daemon ended */
    } lost;
    unsigned next_port; /* next port for streams whose port Ferry must know */

    struct {
        char *labels, *taints; /* owned or NULL: JSON */
        bool cordoned;
    } config; /* what the configuration says */
    struct {
        char *labels, *taints; /* owned or NULL: JSON */
    } shown;                   /* effective, as readers see them */

    unsigned n_positions;
    uint64_t list_round;                  /* number of the list being applied */
    uint64_t out_bandwidth, in_bandwidth; /* bytes per second reserved for them */
    uint64_t reserved_huge_kib;

    struct {
        struct heap out; /* jobs that wait to leave it */
        struct heap in;  /* jobs that requested it and cannot be placed yet */
    } blocked;
    UT_hash_handle hh;
};

/* A mark that was read in a domain's live metadata (hypervisor/mark.h). */
struct domain_mark {
    struct hv_mark is;
    int64_t seen_wall_ms;
    int64_t next_ms; /* monotonic: it may be removed again */
    unsigned tries;  /* to remove it */
    bool reported, orphan;
};

/* One guest on one node. Kept when the node is disconnected: not observed is not absent. */
struct domain {
    struct guest *guest; /* members read in walks over lists stand together */
    struct node *node;
    struct domain *next_here, *prev_here; /* on the node */
    struct domain *next_of;               /* of the guest */
    int state, reason;
    bool persistent; /* persistent here; an incoming copy is not, until it has arrived */
    uint64_t list_round;
    uint64_t seen; /* the fleet's next_call_id at its last observation: orders observations and
                      queries */
    bool counted;  /* in node->running */
    struct resources resources;             /* the counted size */
    struct migratable migratable;           /* by its definition here */
    struct host_requirements *requirements; /* shared; NULL: not known */
    struct pending_change pending_change;
    unsigned block_jobs, utility_disks;       /* in its definition */
    struct domain_mark *mark;                 /* owned; NULL: none */
    struct domain *prev_marked, *next_marked; /* in the fleet's list of marked ones */
};

struct guest_dirty { /* dirty rate of a guest; allocated at the first measurement or migration */
    struct dirty_curve measured, moved;
    uint64_t used_bytes;        /* sent in the first iteration of its last migration; 0: not seen */
    int64_t asked_ms, until_ms; /* wall: a measurement is under way; 0: none */
    char error[HV_TEXT_MAX];    /* why the last one failed; empty: it did not */
};

struct guest_split { /* seen running on two nodes: engine/control/split.h */
    struct heap_link timer;
    uint64_t asked; /* both nodes were queried: observations from this number on are answers; 0: not
                       yet */
    int64_t asked_ms;
    unsigned rounds;
    bool reported, settles;     /* one copy is left, to be confirmed */
    char incident[JOB_UID_MAX]; /* key of the incident that was opened; empty: none */
};

struct guest_stranded { /* left in a migration that is nobody's: engine/control/stranded.h */
    struct heap_link timer;
    int64_t since_ms; /* monotonic; 0: not seen by the timer yet */
    uint64_t asked;   /* as in guest_split */
    bool reported;
};

struct guest_passage { /* seen leaving or arriving, not by Ferry: engine/control/observed.h */
    struct heap_link timer;
    char from[HV_HOST_MAX]; /* it left that node for an unknown one; empty: it did not */
    int64_t since_ms;       /* monotonic */
    uint64_t asked;         /* as in guest_split */
};

struct fleet_observed {  /* migrations that somebody else started: engine/control/observed.h */
    struct job *jobs;    /* hash by guest uuid: the one unfinished of a guest */
    struct heap passing; /* guests that may be in one, by time */
};

struct guest {
    char uuid[HV_UUID_MAX], name[HV_NAME_MAX], ns[HV_HOST_MAX];
    char *metadata_labels;             /* JSON text or NULL, from the domain */
    char *metadata_settings;           /* JSON text or NULL, from the domain */
    struct labels labels;              /* effective: the domain's, overridden by the overlay */
    char *labels_json, *settings_json; /* owned or NULL: effective, as readers see them */
    struct settings *settings;         /* effective; NULL: none */
    struct domain *domains;
    struct domain *owner; /* the domain that owns the guest, by observations; NULL: none */
    struct namespace *namespace;
    struct resources charged;  /* to its namespace while it is up */
    struct guest_dirty *dirty; /* owned; NULL: not known */
    bool persistent;           /* of the owner */
    uint64_t memory_kib;
    unsigned vcpus;
    int64_t seen_wall_ms, first_seen_wall_ms;
    char newest_job[JOB_UID_MAX];
    char stay_job[JOB_UID_MAX];        /* the job that brought it where it is, or empty */
    int64_t stay_wall_ms;              /* when that job ended; 0: not known */
    char evacuation_node[HV_HOST_MAX]; /* node to be evacuated from; empty: none */
    bool evacuation_by_descheduler;
    int64_t change_since_ms; /* wall: start of the present pending change */
    int64_t change_due_ms;   /* wall: end of its grace period, if later; 0: never */
    struct heap_link change_timer;
    struct guest_split split;
    struct guest_stranded stranded;
    struct guest_passage passage;
    bool has_run;                        /* it was seen up on a node, not as an incoming copy */
    uint64_t change_tried;               /* hash of the pending change that was acted on */
    struct guest *next_namesake;         /* same namespace and name, other uuid */
    char key[HV_HOST_MAX + HV_NAME_MAX]; /* namespace/name */
    UT_hash_handle hh, hh_name;
};

struct namespace
{ /* a namespace: created with its first guest, quota or label; never removed */
    char name[HV_HOST_MAX];
    struct labels labels;
    struct resources used; /* guests that are up and target launchers */
    struct object *quotas; /* of the namespace */
    bool quota_changed;
    bool stirred; /* `used` or a quota changed since the queue last ran */
    struct namespace *next_stirred;
    struct resources seen; /* `used` when the queue last ran: less now means room */
    struct heap blocked;   /* jobs that wait for its quota */
    UT_hash_handle hh;
};

/* Is it up there: using memory? */
bool domain_is_up(const struct domain *domain);
/* Does it run there, with running CPUs? */
bool domain_runs(const struct domain *domain);
/* Is it left in the middle of a migration: broken in post-copy, or paused for a migration where no
 * node has a better claim, and not as a copy that arrives from an unknown host? */
bool guest_is_stranded(const struct guest *guest);

#endif
