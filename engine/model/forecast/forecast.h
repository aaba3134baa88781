/* forecast.h - what is expected of a migration before it begins: duration, downtime, probability
 * of convergence, and how it ends. Pure.
 *
 * Simulates pre-copy iteration by iteration with the monitor's rules (downtime ramp, stall,
 * completion timeout), once for each of a few dozen scenarios: bandwidth of the path, dirty rate
 * beyond the measured windows, factor by which the guest dirties faster during a migration (two
 * to three was seen), share of memory in use. The median of the scenarios is the forecast, their
 * spread the interval.
 *
 * The dirty rate is measured by page sampling: each page counts once per window, so that a
 * longer window shows a smaller rate and the curve over several windows bends where the working
 * set ends. */
#ifndef ENGINE_MODEL_FORECAST_FORECAST_H
#define ENGINE_MODEL_FORECAST_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model/settings/migration_config.h"

enum forecast_end {
#define ENDING(id, name, help) FORECAST_##id,
#include "engine/model/forecast/forecast.def"
#undef ENDING
    FORECAST_END_COUNT
};
enum dirty_from {
#define DIRTY(id, name, help) DIRTY_##id,
#include "engine/model/forecast/forecast.def"
#undef DIRTY
    DIRTY_FROM_COUNT
};
enum bandwidth_from {
#define BANDWIDTH(id, name, help) BANDWIDTH_##id,
#include "engine/model/forecast/forecast.def"
#undef BANDWIDTH
    BANDWIDTH_FROM_COUNT
};
const char *forecast_end_name(enum forecast_end end);
const char *dirty_from_name(enum dirty_from from);
const char *bandwidth_from_name(enum bandwidth_from from);

enum { DIRTY_WINDOWS_MAX = 4, FORECAST_WHY_MAX = 256 };

struct dirty_curve { /* distinct bytes dirtied per second, over windows of rising length */
    enum dirty_from from;
    int64_t wall_ms; /* when */
    double rise;     /* MEASURED: factor during the guest's last migration; 0: never seen */
    unsigned n;      /* 0: not known */
    struct {
        unsigned seconds;
        uint64_t bps;
    } at[DIRTY_WINDOWS_MAX];
};

struct path_speed { /* bytes per second */
    enum bandwidth_from from;
    unsigned moves;             /* PATH: number of migrations in the record */
    uint64_t low, likely, high; /* 0: not known */
    uint64_t postcopy;          /* limit in post-copy; 0: the same */
};

struct forecast_input {
    uint64_t memory_bytes, used_bytes; /* used: non-zero pages; 0: not known */
    uint64_t disk_bytes;               /* of disks that are copied first */
    struct dirty_curve dirty;
    struct path_speed path;
    const struct migration_config *config;
    bool postcopy; /* allowed and possible */
};

struct forecast {
    bool made;                             /* false: not even the guest's memory size is known */
    int64_t total_ms, low_ms, high_ms;     /* from the call to its end, however it ends */
    int64_t downtime_ms, downtime_high_ms; /* downtime */
    int percent;                           /* probability that pre-copy converges */
    enum forecast_end end;                 /* the most likely ending */
    uint64_t bandwidth_bps, dirty_bps;     /* the values used */
    char why[FORECAST_WHY_MAX];            /* the same as text */
};

void forecast_make(const struct forecast_input *input, struct forecast *out_forecast);

#endif
