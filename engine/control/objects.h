/* documents.h - what a document means when it is written, changed or removed; and requests to
 * evict. Pure. */
#ifndef ENGINE_CONTROL_OBJECTS_H
#define ENGINE_CONTROL_OBJECTS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* A refusal is in err and nothing changed. */
bool documents_put(struct fleet *f, const struct object_request *request, struct moment now,
                   struct effects *fx, struct migration_ref *out_ref, struct err *err);
bool documents_remove(struct fleet *f, const struct object_ref *ref, struct moment now,
                      struct effects *fx, struct err *err);
/* One that the store held, before anything was seen of the hosts. Takes it. False: it cannot be
 * understood; then it is gone. */
bool documents_restore(struct fleet *f, struct object *take_object, struct err *err);

/* KubeVirt's answer to an eviction: err ERR_LIMIT when denied, ERR_NOT_FOUND when there is no such
 * launcher. True: allowed. */
bool documents_evict(struct fleet *f, const struct eviction_request *request, struct moment now,
                     struct effects *fx, struct err *err);

#endif
