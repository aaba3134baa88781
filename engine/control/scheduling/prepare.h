/* prepare.h - the target launcher: from a reserved node to a checked one. The phases Scheduling,
 * Scheduled and PreparingTarget. Pure. */
#ifndef ENGINE_CONTROL_SCHEDULING_PREPARE_H
#define ENGINE_CONTROL_SCHEDULING_PREPARE_H

#include "engine/model/definition/volumes.h"
#include "engine/model/turn/step.h"

/* Moves a job in one of these phases as far as the facts allow. */
void prepare_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* prepare_volumes.c: volumes that migrate along. True: the target has space for each. False: the
 * target was asked and the pending reason is set, or *out_rejected: the target is unsuitable. */
bool prepare_volumes(struct fleet *f, struct job *job, struct moment now, struct effects *fx,
                     bool *out_rejected);
void prepare_volumes_again(struct job *job, struct moment now); /* before another node is chosen */
/* The hosts answered about the volumes, or could not. */
void prepare_volumes_answered(struct job *job, const struct volume_facts *facts,
                              const struct err *err, struct moment now, struct effects *fx);

#endif
