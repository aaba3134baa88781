/* incident.c - see incident.h. */
#include "engine/model/incident.h"

#include <assert.h>
#include <string.h>

#include "base/own.h"

enum { FADES = false, LASTS = true };
static const struct {
    const char *name;
    bool lasts;
} kinds[] = {
#define INCIDENT_KIND(id, name, lasts, help) [INCIDENT_##id] = {name, lasts},
#include "engine/model/incident.def"
#undef INCIDENT_KIND
};

const char *incident_kind_name(enum incident_kind kind)
{
    assert(kind < INCIDENT_KINDS);
    return kinds[kind].name;
}

enum incident_kind incident_kind_from_name(const char *name)
{
    enum incident_kind kind = 0;
    while (kind < INCIDENT_KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

bool incident_lasts(enum incident_kind kind)
{
    assert(kind < INCIDENT_KINDS);
    return kinds[kind].lasts;
}

const char *incident_end_name(enum incident_end end)
{
    static const char *const names[] = {
#define INCIDENT_END(id, name, help) [INCIDENT_END_##id] = name,
#include "engine/model/incident.def"
#undef INCIDENT_END
    };
    assert(end < COUNT(names));
    return names[end];
}
