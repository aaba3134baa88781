/* requests.h - inputs that somebody asked for and waits for: create, cancel, put, remove, resolve,
 * adopt, evict. Part of reconcile(), which calls it. */
#ifndef ENGINE_CORE_REQUESTS_H
#define ENGINE_CORE_REQUESTS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"
#include "engine/model/turn/input.h"

/* *out_ref names the object on success; a refusal is in err and nothing changed. */
bool core_request(struct fleet *f, struct input *input, struct moment now, struct effects *fx,
                  struct migration_ref *out_ref, struct err *err);

#endif
