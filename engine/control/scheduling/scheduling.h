/* scheduling.h - a job's way from Pending to hand-off: its turn, a node, a prepared target. Pure.
 *
 * Level-triggered: each function looks at the facts and either takes the next step, or says what
 * the job waits for, puts it where it will be woken, and sets the time at which it gives up.
 *
 * The only header of this folder that others include. Inside each file uses those above it only:
 *   wait         lists of waiting jobs, deadlines, failing
 *   room         quota and node for one more
 *   guest_free   backups, block jobs and utility volumes of the guest
 *   wake         what changed makes ready whom it may concern
 *   prepare      Scheduling, Scheduled, PreparingTarget; prepare_volumes: disks that move along
 *   turn         Pending: one job's turn
 *   scheduling   all of them, best first */
#ifndef ENGINE_CONTROL_SCHEDULING_SCHEDULING_H
#define ENGINE_CONTROL_SCHEDULING_SCHEDULING_H

#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A new job: what its turn will need to know is asked at once. */
void schedule_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Moves a job that has not been handed to the data plane as far as the facts allow. */
void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Wakes whom changes concern and starts, best first, whatever can start. Ends by itself: each job
 * is tried at most once per call. */
void schedule_run(struct fleet *f, struct moment now, struct effects *fx);

/* The order to end a backup was answered. */
void schedule_backup_answered(struct job *job, const struct err *err, struct moment now,
                              struct effects *fx);
/* The hosts told about its disks and their places, or could not. */
void schedule_volumes_answered(struct job *job, const struct volume_facts *facts,
                               const struct err *err, struct moment now, struct effects *fx);

#endif
