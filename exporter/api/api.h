/* api.h - shared by the handlers of the API: replies, objects, lists, selectors.
 *
 * Kubernetes' conventions: objects with metadata, lists with resourceVersion, Status for failures,
 * Table on request. Ferry's own fields are in status.ferry.
 */
#ifndef EXPORTER_API_API_H
#define EXPORTER_API_API_H

#include "base/json.h"
#include "base/text.h"
#include "engine/snapshot.h"
#include "exporter/api/routes.h"
#include "exporter/http/http.h"

/* ---- replies: api_reply.c ---- */
void reply_text(struct http_reply *reply, unsigned status, const char *text);
/* Takes the value; NULL (no memory) becomes 503. */
void reply_json(struct http_reply *reply, unsigned status, struct json_object *take_value);
void reply_buf(struct http_reply *reply, unsigned status, struct buf *take_buf);
/* A failure as a Kubernetes Status. kind NONE and name NULL where it is about no object. */
void reply_err(struct http_reply *reply, const struct err *err, enum api_kind kind,
               const char *name);
void reply_not_found(struct http_reply *reply, enum api_kind kind, const char *name);
/* The server's own refusals: 400, 404, 405, 413, 415, 421, 429, 503. */
void reply_refusal(struct http_reply *reply, unsigned status, const char *text);
void reply_no_route(struct http_reply *reply, const struct http_request *request,
                    const char *allow);
/* Why KubeVirt has that path and Ferry does not; NULL: it is none of KubeVirt's. */
const char *api_unsupported(const char *path);
void reply_success(struct http_reply *reply, unsigned status); /* a Status about no object */
/* Status Success of a delete. */
void reply_deleted(struct http_reply *reply, enum api_kind kind, const char *name, const char *uid);

/* ---- objects: api_migration.c, api_move.c, api_instance.c, api_node.c, api_pod.c,
 * api_stored.c ---- */
/* How the objects of a kind are found and shown. Objects are numbered as in the snapshot; is_there
 * selects the numbers of this kind. */
struct api_passed;
struct api_view {
    size_t (*count)(const struct snapshot *s);
    const char *(*ns)(const struct snapshot *s, size_t i); /* NULL for kinds without */
    const char *(*name)(const struct snapshot *s, size_t i);
    const char *(*uid)(const struct snapshot *s, size_t i); /* "": none */
    /* Is it shown from the same facts? Asked only about one object, in two snapshots. */
    bool (*is_same)(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j);
    struct json_object *(*labels)(const struct snapshot *s, size_t i); /* new; may be NULL */
    struct json_object *(*object)(const struct snapshot *s, size_t i); /* new */
    /* In the order of columns.def, without the name. */
    void (*add_cells)(const struct snapshot *s, size_t i, int64_t now_ms,
                      struct json_object *cells);
    bool (*is_there)(const struct snapshot *s, size_t i); /* NULL: all */
    /* The value of a selectable field besides name and namespace; NULL: none. fields (NULL: none)
     * lists them, separated by spaces. */
    const char *fields;
    const char *(*field)(const struct snapshot *s, size_t i, const char *key);
    /* The nth state between two snapshots that a watch tells (versions.h); false: no more. before
     * NULL: it was added. NULL: none ever. */
    bool (*passed)(const struct snapshot *before, size_t was, const struct snapshot *after,
                   size_t is, unsigned nth, struct api_passed *out);
};
extern const struct api_view api_migrations, api_instances, api_nodes, api_pods;
extern const struct api_view api_policies, api_quotas, api_namespaces, api_drains, api_incidents;
extern const struct api_view api_tokens, api_none, api_node_usage, api_pod_usage;
const struct api_view *api_view_of(enum api_kind kind); /* NULL: not readable */
/* Events are rows of the store: api_event.c. api_events has none, but their columns and fields. */
extern const struct api_view api_events;
struct store_event;
struct json_object *api_event_object(const struct store_event *row, uint64_t version);
/* A Table row, with the name. */
struct json_object *api_event_cells(const struct store_event *row, int64_t now_ms);
const char *api_event_field(const struct store_event *row, size_t nth); /* of api_events.fields */
/* The stored events, for a watch that begins with them; false with err. */
typedef bool api_event_fn(void *ctx, const struct store_event *row);
bool api_each_event(const struct api_call *call, api_event_fn *fn, void *ctx, struct err *err);
/* The number of an object; false when there is none. */
bool api_find(const struct api_view *view, const struct snapshot *s, const char *ns,
              const char *name, size_t *out_i);

/* The overlay or stored object of that key, or NULL. */
const struct snapshot_object *api_document(const struct snapshot *s, enum object_kind kind,
                                           const char *ns, const char *name);
bool api_documents_are_same(const struct snapshot_object *a, const struct snapshot_object *b);
/* Parses a JSON object, a new reference, empty when the text is NULL or not an object; with a path,
 * the object there. */
struct json_object *api_object_from(const char *text, const char *path);
/* Adds metadata.annotations and managedFields that were stored with an object, if there are any. */
void api_add_annotations(struct json_object *metadata, const char *metadata_json);
void api_add_unless_empty(struct json_object *object, const char *key, const char *text);

