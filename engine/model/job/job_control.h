/* job_control.h - the parts of a job that the control plane writes; all read them.
 *
 * The fields of a part that are stored come from store/job_fields.def, with that member; they are
 * plain values and wall clock times, and readers see them (engine/snapshot_job.h). What follows
 * them is known to this process only: questions that are out, monotonic times. */
#ifndef ENGINE_MODEL_JOB_JOB_CONTROL_H
#define ENGINE_MODEL_JOB_JOB_CONTROL_H

#include "base/heap.h"
#include "engine/model/job/job_member.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/settings/labels.h"

enum { JOB_FAILED_NODES = 4 };

struct job_request { /* what was asked for, and what applies to it */
#define REQUEST_FIELD JOB_MEMBER
#include "store/job_fields.def"
    char *metadata_json;            /* owned, may be NULL */
    struct labels added_selector;   /* spec.addedNodeSelector */
    int64_t timeouts_s[3];          /* annotations: unschedulable, pending, utility; 0: not said */
    char *volumes_json;             /* disks that move along and where to; owned or NULL */
    struct volumes_report *volumes; /* what their places are like; owned or NULL */
};

struct job_times { /* wall clock, 0: not yet */
#define TIMES_FIELD JOB_MEMBER
#include "store/job_fields.def"
};

struct job_wait { /* what it waits for */
#define WAIT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum pending pending;
    int64_t since_ms, until_ms;       /* wall; until 0: no end */
    int64_t mono_ms;                  /* since when, monotonic */
    int64_t born_ms;                  /* monotonic: the job was created */
    int64_t waited_ms[PENDING_COUNT]; /* so far, apart from the wait that goes on */
    enum pending at_end;              /* final: what it waited for when it ended */
};

struct job_queue {                /* where it waits; engine/control/scheduling/ */
    struct heap_link wait, timer; /* the queue it waits in; when to look at it again */
    int64_t wake_ms;              /* monotonic: look at it again by then */
    struct node *woken_for;       /* the node whose room woke it, until it was tried */
    struct node *woken_out;       /* the same, of a node it leaves */
    bool woken_by_quota;          /* ... or its namespace's */
    bool holds_slot;              /* counted against the fleet's limit */
    bool fresh;                   /* in the fleet's list of those just made ready */
    struct job *next_fresh;
};

struct job_placement { /* its place at the target; engine/control/placement.h */
#define PLACEMENT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool reserved;     /* in the ledger, with the amounts above */
    uint64_t probe_id; /* question about the CPU out, 0: none */
    int64_t probe_asked_ms;
    bool probe_lost;                            /* the target could not be asked */
    bool probe_failed;                          /* the target could not tell; libvirt decides */
    char failed[JOB_FAILED_NODES][HV_HOST_MAX]; /* nodes that could not be prepared, newest last */
    size_t n_failed;
    struct rejections *rejections; /* why no node would do, owned */
    bool rejections_changed;       /* must be stored */
    bool backup_asked;             /* the order to stop a backup was answered: not asked again */
    bool backup_aborted;           /* ... and the host said yes */
};

#endif
