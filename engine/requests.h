/* requests.h - what the outside may ask of the engine. The exporter holds this port, not the
 * engine; tests plug in their own.
 *
 * Both functions block the caller (an HTTP thread) until the engine has committed its answer,
 * or until deadline_ms: then ERR_TIMEOUT, and whether it was accepted is not known yet.
 */
#ifndef ENGINE_REQUESTS_H
#define ENGINE_REQUESTS_H

#include "base/own.h"
#include "engine/snapshot.h"

enum { REQUEST_METADATA_MAX = 16384, REQUEST_DEADLINE_MS = 10000 };

struct migration_request {
    char ns[HV_HOST_MAX];
    char name[SNAPSHOT_NAME_MAX];          /* empty: made from generate_name */
    char generate_name[SNAPSHOT_NAME_MAX]; /* empty: "migration-" */
    char guest_name[HV_NAME_MAX];          /* spec.vmiName */
    char target[HV_HOST_MAX];              /* empty: the only other node */
    char requester[SNAPSHOT_WHO_MAX];
    char priority[32];         /* a name of priority.def; empty: user-triggered */
    const char *metadata_json; /* labels and annotations, NULL when none; copied */
    uint64_t bandwidth_mibs;   /* 0: the fleet's default */
    bool dry_run;              /* admit, say what would be, store nothing */
};
struct migration_ref {
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
};

struct engine_requests {
    void *ctx;
    /* Committed to the store when it returns true; the snapshot published before shows it.
     * Refusals: ERR_INVALID, ERR_UNPROCESSABLE, ERR_NOT_FOUND (guest), ERR_EXISTS (name),
     * ERR_REFUSED (busy guest, ...), ERR_LIMIT (queue full). */
    bool (*create)(void *ctx, const struct migration_request *request,
                   struct migration_ref *out_ref, struct err *err);
    /* An unfinished job is asked to stop. remove (the API's delete): it also leaves the view once
     * it is final; a job that is final already leaves at once. Without remove a final job is
     * ERR_REFUSED: there is nothing to stop. */
    bool (*cancel)(void *ctx, const char *ns, const char *name, const char *requester, bool remove,
                   struct err *err);
};

#endif
