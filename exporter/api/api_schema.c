/* api_schema.c - see api_schema.h. */
#include "exporter/api/api_schema.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "exporter/api/api.h"

enum schema_type {
    SCHEMA_TEXT,
    SCHEMA_NUMBER,
    SCHEMA_BOOL,
    SCHEMA_TIME,
    SCHEMA_OBJECT,
    SCHEMA_LIST,
    SCHEMA_TEXTS,
    SCHEMA_MAP,
    SCHEMA_ANY,
};

struct property {
    enum api_kind kind;
    const char *path;
    enum schema_type type;
    const char *help;
};

static const struct property properties[] = {
#define PROPERTY(kind, path, type, help) {KIND_##kind, path, SCHEMA_##type, help},
#define SETTINGS(kind, path)
#include "exporter/api/properties.def"
#undef SETTINGS
#undef PROPERTY
};

static const struct property metadata[] = {
    {KIND_NONE, "apiVersion", SCHEMA_TEXT, "Group and version of the kind."},
    {KIND_NONE, "kind", SCHEMA_TEXT, "The kind."},
    {KIND_NONE, "metadata", SCHEMA_OBJECT, "What every object has."},
    {KIND_NONE, "metadata.name", SCHEMA_TEXT, "Name, unique in its namespace."},
    {KIND_NONE, "metadata.namespace", SCHEMA_TEXT, "Namespace, of kinds that have one."},
    {KIND_NONE, "metadata.generateName", SCHEMA_TEXT, "Begin of a name that Ferry completes."},
    {KIND_NONE, "metadata.uid", SCHEMA_TEXT, "Key, never given twice."},
    {KIND_NONE, "metadata.resourceVersion", SCHEMA_TEXT, "Changes with the object."},
    {KIND_NONE, "metadata.creationTimestamp", SCHEMA_TIME, "Since when it is known."},
    {KIND_NONE, "metadata.deletionTimestamp", SCHEMA_TIME, "Since when it is asked to go."},
    {KIND_NONE, "metadata.labels", SCHEMA_MAP, "Labels, for selectors."},
    {KIND_NONE, "metadata.annotations", SCHEMA_MAP, "Notes of clients."},
    {KIND_NONE, "metadata.finalizers", SCHEMA_TEXTS, "What must be done before it goes."},
    {KIND_NONE, "metadata.ownerReferences", SCHEMA_LIST, "What it belongs to."},
    {KIND_NONE, "metadata.ownerReferences.*.*", SCHEMA_ANY, "Kind, name and uid of the owner."},
    {KIND_NONE, "metadata.managedFields", SCHEMA_LIST, "Who set which field."},
    {KIND_NONE, "metadata.managedFields.*.*", SCHEMA_ANY, "As in Kubernetes."},
};

