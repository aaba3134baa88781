/* verdict.h - what became of a finished migration and why, in words from cause.def.
 *
 * Judged from structured facts only: outcome, phases, requests, the number and domain of the
 * migrate call's error, what was seen on both hosts. Never from a text. Where these facts fit
 * several causes the verdict says unknown. Outcome and place of the guest are the engine's and
 * are repeated, never changed. Pure.
 */
#ifndef ANALYZER_VERDICT_H
#define ANALYZER_VERDICT_H

#include "engine/snapshot.h"

enum plane {
#define PLANE(id, name, help) PLANE_##id,
#include "analyzer/cause.def"
#undef PLANE
    PLANE_COUNT,
    PLANE_OPEN = PLANE_COUNT /* in a row only: control or data, by how far the job had come */
};
enum recoverable {
#define RECOVERABLE(id, name, help) RECOVERABLE_##id,
#include "analyzer/cause.def"
#undef RECOVERABLE
    RECOVERABLE_COUNT
};
enum failed_at {
#define FAILED_AT(id, name, help) FAILED_AT_##id,
#include "analyzer/cause.def"
#undef FAILED_AT
    FAILED_AT_COUNT
};
enum cause {
    CAUSE_NONE, /* there is nothing to explain: it succeeded, or has not ended */
#define CAUSE(id, name, plane, recoverable, meaning, action) CAUSE_##id,
#include "analyzer/cause.def"
#undef CAUSE
    CAUSE_COUNT
};
struct cause_row {
    const char *name;
    enum plane plane;
    enum recoverable recoverable;
    const char *meaning, *action;
};
const struct cause_row *cause_row(enum cause cause); /* CAUSE_NONE: "none", empty texts */
bool cause_has_plane(enum cause cause, enum plane plane);

struct verdict {
    enum outcome outcome;
    enum plane plane;
    enum cause cause;
    enum failed_at failed_at;
    enum guest_at guest;
    bool irrecoverable; /* the running guest is gone or broken for good */
    const char *action; /* what to do next, one sentence; empty when nothing failed */
};
/* A job that has not ended gets OUTCOME_NONE and CAUSE_NONE. */
void verdict_of(const struct snapshot_job *job, struct verdict *out_verdict);

const char *plane_name(enum plane plane);
const char *recoverable_name(enum recoverable recoverable);
const char *failed_at_name(enum failed_at at); /* FAILED_AT_NONE: "" */

#endif
