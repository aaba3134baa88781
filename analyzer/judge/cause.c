/* cause.c - the tables of cause.def and the names of a verdict's parts. See verdict.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "base/own.h"

#define RUNBOOK_GROUP(id, name, help) \
    static const char runbook_##id[] = "docs/vocabulary.md#causes-" name;
#define GROUP RUNBOOK_GROUP
#include "analyzer/judge/cause.def"
#undef GROUP

static const struct cause_row rows[CAUSE_COUNT] = {
    [CAUSE_NONE] = {"none", GROUP_NOFAULT, FAMILY_NO_FAULT, PLANE_NONE, RECOVERABLE_UNKNOWN, "", "",
                    ""},
#define CAUSE(id, name, group, family, plane, recoverable, meaning, action)                       \
    [CAUSE_##                                                                                     \
        id] = {name,    GROUP_##group, FAMILY_##family, PLANE_##plane, RECOVERABLE_##recoverable, \
               meaning, action,        runbook_##group},
#include "analyzer/judge/cause.def"
#undef CAUSE
};

const struct cause_row *cause_row(enum cause cause)
{
    assert(cause < CAUSE_COUNT);
    return &rows[cause];
}

enum cause cause_from_name(const char *name)
{
    enum cause cause = CAUSE_NONE + 1;
    while (cause < CAUSE_COUNT && strcmp(rows[cause].name, name) != 0)
        cause++;
    return cause;
}

bool cause_has_plane(enum cause cause, enum plane plane)
{
    enum plane own = cause_row(cause)->plane;
    return own == plane || (own == PLANE_OPEN && (plane == PLANE_CONTROL || plane == PLANE_DATA)) ||
           (own == PLANE_NONE_OR_CONTROL && (plane == PLANE_NONE || plane == PLANE_CONTROL));
}

static const char *const families[FAMILY_COUNT] = {
#define FAMILY(id, name, help) [FAMILY_##id] = name,
#include "analyzer/judge/cause.def"
#undef FAMILY
};

const char *family_name(enum family family)
{
    assert(family < FAMILY_COUNT);
    return families[family];
}

enum family family_from_name(const char *name)
{
    enum family family = 0;
    while (family < FAMILY_COUNT && strcmp(families[family], name) != 0)
        family++;
    return family;
}

void verdict_headline(const struct verdict_names *v, char *out, size_t out_bytes)
{
    bool has_family = v->family[0] != '\0' && strcmp(v->family, families[FAMILY_UNKNOWN]) != 0;
    const char *family = has_family ? v->family : "", *comma = has_family ? ", " : "";
    if (strcmp(v->cause, rows[CAUSE_UNKNOWN].name) != 0)
        (void)snprintf(out, out_bytes, "%s (%s%s%s plane), confidence %.2f", v->cause, family,
                       comma, v->plane, v->confidence);
    else if (v->resembles[0] != '\0')
        (void)snprintf(out, out_bytes, "not known; it resembles %s (%s%s%s plane), confidence %.2f",
                       v->resembles, family, comma, v->plane, v->confidence);
    else if (has_family)
        (void)snprintf(out, out_bytes, "not known; it points to %s (%s plane), confidence %.2f",
                       family, v->plane, v->family_confidence);
    else
        (void)snprintf(out, out_bytes, "not known (%s plane)", v->plane);
}

const char *plane_name(enum plane plane)
{
    static const char *const names[PLANE_COUNT] = {
#define PLANE(id, name, help) [PLANE_##id] = name,
#include "analyzer/judge/cause.def"
#undef PLANE
    };
    assert(plane < PLANE_COUNT);
    return names[plane];
}

const char *recoverable_name(enum recoverable recoverable)
{
    static const char *const names[RECOVERABLE_COUNT] = {
#define RECOVERABLE(id, name, help) [RECOVERABLE_##id] = name,
#include "analyzer/judge/cause.def"
#undef RECOVERABLE
    };
    assert(recoverable < RECOVERABLE_COUNT);
    return names[recoverable];
}

const char *failed_at_name(enum failed_at at)
{
    static const char *const names[FAILED_AT_COUNT] = {
#define FAILED_AT(id, name, help) [FAILED_AT_##id] = name,
#include "analyzer/judge/cause.def"
#undef FAILED_AT
    };
    assert(at < FAILED_AT_COUNT);
    return names[at];
}

const char *point_role_name(enum point_role role)
{
    static const char *const names[POINT_ROLE_COUNT] = {
        [POINT_FOR] = "for", [POINT_AGAINST] = "against", [POINT_FALLOUT] = "fallout"};
    assert(role < POINT_ROLE_COUNT);
    return names[role];
}

static const char *const sides[SIDES] = {[SIDE_UNKNOWN] = "unknown",
                                         [SIDE_SOURCE] = "source",
                                         [SIDE_TARGET] = "target",
                                         [SIDE_MANAGER] = "manager"};

const char *side_name(enum side side)
{
    assert(side < SIDES);
    return sides[side];
}

enum side side_of_name(const char *name)
{
    enum side side = 0;
    while (side < SIDES && strcmp(sides[side], name) != 0)
        side++;
    return side;
}