/* Settings of migrations, wherever they stand. */
static const struct setting_row {
    const char *path;
    enum schema_type type;
    bool in_policies;
    const char *help;
} settings[] = {
#define SCHEMA_COUNT SCHEMA_NUMBER
#define SCHEMA_REAL SCHEMA_NUMBER
#define SCHEMA_BYTES SCHEMA_ANY
#define SCHEMA_WORD SCHEMA_TEXT
#define POLICY_YES true
#define POLICY_NO false
#define SETTING(id, type, json, fallback, low, high, policy, help) \
    {json, SCHEMA_##type, POLICY_##policy, help},
#include "engine/model/settings/migration_config.def"
#undef SETTING
};
static const struct {
    enum api_kind kind;
    const char *path;
} setting_places[] = {
#define PROPERTY(kind, path, type, help)
#define SETTINGS(kind, path) {KIND_##kind, path},
#include "exporter/api/properties.def"
#undef SETTINGS
#undef PROPERTY
};

/* Fields of jobs. */
static const char *const job_objects[JOB_OBJECT_COUNT] = {
#define JOB_OBJECT(id, path) [JOB_OBJECT_##id] = path,
#include "exporter/api/job_objects.def"
#undef JOB_OBJECT
};
static const struct job_field {
    enum job_object object;
    const char *key;
    enum schema_type type;
    const char *help;
} job_fields[] = {
#define SCHEMA_I64 SCHEMA_NUMBER
#define SCHEMA_U64 SCHEMA_NUMBER
#define SCHEMA_UINT SCHEMA_NUMBER
#define ROW_HIDDEN(object, key, type, help)
#define ROW_ALWAYS(object, key, type, help) {JOB_OBJECT_##object, key, SCHEMA_##type, help},
#define ROW_UNLESS_EMPTY ROW_ALWAYS
#define ROW_UNLESS_NEGATIVE ROW_ALWAYS
#define JOB_FIELD(at, kind, detail, member, column, api, object, key, help) \
    ROW_##api(object, key, kind, help)
#include "store/job_fields.def"
#undef JOB_FIELD
};

/* ---- building ---- */

static struct json_object *member_of(struct json_object *schema, const char *key)
{
    struct json_object *found = json_object_object_get(schema, key);
    return found != NULL ? found : json_add_object(schema, key);
}

/* The schema of a part, made when it is not there. */
static struct json_object *enter(struct json_object *schema, const char *part)
{
    const char *type = json_object_get_string(json_object_object_get(schema, "type"));
    if (type == NULL)
        json_add_text(schema, "type", "object");
    if (strcmp(part, "*") != 0)
        return member_of(member_of(schema, "properties"), part);
    return member_of(schema, text_equal(type, "array") ? "items" : "additionalProperties");
}

static void set_type(struct json_object *schema, enum schema_type type)
{
    static const char *const names[] = {
        [SCHEMA_TEXT] = "string", [SCHEMA_NUMBER] = "number", [SCHEMA_BOOL] = "boolean",
        [SCHEMA_TIME] = "string", [SCHEMA_OBJECT] = "object", [SCHEMA_LIST] = "array",
        [SCHEMA_TEXTS] = "array", [SCHEMA_MAP] = "object",    [SCHEMA_ANY] = NULL,
    };
    json_add_text(schema, "type", names[type]);
    if (type == SCHEMA_ANY)
        json_add_bool(schema, "x-kubernetes-preserve-unknown-fields", true);
    if (type == SCHEMA_TIME)
        json_add_text(schema, "format", "date-time");
    if (type == SCHEMA_TEXTS)
        json_add_text(member_of(schema, "items"), "type", "string");
    if (type == SCHEMA_LIST)
        json_add_text(member_of(schema, "items"), "type", "object");
    if (type == SCHEMA_MAP)
        json_add_text(member_of(schema, "additionalProperties"), "type", "string");
}

static void add(struct json_object *schema, const char *path, enum schema_type type,
                const char *help)
{
    enum { PATH_MAX_BYTES = 256 };
    char copy[PATH_MAX_BYTES], *rest = copy;
    TEXT_SET(copy, path);
    for (char *part; path[0] != '\0' && (part = strsep(&rest, ".")) != NULL;)
        schema = enter(schema, part);
    set_type(schema, type);
    json_add_text(schema, "description", help);
}

static void add_below(struct json_object *schema, const char *at, const char *path,
                      enum schema_type type, const char *help)
{
    char whole[256];
    (void)snprintf(whole, sizeof whole, "%s%s", at, path);
    add(schema, whole, type, help);
}

static void add_settings(struct json_object *schema, enum api_kind kind)
{
    static const struct {
        const char *path, *help;
    } groups[] = {
        {"experimental", "Settings whose meaning may still change."},
        {"experimental.downtimeTuning", "The ramp of the maximum downtime."},
        {"experimental.stallDetector", "When the monitor `stall` finds no progress."},
    };
    for (size_t i = 0; i < COUNT(setting_places); i++)
        for (size_t g = 0; setting_places[i].kind == kind && g < COUNT(groups); g++)
            add_below(schema, setting_places[i].path, groups[g].path, SCHEMA_OBJECT,
                      groups[g].help);
    for (size_t i = 0; i < COUNT(setting_places); i++)
        for (size_t s = 0; setting_places[i].kind == kind && s < COUNT(settings); s++)
            if (settings[s].in_policies || kind != KIND_POLICY)
                add_below(schema, setting_places[i].path, settings[s].path, settings[s].type,
                          settings[s].help);
}

/* Those of the move are also shown with the guest. */
static bool is_shown(enum api_kind kind, enum job_object object)
{
    bool is_own = object == JOB_OBJECT_SPEC || object == JOB_OBJECT_STATUS ||
                  object == JOB_OBJECT_FERRY || object == JOB_OBJECT_LAUNCHER;
    return kind == KIND_MIGRATION || (kind == KIND_INSTANCE && !is_own);
}

static void add_job_fields(struct json_object *schema, enum api_kind kind)
{
    for (size_t i = 0; i < COUNT(job_fields); i++) {
        char path[256];
        const struct job_field *field = &job_fields[i];
        if (!is_shown(kind, field->object))
            continue;
        (void)snprintf(path, sizeof path, "%s.%s", job_objects[field->object], field->key);
        add(schema, path, field->type, field->help);
    }
}

struct json_object *api_schema(enum api_kind kind)
{
    struct json_object *schema = json_object_new_object();
    json_add_text(schema, "type", "object");
    for (size_t i = 0; i < COUNT(metadata); i++)
        add(schema, metadata[i].path, metadata[i].type, metadata[i].help);
    for (size_t i = 0; i < COUNT(properties); i++)
        if (properties[i].kind == kind)
            add(schema, properties[i].path, properties[i].type, properties[i].help);
    add_settings(schema, kind);
    add_job_fields(schema, kind);
    return schema;
}

uint64_t api_schema_hash(void)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < COUNT(properties); i++)
        hash = hash_word(hash_word(hash, properties[i].path), properties[i].help);
    for (size_t i = 0; i < COUNT(settings); i++)
        hash = hash_word(hash_word(hash, settings[i].path), settings[i].help);
    for (size_t i = 0; i < COUNT(job_fields); i++)
        hash = hash_word(hash_word(hash, job_fields[i].key), job_fields[i].help);
    return hash;
}

/* ---- reading ---- */

static struct json_object *step(struct json_object *schema, const char *part)
{
    struct json_object *named = json_object_object_get(schema, "properties");
    struct json_object *found = named == NULL ? NULL : json_object_object_get(named, part);
    if (found == NULL && strcmp(part, "*") == 0)
        found = json_object_object_get(schema, "items");
    return found != NULL ? found : json_object_object_get(schema, "additionalProperties");
}

bool api_schema_has(struct json_object *schema, const char *path)
{
    char copy[512], *rest = copy;
    TEXT_SET(copy, path);
    for (char *part; schema != NULL && (part = strsep(&rest, ".")) != NULL;) {
        if (json_object_object_get(schema, "x-kubernetes-preserve-unknown-fields") != NULL)
            return true;
        schema = step(schema, part);
    }
    return schema != NULL;
}
