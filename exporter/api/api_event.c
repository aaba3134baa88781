/* api_event.c - events of objects, read from the store on a worker thread, so that a scrape never
 * waits for it. */
#include <string.h>

#include "exporter/api/api.h"
#include "exporter/api/feed_events.h"
#include "exporter/exporter_impl.h"

enum { EVENTS_MAX = 500 };

struct search {
    struct api_list list;
    const char *ns; /* NULL: all */
    struct api_selector fields;
    int64_t now_ms;
};

/* In the order of api_events.fields. */
const char *api_event_field(const struct store_event *row, size_t nth)
{
    const char *const values[] = {row->kind, row->ns, row->name, row->uid, row->type, row->reason};
    return nth < COUNT(values) ? values[nth] : NULL;
}

/* An object without a namespace has its events in the default one. */
static const char *ns_of(const struct store_event *row)
{
    return row->ns == NULL || row->ns[0] == '\0' ? "default" : row->ns;
}

/* The value of a selectable field; NULL when there is none. */
static const char *field_of(const struct store_event *row, const char *field)
{
    size_t n = 0;
    for (const char *at = api_events.fields; *at != '\0'; at += strspn(at, " "), n++) {
        size_t length = strcspn(at, " ");
        if (strlen(field) == length && memcmp(at, field, length) == 0)
            return api_event_field(row, n);
        at += length;
    }
    return strcmp(field, "metadata.namespace") == 0 ? ns_of(row) : NULL;
}

static bool matches(const struct search *search, const struct store_event *row)
{
    if (search->ns != NULL && strcmp(search->ns, row->ns) != 0)
        return false;
    for (size_t i = 0; i < search->fields.n; i++)
        if (!api_term_matches(&search->fields.terms[i], field_of(row, search->fields.terms[i].key)))
            return false;
    return true;
}

static const char *api_version_of(const char *kind)
{
    for (enum api_kind k = KIND_NONE + 1; k < KIND_COUNT; k++)
        if (strcmp(api_kind_row(k)->kind, kind) == 0)
            return api_kind_row(k)->api_version;
    return "v1";
}

static void name_event(const struct store_event *row, char *out, size_t bytes)
{
    (void)snprintf(out, bytes, "%.*s.%016llx", SNAPSHOT_NAME_MAX, row->name,
                   (unsigned long long)event_number(row));
}

struct json_object *api_event_object(const struct store_event *row, uint64_t version)
{
    char name[SNAPSHOT_NAME_MAX + 48];
    name_event(row, name, sizeof name);
    const struct api_meta meta = {ns_of(row), name, NULL,
                                  row->first_ms != 0 ? row->first_ms : row->at_ms};
    struct json_object *event = json_object_new_object();
    (void)api_add_meta(event, KIND_EVENT, &meta);
    api_set_version(event, version);
    struct json_object *about = json_add_object(event, "involvedObject");
    json_add_text(about, "apiVersion", api_version_of(row->kind));
    json_add_text(about, "kind", row->kind);
    json_add_text(about, "namespace", row->ns);
    json_add_text(about, "name", row->name);
    json_add_text(about, "uid", row->uid);
    json_add_text(event, "type", row->type);
    json_add_text(event, "reason", row->reason);
    json_add_text(event, "message", row->message);
    json_add_time(event, "firstTimestamp", row->first_ms != 0 ? row->first_ms : row->at_ms);
    json_add_time(event, "lastTimestamp", row->at_ms);
    json_add_i64(event, "count", row->count > 0 ? row->count : 1);
    json_add_text(json_add_object(event, "source"), "component", "ferry");
    return event;
}

/* Without the name. */
static struct json_object *cells_of(const struct store_event *row, int64_t now_ms)
{
    char age[API_SHORT_TEXT_MAX], about[SNAPSHOT_NAME_MAX + 64];
    api_age_text(row->at_ms, now_ms, age);
    (void)snprintf(about, sizeof about, "%.60s/%s", row->kind, row->name);
    const char *const texts[] = {age, row->type, row->reason, about};
    struct json_object *cells = json_object_new_array();
    for (size_t i = 0; i < COUNT(texts); i++)
        json_add_text(cells, "", texts[i]);
    json_add_i64(cells, "", row->count > 0 ? row->count : 1);
    json_add_text(cells, "", row->message);
    return cells;
}

struct json_object *api_event_cells(const struct store_event *row, int64_t now_ms)
{
    char name[SNAPSHOT_NAME_MAX + 48];
    OWNED(json_object) rest = cells_of(row, now_ms);
    struct json_object *cells = json_object_new_array();
    name_event(row, name, sizeof name);
    json_add_text(cells, "", name);
    for (size_t i = 0; i < json_object_array_length(rest); i++)
        json_add(cells, "", json_object_get(json_object_array_get_idx(rest, i)));
    return cells;
}

