/* configure.h - takes a configuration while the fleet runs: hosts that are new, gone or reached
 * another way, labels, limits, defaults. All of it or nothing. Pure.
 *
 * A host with an unfinished job, as its source, as its target, or because a job waits for it, is
 * neither removed nor reached another way: the job's outcome could not be proven any more. */
#ifndef ENGINE_CONTROL_CONFIGURE_H
#define ENGINE_CONTROL_CONFIGURE_H

#include "engine/model/fleet/setup.h"

/* ERR_REFUSED names the host and the job, and nothing changed. Takes texts out of the setup. */
MUST_CHECK bool configure_fleet(struct fleet *f, struct setup *setup, struct moment now,
                                struct err *err);
/* Would Ferry have to connect again to reach it as `next` says? */
bool configure_reconnects(const struct hv_host *host, const struct hv_host *next);

#endif
