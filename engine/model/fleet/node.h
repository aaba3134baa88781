/* node.h - the things a fleet is made of: nodes, guests, where guests were seen, namespaces. Plain
 * records; fleet.h says how they are changed. */
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
    struct hv_facts facts; /* ends with what placement reads: what follows should be near to it */
    bool connected, has_facts;
    bool facts_fresh; /* told since it connected: its libvirt may be another one by now */
    bool asked;       /* it connected or refused at least once */
    bool listed;      /* its guests were seen since it connected */
    bool cordoned;
    bool cordoned_by_drain; /* and uncordoned with it */
    bool improved;          /* since somebody was told that it has no room */
    bool was_open;          /* and not all who wait were asked again since it is not */
    size_t n_taints;
    unsigned outbound, inbound;               /* busy jobs from and to it */
    struct node *prev_inbound, *next_inbound; /* in the fleet's list of its number of arrivals */
    struct resources running;                 /* guests that are up here */
    struct resources reserved;                /* target launchers, not counting what came already */
    struct {
        unsigned good, bad;
    } arrivals;             /* recent migrations to it; halved now and then */
    struct labels labels;   /* in effect: the node's own, the configuration's, the overlay's */
    struct domain *domains; /* guests seen here */
    struct node *next_improved;

    struct hv_capabilities *capabilities; /* owned; NULL: not known yet */
    char error[JOB_REASON_MAX];
    int64_t since_wall_ms, created_wall_ms;
    struct {
        uint64_t times; /* it was out of sight: what it did then is not told later */
        int64_t at_ms;  /* monotonic: the newest of them; 0: none */
        bool closed;    /* then its connection was closed: the daemon ended, or was ended */
    } lost;
    unsigned next_port; /* for streams to it that need a port known to us; counts up */
    uint64_t version;

    struct {
        char *labels, *taints; /* owned or NULL: JSON */
        bool cordoned;
    } config; /* what the configuration says */
    struct {
        char *labels, *taints; /* owned or NULL: JSON */
    } shown;                   /* in effect, as readers see them */

    unsigned n_positions;
    uint64_t list_round;                  /* number of the list being applied */
    uint64_t out_bandwidth, in_bandwidth; /* bytes per second promised to them */
    uint64_t reserved_huge_kib;

    struct {
        struct heap out; /* jobs that wait to leave it */
        struct heap in;  /* jobs that named it and cannot come yet */
    } blocked;
    UT_hash_handle hh;
};

/* One guest seen on one node. Kept when the node is lost: not seeing is not absence. */
struct domain {
    struct guest *guest; /* what is read when lists are walked stands together */
    struct node *node;
    struct domain *next_here, *prev_here; /* on the node */
    struct domain *next_of;               /* of the guest */
    int state, reason;
    bool persistent; /* defined here; a copy that comes in is not, until it has arrived */
    uint64_t list_round;
    uint64_t seen; /* the fleet's next_call_id when it was last seen: orders sights and questions */
    bool counted;  /* in node->running */
    struct resources resources;             /* what was counted */
    struct migratable migratable;           /* by its definition here */
    struct host_requirements *requirements; /* shared; NULL: not known */
    struct pending_change pending_change;
    unsigned block_jobs, utility_disks; /* in its definition */
};

struct guest_dirty { /* how fast a guest writes; made when somebody asks or it was moved */
    struct dirty_curve measured, moved;
    uint64_t used_bytes;        /* sent in the first pass of its last migration; 0: not seen */
    int64_t asked_ms, until_ms; /* wall: a measurement is out, an answer is awaited; 0: none */
    char error[HV_TEXT_MAX];    /* why the last one failed; empty: it did not */
};

struct guest_twice { /* seen running on two nodes: engine/control/split.h */
    struct heap_link timer;
    uint64_t asked; /* both were asked: sights from that one on are answers; 0: not yet */
    int64_t asked_ms;
    unsigned rounds;
    bool told, settles;    /* settles: one copy is left, as it seems */
    char job[JOB_UID_MAX]; /* whose incident was opened; empty: none */
};

struct guest {
    char uuid[HV_UUID_MAX], name[HV_NAME_MAX], ns[HV_HOST_MAX];
    char *metadata_labels;             /* JSON text or NULL, from the domain */
    char *metadata_settings;           /* JSON text or NULL, from the domain */
    struct labels labels;              /* in effect: the domain's with the overlay's over them */
    char *labels_json, *settings_json; /* owned or NULL: in effect, as readers see them */
    struct settings *settings;         /* in effect; NULL: it asks for nothing */
    struct domain *domains;
    struct domain *owner; /* where it lives, by what was seen; NULL when nowhere */
    struct namespace *namespace;
    struct resources charged;  /* to its namespace while it is up */
    struct guest_dirty *dirty; /* owned; NULL: not known */
    bool persistent;           /* where it lives */
    uint64_t memory_kib;
    unsigned vcpus;
    int64_t seen_wall_ms;
    uint64_t version;
    char newest_job[JOB_UID_MAX];
    char stay_job[JOB_UID_MAX];        /* the job that brought it where it is, or empty */
    char evacuation_node[HV_HOST_MAX]; /* it was asked to leave that node */
    bool evacuation_by_descheduler;
    int64_t change_since_ms; /* wall: the present requirement stands since */
    int64_t change_due_ms;   /* wall: its grace was over then, if that is later; 0: never */
    struct heap_link change_timer;
    struct guest_twice twice;
    uint64_t change_tried;               /* hash of the requirement that was answered */
    struct guest *next_namesake;         /* same namespace and name, other uuid */
    char key[HV_HOST_MAX + HV_NAME_MAX]; /* namespace/name */
    UT_hash_handle hh, hh_name;
};

struct namespace
{ /* a namespace: made with its first guest, quota or label; never removed */
    char name[HV_HOST_MAX];
    struct labels labels;
    struct resources used; /* guests that are up and target launchers */
    struct object *quotas; /* of the namespace */
    bool quota_changed;
    bool stirred; /* `used` or a quota changed since the queue last looked */
    struct namespace *next_stirred;
    struct resources seen; /* `used` when the queue last looked: less now means room */
    struct heap blocked;   /* jobs that wait for its quota */
    UT_hash_handle hh;
};

/* Is it up there: using memory? */
bool domain_is_up(const struct domain *domain);
/* Does it run there, by itself? */
bool domain_runs(const struct domain *domain);

#endif
