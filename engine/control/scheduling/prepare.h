/* prepare.h - the target launcher: from a reserved node to one that is known to suit. The phases
 * Scheduling, Scheduled and PreparingTarget. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_PREPARE_H
#define ENGINE_CONTROL_SCHEDULING_PREPARE_H

#include "engine/model/definition/volumes.h"
#include "engine/model/turn/step.h"

/* Moves a job in one of these phases as far as the facts allow. */
void prepare_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* prepare_volumes.c: disks that move along. True: the target has a place for each. False: it was
 * asked and the job says what it waits for, or *out_rejected: the target will not do. */
bool prepare_volumes(struct fleet *f, struct job *job, struct moment now, struct effects *fx,
                     bool *out_rejected);
void prepare_volumes_again(struct job *job, struct moment now); /* before another node is chosen */
/* The hosts told about its disks and their places, or could not. */
void prepare_volumes_answered(struct job *job, const struct volume_facts *facts,
                              const struct err *err, struct moment now, struct effects *fx);

#endif
