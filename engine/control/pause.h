/* pause.h - a user pauses or unpauses a guest through the API. Pure.
 *
 * Refused where it could be taken for something else, or undo it: while a migration of the guest is
 * between hand-off and its end, or one that somebody else started runs (libvirt's state "paused"
 * then belongs to the migration), for a guest of another appliance, for one that is paused for
 * another reason than a user's, and on a node in observe mode. The next event of the host shows the
 * result. */
#ifndef ENGINE_CONTROL_PAUSE_H
#define ENGINE_CONTROL_PAUSE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* RESOLVE_PAUSE, RESOLVE_UNPAUSE; name is the guest's. ERR_NOT_FOUND, ERR_REFUSED. */
MUST_CHECK bool pause_request(struct fleet *f, const struct resolve_request *request,
                              struct moment now, struct effects *fx, struct err *err);

#endif
