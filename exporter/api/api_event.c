/* api_event.c - events of objects, read from the store on a worker thread, so that a scrape never
 * waits for it. */
#include <string.h>

#include "exporter/api/api.h"
#include "exporter/exporter_impl.h"

enum { EVENTS_MAX = 500 };

static const struct api_column columns[] = {
    {"Last Seen", "string", 0, "Age."},
    {"Type", "string", 0, "Normal or Warning."},
    {"Reason", "string", 0, "Reason of the event."},
    {"Object", "string", 0, "The object involved."},
    {"Message", "string", 0, "The event."},
    {"Count", "integer", 1, "Number of occurrences."},
};

struct search {
    struct api_list list;
    const char *ns; /* NULL: all */
    struct api_selector fields;
    int64_t now_ms;
    size_t seen;
};

/* The value of a selectable field; NULL when there is none. */
static const char *field_of(const struct store_event *row, const char *field)
{
    const struct {
        const char *field, *value;
    } rows[] = {
        {"involvedObject.kind", row->kind},
        {"involvedObject.namespace", row->ns},
        {"involvedObject.name", row->name},
        {"involvedObject.uid", row->uid},
        {"metadata.namespace", row->ns},
        {"type", row->type},
        {"reason", row->reason},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(field, rows[i].field) == 0)
            return rows[i].value;
    return NULL;
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

static struct json_object *event_object(const struct store_event *row, size_t number)
{
    char name[SNAPSHOT_NAME_MAX + 48];
    (void)snprintf(name, sizeof name, "%.*s.%llx.%zx", SNAPSHOT_NAME_MAX, row->name,
                   (unsigned long long)(row->first_ms != 0 ? row->first_ms : row->at_ms), number);
    const struct api_meta meta = {row->ns[0] == '\0' ? "default" : row->ns, name, NULL, row->at_ms};
    struct json_object *event = json_object_new_object();
    (void)api_add_meta(event, KIND_EVENT, &meta);
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

static struct json_object *event_cells(const struct store_event *row, int64_t now_ms)
{
    char age[API_SHORT_TEXT_MAX], about[SNAPSHOT_NAME_MAX + 64];
    api_age_text(row->at_ms, now_ms, age);
    (void)snprintf(about, sizeof about, "%.60s/%s", row->kind, row->name);
    const char *const texts[] = {age, row->type, row->reason, about, row->message};
    struct json_object *cells = json_object_new_array();
    for (size_t i = 0; i < COUNT(texts); i++)
        json_add_text(cells, "", texts[i]);
    json_add_i64(cells, "", row->count > 0 ? row->count : 1);
    return cells;
}

static bool on_event(void *ctx, const struct store_event *row)
{
    struct search *search = ctx;
    search->seen++;
    if (matches(search, row))
        api_list_add(&search->list, event_object(row, search->seen),
                     search->list.as_table ? event_cells(row, search->now_ms) : NULL);
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

/* 422 makes newer clients that ask for initial events fall back to listing. */
static bool refuses_watch(const struct http_request *request, struct http_reply *reply)
{
    if (!api_wants_watch(request))
        return false;
    reply_refusal(reply, http_query(request, "sendInitialEvents") != NULL ? 422 : 405,
                  "watch of events is not supported; list again instead");
    return true;
}

void serve_events(const struct api_call *call, struct http_reply *out_reply)
{
    struct store *store = call->x->store;
    struct err err = {0};
    struct search search = {.ns = call->request->ns, .now_ms = clock_wall_ms(call->x->clock)};
    if (refuses_watch(call->request, out_reply))
        return;
    if (!api_selector_parse(http_query(call->request, "fieldSelector"), &search.fields, &err)) {
        reply_err(out_reply, &err, KIND_EVENT, NULL);
        return;
    }
    forget_node_uid(&search);
    api_list_begin(&search.list, KIND_EVENT, columns, COUNT(columns), call->request,
                   call->snapshot == NULL ? 0 : call->snapshot->generation);
    if (store != NULL && !store->ops->each_event(store, uid_of(&search, call->snapshot), EVENTS_MAX,
                                                 on_event, &search, &err)) {
        buf_fini(&search.list.text);
        reply_err(out_reply, &err, KIND_EVENT, NULL);
        return;
    }
    api_list_end(&search.list, NULL);
    reply_buf(out_reply, 200, &search.list.text);
}
