/* verdict.h - outcome and cause of a migration, by names of cause.def, with the evidence.
 *
 * Outcome and location of the guest are the engine's (or the evidence's) and are copied, never
 * changed. Where the evidence fits several causes equally, or none, the cause is unknown. A verdict
 * is plain data: it owns all its texts and may be copied, kept and compared.
 */
#ifndef ANALYZER_JUDGE_VERDICT_H
#define ANALYZER_JUDGE_VERDICT_H

#include "analyzer/read/evidence.h"
#include "base/json.h"
#include "engine/snapshot.h"

enum plane {
#define PLANE(id, name, help) PLANE_##id,
#include "analyzer/judge/cause.def"
#undef PLANE
    PLANE_COUNT,
    /* In a row only. */
    PLANE_OPEN = PLANE_COUNT, /* control or data, by how far it had come */
    PLANE_NONE_OR_CONTROL,    /* by whether something leaked */
};
enum recoverable {
#define RECOVERABLE(id, name, help) RECOVERABLE_##id,
#include "analyzer/judge/cause.def"
#undef RECOVERABLE
    RECOVERABLE_COUNT
};
enum failed_at {
#define FAILED_AT(id, name, help) FAILED_AT_##id,
#include "analyzer/judge/cause.def"
#undef FAILED_AT
    FAILED_AT_COUNT
};
enum cause_group {
#define GROUP(id, name, help) GROUP_##id,
#include "analyzer/judge/cause.def"
#undef GROUP
    GROUP_COUNT
};
enum family {
#define FAMILY(id, name, help) FAMILY_##id,
#include "analyzer/judge/cause.def"
#undef FAMILY
    FAMILY_COUNT
};
enum cause {
    CAUSE_NONE, /* nothing to explain: it succeeded, or has not ended */
#define CAUSE(id, name, group, family, plane, recoverable, meaning, action) CAUSE_##id,
#include "analyzer/judge/cause.def"
#undef CAUSE
    CAUSE_COUNT
};
struct cause_row {
    const char *name;
    enum cause_group group;
    enum family family;
    enum plane plane;
    enum recoverable recoverable;
    const char *meaning, *action;
    const char *runbook; /* where more is written */
};
const struct cause_row *cause_row(enum cause cause); /* CAUSE_NONE: "none", empty texts */
enum cause cause_from_name(const char *name);        /* CAUSE_COUNT: no such */
bool cause_has_plane(enum cause cause, enum plane plane);

enum {
    VERDICT_RULE_MAX = 64,
    VERDICT_QUOTE_MAX = 320,
    VERDICT_PROVES_MAX = 200,
    VERDICT_POINTS_MAX = 16,
    VERDICT_NUMBERS_MAX = 16,
    VERDICT_VERSION_MAX = 17,
};
enum point_role {
    POINT_FOR,     /* supports the cause */
    POINT_AGAINST, /* supports another cause */
    POINT_FALLOUT, /* follows from the cause, or only reports the failure */
    POINT_ROLE_COUNT
};
/* One piece of evidence that a rule matched. */
struct verdict_point {
    char rule[VERDICT_RULE_MAX];
    char quote[VERDICT_QUOTE_MAX]; /* as it was written, cut; control characters as spaces */
    char origin[EVIDENCE_ORIGIN_MAX];
    char proves[VERDICT_PROVES_MAX];
    enum point_role role;
    enum cause cause; /* that it supports */
    enum side side;
    int64_t at_ms; /* wall, 0: not known */
};
struct verdict_number {
    char name[EVIDENCE_KEY_MAX];
    double value;
    char unit[16]; /* "ms", "bytes", "bytes/s", "s", "%", "" */
};

struct verdict {
    enum outcome outcome; /* OUTCOME_NONE: not known */
    enum plane plane;
    enum family family;
    enum cause cause;     /* UNKNOWN unless its confidence reaches VERDICT_KNOWN_FROM */
    enum cause resembles; /* of an unknown cause: the nearest one; NONE: there is none */
    enum failed_at failed_at;
    enum guest_at guest;
    enum recoverable recoverable;
    bool irrecoverable;       /* a broken post-copy lost part of the guest */
    double confidence;        /* 0..1: how often such a verdict is right; of `resembles`, if any */
    double family_confidence; /* the same of the family */
    const char
        *action; /* what to do next, one sentence, a literal; empty: nothing failed, not known */
    char rule[VERDICT_RULE_MAX];             /* that decided; empty: none */
    char rules_version[VERDICT_VERSION_MAX]; /* of the ruleset; empty: none was used */
    unsigned n_points, n_numbers;
    struct verdict_point points[VERDICT_POINTS_MAX]; /* those for the cause first */
    struct verdict_number numbers[VERDICT_NUMBERS_MAX];
};
/* A less certain cause is not given as one: what it resembles is shown instead, without an action.
 */
#define VERDICT_KNOWN_FROM 0.5

/* Names as they are stored: cause, family, plane, and what an unknown cause resembles (empty:
 * nothing); the one line that every page shows. */
struct verdict_names {
    const char *cause, *resembles, *family, *plane;
    double confidence, family_confidence;
};
void verdict_headline(const struct verdict_names *names, char *out, size_t out_bytes);
/* One verdict as a document; NULL only without memory. `id` names the case, NULL: none. */
struct json_object *verdict_json(const struct verdict *verdict, const char *id);

/* Part of the guest is proven lost; `guest` shows one that is lost as a whole. */
static inline bool verdict_is_irrecoverable(enum outcome outcome, enum guest_at guest)
{
    return outcome == OUTCOME_IRRECOVERABLE ||
           (outcome != OUTCOME_SUCCEEDED && guest == GUEST_AT_BROKEN);
}

const char *plane_name(enum plane plane);
const char *family_name(enum family family);
enum family family_from_name(const char *name); /* FAMILY_COUNT: no such */
const char *recoverable_name(enum recoverable recoverable);
const char *failed_at_name(enum failed_at at); /* FAILED_AT_NONE: "" */
const char *point_role_name(enum point_role role);
const char *side_name(enum side side);
enum side side_of_name(const char *name); /* SIDES: no such */

#endif
