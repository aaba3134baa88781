/* objects.h - creating, changing and removing objects, and evictions. Pure. */
#ifndef ENGINE_CONTROL_OBJECTS_H
#define ENGINE_CONTROL_OBJECTS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* A refusal is in err and nothing changed. */
bool objects_put(struct fleet *f, const struct object_request *request, struct moment now,
                 struct effects *fx, struct migration_ref *out_ref, struct err *err);
bool objects_remove(struct fleet *f, const struct object_ref *ref, struct moment now,
                    struct effects *fx, struct err *err);
/* An object from the store, before any host was observed. Takes it. False: it cannot be parsed
 * and was freed. */
bool objects_restore(struct fleet *f, struct object *take_object, struct err *err);

/* KubeVirt's answer to an eviction: err ERR_LIMIT when denied, ERR_NOT_FOUND when there is no
 * such launcher. True: allowed. */
bool objects_evict(struct fleet *f, const struct eviction_request *request, struct moment now,
                   struct effects *fx, struct err *err);

#endif
