/* documents.c - see documents.h. */
#include "cli/common/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/common/view.h"

struct documents *documents_new(struct err *err)
{
    struct documents *documents = calloc(1, sizeof *documents);
    if (documents == NULL)
        (void)err_set(err, ERR_NOMEM, "no memory for documents");
    return documents;
}

void documents_free(struct documents *documents)
{
    if (documents == NULL)
        return;
    for (size_t i = 0; i < documents->n; i++)
        json_object_free(documents->items[i].object);
    free(documents->items);
    free(documents);
}

bool document_wrap_err(const struct document *document, struct err *err)
{
    return err_wrap(err, "%s: document %zu, line %d", document->file, document->number,
                    document->line);
}

static struct document *add(struct documents *documents, struct err *err)
{
    if (documents->n == DOCUMENTS_MAX) {
        (void)err_set(err, ERR_LIMIT, "more than %d documents", DOCUMENTS_MAX);
        return NULL;
    }
    if (documents->n == documents->capacity) {
        size_t capacity = documents->capacity > 0 ? documents->capacity * 2 : 16;
        struct document *items = reallocarray(documents->items, capacity, sizeof *items);
        if (items == NULL) {
            (void)err_set(err, ERR_NOMEM, "no memory for documents");
            return NULL;
        }
        documents->items = items;
        documents->capacity = capacity;
    }
    struct document *document = &documents->items[documents->n++];
    memset(document, 0, sizeof *document);
    return document;
}

/* --- required members --- */

static bool check_shape(struct json_object *object, struct err *err)
{
    static const char *const keys[] = {"apiVersion", "kind", "metadata", "spec", "status"};
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, "expected an object with apiVersion and kind");
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        bool known = false;
        for (size_t i = 0; i < COUNT(keys); i++)
            known |= text_equal(keys[i], key);
        const char *near = known ? NULL : text_nearest(key, keys, COUNT(keys));
        if (!known)
            return err_set(err, ERR_INVALID, "unknown key \"%.60s\"%s%s%s", key,
                           near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                           near != NULL ? "\"?" : "");
    }
    return true;
}

static bool read_names(struct document *document, struct err *err)
{
    const char *api_version, *kind, *name, *ns, *pattern;
    struct json_object *object = document->object;
    if (!check_shape(object, err) || !json_get_text(object, "apiVersion", "", &api_version, err) ||
        !json_get_text(object, "kind", "", &kind, err) ||
        !json_get_text(object, "metadata.name", "", &name, err) ||
        !json_get_text(object, "metadata.namespace", "", &ns, err) ||
        !json_get_text(object, "metadata.generateName", "", &pattern, err))
        return false;
    if (*kind == '\0')
        return err_set(err, ERR_INVALID, "'kind' is missing");
    if (!kind_from_document(api_version, kind, &document->kind, err))
        return false;
    if (kind_edit(document->kind) == KIND_EDIT_NEVER)
        return err_set(err, ERR_INVALID, "a %s is created by the appliance and cannot be applied",
                       kind);
    if (*name == '\0' && *pattern == '\0')
        return err_set(err, ERR_INVALID, "'metadata.name' is missing");
    if (!text_copy(document->name, sizeof document->name, name) ||
        !text_copy(document->ns, sizeof document->ns, ns))
        return err_set(err, ERR_INVALID, "its name is too long");
    return true;
}

/* Position of a document in its file. */
struct document_position {
    const char *file;
    size_t number;
    int line;
};

static bool take(struct documents *documents, const struct document_position *position,
                 struct json_object *take_object, struct err *err)
{
    OWNED(json_object) object = take_object;
    struct document *document = add(documents, err);
    if (document == NULL)
        return false;
    TEXT_SET(document->file, position->file);
    document->number = position->number;
    document->line = position->line;
    document->object = TAKE(object);
    if (!read_names(document, err))
        return document_wrap_err(document, err);
    json_object_object_del(document->object, "status");
    return true;
}

/* A List stands for its items, each at its own line. */
static bool take_node(struct documents *documents, struct document_position *position,
                      const struct yaml_node *node, struct err *err)
{
    const struct yaml_node *kind = yaml_child(node, "kind"), *items = yaml_child(node, "items");
    position->line = node->line;
    if (kind == NULL || kind->text == NULL || !text_equal(kind->text, "List") || items == NULL)
        return take(documents, position, yaml_to_json(node), err);
    for (const struct yaml_node *item = items->child; item != NULL; item = item->next) {
        position->line = item->line;
        if (!take(documents, position, yaml_to_json(item), err))
            return false;
    }
    return true;
}

static bool take_yaml(struct documents *documents, const struct yaml *yaml, const char *file,
                      struct err *err)
{
    size_t before = documents->n;
    for (size_t i = 0; i < yaml_document_count(yaml); i++) {
        const struct yaml_node *node = yaml_document(yaml, i);
        struct document_position position = {.file = file, .number = i + 1};
        if (node == NULL || node->kind == YAML_NULL)
            continue; /* an empty document */
        if (!take_node(documents, &position, node, err))
            return false;
    }
    if (documents->n == before)
        return err_set(err, ERR_INVALID, "%s: contains no document", file);
    return true;
}

