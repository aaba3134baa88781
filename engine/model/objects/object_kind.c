/* object_kind.c - the kinds of objects, from object.def. See object.h. */
#include <assert.h>
#include <string.h>

#include "engine/model/objects/object.h"

#define YES true
#define NO false
static const struct {
    const char *name;
    bool spaced;
    unsigned max;
} kinds[OBJECT_COUNT] = {
#define OBJECT(id, kind, spaced, max, help) [OBJECT_##id] = {kind, spaced, max},
#include "engine/model/objects/object.def"
#undef OBJECT
};
#undef YES
#undef NO

const char *object_kind_name(enum object_kind kind)
{
    assert(kind < OBJECT_COUNT);
    return kinds[kind].name;
}

enum object_kind object_kind_from_name(const char *name)
{
    enum object_kind kind = 0;
    while (kind < OBJECT_COUNT && strcmp(kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

unsigned object_kind_max(enum object_kind kind)
{
    assert(kind < OBJECT_COUNT);
    return kinds[kind].max;
}

bool object_kind_is_spaced(enum object_kind kind)
{
    assert(kind < OBJECT_COUNT);
    return kinds[kind].spaced;
}
