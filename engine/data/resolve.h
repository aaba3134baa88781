/* resolve.h - reads the outcome of a migration from both hosts. Pure.
 *
 * Runs whenever no call of this process is out: the call came back, its connection broke, or an
 * earlier process made it. Rounds of looks at both sides feed the truth table (ownership.h) until
 * a verdict is proven. There is no deadline that turns "not known" into an outcome: while a host
 * cannot be asked the job stays resolving, and says so.
 */
#ifndef ENGINE_DATA_RESOLVE_H
#define ENGINE_DATA_RESOLVE_H

#include "engine/model/turn/step.h"

void resolve_begin(struct job *job, struct moment now);
void resolve_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

#endif
