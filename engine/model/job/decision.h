/* decision.h - a decision about a running migration as data: made by a monitor
 * (engine/data/monitor.h) or a stall remedy (engine/data/remedy.h), recorded, and shown. Pure. */
#ifndef ENGINE_MODEL_JOB_DECISION_H
#define ENGINE_MODEL_JOB_DECISION_H

#include <stdbool.h>
#include <stdint.h>

enum monitor_action {
#define ACTION(id, name, help) MONITOR_##id,
#include "engine/model/job/decision.def"
#undef ACTION
    MONITOR_ACTION_COUNT
};
enum decision {
#define DECISION(id, name, action, by, help) DECISION_##id,
#include "engine/model/job/decision.def"
#undef DECISION
    DECISION_COUNT
};
const char *monitor_action_name(enum monitor_action action);
const char *decision_name(enum decision decision);
const char *decision_help(enum decision decision);
enum decision decision_from_name(const char *name); /* DECISION_COUNT: no such */
enum monitor_action decision_action(enum decision decision);
bool decision_is_remedy(enum decision decision); /* not a monitor's */

enum { MONITOR_TEXT_MAX = 256 };

struct monitor_facts {                 /* fixed for one migration */
    uint64_t memory_bytes, disk_bytes; /* of the guest; of the disks that are migrated too */
    bool vfio;                         /* a host device: no post-copy */
    bool tuning;                       /* downtimeTuning was configured: legacy's ramp is on */
};
struct monitor_decision {
    enum decision why;
    enum monitor_action action;  /* of that row */
    int64_t downtime_ms;         /* SET_DOWNTIME */
    char text[MONITOR_TEXT_MAX]; /* with the numbers that triggered it */
    /* the inputs, as recorded */
    int64_t elapsed_ms, budget_ms,
        estimate_ms; /* estimate: time for the remaining bytes; -1: not known */
    uint64_t remaining, low_water, bandwidth_bps, dirty_bps, iteration;
};

#endif