static bool on_event(void *ctx, const struct store_event *row)
{
    struct search *search = ctx;
    if (matches(search, row))
        api_list_add(&search->list, api_event_object(row, search->list.resource_version),
                     search->list.as_table ? cells_of(row, search->now_ms) : NULL);
    return search->list.n < EVENTS_MAX;
}

static const char *equals_term(const struct api_selector *fields, const char *key)
{
    for (size_t i = 0; i < fields->n; i++)
        if (fields->terms[i].op == TERM_EQUALS && strcmp(fields->terms[i].key, key) == 0)
            return fields->terms[i].value;
    return NULL;
}

/* The uid of a named object, launcher or guest; NULL when there is none. */
static const char *uid_named(const struct snapshot *s, const char *kind, const char *ns,
                             const char *name)
{
    const struct snapshot_job *job = snapshot_find_job(s, ns, name);
    const struct snapshot_guest *guest = snapshot_find_guest(s, ns, name);
    bool wants_job = kind == NULL || strcmp(kind, api_kind_row(KIND_MIGRATION)->kind) == 0;
    bool wants_guest = kind == NULL || strcmp(kind, api_kind_row(KIND_INSTANCE)->kind) == 0;
    if (wants_job && job != NULL)
        return job->uid;
    if (wants_guest && guest != NULL)
        return guest->uuid;
    enum object_kind wanted = kind == NULL ? OBJECT_COUNT : object_kind_from_name(kind);
    if (wanted == OBJECT_COUNT || wanted == OBJECT_NODE || wanted == OBJECT_GUEST)
        return NULL;
    const struct snapshot_object *document =
        api_document(s, wanted, object_kind_is_spaced(wanted) ? ns : "", name);
    return document == NULL ? NULL : document->uid;
}

/* kubectl selects a node's events by its name as uid (as kubelets write them) and by its uid: nodes
 * are identified by name, so terms about the uid are dropped. */
static void forget_node_uid(struct search *search)
{
    const char *kind = equals_term(&search->fields, "involvedObject.kind");
    const char *name = equals_term(&search->fields, "involvedObject.name");
    size_t kept = 0;
    if (!text_equal(kind, api_kind_row(KIND_NODE)->kind) || name == NULL)
        return;
    for (size_t i = 0; i < search->fields.n; i++)
        if (strcmp(search->fields.terms[i].key, "involvedObject.uid") != 0)
            search->fields.terms[kept++] = search->fields.terms[i];
    search->fields.n = kept;
}

/* The uid to read events of: given, or of the named object; NULL: all objects. */
static const char *uid_of(const struct search *search, const struct snapshot *s)
{
    const char *uid = equals_term(&search->fields, "involvedObject.uid");
    const char *name = equals_term(&search->fields, "involvedObject.name");
    const char *ns = equals_term(&search->fields, "involvedObject.namespace");
    if (uid != NULL || name == NULL || s == NULL)
        return uid;
    ns = ns != NULL ? ns : search->ns != NULL ? search->ns : "default";
    return uid_named(s, equals_term(&search->fields, "involvedObject.kind"), ns, name);
}

bool api_each_event(const struct api_call *call, api_event_fn *fn, void *ctx, struct err *err)
{
    struct store *store = call->x->store;
    return store == NULL || store->ops->each_event(store, NULL, EVENTS_MAX, fn, ctx, err);
}

/* The version is that of before the store is read: a watch from there misses nothing. */
void serve_events(const struct api_call *call, struct http_reply *out_reply)
{
    struct store *store = call->x->store;
    struct err err = {0};
    struct search search = {.ns = call->request->ns, .now_ms = clock_wall_ms(call->x->clock)};
    if (api_wants_watch(call->request)) {
        serve_watch(call, out_reply);
        return;
    }
    (void)feed_warm(call->x->feed, KIND_EVENT);
    if (!api_selector_parse(http_query(call->request, "fieldSelector"), &search.fields, &err)) {
        reply_err(out_reply, &err, KIND_EVENT, NULL);
        return;
    }
    forget_node_uid(&search);
    api_list_begin(&search.list, KIND_EVENT, call->request,
                   call->versions == NULL ? 0 : call->versions->newest);
    if (store != NULL && !store->ops->each_event(store, uid_of(&search, call->snapshot), EVENTS_MAX,
                                                 on_event, &search, &err)) {
        buf_fini(&search.list.text);
        reply_err(out_reply, &err, KIND_EVENT, NULL);
        return;
    }
    api_list_end(&search.list, NULL);
    reply_buf(out_reply, 200, &search.list.text);
}

/* ---- as a kind: for watches, which read changes from the feed ---- */

static size_t count(const struct snapshot *s)
{
    (void)s;
    return 0;
}

const struct api_view api_events = {
    .count = count,
    .fields = "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
              "type reason"};
