/* job_control.h - the parts of a job that the control plane writes; all read them.
 *
 * The stored fields of a part come from store/job_fields.def, with that member; they are plain
 * values and wall clock times, and are published (engine/snapshot_job.h). The other members are
 * known to this process only: open queries, monotonic times. */
#ifndef ENGINE_MODEL_JOB_JOB_CONTROL_H
#define ENGINE_MODEL_JOB_JOB_CONTROL_H

#include "base/heap.h"
#include "engine/model/job/job_member.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/settings/labels.h"
#include "hypervisor/manager.h"

enum { JOB_FAILED_NODES = 4 };

struct job_request { /* the request, and the policy that applies to it */
#define REQUEST_FIELD JOB_MEMBER
#include "store/job_fields.def"
    char *metadata_json;          /* owned, may be NULL */
    struct labels added_selector; /* spec.addedNodeSelector */
    int64_t timeouts_s[3];        /* annotations: unschedulable, pending, utility; 0: not set */
    enum hv_manager on_behalf_of; /* annotation: the manager of the guest asks; NONE: not set */
    char *volumes_json; /* volumes that are migrated too, with destinations; owned or NULL */
    struct volumes_report *volumes; /* facts about their destinations; owned or NULL */
};

struct job_times { /* wall clock, 0: not yet */
#define TIMES_FIELD JOB_MEMBER
#include "store/job_fields.def"
};

struct job_wait { /* pending reason */
#define WAIT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum pending pending;
    int64_t since_ms, until_ms;       /* wall; until 0: no end */
    int64_t mono_ms;                  /* since when, monotonic */
    int64_t born_ms;                  /* monotonic: the job was created */
    int64_t waited_ms[PENDING_COUNT]; /* so far, without the present wait */
    enum pending at_end;              /* final: the pending reason at the end */
};

struct job_queue {                /* the queue; engine/control/scheduling/ */
    struct heap_link wait, timer; /* the list that it waits in; its timer */
    int64_t wake_ms;              /* monotonic: next wake-up */
    struct node *woken_for;       /* the node whose room woke it, until its turn was tried */
    struct node *woken_out;       /* the same, of its source */
    bool woken_by_quota;          /* ... or its namespace's */
    bool holds_slot;              /* counted against the fleet's limit */
    bool fresh;                   /* in the fleet's list of jobs just made ready */
    struct job *next_fresh;
};

struct job_placement { /* the target; engine/control/placement.h */
#define PLACEMENT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool reserved;     /* in the ledger, with the amounts above */
    uint64_t probe_id; /* number of the open CPU query; 0: none */
    int64_t probe_asked_ms;
    bool probe_lost;                            /* the target was unreachable */
    bool probe_failed;                          /* the target could not compare; libvirt decides */
    char failed[JOB_FAILED_NODES][HV_HOST_MAX]; /* nodes that could not be prepared, newest last */
    size_t n_failed;
    struct rejections *rejections; /* why no node can take the guest; owned */
    bool rejections_changed;       /* must be stored */
    bool backup_asked;             /* the order to stop a backup was answered: not repeated */
    bool backup_aborted;           /* ... and accepted */
};

#endif
