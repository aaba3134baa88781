/* drain.h - emptying a node: the Drain object, and evacuation of single guests that were asked to
 * leave by the eviction API. Pure.
 *
 * spec:   {"nodeName": "n1", "deadlineSeconds": 3600, "retryBudget": 3, "shutdown": false}
 * status: {"state", "since", "message", "deadline", "total", and how many are "waiting", "moving",
 *          "moved", "blocked", "failed", "stopping", "lastMoved", "etaSeconds" (from lastMoved on;
 *          null: not known), "guests":
 * [{"namespace","name","uuid","memoryKiB","expectedMs","state",
 *          "attempts","migration","migrationUID","target","reason","message","unblock",
 *          "condition"}]}
 *
 * A drain cordons its node, marks its guests for evacuation in the order of the plan (smallest
 * first within a class, of equals the one that is expected to be over soonest: quick wins free
 * memory and prove the path) and makes one job for each that
 * can move. Guests that come to the node meanwhile join. It ends when no guest is up there, when
 * its deadline passes (waiting jobs are cancelled, moving ones are left to finish), or when it is
 * deleted or the node uncordoned (its unfinished jobs are cancelled, marks cleared). It shuts a
 * guest down only if spec.shutdown and the guest's strategy is None (or IfPossible, and it cannot
 * move). A node that ended empty stays cordoned: whoever drained it wants it so.
 *
 * A job is the drain's when it evacuates its node, whoever marked the guest. A try is used up by a
 * job that failed after its hand-off or that no node would take; what was cancelled or waited in
 * vain before is made again.
 */
#ifndef ENGINE_CONTROL_DRAIN_H
#define ENGINE_CONTROL_DRAIN_H

#include "engine/control/drain_types.h"
#include "engine/model/effects.h"
#include "engine/model/fleet.h"
#include "engine/model/object.h"

enum {
    DRAIN_TRIES_DEFAULT = 3,
    DRAIN_TRIES_MAX = 100,
    DRAIN_DEADLINE_MAX_S = 366 * 86400,
    DRAIN_GUESTS_MAX = 2 * HV_GUESTS_MAX, /* beyond, those that moved are forgotten */
    DRAIN_LOOK_MS = 60000,                /* looked at again although nothing happened */
    DRAIN_AGAIN_MS = 5000,                /* ... when a job could not be made */
    DRAIN_STOP_AGAIN_MS = 60000,          /* a guest that stays up is asked to shut down again */
};

struct drain_guest {
    char uuid[HV_UUID_MAX], ns[HV_HOST_MAX], name[HV_NAME_MAX];
    char job_uid[JOB_UID_MAX]; /* its unfinished job, or one that is not accounted for yet */
    char job_name[JOB_NAME_MAX], target[HV_HOST_MAX]; /* of its newest job */
    uint64_t memory_kib;
    int64_t expected_ms; /* that its migration takes; 0: how it writes is not known */
    enum drain_guest_state state;
    enum block block;
    enum unmovable unmovable; /* NOT_MIGRATABLE: the first row; else UNMOVABLE_COUNT */
    char message[JOB_REASON_MAX];
    unsigned attempts;     /* tries used up */
    int64_t stop_asked_ms; /* monotonic; not stored */
};
struct drain {
    char node[HV_HOST_MAX];
    int64_t deadline_ms; /* wall; 0: none */
    unsigned retry_budget;
    bool shutdown;
    enum drain_state state;
    char message[JOB_REASON_MAX];
    int64_t began_ms, since_ms; /* wall; in this state since, in whole seconds */
    int64_t last_moved_ms;      /* wall, whole seconds; 0: nobody left yet */
    int64_t next_ms;            /* monotonic: look again by then; not stored */
    size_t n, n_indexed, capacity;
    struct drain_guest *guests; /* in the order of the plan; owned */
    unsigned *by_uuid;          /* the same sorted by uuid, as indexes; owned */
};

/* Parses spec and, after a restart, status. ERR_UNPROCESSABLE with the field. */
struct drain *drain_parse(const char *spec_json, const char *status_json, int64_t created_ms,
                          struct err *err);
