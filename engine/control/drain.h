/* drain.h - emptying a node: what is done about a Drain object (engine/model/objects/drain.h), and
 * about single guests that were asked to leave by the eviction API. Pure.
 *
 * A drain cordons its node, marks its guests for evacuation in the order of the plan (smallest
 * first within a class, of equals the one that is expected to be over soonest: quick wins free
 * memory and prove the path) and makes one job for each that can move. Guests that come to the node
 * meanwhile join. It ends when no guest is up there, when its deadline passes (waiting jobs are
 * cancelled, moving ones are left to finish), or when it is deleted or the node uncordoned (its
 * unfinished jobs are cancelled, marks cleared). It shuts a guest down only if spec.shutdown and
 * the guest's strategy is None (or IfPossible, and it cannot move). A node that ended empty stays
 * cordoned: whoever drained it wants it so.
 *
 * A job is the drain's when it evacuates its node, whoever marked the guest. A try is used up by a
 * job that failed after its hand-off or that no node would take; what was cancelled or waited in
 * vain before is made again.
 */
#ifndef ENGINE_CONTROL_DRAIN_H
#define ENGINE_CONTROL_DRAIN_H

#include "engine/model/fleet/evacuation.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/drain.h"
#include "engine/model/turn/effects.h"

enum {
    DRAIN_CHECK_MS = 60000,      /* looked at again although nothing happened */
    DRAIN_AGAIN_MS = 5000,       /* ... when a job could not be made */
    DRAIN_STOP_AGAIN_MS = 60000, /* a guest that stays up is asked to shut down again */
};

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
enum drain_way drain_way(const struct fleet *f, const struct domain *domain, bool shutdown,
                         enum block *out_block);

/* Marks a guest for evacuation of the node it is on, or clears the mark (and cancels the job that
 * was made for it). Stored with the guest's overlay object. */
bool evacuation_mark(struct fleet *f, struct guest *guest, bool by_descheduler, struct moment now,
                     struct effects *fx, struct err *err);
void evacuation_clear(struct fleet *f, struct guest *guest, const char *who, struct moment now,
                      struct effects *fx);
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
