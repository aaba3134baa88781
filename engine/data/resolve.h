/* resolve.h - reads the outcome of a migration from both hosts. Pure.
 *
 * Runs whenever no call of this process is open: the call was answered, its connection broke, or
 * an earlier process made it. Rounds of observations of both hosts feed the truth table
 * (ownership.h) until the ownership is proven. No deadline turns "not known" into an outcome:
 * while a host is unreachable the job stays resolving, with a pending reason. */
#ifndef ENGINE_DATA_RESOLVE_H
#define ENGINE_DATA_RESOLVE_H

#include "engine/model/turn/step.h"

void resolve_begin(struct job *job, struct moment now);
void resolve_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* A lifecycle event of the guest on one of its nodes. */
void resolve_event(struct job *job, bool at_target, const struct hv_event *event);

#endif
