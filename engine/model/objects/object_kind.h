/* object_kind.h - the kinds of objects that users write, from object.def. Pure. */
#ifndef ENGINE_MODEL_OBJECTS_OBJECT_KIND_H
#define ENGINE_MODEL_OBJECTS_OBJECT_KIND_H

#include <stdbool.h>

enum object_kind {
#define OBJECT(id, kind, spaced, help) OBJECT_##id,
#include "engine/model/objects/object.def"
#undef OBJECT
    OBJECT_COUNT
};
const char *object_kind_name(enum object_kind kind);
enum object_kind object_kind_from_name(const char *name); /* OBJECT_COUNT: no such */
bool object_kind_is_spaced(enum object_kind kind);

#endif
