/* drain.h - empties a node: acts on Drain objects (engine/model/objects/drain.h) and on single
 * guests evicted through the API. Pure.
 *
 * A drain cordons its node, marks its guests for evacuation in the order of the plan (smallest
 * first within a priority class; of equals the one with the shortest expected migration, because
 * quick migrations free memory and prove the path) and creates one job for each guest that can
 * be migrated. Guests that arrive meanwhile join. A drain ends when no guest is up on the node,
 * when its deadline passes (pending jobs are cancelled, running ones finish), or when it is
 * deleted or the node uncordoned (its unfinished jobs are cancelled, marks cleared). It shuts a
 * guest down only with spec.shutdown and eviction strategy None (or LiveMigrateIfPossible and
 * not migratable). A node that was drained stays cordoned.
 *
 * Every job that evacuates the node belongs to its drain, whoever marked the guest. An attempt
 * is counted for a job that failed after its hand-off or was unschedulable; a job that was
 * cancelled or timed out before is created again without one. */
#ifndef ENGINE_CONTROL_DRAIN_H
#define ENGINE_CONTROL_DRAIN_H

#include "engine/model/fleet/evacuation.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/drain.h"
#include "engine/model/turn/effects.h"

enum {
    DRAIN_CHECK_MS = 60000,      /* between checks without a change */
    DRAIN_AGAIN_MS = 5000,       /* ... after a job could not be created */
    DRAIN_STOP_AGAIN_MS = 60000, /* between shutdown requests for a guest that stays up */
};

/* May the drain begin now? False with ERR_NOT_FOUND (no such node) or ERR_REFUSED (the node is
 * already being drained). The object is parsed; it need not be in the fleet (dry run). */
bool drain_may_begin(struct fleet *f, const struct object *object, struct err *err);
/* Starts an accepted drain: cordon, plan, first jobs. The object is already in the fleet. False
 * if it may not begin; nothing changed. */
bool drain_begin(struct fleet *f, struct object *object, struct moment now, struct effects *fx,
                 struct err *err);
/* Updates plan, jobs and status after a change (a job ended, a guest came, left or changed its
 * condition) or a timeout. Cheap without a change. */
void drain_advance(struct fleet *f, struct object *object, struct moment now, struct effects *fx);
/* Of a drain whose deadline passed only the status changes: guests that were moving arrive. */
void drain_follow(struct fleet *f, struct object *object, struct moment now, struct effects *fx);
/* The drain was deleted or its node uncordoned. */
void drain_cancel(struct fleet *f, struct object *object, const char *who, struct moment now,
                  struct effects *fx);
/* What a drain of this node would do, as the status of a drain that has just begun; a new JSON
 * text, nothing is changed. NULL with ERR_NOT_FOUND. */
char *drain_plan(struct fleet *f, const char *node, bool shutdown, struct moment now,
                 struct err *err);

/* The unfinished drain of that node, or NULL. */
struct object *drain_of_node(struct fleet *f, const char *node);
/* The guest's eviction strategy, else the fleet's, else UNSET. */
enum strategy evacuation_strategy(const struct fleet *f, const struct guest *guest);
/* How a drain treats a guest: migrate, leave it blocked, shut down. */
enum drain_action { DRAIN_ACTION_MIGRATE, DRAIN_ACTION_BLOCK, DRAIN_ACTION_SHUT_DOWN };
enum drain_action drain_action(const struct fleet *f, const struct domain *domain, bool shutdown,
                               enum block *out_block);

/* Marks a guest for evacuation of the node it is on, or clears the mark (and cancels the job
 * created for it). Stored with the guest's overlay object. */
bool evacuation_mark(struct fleet *f, struct guest *guest, bool by_descheduler, struct moment now,
                     struct effects *fx, struct err *err);
void evacuation_clear(struct fleet *f, struct guest *guest, const char *who, struct moment now,
                      struct effects *fx);
/* Emits an event: a guest on its node must be evacuated and cannot be migrated. */
void evacuation_report_blocked(const struct fleet *f, const struct guest *guest, struct moment now,
                               struct effects *fx);
/* Does this job evacuate that node? */
bool evacuation_is_of(const struct job *job, const char *node);
/* Creates an evacuation job; NULL with err. */
struct job *evacuation_job(struct fleet *f, struct guest *guest, const char *requester,
                           struct moment now, struct effects *fx, struct err *err);
/* Creates the job of a marked guest, unless it has one, cannot be migrated, or has left. Called
 * when a guest was marked or changed and when one of its jobs ended. */
void evacuation_advance(struct fleet *f, struct guest *guest, struct moment now,
                        struct effects *fx);
/* The node was uncordoned: clears its evacuation marks and cancels its drains. */
void evacuation_node_uncordoned(struct fleet *f, struct node *node, const char *who,
                                struct moment now, struct effects *fx);
/* Sets or lifts the cordon of a drain, in the node's object. A cordon set by somebody else
 * stays. */
void evacuation_cordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx);
void evacuation_uncordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx);
/* The cordon, if any, is the operator's from now on: the end of a drain does not lift it. */
void evacuation_keep_cordon(struct fleet *f, struct node *node);

/* Notes the guests that are shut off on the node and defined nowhere else: the drain leaves them,
 * and a wipe of the host loses them. True: the list changed. */
bool drain_list_shut_off(struct drain *drain, const struct node *node);

/* Appends how many of them stay, if any do. */
void drain_add_shut_off(const struct drain *drain, char *message, size_t bytes);

#endif
