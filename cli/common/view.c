/* view.c - see view.h. */
#include "cli/common/view.h"

#include "base/human.h"

static struct json_object *at(struct json_object *object, const char *path)
{
    return object != NULL ? json_at(object, path) : NULL;
}

const char *view_text(struct json_object *object, const char *path)
{
    struct json_object *value = at(object, path);
    if (value == NULL || json_object_is_type(value, json_type_object) ||
        json_object_is_type(value, json_type_array))
        return "";
    return json_object_get_string(value);
}

int64_t view_i64(struct json_object *object, const char *path, int64_t fallback)
{
    struct json_object *value = at(object, path);
    if (value == NULL || !(json_object_is_type(value, json_type_int) ||
                           json_object_is_type(value, json_type_double)))
        return fallback;
    return json_object_get_int64(value);
}

bool view_bool(struct json_object *object, const char *path)
{
    struct json_object *value = at(object, path);
    return value != NULL && json_object_is_type(value, json_type_boolean) &&
           json_object_get_boolean(value);
}

int64_t view_time(struct json_object *object, const char *path)
{
    int64_t wall_ms;
    return human_read_time(view_text(object, path), &wall_ms) ? wall_ms : 0;
}

size_t view_count(struct json_object *object, const char *path)
{
    struct json_object *value = at(object, path);
    return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
}

struct json_object *view_element(struct json_object *object, const char *path, size_t index)
{
    if (index >= view_count(object, path))
        return NULL; /* json-c asserts an array */
    return json_object_array_get_idx(at(object, path), index);
}
