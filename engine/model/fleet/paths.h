/* paths.h - records of earlier migrations between two nodes: bandwidth of the path, its
 * variation, and the accuracy of forecasts. Pure.
 *
 * Built from the jobs in memory when the appliance starts, updated as jobs end. Bounded: the
 * pair that was not used for longest is forgotten. */
#ifndef ENGINE_MODEL_FLEET_PATHS_H
#define ENGINE_MODEL_FLEET_PATHS_H

#include <uthash.h>

#include "engine/model/forecast/forecast.h"
#include "engine/model/job/job.h"

enum { PATHS_MAX = 1024 };

struct path {
    char key[2 * HV_HOST_MAX]; /* source, a slash, target: no node's name has one */
    unsigned moves;            /* migrations that gave a bandwidth */
    double bandwidth;          /* bytes per second, newer ones count more */
    double spread;             /* mean deviation, as a fraction */
    unsigned forecasts, held;  /* forecasts compared with an outcome; within their interval */
    double error;              /* error of the expected duration, as a fraction */
    UT_hash_handle hh;
};
struct paths {
    struct path *list; /* by key; the one not used for longest first */
};

void paths_fini(struct paths *paths);
const struct path *paths_find(const struct paths *paths, const char *source, const char *target);
/* Adds a finished job's bytes and time, if it succeeded. Without memory it is skipped. */
void paths_learn(struct paths *paths, const struct job *job);
/* The bandwidth to expect; path may be NULL; limit 0: none. */
struct path_speed paths_speed(const struct path *path, uint64_t limit_bps);

#endif
