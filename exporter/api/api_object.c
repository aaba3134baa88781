/* api_object.c - shared by all objects: metadata, conditions, table cells. */
#include "exporter/api/api.h"

#include <string.h>

#include "base/human.h"

static int order_of(const struct snapshot_object *object, enum object_kind kind, const char *ns,
                    const char *name)
{
    if (object->kind != kind)
        return object->kind < kind ? -1 : 1;
    int order = strcmp(object->ns, ns);
    return order != 0 ? order : strcmp(object->name, name);
}

const struct snapshot_object *api_document(const struct snapshot *s, enum object_kind kind,
                                           const char *ns, const char *name)
{
    size_t low = 0, high = s->n_objects;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = order_of(s->objects[middle], kind, ns, name);
        if (order == 0)
            return s->objects[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool api_documents_are_same(const struct snapshot_object *a, const struct snapshot_object *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a->uid, b->uid) == 0 &&
                      a->created_ms == b->created_ms && text_equal(a->spec_json, b->spec_json) &&
                      text_equal(a->metadata_json, b->metadata_json) &&
                      text_equal(a->status_json, b->status_json));
}

struct json_object *api_object_from(const char *text, const char *path)
{
    struct err ignored = {0};
    OWNED(json_object) value =
        text == NULL ? NULL : json_parse(text, strlen(text), "document", &ignored);
    struct json_object *found = value == NULL || path == NULL ? value : json_at(value, path);
    if (json_object_is_type(found, json_type_object))
        return json_object_get(found);
    return json_object_new_object();
}

void api_add_annotations(struct json_object *metadata, const char *metadata_json)
{
    OWNED(json_object) stored = api_object_from(metadata_json, "annotations");
    if (json_object_object_length(stored) == 0)
        return;
    struct json_object *annotations = json_object_object_get(metadata, "annotations");
    if (annotations == NULL)
        annotations = json_add_object(metadata, "annotations");
    json_object_object_foreach(stored, key, value)
    {
        json_add(annotations, key, json_object_get(value));
    }
}

void api_add_unless_empty(struct json_object *object, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_add_text(object, key, text);
}

struct json_object *api_add_meta(struct json_object *object, enum api_kind kind,
                                 const struct api_meta *meta)
{
    const struct api_kind_row *row = api_kind_row(kind);
    json_add_text(object, "apiVersion", row->api_version);
    json_add_text(object, "kind", row->kind);
    struct json_object *metadata = json_add_object(object, "metadata");
    json_add_text(metadata, "name", meta->name);
    if (row->namespaced)
        json_add_text(metadata, "namespace", meta->ns);
    if (meta->uid != NULL && meta->uid[0] != '\0')
        json_add_text(metadata, "uid", meta->uid);
    json_add_time(metadata, "creationTimestamp", meta->created_ms);
    return metadata;
}

void api_set_version(struct json_object *object, uint64_t version)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)version);
    json_add_text(json_at(object, "metadata"), "resourceVersion", text);
}

void api_add_json(struct buf *text, struct json_object *value)
{
    size_t n = 0;
    const char *written = json_object_to_json_string_length(
        value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
    if (written == NULL)
        text->failed = true;
    else
        buf_add_bytes(text, written, n);
}

void api_add_condition(struct json_object *conditions, const char *type, const char *status,
                       int64_t at_ms, const char *reason, const char *message)
{
    struct json_object *condition = json_add_object(conditions, "");
    json_add_text(condition, "type", type);
    json_add_text(condition, "status", status);
    json_add_time(condition, "lastTransitionTime", at_ms);
    json_add_text(condition, "reason", reason);
    json_add_text(condition, "message", message);
}

void api_age_text(int64_t since_ms, int64_t now_ms, char *out_text)
{
    if (since_ms == 0)
        (void)text_copy(out_text, API_SHORT_TEXT_MAX, "<unknown>");
    else
        human_age(now_ms - since_ms, out_text);
}
