/* job.h - one migration job, from accepted request to known outcome.
 *
 * Its phase changes only in job_step(). Everything else about it is written by the part of the
 * engine that learned it. No I/O, no clock.
 *
 * Invariants (job_flaw): a final job has an outcome and an end; a busy one has a source; from
 * PreparingTarget on it has a target and an epoch >= 1; it resolves only while unfinished.
 */
#ifndef ENGINE_MODEL_JOB_JOB_H
#define ENGINE_MODEL_JOB_JOB_H

#include <uthash.h>

#include "base/heap.h"
#include "base/own.h"
#include "collector/sample.h"
#include "engine/model/forecast/eta.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/job/phase.h"
#include "engine/model/job/verdict_rows.h"
#include "engine/model/settings/labels.h"
#include "engine/model/settings/migration_config.h"
#include "hypervisor/types.h"

enum { JOB_FAILED_NODES = 4 };

/* What is known about the hypervisor's own job on the source while nobody's call tells. */
enum job_seen {
    JOB_SEEN_UNKNOWN,
    JOB_SEEN_ACTIVE, /* a migration out */
    JOB_SEEN_OTHER,  /* a job that is no migration: a backup, say */
    JOB_SEEN_NONE
};

struct job {
    char uid[JOB_UID_MAX], ns[HV_HOST_MAX], name[JOB_NAME_MAX];
    char guest_uuid[HV_UUID_MAX], guest_name[HV_NAME_MAX];
    char wanted[HV_HOST_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
    char requester[JOB_WHO_MAX];
    char *metadata_json; /* owned, may be NULL */
    enum origin origin;
    uint64_t requirement; /* UPDATE: hash of what the definition asked for */
    unsigned streak;      /* automatic and failed: how many in a row, with this one; 0: not */
    char evacuates[HV_HOST_MAX];    /* EVACUATION: the node it leaves */
    struct labels added_selector;   /* spec.addedNodeSelector */
    int64_t timeouts_s[3];          /* annotations: unschedulable, pending, utility; 0: not said */
    uint64_t bandwidth_mibs;        /* asked for by the request; 0: not */
    char policy[JOB_NAME_MAX];      /* that applies, or empty */
    struct migration_config config; /* in effect; frozen at hand-off */
    uint64_t config_version;        /* of the fleet's policies it was made from */
    unsigned flags;                 /* HV_MIGRATE_*, frozen at hand-off */
    char *volumes_json;             /* disks that move along and where to; owned or NULL */
    struct volumes_report *volumes; /* what their places are like; owned or NULL */

    enum phase phase;
    int64_t entered_ms; /* monotonic: when this phase began in this process */
    struct {
        enum phase phase;
        int64_t wall_ms;
    } steps[PHASE_COUNT];
    unsigned n_steps;
    enum mode mode;
    struct job_mode modes[JOB_MODES_MAX]; /* oldest first; the store keeps all */
    unsigned n_modes;
    int64_t epoch;
    int64_t intent_seq; /* last one used in this epoch */

    /* The migrate call of this process, if there is one. */
    uint64_t call_id;                /* 0: none made by this process */
    int64_t call_seq, call_asked_ms; /* its intent */
    bool call_out;                   /* made, not yet answered */
    bool call_over;                  /* answered by the source itself: its job has ended */
    bool withdrawn;   /* the order was recorded but never given: the store was too slow */
    bool moved;       /* something was seen moving, in this process or before */
    bool adopted;     /* taken over from an earlier process */
    unsigned retries; /* calls made again after proof that the one before was never made */
    struct err error; /* what the call answered */

    bool resolving, recovering;
    uint64_t round, judged_round; /* of looks */
    unsigned again;               /* sides of this round that were asked a second time */
    int64_t next_round_ms;
    struct job_side source_side, target_side;
    struct job_left *left; /* orders of an earlier process, open; owned */
    unsigned n_left;
    enum job_seen hv_job;     /* newest answer about the source's own job */
    bool hv_job_is_backup;    /* OTHER: one that may be stopped where the policy says so */
    bool asked_job;           /* ... was asked for, in this stage */
    uint64_t hv_job_question; /* question out, 0: none */
    uint64_t hv_job_round;    /* round of looks that this answer belongs to */
    int64_t hv_job_asked_ms;
    int64_t ownership_since_ms; /* both sides say the same since, 0: not known */
    int ownership_last;         /* what they said; -1: nothing yet */
    enum guest_at guest_at;

    bool holds_slot; /* counted against the fleet's limit */
    bool reported;   /* the present verdict was told */
    bool abort_asked, abort_accepted, remove_when_final;
    enum abort_status abort_status;
    char abort_requester[JOB_WHO_MAX], abort_why[JOB_REASON_MAX];
    enum abort_cause abort_cause;
    int64_t abort_asked_ms, abort_next_ms; /* monotonic */
    uint64_t abort_call_id;                /* out, 0: none */
    enum intent_kind abort_kind;           /* ABORT, or YANK where that would freeze */
    int64_t abort_call_seq, abort_call_asked_ms;

    enum priority priority;
    int64_t order; /* number of its arrival: within a class the smallest goes first */
    struct heap_link wait, timer;     /* the queue it waits in; when to look at it again */
    int64_t waited_ms[PENDING_COUNT]; /* so far, apart from the wait that goes on */
    struct node *woken_for;           /* the node whose room woke it, until it was tried */
    struct node *woken_out;           /* the same, of a node it leaves */
    bool woken_by_quota;              /* ... or its namespace's */
    bool fresh;                       /* in the fleet's list of those just made ready */
    struct job *next_fresh;
    struct rejections *rejections; /* why no node would do, owned; see engine/control/placement.h */
    bool rejections_changed;       /* must be stored */

    enum launcher launcher; /* the target launcher */
    int64_t launcher_since_ms;
    bool reserved; /* in the ledger, with these: */
    uint64_t reserved_memory_kib, reserved_vcpus, reserved_huge_kib, reserved_bandwidth;
    uint64_t probe_id; /* question about the CPU out, 0: none */
    int64_t probe_asked_ms;
    char failed[JOB_FAILED_NODES][HV_HOST_MAX]; /* nodes that could not be prepared, newest last */
    size_t n_failed;
    bool probe_lost;               /* the target could not be asked */
    bool probe_failed;             /* the target could not tell; libvirt has the last word */
    struct job_order backup_order; /* to end somebody's backup, out */
    bool backup_asked;             /* ... was answered by the host: not asked again */
    bool backup_aborted;           /* ... and it said yes */

    enum pending pending; /* what it waits for, since when, until when (wall; 0: no end) */
    int64_t waits_since_ms, waits_until_ms;
    int64_t waits_mono_ms;      /* since when, monotonic */
    enum pending ended_waiting; /* final: what it waited for when it ended */
    char pending_reason[JOB_REASON_MAX], failure_reason[JOB_REASON_MAX];
    enum outcome outcome;
    int64_t created_ms, handed_off_ms, started_ms, ended_ms, delete_asked_ms; /* wall, 0: not */
    int64_t begun_ms;   /* monotonic: when it was handed off, by this process's clock */
    int64_t wake_ms;    /* monotonic: look at it again by then */
    bool residue;       /* final: it seems to have left something behind; seen once */
    bool observe_later; /* final: both sides are to be seen once more, at wake_ms */

    struct monitor_driver
        *monitor_driver; /* the monitors at work, owned; see engine/data/monitor_driver.h */
    void (*free_monitor_driver)(
        struct monitor_driver *monitor_driver); /* set with it by who made it */
    char *monitor_json; /* the acting one's state as last stored, owned or NULL */
    int64_t driven_ms;  /* monotonic: it last looked */
    int64_t decisions_before, inputs_before; /* recorded by earlier processes */
    int decision;                            /* enum decision: the newest one */
    char decision_text[JOB_REASON_MAX];
    int64_t decision_ms; /* wall; 0: none yet */
    bool stopped_by_us;  /* we paused the guest to finish; it is given back if that fails */
    uint64_t resume_call_id;
    int64_t resume_call_seq, resume_asked_ms; /* wall */
    unsigned resume_tries;

    struct job_stream stream;       /* does it move? engine/data/remedy.h */
    struct job_recovery recovery;   /* of a post-copy that broke: engine/data/recovery.h */
    struct job_userpause userpause; /* while it moved: engine/data/userpause.h */
    struct job_final final;         /* what it came to */
    struct job_forecast forecast;   /* what was expected at hand-off */
    struct eta eta;                 /* when it will be over, by the newest sample */

    bool has_sample;
    struct sample sample;
    int64_t next_sample_seq;
    struct verdict_rows *verdict_rows; /* why it ended as it did; NULL: not judged yet */

    bool frozen;             /* by an internal error: nothing is decided or ordered for it */
    struct job *next_broken; /* in the fleet's list of those that this turn froze */
    uint64_t version;
    struct job_view *view;                    /* as readers saw it last; see engine/publish.h */
    void (*drop_view)(struct job_view *view); /* set with it by who made it */
    bool changed;                             /* must be stored */
    bool listed;                              /* in the fleet's list of changed ones */
    struct job *next_changed;
    char key[HV_HOST_MAX + JOB_NAME_MAX]; /* namespace/name */
    struct job *older;                    /* finished job of the same guest before this one */
    struct heap_link finished;            /* by age, once it is final */
    UT_hash_handle hh, hh_guest, hh_name, hh_newest;
};

struct job *job_new(struct err *err);
void job_free(struct job *job);
DEFINE_OWNED(job)

/* Follows one row of phase.def. False: no such row, or more steps than any path has; no change. */
MUST_CHECK bool job_step(struct job *job, enum trigger why, struct moment now);
/* The invariant above that does not hold, in words; NULL: all hold. */
const char *job_flaw(const struct job *job);

/* What its newest sample tells about its end. */
void job_note_eta(struct job *job);

#endif
