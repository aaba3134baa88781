/* field_managers.h - who set which field of an object: metadata.managedFields, and server-side
 * apply. Pure.
 *
 * Kubernetes' rules: each manager has the set of fields that it last applied (Apply) or changed by
 * another request (Update). An apply that would change another manager's field is a conflict,
 * unless it is forced: then the field is its own. A field that its manager no longer applies, and
 * that is nobody else's, is removed. Lists and values are owned as a whole, members of objects one
 * by one, whatever their keys contain. Sets are written as fieldsV1: {"f:spec": {"f:x": {}}}. */
#ifndef EXPORTER_API_FIELD_MANAGERS_H
#define EXPORTER_API_FIELD_MANAGERS_H

#include "base/err.h"
#include "base/json.h"

enum {
    FIELD_MANAGERS_MAX = 16, /* of more the oldest Update is forgotten, else the oldest Apply */
    FIELD_MANAGER_NAME_MAX = 129,
};

struct field_request {
    const char *manager, *api_version;
    bool is_forced; /* apply only */
    int64_t now_ms;
};
/* The object after an apply of `config`, a new reference, and its managedFields as a member of the
 * metadata. before NULL: a new object. ERR_REFUSED: conflicts, each with its manager and field. */
struct json_object *field_managers_apply(struct json_object *before, struct json_object *config,
                                         const struct field_request *request, struct err *err);
/* Any other change, from before (NULL: new) to after: the new list, a new reference; NULL without
 * memory. */
struct json_object *field_managers_update(struct json_object *before, struct json_object *after,
                                          const struct field_request *request);
/* Forgets entries, in the same order, until the list is at most so many bytes of JSON. */
void field_managers_fit(struct json_object *managers, size_t bytes);

#endif
