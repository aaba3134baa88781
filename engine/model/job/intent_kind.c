/* intent_kind.c - see intent_kind.h. */
#include "engine/model/job/intent_kind.h"

#include <assert.h>
#include <string.h>

static const char *const names[INTENT_COUNT] = {
#define INTENT(id, name, help) [INTENT_##id] = name,
#include "engine/model/job/intent.def"
#undef INTENT
};

const char *intent_kind_name(enum intent_kind kind)
{
    assert(kind < INTENT_COUNT);
    return names[kind];
}

enum intent_kind intent_kind_from_name(const char *name)
{
    enum intent_kind kind = 0;
    while (kind < INTENT_COUNT && strcmp(names[kind], name) != 0)
        kind++;
    return kind;
}
