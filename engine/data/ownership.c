/* ownership.c - see ownership.h. */
#include "engine/data/ownership.h"

#include <assert.h>

static const char *const sides[SIDE_COUNT] = {
#define SIDE(id, name, help) [SIDE_##id] = name,
#include "engine/data/ownership.def"
#undef SIDE
};

static const enum ownership table[SIDE_COUNT][SIDE_COUNT] = {
#define OWNERSHIP(source, target, result) [SIDE_##source][SIDE_##target] = OWNERSHIP_##result,
#include "engine/data/ownership.def"
#undef OWNERSHIP
};

static enum ownership_side side_when_running(int reason)
{
    if (reason == HV_RUNNING_POSTCOPY)
        return SIDE_POSTCOPY;
    return reason == HV_RUNNING_POSTCOPY_FAILED ? SIDE_POSTCOPY_FAILED : SIDE_OWNS;
}

static enum ownership_side side_when_paused(int reason)
{
    switch (reason) {
    case HV_PAUSED_MIGRATION:
    case HV_PAUSED_STARTING_UP: return SIDE_MOVING;
    case HV_PAUSED_POSTCOPY: return SIDE_POSTCOPY;
    case HV_PAUSED_POSTCOPY_FAILED: return SIDE_POSTCOPY_FAILED;
    case HV_PAUSED_IOERROR:
    case HV_PAUSED_WATCHDOG:
    case HV_PAUSED_CRASHED:
    case HV_PAUSED_API_ERROR: return SIDE_STUCK;
    default: return SIDE_OWNS;
    }
}

enum ownership_side ownership_side(const struct hv_observation *observation)
{
    if (observation->presence == HV_ABSENT)
        return SIDE_ABSENT;
    if (observation->presence != HV_PRESENT)
        return SIDE_BLIND;
    switch (observation->state) {
    case HV_STATE_RUNNING: return side_when_running(observation->reason);
    case HV_STATE_PAUSED: return side_when_paused(observation->reason);
    case HV_STATE_BLOCKED:
    case HV_STATE_SHUTDOWN: /* the guest is shutting down: still there */
    case HV_STATE_PMSUSPENDED: return SIDE_OWNS;
    case HV_STATE_SHUTOFF: return observation->reason == HV_SHUTOFF_MIGRATED ? SIDE_LEFT : SIDE_OFF;
    case HV_STATE_CRASHED: return SIDE_OFF;
    default: /* a state of a later libvirt: meaning not known */ return SIDE_BLIND;
    }
}

enum ownership ownership_from_sides(enum ownership_side source, enum ownership_side target)
{
    assert(source < SIDE_COUNT);
    assert(target < SIDE_COUNT);
    return table[source][target];
}

enum guest_at ownership_guest_at(enum ownership ownership)
{
    static const enum guest_at places[] = {
        [OWNERSHIP_NONE] = GUEST_AT_UNKNOWN,     [OWNERSHIP_WAIT] = GUEST_AT_UNKNOWN,
        [OWNERSHIP_ON_SOURCE] = GUEST_AT_SOURCE, [OWNERSHIP_ON_TARGET] = GUEST_AT_TARGET,
        [OWNERSHIP_GONE] = GUEST_AT_LOST,        [OWNERSHIP_SPLIT] = GUEST_AT_SPLIT,
        [OWNERSHIP_BROKEN] = GUEST_AT_BROKEN,    [OWNERSHIP_BLIND] = GUEST_AT_UNKNOWN,
    };
    return places[ownership];
}

bool ownership_is_gone(enum ownership_side side)
{
    return side == SIDE_ABSENT || side == SIDE_OFF || side == SIDE_LEFT;
}

const char *ownership_side_name(enum ownership_side side)
{
    assert(side < SIDE_COUNT);
    return sides[side];
}
