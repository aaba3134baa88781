/* phase.c - the tables of phase.h. There is no switch over phases here: a new phase is rows in
 * phase.def plus the code in engine/control or engine/data that acts on it.
 */
#include "engine/model/job/phase.h"

#include <assert.h>
#include <string.h>

enum kind { WAITING, BUSY, FINAL };

static const struct {
    const char *name;
    enum kind kind;
    const char *help;
} phases[PHASE_COUNT] = {
    [PHASE_NONE] = {"", WAITING, ""},
#define PHASE(id, name, kind, help) [PHASE_##id] = {name, kind, help},
#include "engine/model/job/phase.def"
#undef PHASE
};

static const char *const triggers[TRIGGER_COUNT] = {
#define TRIGGER(id, name, help) [TRIGGER_##id] = name,
#include "engine/model/job/phase.def"
#undef TRIGGER
};

/* Zero is PHASE_NONE: a step that is not listed is refused. */
static const enum phase steps[PHASE_COUNT][TRIGGER_COUNT] = {
#define STEP(from, why, to) [PHASE_##from][TRIGGER_##why] = PHASE_##to,
#include "engine/model/job/phase.def"
#undef STEP
};

static const char *const modes[MODE_COUNT] = {
#define MODE(id, name, help) [MODE_##id] = name,
#include "engine/model/job/mode.def"
#undef MODE
};
static const char *const aborts[ABORT_COUNT] = {
#define ABORT(id, name, help) [ABORT_##id] = name,
#include "engine/model/job/abort.def"
#undef ABORT
};
static const char *const causes[ABORT_CAUSE_COUNT] = {
#define ABORT_CAUSE(id, name, help) [ABORT_CAUSE_##id] = name,
#include "engine/model/job/abort_cause.def"
#undef ABORT_CAUSE
};
static const char *const recoveries[RECOVERY_COUNT] = {
#define RECOVERY(id, name, help) [RECOVERY_##id] = name,
#include "engine/model/job/recovery.def"
#undef RECOVERY
};
static const char *const outcomes[OUTCOME_COUNT] = {
#define OUTCOME(id, name, help) [OUTCOME_##id] = name,
#include "engine/model/job/outcome.def"
#undef OUTCOME
};
static const char *const places[GUEST_AT_COUNT] = {
#define GUEST_AT(id, name, help) [GUEST_AT_##id] = name,
#include "engine/model/job/outcome.def"
#undef GUEST_AT
};

static const char *const waits[PENDING_COUNT] = {
#define PENDING(id, name, limit_s, help) [PENDING_##id] = name,
#include "engine/model/job/pending.def"
#undef PENDING
};
static const char *const classes[PRIORITY_COUNT] = {
#define PRIORITY(id, name, weight, help) [PRIORITY_##id] = name,
#include "engine/model/settings/priority.def"
#undef PRIORITY
};

static const int64_t limits_s[PENDING_COUNT] = {
#define PENDING(id, name, limit_s, help) [PENDING_##id] = (limit_s),
#include "engine/model/job/pending.def"
#undef PENDING
};
static const char *const launchers[LAUNCHER_COUNT] = {
#define LAUNCHER(id, name, pod_phase, help) [LAUNCHER_##id] = name,
#include "engine/model/job/launcher.def"
#undef LAUNCHER
};
static const char *const pod_phases[LAUNCHER_COUNT] = {
#define LAUNCHER(id, name, pod_phase, help) [LAUNCHER_##id] = pod_phase,
#include "engine/model/job/launcher.def"
#undef LAUNCHER
};
static const char *const origins[ORIGIN_COUNT] = {
#define ORIGIN(id, name, automatic, help) [ORIGIN_##id] = name,
#include "engine/model/job/origin.def"
#undef ORIGIN
};
enum { NO, YES };
static const bool automatic[ORIGIN_COUNT] = {
#define ORIGIN(id, name, automatic, help) [ORIGIN_##id] = (automatic),
#include "engine/model/job/origin.def"
#undef ORIGIN
};

static const char *const ways[RECOVERY_WAY_COUNT] = {
#define RECOVERY_WAY(id, name, help) [RECOVERY_WAY_##id] = name,
#include "engine/model/job/recovery_way.def"
#undef RECOVERY_WAY
};

const char *recovery_way_name(enum recovery_way way)
{
    return way < RECOVERY_WAY_COUNT ? ways[way] : "";
}

enum phase phase_next(enum phase from, enum trigger why)
{
    assert(from < PHASE_COUNT);
    assert(why < TRIGGER_COUNT);
    return steps[from][why];
}

bool phase_is_final(enum phase phase)
{
    assert(phase < PHASE_COUNT);
    return phases[phase].kind == FINAL;
}

bool phase_is_busy(enum phase phase)
{
    assert(phase < PHASE_COUNT);
    return phases[phase].kind == BUSY;
}

const char *phase_name(enum phase phase)
{
    assert(phase < PHASE_COUNT);
    return phases[phase].name;
}

const char *phase_help(enum phase phase)
{
    assert(phase < PHASE_COUNT);
    return phases[phase].help;
}

static unsigned find(const char *const *names, unsigned n, const char *name)
{
    unsigned i = 0;
    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i;
}

enum phase phase_from_name(const char *name)
{
    enum phase phase = PHASE_NONE;
    while (phase < PHASE_COUNT && strcmp(phases[phase].name, name) != 0)
        phase++;
    return phase;
}

/* The same pair of conversions for each plain list of names. */
#define NAMES(type, prefix, table, count)             \
    const char *prefix##_name(enum type value)        \
    {                                                 \
        assert(value < (count));                      \
        return table[value];                          \
    }                                                 \
    enum type prefix##_from_name(const char *name)    \
    {                                                 \
        return (enum type)find(table, (count), name); \
    }
NAMES(mode, mode, modes, MODE_COUNT)
NAMES(abort_status, abort_status, aborts, ABORT_COUNT)
NAMES(abort_cause, abort_cause, causes, ABORT_CAUSE_COUNT)
NAMES(recovery, recovery, recoveries, RECOVERY_COUNT)
NAMES(outcome, outcome, outcomes, OUTCOME_COUNT)
NAMES(guest_at, guest_at, places, GUEST_AT_COUNT)
NAMES(pending, pending, waits, PENDING_COUNT)
NAMES(priority, priority, classes, PRIORITY_COUNT)
NAMES(launcher, launcher, launchers, LAUNCHER_COUNT)
NAMES(origin, origin, origins, ORIGIN_COUNT)
NAMES(trigger, trigger, triggers, TRIGGER_COUNT)
#undef NAMES

int64_t pending_limit_ms(enum pending pending)
{
    assert(pending < PENDING_COUNT);
    return limits_s[pending] * 1000;
}

const char *launcher_pod_phase(enum launcher launcher)
{
    assert(launcher < LAUNCHER_COUNT);
    return pod_phases[launcher];
}

bool origin_is_automatic(enum origin origin)
{
    assert(origin < ORIGIN_COUNT);
    return automatic[origin];
}