bool documents_parse(struct documents *documents, const char *text, size_t n, const char *file,
                     struct err *err)
{
    struct err yaml_err = {0}, json_err = {0};
    OWNED(yaml) yaml = yaml_parse(text, n, file, &yaml_err);
    if (yaml != NULL)
        return take_yaml(documents, yaml, file, err);
    /* Nearly all JSON is YAML and then has line numbers; the rest is parsed as JSON. */
    size_t space = 0;
    while (space < n && strchr(" \t\r\n", text[space]) != NULL && text[space] != '\0')
        space++;
    struct json_object *object =
        space < n && text[space] == '{' ? json_parse(text, n, file, &json_err) : NULL;
    if (object == NULL) {
        *err = yaml_err;
        return false;
    }
    return take(documents, &(struct document_position){file, 1, 1}, object, err);
}

static bool read_stream(FILE *stream, const char *file, struct buf *out, struct err *err)
{
    char bytes[16384];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, stream)) > 0;)
        buf_add_bytes(out, bytes, n);
    if (ferror(stream))
        return err_set(err, ERR_IO, "%s: cannot be read", file);
    if (out->failed)
        return err_set(err, ERR_LIMIT, "%s: larger than %d MiB", file, YAML_BYTES_MAX >> 20);
    return true;
}

bool documents_read(struct documents *documents, const char *file, struct err *err)
{
    bool is_stdin = text_equal(file, "-");
    const char *shown = is_stdin ? "standard input" : file;
    FILE *stream = is_stdin ? stdin : fopen(file, "re");
    if (stream == NULL)
        return err_set(err, ERR_NOT_FOUND, "%s: cannot be opened: %m", file);
    struct buf text;
    buf_init(&text, YAML_BYTES_MAX);
    buf_add(&text, "");
    bool read =
        read_stream(stream, shown, &text, err) &&
        documents_parse(documents, text.data != NULL ? text.data : "", text.length, shown, err);
    if (!is_stdin)
        (void)fclose(stream);
    buf_fini(&text);
    return read;
}

/* --- patches --- */

/* The appliance's own labels are not removed; elsewhere such a key is the user's. */
static bool is_own_key(const char *key)
{
    return text_has_prefix(key, "kubernetes.io/") || text_has_prefix(key, "ferry.internal/") ||
           text_has_prefix(key, "kubevirt.io/");
}

/* Of what the file does not name. */
enum keep { KEEP_NONE, KEEP_OWN, KEEP_ALL };

static struct json_object *difference(struct json_object *now, struct json_object *wanted,
                                      enum keep keep);

static void differ_member(struct json_object *out, const char *key, struct json_object *now,
                          struct json_object *wanted, enum keep keep)
{
    bool both =
        json_object_is_type(now, json_type_object) && json_object_is_type(wanted, json_type_object);
    if (both) {
        struct json_object *inner = difference(now, wanted, keep);
        if (inner != NULL)
            json_add(out, key, inner);
    } else if (!json_object_equal(now, wanted)) {
        json_add(out, key, json_object_get(wanted));
    }
}

/* The merge patch from one object to the other, or NULL. Depth is bounded by the parsers. */
static struct json_object *difference(struct json_object *now, struct json_object *wanted,
                                      enum keep keep)
{
    OWNED(json_object) out = json_object_new_object();
    json_object_object_foreach(wanted, key, value)
    {
        struct json_object *old = NULL;
        bool exists = json_object_object_get_ex(now, key, &old);
        if (!exists && value != NULL)
            json_add(out, key, json_object_get(value));
        else if (exists)
            differ_member(out, key, old, value, keep);
    }
    if (keep != KEEP_ALL) {
        json_object_object_foreach(now, old_key, old_value)
        {
            (void)old_value;
            if ((keep == KEEP_NONE || !is_own_key(old_key)) &&
                !json_object_object_get_ex(wanted, old_key, NULL))
                json_add(out, old_key, NULL);
        }
    }
    return json_object_object_length(out) > 0 ? TAKE(out) : NULL;
}

/* Members that the file does not name are not changed. */
static void add_difference(struct json_object *patch, struct json_object *now,
                           struct json_object *wanted, const char *key, enum keep keep)
{
    struct json_object *asked = NULL, *has = NULL;
    if (!json_object_object_get_ex(wanted, key, &asked) ||
        !json_object_is_type(asked, json_type_object))
        return;
    (void)json_object_object_get_ex(now, key, &has);
    OWNED(json_object) empty = json_object_new_object();
    struct json_object *change =
        difference(json_object_is_type(has, json_type_object) ? has : empty, asked, keep);
    if (change != NULL)
        json_add(patch, key, change);
}

struct json_object *document_patch(const struct document *document, struct json_object *current)
{
    bool replace = kind_edit(document->kind) == KIND_EDIT_REPLACE;
    OWNED(json_object) patch = json_object_new_object();
    OWNED(json_object) metadata = json_object_new_object();
    struct json_object *now = json_at(current, "metadata");
    struct json_object *wanted = json_at(document->object, "metadata");
    if (wanted != NULL) {
        add_difference(metadata, now, wanted, "labels", replace ? KEEP_OWN : KEEP_ALL);
        add_difference(metadata, now, wanted, "annotations", KEEP_ALL);
    }
    if (json_object_object_length(metadata) > 0)
        json_add(patch, "metadata", TAKE(metadata));
    add_difference(patch, current, document->object, "spec", replace ? KEEP_NONE : KEEP_ALL);
    return json_object_object_length(patch) > 0 ? TAKE(patch) : NULL;
}
