/* incidents.h - the incidents of the fleet (engine/model/job/incident.h) to and from the store's
 * rows. Thread: the engine's. */
#ifndef ENGINE_INCIDENTS_H
#define ENGINE_INCIDENTS_H

#include "engine/model/fleet/fleet.h"
#include "store/store.h"

/* Into the open transaction; and back at a start. */
void incidents_put(struct store *store, const struct incidents *incidents);
MUST_CHECK bool incidents_load(struct store *store, struct fleet *f, struct err *err);

#endif