void drain_free(struct drain *drain);
DEFINE_OWNED(drain)
/* Its status as a new JSON text; NULL: no memory. */
char *drain_status(const struct drain *drain);
void drain_count(const struct drain *drain, unsigned out_counts[static DRAIN_GUEST_COUNT]);
/* Those that stay as things are (blocked, or failed too often), by reason. */
void drain_count_blocks(const struct drain *drain, unsigned out_counts[static BLOCK_COUNT]);
/* From last_moved_ms on, at the pace so far; -1: not known. */
int64_t drain_eta_s(const struct drain *drain);
struct drain_guest *drain_find(const struct drain *drain, const char *uuid); /* or NULL */
/* Adds a copy of the guest at the end; it is not found until drain_order() put all in the order of
 * the plan. False when there is no memory, or no room even without those that moved. */
bool drain_add_guest(struct drain *drain, const struct drain_guest *guest);
void drain_order(struct drain *drain);

/* Could it begin now? False with ERR_NOT_FOUND (no such node) or ERR_REFUSED (it is being drained
 * already). The object was parsed; it need not be in the fleet: a dry run asks too. */
bool drain_may_begin(struct fleet *f, const struct object *object, struct err *err);
/* A drain was accepted: cordon, plan, first jobs. The object is in the fleet already. False if it
 * may not begin; nothing changed. */
bool drain_begin(struct fleet *f, struct object *object, struct moment now, struct effects *fx,
                 struct err *err);
/* Something changed (a job ended, a guest came or went, its condition changed) or time passed:
 * brings plan, jobs and status up to date. Cheap when nothing did. */
void drain_advance(struct fleet *f, struct object *object, struct moment now, struct effects *fx);
/* Deleted, or its node uncordoned. */
void drain_cancel(struct fleet *f, struct object *object, const char *who, struct moment now,
                  struct effects *fx);
/* What a drain of this node would do, as the status of one that has just begun; a new JSON text,
 * nothing is changed. NULL with ERR_NOT_FOUND. */
char *drain_plan(struct fleet *f, const char *node, bool shutdown, struct moment now,
                 struct err *err);

/* The unfinished drain of that node, or NULL. */
struct object *drain_of_node(struct fleet *f, const char *node);
/* What becomes of a guest that has to leave: moved, left alone because of a block, shut down. */
enum drain_way { DRAIN_WAY_MOVE, DRAIN_WAY_BLOCKED, DRAIN_WAY_SHUT_DOWN };
enum drain_way drain_way(const struct fleet *f, const struct place *place, bool shutdown,
                         enum block *out_block);

/* Marks a guest for evacuation of the node it is on, or clears the mark (and cancels the job that
 * was made for it). Stored with the guest's overlay object. */
bool evacuation_mark(struct fleet *f, struct guest *guest, bool by_descheduler, struct moment now,
                     struct effects *fx, struct err *err);
void evacuation_clear(struct fleet *f, struct guest *guest, const char *who, struct moment now,
                      struct effects *fx);
/* The mark alone, without what follows from it; false: no memory. */
bool evacuation_set(struct fleet *f, struct guest *guest, const char *node, bool by_descheduler,
                    struct moment now);
void evacuation_unset(struct fleet *f, struct guest *guest);
/* After a restart: what the overlay object says. */
void evacuation_restore(struct fleet *f, struct guest *guest);
/* Tells that a guest on its node has to leave and cannot be moved. */
void evacuation_complain(const struct guest *guest, struct moment now, struct effects *fx);
/* Is this the job of a guest that has to leave that node? */
bool evacuation_is_of(const struct job *job, const char *node);
/* Makes it; NULL with err. */
struct job *evacuation_job(struct fleet *f, struct guest *guest, const char *requester,
                           struct moment now, struct effects *fx, struct err *err);
/* Makes the job a mark asks for, unless there is one, it cannot be moved, or it has left. Called
 * for a guest when it was marked, when a job of it ended and when it changed. */
void evacuation_advance(struct fleet *f, struct guest *guest, struct moment now,
                        struct effects *fx);
/* The node was uncordoned: every mark of it goes, drains of it are cancelled. */
void evacuation_node_back(struct fleet *f, struct node *node, const char *who, struct moment now,
                          struct effects *fx);
/* Sets or lifts the cordon a drain put on its node, in the node's document. Cordoned by somebody
 * else: nothing happens. */
void evacuation_cordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx);
void evacuation_uncordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx);
/* From now on the cordon, if it stands, is the operator's: a drain's end leaves it. */
void evacuation_keep_cordon(struct fleet *f, struct node *node);

#endif
