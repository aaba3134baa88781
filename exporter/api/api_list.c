/* api_list.c - the text of lists and Tables, and single objects of any kind.
 *
 * Objects are created, written and freed one at a time. The metadata of a list comes after its
 * items: only then it is known where the next page begins. */
#include <string.h>

#include "exporter/api/api.h"
#include "exporter/api/versions.h"
#include "exporter/exporter_impl.h"

enum { LIST_BYTES_MAX = 8 * 1024 * 1024 }; /* a piece, or a list that is sent as one */

const struct api_view *api_view_of(enum api_kind kind)
{
    static const struct api_view *const views[KIND_COUNT] = {
        [KIND_MIGRATION] = &api_migrations,
        [KIND_INSTANCE] = &api_instances,
        [KIND_NODE] = &api_nodes,
        [KIND_POD] = &api_pods,
        [KIND_POLICY] = &api_policies,
        [KIND_QUOTA] = &api_quotas,
        [KIND_NAMESPACE] = &api_namespaces,
        [KIND_DRAIN] = &api_drains,
        [KIND_INCIDENT] = &api_incidents,
        [KIND_TOKEN] = &api_tokens,
        [KIND_EVENT] = &api_events,
        [KIND_SERVICE] = &api_none,
        [KIND_DISRUPTION_BUDGET] = &api_none,
        [KIND_NODE_METRICS] = &api_node_usage,
        [KIND_POD_METRICS] = &api_pod_usage,
    };
    return views[kind];
}

bool api_wants_table(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return accept != NULL && strstr(accept, "as=Table") != NULL;
}

bool api_wants_watch(const struct http_request *request)
{
    const char *watch = http_query(request, "watch");
    return watch != NULL && strcmp(watch, "false") != 0 && strcmp(watch, "0") != 0;
}

enum api_rows api_rows_wanted(const struct http_request *request)
{
    const char *include = http_query(request, "includeObject");
    return text_equal(include, "None")     ? API_ROW_NONE
           : text_equal(include, "Object") ? API_ROW_OBJECT
                                           : API_ROW_METADATA;
}

/* ---- writing ---- */

