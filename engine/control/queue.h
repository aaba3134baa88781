/* queue.h - whose turn it is. A waiting job is in exactly one place: `ready` (only its turn keeps
 * it back), with the node it wants to leave or to reach, with its namespace's quota, among those no
 * node would do for, or nowhere but in its timer. What changes wakes exactly whom it may concern;
 * nobody walks over all that wait. Pure. */
#ifndef ENGINE_CONTROL_QUEUE_H
#define ENGINE_CONTROL_QUEUE_H

#include "engine/model/effects.h"
#include "engine/model/fleet.h"

/* Puts a job where its wait is. */
void queue_park_at(struct heap *where, struct job *job);
/* It waits for time, or for an answer, only. */
void queue_park_alone(struct job *job);

/* Wakes whom changes concern and starts, best first, whatever can start. Ends by itself: each job
 * is tried at most once per call. */
void queue_run(struct fleet *f, struct moment now, struct effects *fx);
/* One who was to leave the node does not: the next may be tried, if there is a place. */
void queue_next_may_leave(struct fleet *f, struct node *node);

#endif
