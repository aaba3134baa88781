/* scheduling.h - a job from Pending to hand-off: its turn, a node, a prepared target. Pure.
 *
 * Level-triggered: each function reads the facts and either takes the next step, or sets the
 * pending reason, puts the job into the list that wakes it, and sets the deadline.
 *
 * The only header of this folder that others include. Each file uses only those listed above it:
 *   wait         lists of waiting jobs, deadlines, failing
 *   room         quota and node for one more job
 *   guest_free   backups, block jobs and utility volumes of the guest
 *   wake         makes jobs ready that a change may affect
 *   prepare      Scheduling, Scheduled, PreparingTarget; prepare_volumes: volumes that migrate too
 *   turn         Pending: one job's turn
 *   scheduling   all jobs, best first */
#ifndef ENGINE_CONTROL_SCHEDULING_SCHEDULING_H
#define ENGINE_CONTROL_SCHEDULING_SCHEDULING_H

#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A new job: asks at once for the facts that its turn will need. */
void schedule_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Moves a job that has not been handed off as far as the facts allow. */
void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Wakes jobs affected by changes and starts, best first, every job that can start. Tries each
 * job at most once per call. */
void schedule_run(struct fleet *f, struct moment now, struct effects *fx);

/* The policy and the settings that apply to the job now. */
void schedule_configure(struct fleet *f, struct job *job, const struct guest *guest);
/* Ends a job that was not handed off and can never be. */
void schedule_fail(struct fleet *f, struct job *job, const char *text, struct moment now,
                   struct effects *fx);

/* The order to end a backup was answered. */
void schedule_backup_answered(struct job *job, const struct err *err, struct moment now,
                              struct effects *fx);
/* The hosts answered about the volumes, or could not. */
void schedule_volumes_answered(struct job *job, const struct volume_facts *facts,
                               const struct err *err, struct moment now, struct effects *fx);

#endif
