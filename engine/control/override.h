/* override.h - the operator's word about a migration: try again, this is where the guest is, I have
 * seen its incident. Pure. */
#ifndef ENGINE_CONTROL_OVERRIDE_H
#define ENGINE_CONTROL_OVERRIDE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* *out_job: the job that is to go on by it; left as it is when the word was about an incident.
 * ERR_NOT_FOUND; ERR_REFUSED: nothing is broken or in doubt. */
MUST_CHECK bool override_apply(struct fleet *f, const struct resolve_request *request,
                               struct moment now, struct effects *fx, struct job **out_job,
                               struct err *err);

#endif
