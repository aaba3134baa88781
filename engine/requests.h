/* requests.h - the port for requests to the engine. The exporter holds this port, not the
 * engine; tests plug in their own.
 *
 * Each function blocks the caller (an HTTP thread) until the engine has committed its answer, or
 * until deadline_ms: then ERR_TIMEOUT, and whether the request was accepted is not known. */
#ifndef ENGINE_REQUESTS_H
#define ENGINE_REQUESTS_H

#include "base/own.h"
#include "engine/model/objects/request.h"
#include "engine/snapshot.h"

enum { REQUEST_DEADLINE_MS = 10000 };

struct engine_requests {
    void *ctx;
    /* Committed to the store when it returns true; the snapshot published before has it.
     * Refusals: ERR_INVALID, ERR_UNPROCESSABLE, ERR_NOT_FOUND (guest), ERR_EXISTS (name),
     * ERR_REFUSED (busy guest, ...), ERR_LIMIT (queue full). */
    bool (*create)(void *ctx, const struct migration_request *request,
                   struct migration_ref *out_ref, struct err *err);
    /* Asks an unfinished job to stop. remove (the API's delete): it also leaves the list once it
     * is final; a final job leaves at once. Without remove a final job is ERR_REFUSED: there is
     * nothing to stop. */
    bool (*cancel)(void *ctx, const char *ns, const char *name, const char *requester, bool remove,
                   struct err *err);
    bool (*put)(void *ctx, const struct object_request *request, struct migration_ref *out_ref,
                struct err *err);
    bool (*remove)(void *ctx, const struct object_ref *ref, struct err *err);
    /* True: allowed (the guest is being shut down, or the pod is not Ferry's). Denied: ERR_LIMIT
     * with KubeVirt's text, an HTTP 429. ERR_NOT_FOUND: no such pod. */
    bool (*evict)(void *ctx, const struct eviction_request *request, struct err *err);
    /* A JSON text, the caller's to free. Changes nothing. */
    bool (*ask)(void *ctx, const struct question *question, char **out_json, struct err *err);
    /* An operator override. ERR_NOT_FOUND; ERR_REFUSED: nothing is broken or in doubt. */
    bool (*resolve)(void *ctx, const struct resolve_request *request, struct err *err);
};

#endif
