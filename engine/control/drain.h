/* drain.h - emptying a node: the Drain object, and evacuation of single guests that were asked to
 * leave by the eviction API. Pure.
 *
 * spec:   {"nodeName": "n1", "deadlineSeconds": 3600, "retryBudget": 3, "shutdown": false}
 * status: {"state", "since", "deadline", "total", "moved", "blocked", "etaSeconds",
 *          "guests": [{"namespace","name","uuid","memoryKiB","state","attempts","migration",
 *                      "reason","message","unblock"}]}
 *
 * A drain cordons its node, marks its guests for evacuation in the order of the plan (smallest
 * first within a class: quick wins free memory and prove the path) and makes one job for each that
 * can move. Guests that come to the node meanwhile join. It ends when no guest is up there, when
 * its deadline passes (waiting jobs are cancelled, moving ones are left to finish), or when it is
 * deleted or the node uncordoned (its unfinished jobs are cancelled, marks cleared). It shuts a
 * guest down only if spec.shutdown and the guest's strategy is None (or IfPossible, and it cannot
 * move).
 */
#ifndef ENGINE_CONTROL_DRAIN_H
#define ENGINE_CONTROL_DRAIN_H

#include "engine/model/effects.h"
#include "engine/model/fleet.h"
#include "engine/model/object.h"

enum drain_state {
#define DRAIN(id, name, final, help) DRAIN_##id,
#include "engine/control/drain.def"
#undef DRAIN
    DRAIN_COUNT
};
enum drain_guest_state {
#define DRAIN_GUEST(id, name, help) DRAIN_GUEST_##id,
#include "engine/control/drain.def"
#undef DRAIN_GUEST
    DRAIN_GUEST_COUNT
};
enum block {
#define BLOCK(id, name, help, unblock) BLOCK_##id,
#include "engine/control/drain.def"
#undef BLOCK
    BLOCK_COUNT
};
const char *drain_state_name(enum drain_state state);
bool drain_is_final(enum drain_state state);
const char *block_name(enum block block);

struct drain_guest {
    char uuid[HV_UUID_MAX], ns[HV_HOST_MAX], name[HV_NAME_MAX];
    char job_uid[JOB_UID_MAX], job_name[JOB_NAME_MAX];
    uint64_t memory_kib;
    enum drain_guest_state state;
    enum block block;
    char message[JOB_REASON_MAX];
    unsigned attempts;
};
struct drain {
    char node[HV_HOST_MAX];
    int64_t deadline_ms; /* wall; 0: none */
    unsigned retry_budget;
    bool shutdown;
    enum drain_state state;
    int64_t since_ms, next_ms; /* wall; monotonic: look again by then */
    size_t n, capacity;
    struct drain_guest *guests;
};

/* Parses spec and, after a restart, status. ERR_UNPROCESSABLE with the field. */
struct drain *drain_parse(const char *spec_json, const char *status_json, int64_t created_ms,
                          struct err *err);
void drain_free(struct drain *drain);

/* A drain was accepted: cordon, plan, first jobs. The object is in the fleet already. False with
 * ERR_NOT_FOUND (no such node) or ERR_REFUSED (it is being drained already); nothing changed. */
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

/* Marks a guest for evacuation of the node it is on, or clears the mark (and cancels the job that
 * was made for it). Stored with the guest's overlay object. */
bool evacuation_mark(struct fleet *f, struct guest *guest, bool by_descheduler, struct moment now,
                     struct effects *fx, struct err *err);
void evacuation_clear(struct fleet *f, struct guest *guest, const char *who, struct moment now,
                      struct effects *fx);
/* Makes the job a mark asks for, unless there is one, it cannot be moved, or it has left. Called
 * for a guest when it was marked, when a job of it ended and when it changed. */
void evacuation_advance(struct fleet *f, struct guest *guest, struct moment now,
                        struct effects *fx);
/* The node was uncordoned: every mark of it goes, drains of it are cancelled. */
void evacuation_node_back(struct fleet *f, struct node *node, const char *who, struct moment now,
                          struct effects *fx);

#endif
