/* phase.h - the enums of a migration job, expanded from their tables. Pure. */
#ifndef ENGINE_MODEL_JOB_PHASE_H
#define ENGINE_MODEL_JOB_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum phase {
    PHASE_NONE, /* "no such step"; never the phase of a job */
#define PHASE(id, name, kind, help) PHASE_##id,
#include "engine/model/job/phase.def"
#undef PHASE
    PHASE_COUNT
};
enum trigger {
#define TRIGGER(id, name, help) TRIGGER_##id,
#include "engine/model/job/phase.def"
#undef TRIGGER
    TRIGGER_COUNT
};
enum mode {
#define MODE(id, name, help) MODE_##id,
#include "engine/model/job/mode.def"
#undef MODE
    MODE_COUNT
};
enum abort_status {
#define ABORT(id, name, help) ABORT_##id,
#include "engine/model/job/abort.def"
#undef ABORT
    ABORT_COUNT
};
enum abort_cause {
#define ABORT_CAUSE(id, name, help) ABORT_CAUSE_##id,
#include "engine/model/job/abort_cause.def"
#undef ABORT_CAUSE
    ABORT_CAUSE_COUNT
};
enum recovery {
#define RECOVERY(id, name, help) RECOVERY_##id,
#include "engine/model/job/recovery.def"
#undef RECOVERY
    RECOVERY_COUNT
};
enum outcome {
#define OUTCOME(id, name, help) OUTCOME_##id,
#include "engine/model/job/outcome.def"
#undef OUTCOME
    OUTCOME_COUNT
};
enum guest_at {
#define GUEST_AT(id, name, help) GUEST_AT_##id,
#include "engine/model/job/outcome.def"
#undef GUEST_AT
    GUEST_AT_COUNT
};

enum pending {
#define PENDING(id, name, limit_s, help) PENDING_##id,
#include "engine/model/job/pending.def"
#undef PENDING
    PENDING_COUNT
};
enum priority {
#define PRIORITY(id, name, weight, help) PRIORITY_##id,
#include "engine/model/settings/priority.def"
#undef PRIORITY
    PRIORITY_COUNT
};

enum recovery_way {
#define RECOVERY_WAY(id, name, help) RECOVERY_WAY_##id,
#include "engine/model/job/recovery_way.def"
#undef RECOVERY_WAY
    RECOVERY_WAY_COUNT /* also: none */
};
const char *recovery_way_name(enum recovery_way way); /* "" for none */

enum launcher {
#define LAUNCHER(id, name, pod_phase, help) LAUNCHER_##id,
#include "engine/model/job/launcher.def"
#undef LAUNCHER
    LAUNCHER_COUNT
};
enum origin {
#define ORIGIN(id, name, automatic, help) ORIGIN_##id,
#include "engine/model/job/origin.def"
#undef ORIGIN
    ORIGIN_COUNT
};

enum phase phase_next(enum phase from, enum trigger why); /* PHASE_NONE: refused */
bool phase_is_final(enum phase phase);
bool phase_is_busy(enum phase phase); /* counts against limits */

const char *phase_name(enum phase phase); /* PHASE_NONE: "" */
const char *phase_help(enum phase phase);
const char *trigger_name(enum trigger trigger);
const char *mode_name(enum mode mode);
const char *abort_status_name(enum abort_status status);
const char *abort_cause_name(enum abort_cause cause);
const char *recovery_name(enum recovery recovery);
const char *outcome_name(enum outcome outcome);
const char *guest_at_name(enum guest_at at);
const char *pending_name(enum pending pending);
int64_t pending_limit_ms(enum pending pending); /* 0: the wait has its own end */
const char *priority_name(enum priority priority);
const char *launcher_name(enum launcher launcher);
const char *launcher_pod_phase(enum launcher launcher);
const char *origin_name(enum origin origin);
bool origin_is_automatic(enum origin origin);

/* The reverse; the COUNT value when there is no such name. */
enum phase phase_from_name(const char *name);
enum mode mode_from_name(const char *name);
enum abort_status abort_status_from_name(const char *name);
enum abort_cause abort_cause_from_name(const char *name);
enum recovery recovery_from_name(const char *name);
enum outcome outcome_from_name(const char *name);
enum guest_at guest_at_from_name(const char *name);
enum pending pending_from_name(const char *name);
enum priority priority_from_name(const char *name);
enum launcher launcher_from_name(const char *name);
enum origin origin_from_name(const char *name);
enum trigger trigger_from_name(const char *name);

#endif
