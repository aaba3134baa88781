/* forecast.h - what a migration is expected to come to, before it begins: time, blackout, chance to
 * converge, and which way it ends. Pure.
 *
 * Pre-copy is gone through pass by pass, with the monitor's rules (ramp of the downtime, stall,
 * budget), once for each of a few dozen scenarios: how fast the path is, how the guest's writing
 * goes on beyond what was measured, how much faster it writes while it is moved (two to three times
 * was seen), how much of its memory is in use. What most of them agree on is the forecast; how far
 * they differ is the interval.
 *
 * The rate of writing is measured by sampling pages: each page counts once in a window, so that a
 * longer window shows a smaller rate and the curve over several windows bends where the working
 * set ends.
 */
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

struct dirty_curve { /* distinct bytes written per second, over windows of rising length */
    enum dirty_from from;
    int64_t wall_ms; /* when */
    double rise;     /* MEASURED: times as fast when it was last moved; 0: never seen */
    unsigned n;      /* 0: not known */
    struct {
        unsigned seconds;
        uint64_t bps;
    } at[DIRTY_WINDOWS_MAX];
};

struct path_speed { /* bytes per second */
    enum bandwidth_from from;
    unsigned moves;             /* PATH: how many it is the record of */
    uint64_t low, likely, high; /* 0: not known */
    uint64_t postcopy;          /* limit in post-copy; 0: the same */
};

struct forecast_input {
    uint64_t memory_bytes, used_bytes; /* used: that is not all zero; 0: not known */
    uint64_t disk_bytes;               /* of disks that are copied first */
    struct dirty_curve dirty;
    struct path_speed path;
    const struct migration_config *config;
    bool postcopy; /* allowed and possible */
};

struct forecast {
    bool made;                             /* false: not even the size of the guest is known */
    int64_t total_ms, low_ms, high_ms;     /* from the call to its end, whichever way */
    int64_t downtime_ms, downtime_high_ms; /* the guest stands still */
    int percent;                           /* chance that it converges by itself */
    enum forecast_end end;                 /* the likeliest */
    uint64_t bandwidth_bps, dirty_bps;     /* that it counts on */
    char why[FORECAST_WHY_MAX];            /* the same for people */
};

void forecast_make(const struct forecast_input *input, struct forecast *out_forecast);

#endif