struct column {
    enum api_kind kind;
    const char *name, *type; /* string | integer | date */
    int priority;            /* 0: always, 1: wide only */
    const char *help;
};
static const struct column table_columns[] = {
#define COLUMN(kind, name, type, wide, title, when, how, path, help) \
    {KIND_##kind, name, type, wide, help},
#include "exporter/api/columns.def"
#undef COLUMN
};

static void add_column(struct json_object *columns, const struct column *column, const char *format)
{
    struct json_object *c = json_add_object(columns, "");
    json_add_text(c, "name", column->name);
    json_add_text(c, "type", column->type);
    json_add_text(c, "format", format);
    json_add_text(c, "description", column->help);
    json_add_i64(c, "priority", column->priority);
}

void api_add_columns(struct buf *text, enum api_kind kind)
{
    static const struct column name = {KIND_NONE, "Name", "string", 0, "Name of the object."};
    OWNED(json_object) all = json_object_new_array();
    add_column(all, &name, "name");
    for (size_t i = 0; i < COUNT(table_columns); i++)
        if (table_columns[i].kind == kind && table_columns[i].name[0] != '\0')
            add_column(all, &table_columns[i], "");
    api_add_json(text, all);
}

static void begin_table(struct api_list *list)
{
    buf_add(&list->text, "\"columnDefinitions\":");
    api_add_columns(&list->text, list->kind);
    buf_add(&list->text, ",\"rows\":[");
}

void api_list_begin(struct api_list *list, enum api_kind kind, const struct http_request *request,
                    uint64_t resource_version)
{
    *list = (struct api_list){.kind = kind,
                              .resource_version = resource_version,
                              .as_table = api_wants_table(request),
                              .rows = api_rows_wanted(request)};
    buf_init(&list->text, LIST_BYTES_MAX);
    const struct api_kind_row *row = api_kind_row(kind);
    buf_addf(&list->text, "{\"kind\":\"%s%s\",\"apiVersion\":\"%s\",",
             list->as_table ? "Table" : row->kind, list->as_table ? "" : "List",
             list->as_table ? "meta.k8s.io/v1" : row->api_version);
    if (list->as_table)
        begin_table(list);
    else
        buf_add(&list->text, "\"items\":[");
}

static void add_row(struct api_list *list, struct json_object *object, struct json_object *cells)
{
    OWNED(json_object) name = json_object_get(json_at(object, "metadata.name"));
    buf_add(&list->text, "{\"cells\":[");
    api_add_json(&list->text, name);
    for (size_t i = 0; i < json_object_array_length(cells); i++) {
        buf_add(&list->text, ",");
        api_add_json(&list->text, json_object_array_get_idx(cells, i));
    }
    buf_add(&list->text, "]");
    if (list->rows == API_ROW_OBJECT) {
        buf_add(&list->text, ",\"object\":");
        api_add_json(&list->text, object);
    } else if (list->rows == API_ROW_METADATA) {
        buf_add(&list->text, API_PARTIAL_METADATA);
        api_add_json(&list->text, json_at(object, "metadata"));
        buf_add(&list->text, "}");
    }
    buf_add(&list->text, "}");
}

void api_list_add(struct api_list *list, struct json_object *take_object,
                  struct json_object *take_cells)
{
    OWNED(json_object) object = take_object;
    OWNED(json_object) cells = take_cells;
    if (object == NULL || (list->as_table && cells == NULL)) {
        list->text.failed = true;
        return;
    }
    buf_add(&list->text, list->n++ == 0 ? "\n" : ",\n");
    if (list->as_table)
        add_row(list, object, cells);
    else
        api_add_json(&list->text, object);
}

struct json_object *api_versioned(const struct versions *v, enum api_kind kind, size_t i)
{
    struct json_object *object = api_view_of(kind)->object(v->snapshot, i);
    if (object != NULL)
        api_set_version(object, versions_of(v, kind, i));
    return object;
}

void api_list_add_nth(struct api_list *list, const struct versions *v, size_t i, int64_t now_ms)
{
    struct json_object *cells = NULL;
    if (list->as_table) {
        cells = json_object_new_array();
        api_view_of(list->kind)->add_cells(v->snapshot, i, now_ms, cells);
    }
    api_list_add(list, api_versioned(v, list->kind, i), cells);
}

void api_list_end(struct api_list *list, const struct api_page *page)
{
    buf_addf(&list->text, "\n],\"metadata\":{\"resourceVersion\":\"%llu\"",
             (unsigned long long)list->resource_version);
    if (page != NULL && page->token[0] != '\0')
        buf_addf(&list->text, ",\"continue\":\"%s\"", page->token);
    if (page != NULL && page->remaining > 0)
        buf_addf(&list->text, ",\"remainingItemCount\":%zu", page->remaining);
    buf_add(&list->text, "}}\n");
}

/* ---- single objects ---- */

bool api_is_there(const struct api_view *view, const struct snapshot *s, size_t i)
{
    return view->is_there == NULL || view->is_there(s, i);
}

bool api_find(const struct api_view *view, const struct snapshot *s, const char *ns,
              const char *name, size_t *out_i)
{
    size_t n = view->count(s);
    for (size_t i = 0; i < n; i++)
        if (api_is_there(view, s, i) && strcmp(view->name(s, i), name) == 0 &&
            (view->ns == NULL || strcmp(view->ns(s, i), ns) == 0)) {
            *out_i = i;
            return true;
        }
    return false;
}

void serve_get(const struct api_call *call, struct http_reply *out_reply)
{
    const struct api_view *view = api_view_of(call->kind);
    const struct snapshot *s = call->snapshot;
    if (s == NULL) {
        reply_refusal(out_reply, 503, "Ferry is starting: no snapshot yet");
        return;
    }
    size_t i;
    if (!api_find(view, s, call->request->ns, call->request->name, &i)) {
        reply_not_found(out_reply, call->kind, call->request->name);
    } else if (api_wants_table(call->request)) {
        struct api_list list;
        api_list_begin(&list, call->kind, call->request, call->versions->newest);
        api_list_add_nth(&list, call->versions, i, clock_wall_ms(call->x->clock));
        api_list_end(&list, NULL);
        reply_buf(out_reply, 200, &list.text);
    } else {
        reply_json(out_reply, 200, api_versioned(call->versions, call->kind, i));
    }
}
