/* override.h - an operator's override of a migration: recover, state where the guest is,
 * acknowledge its incident. Pure. */
#ifndef ENGINE_CONTROL_OVERRIDE_H
#define ENGINE_CONTROL_OVERRIDE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* *out_job: the job to advance; unchanged when the override was about an incident.
 * ERR_NOT_FOUND; ERR_REFUSED: nothing is broken or in doubt. */
MUST_CHECK bool override_apply(struct fleet *f, const struct resolve_request *request,
                               struct moment now, struct effects *fx, struct job **out_job,
                               struct err *err);

#endif
