/* object_kind.h - the kinds of objects that users write, from object.def. Pure. */
#ifndef ENGINE_MODEL_OBJECTS_OBJECT_KIND_H
#define ENGINE_MODEL_OBJECTS_OBJECT_KIND_H

#include <stdbool.h>

enum object_kind {
#define OBJECT(id, kind, spaced, max, help) OBJECT_##id,
#include "engine/model/objects/object.def"
#undef OBJECT
    OBJECT_COUNT
};
const char *object_kind_name(enum object_kind kind);
enum object_kind object_kind_from_name(const char *name); /* OBJECT_COUNT: no such */
/* How many objects of the kind are accepted. */
unsigned object_kind_max(enum object_kind kind);
bool object_kind_is_spaced(enum object_kind kind);

#endif