bool api_guest_runs(const struct snapshot_guest *guest); /* KubeVirt's phase Running */
/* The target launcher: shown as a pod from scheduling to the end of the job. */
bool api_target_launcher_is_up(const struct snapshot_job *job);

struct json_object *api_job_object(const struct snapshot_job *job);
/* status.migrationState, also shown on the guest; NULL before hand-off. */
struct json_object *api_migration_state(const struct snapshot_job *job);

/* The objects of a migration that rows of store/job_fields.def name. */
enum job_object {
#define JOB_OBJECT(id, path) JOB_OBJECT_##id,
#include "exporter/api/job_objects.def"
#undef JOB_OBJECT
    JOB_OBJECT_COUNT
};
/* What those rows show in that object. */
void api_add_fields(struct json_object *out, enum job_object where, const struct snapshot_job *job);

/* Ferry's own fields, into status.ferry of the job or of its guest. */
void api_add_move(struct json_object *ferry, const struct snapshot_job *job);
/* Its newest job ended irrecoverable, and the guest has not changed since. */
bool api_guest_is_broken(const struct snapshot_guest *guest, const struct snapshot_job *newest);

/* apiVersion and kind; metadata with name, namespace, uid, creationTimestamp; the resourceVersion
 * is the feed's. Empty or 0 values are left out. Returns the metadata, borrowed. */
struct api_meta {
    const char *ns, *name, *uid;
    int64_t created_ms;
};
struct json_object *api_add_meta(struct json_object *object, enum api_kind kind,
                                 const struct api_meta *meta);
void api_set_version(struct json_object *object, uint64_t version); /* metadata.resourceVersion */
void api_add_json(struct buf *text, struct json_object *value);     /* as one line */
/* A condition of status.conditions. at_ms 0 and NULL text are left out. */
void api_add_condition(struct json_object *conditions, const char *type, const char *status,
                       int64_t at_ms, const char *reason, const char *message);
/* "3d4h", "12m", as kubectl writes ages; "<unknown>" when since is 0. Both hold 32. */
void api_age_text(int64_t since_ms, int64_t now_ms, char *out_text);
enum { API_SHORT_TEXT_MAX = 32 };

bool api_is_there(const struct api_view *view, const struct snapshot *s, size_t i);

/* ---- lists and tables: api_list.c; pages and streams of them: api_listing.c ---- */
/* What a row of a Table has besides its cells. */
enum api_rows { API_ROW_METADATA, API_ROW_OBJECT, API_ROW_NONE };
#define API_PARTIAL_METADATA                           \
    ",\"object\":{\"kind\":\"PartialObjectMetadata\"," \
    "\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":" /* and a "}" */
struct api_list {
    enum api_kind kind;
    bool as_table;
    enum api_rows rows;
    size_t n;
    uint64_t resource_version;
    struct buf text;
};
/* Chooses list or Table from the request. resource_version: of the whole list. */
void api_list_begin(struct api_list *list, enum api_kind kind, const struct http_request *request,
                    uint64_t resource_version);
/* Takes both; cells (without the name) are used by tables only. */
void api_list_add(struct api_list *list, struct json_object *take_object,
                  struct json_object *take_cells);
/* An object of a view; ages are relative to now, not to the snapshot, which may be old. */
struct versions;
void api_list_add_nth(struct api_list *list, const struct versions *v, size_t i, int64_t now_ms);
/* An object with its version, new. */
struct json_object *api_versioned(const struct versions *v, enum api_kind kind, size_t i);
/* Writes the end, with the list's metadata. page NULL: nothing follows. */
enum { API_TOKEN_MAX = 64 };
struct api_page {
    char token[API_TOKEN_MAX]; /* metadata.continue */
    size_t remaining;          /* metadata.remainingItemCount; 0: not known */
};
void api_list_end(struct api_list *list, const struct api_page *page);
bool api_wants_table(const struct http_request *request);
bool api_wants_watch(const struct http_request *request);
/* The columnDefinitions of a Table, a JSON array: columns.def. */
void api_add_columns(struct buf *text, enum api_kind kind);
enum api_rows api_rows_wanted(const struct http_request *request);
/* The request asks for changes (watch.c). */
void serve_watch(const struct api_call *call, struct http_reply *out_reply);

/* ---- selectors: api_selector.c ---- */
enum { API_TERMS_MAX = 16, API_TERM_TEXT_MAX = 320, API_TERM_SET_MAX = 512 };
struct api_selector {
    size_t n;
    struct api_term {
        char key[API_TERM_TEXT_MAX];
        char value[API_TERM_SET_MAX]; /* IN, NOT_IN: VALUE,VALUE */
        enum { TERM_EQUALS, TERM_DIFFERS, TERM_EXISTS, TERM_ABSENT, TERM_IN, TERM_NOT_IN } op;
    } terms[API_TERMS_MAX];
};
/* "a=b,c!=d,e,!f,g in (h,i),j notin (k)"; NULL or empty text selects everything. ERR_INVALID with
 * the term. */
bool api_selector_parse(const char *text, struct api_selector *out_selector, struct err *err);
/* By label, in a JSON object of texts (NULL: no labels). */
bool api_selector_matches(const struct api_selector *selector, struct json_object *labels);
/* One term about a field with this value. */
bool api_term_matches(const struct api_term *term, const char *value);

#endif
