/* schedule.h - a job's way from Pending to hand-off: its turn, a place, a prepared target. Pure.
 *
 * Level-triggered: each function looks at the facts and either takes the next step, or says what
 * the job waits for, parks it where it will be woken, and sets the time at which it gives up. */
#ifndef ENGINE_CONTROL_SCHEDULE_H
#define ENGINE_CONTROL_SCHEDULE_H

#include "engine/model/step.h"

/* A new job: what its turn will need to know is asked at once. */
void schedule_first_look(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* It is this waiting job's turn: the fleet has a place for it. */
void schedule_try(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* It is ready and the fleet has no place. */
void schedule_wait_turn(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Moves a job that has not been handed to the data plane as far as the facts allow. */
void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* Would the namespace's quotas allow this much more? */
bool schedule_quota_allows(struct fleet *f, struct space *space, const struct demand *more,
                           char out_text[static QUOTA_TEXT_MAX]);
/* The configuration and policy that apply to the job now. */
void schedule_configure(struct fleet *f, struct job *job, const struct guest *guest);

/* ---- shared with prepare.c ---- */
/* Fails the job: no node was touched, the guest is where it was seen. */
void schedule_fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
                   struct moment now, struct effects *fx);
/* The wait it is in has a deadline: sets the timer, or fails when it passed. False: it failed. */
bool schedule_wait_on(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Looks for a node and reserves it; false: none, and job->rejections says why. */
bool schedule_place(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                    struct effects *fx);
/* No node would do: what kind of wait is that? Fails the job if none ever will. */
void schedule_unplaced(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The guest's own jobs: a backup, a block job, utility volumes. True: nothing is in the way. */
bool schedule_guest_free(struct fleet *f, struct job *job, const struct guest *guest,
                         struct moment now, struct effects *fx);

/* Was it the order to end a backup that was answered? Then its record is closed. */
bool schedule_backup_answered(struct job *job, uint64_t id, const struct err *err,
                              struct moment now, struct effects *fx);

/* ---- prepare_volumes.c: disks that move along ---- */
struct volume_facts;
/* True: the target has a place for each. False: it was asked and says what it waits for, or
 * *out_rejected: it will not do. */
bool prepare_volumes(struct fleet *f, struct job *job, struct moment now, struct effects *fx,
                     bool *out_rejected);
void prepare_volumes_again(struct job *job, struct moment now); /* before another node is chosen */
/* The hosts told about its disks and their places, or could not. */
void prepare_volumes_answered(struct job *job, const struct volume_facts *facts,
                              const struct err *err, struct moment now, struct effects *fx);

/* ---- prepare.c: Scheduling, Scheduled, PreparingTarget ---- */
void prepare_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
