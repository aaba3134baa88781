/* api_request.h - parses requests: requester, dry runs, types, names, labels, patches.
 *
 * Parsing is strict: an unknown field is refused with the nearest known one, because a field that
 * is ignored could migrate a guest to the wrong node.
 */
#ifndef EXPORTER_API_API_REQUEST_H
#define EXPORTER_API_API_REQUEST_H

#include "engine/requests.h"
#include "exporter/api/api.h"

/* Whether the client's role holds in that namespace: for what is found by a uid, whose namespace is
 * not the one that the path names and the gate has checked. */
bool api_may_see(const struct http_request *request, const char *ns);
/* The identity of the client, as stored; never what the client claims. out holds
 * SNAPSHOT_WHO_MAX. */
void api_requester(const struct http_request *request, char *out);
/* dryRun=All or nothing; as a query and as a list of words in a body. */
bool api_dry_run(const struct http_request *request, bool *out_dry_run, struct err *err);
bool api_dry_run_list(struct json_object *list, bool *out_dry_run, struct err *err);

/* The body as an object, a new reference. Its Content-Type must be JSON or, as newer kubectl sends
 * kinds of Kubernetes' own, protobuf (protobuf.h): an HTML form can send neither. If it is not, the
 * reply is filled. */
bool api_is_json(const struct http_request *request, struct http_reply *reply);
struct json_object *api_body(const struct http_request *request, struct err *err);
/* A POST with such a body: `create` fills the reply, or fails and the error is the reply. */
typedef bool api_create_fn(const struct api_call *call, struct json_object *body,
                           struct http_reply *reply, struct err *err);
void api_serve_create(const struct api_call *call, api_create_fn *create, struct http_reply *reply);

/* Refuses members of `object` that are not among `known`; `later` (may be NULL) lists fields that
 * KubeVirt has and Ferry does not support. path: "spec." */
struct api_words {
    const char *const *words;
    size_t n;
};
#define API_WORDS(array)      \
    (struct api_words)        \
    {                         \
        (array), COUNT(array) \
    }
bool api_only_known(struct json_object *object, const char *path, struct api_words known,
                    struct api_words later, struct err *err);
bool api_object_or_absent(struct json_object *value, const char *path, struct err *err);
/* The namespace of the path. */
bool api_namespace_is_valid(const char *ns, struct err *err);
/* Checks the members of any object, and apiVersion and kind if present. */
bool api_check_type(struct json_object *object, enum api_kind kind, struct err *err);
/* metadata.name for an error about the object; NULL when it has none. */
const char *api_name_in(struct json_object *object);
/* metadata.name and generateName, empty when absent; namespace must be the path's. Borrowed. */
bool api_read_names(struct json_object *object, const char *ns, const char **out_name,
                    const char **out_prefix, struct err *err);
/* metadata.labels or metadata.annotations into `into`, each checked. */
bool api_copy_texts(struct json_object *object, const char *what, bool are_labels,
                    struct json_object *into, struct err *err);
/* The text of stored labels and annotations, borrowed from it; NULL when there are none. */
bool api_kept_text(struct json_object *kept, const char **out_text, struct err *err);

struct api_delete_options {
    bool dry_run;
    char uid[SNAPSHOT_UID_MAX]; /* precondition; empty: any */
};
/* Of DeleteOptions. What cannot be held is refused: carried out it would not be as asked. */
bool api_read_preconditions(struct json_object *options, struct api_delete_options *out,
                            struct err *err);
bool api_read_delete(const struct http_request *request, struct api_delete_options *out_options,
                     struct err *err);
/* The precondition; uid NULL: there is no such object, and nothing to compare with. */
bool api_check_uid(const struct api_delete_options *options, const char *uid, struct err *err);

/* ---- patches: api_patch.c ---- */
enum { API_PATCH_OPS_MAX = 256 };
enum api_patch {
#define PATCH(id, type, help) API_PATCH_##id,
#include "exporter/api/patch.def"
#undef PATCH
    API_PATCH_COUNT
};
/* By Content-Type; for another one the reply is filled. */
bool api_is_patch(const struct http_request *request, enum api_patch *out_type,
                  struct http_reply *reply);
/* The object after the patch, a new reference; `before` stays as it is (for APPLY it may be
 * NULL). ERR_INVALID: the patch is malformed; ERR_UNPROCESSABLE: it does not fit the object. */
struct json_object *api_patch(enum api_patch type, struct json_object *before, const char *text,
                              size_t n, struct err *err);
/* The body of a server-side apply, JSON or YAML, as it is; a new reference. */
struct json_object *api_apply_body(const char *text, size_t n, struct err *err);

/* ---- migrations: api_create.c ---- */
api_create_fn api_create_migration;
/* Asks the engine and answers with the object. */
bool api_ask_migration(const struct api_call *call, const struct migration_request *request,
                       unsigned status, struct http_reply *reply, struct err *err);
/* spec.addedNodeSelector: the named node into target, the rest as text into selector_json, which
 * lives as long as out_rest (a new reference). */
bool api_read_selector(struct json_object *selector, const char *path,
                       struct migration_request *out, struct json_object **out_rest,
                       struct err *err);

#endif
