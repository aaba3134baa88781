/* object_parts.c - the JSON parts of an object (object.h): parsed, changed and written back. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/model/fleet/fleet.h"

struct json_object *object_read_part(const char *json)
{
    struct err err = {0};
    struct json_object *value =
        json != NULL ? json_parse(json, strlen(json), "document", &err) : NULL;
    if (value != NULL && json_object_is_type(value, json_type_object))
        return value;
    json_object_free(value);
    return json_object_new_object();
}

bool object_write_part(struct json_object *value, char **text)
{
    const char *made =
        value != NULL ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : NULL;
    char *copy = made != NULL ? strdup(made) : NULL;
    if (copy == NULL)
        return false;
    free(*text);
    *text = copy;
    return true;
}

struct object *object_make(struct fleet *f, enum object_kind kind, const char *ns, const char *name,
                           struct moment now)
{
    struct object *object = fleet_object(f, kind, ns, name);
    if (object != NULL)
        return object;
    object = calloc(1, sizeof *object);
    char *spec = strdup("{}");
    if (object == NULL || spec == NULL) {
        free(object);
        free(spec);
        return NULL;
    }
    object->kind = kind;
    object->spec_json = spec;
    object->created_ms = now.wall_ms;
    TEXT_SET(object->ns, ns);
    TEXT_SET(object->name, name);
    TEXT_SET(object->requester, OBJECT_OURS);
    fleet_make_uid(f, object->uid);
    fleet_add_object(f, object);
    return object;
}
