/* paths.h - what earlier migrations between two nodes showed: how fast the path is, how much that
 * varies, and how good forecasts for it were. Pure.
 *
 * Made from the jobs in view when the appliance starts, kept up as jobs end. Bounded: the pair
 * that was not used for longest is forgotten.
 */
#ifndef ENGINE_MODEL_FLEET_PATHS_H
#define ENGINE_MODEL_FLEET_PATHS_H

#include <uthash.h>

#include "engine/model/forecast/forecast.h"
#include "engine/model/job/job.h"

enum { PATHS_MAX = 1024 };

struct path {
    char key[2 * HV_HOST_MAX]; /* source, a slash, target: no node's name holds one */
    unsigned moves;            /* that told a bandwidth */
    double bandwidth;          /* bytes per second, newer ones count more */
    double spread;             /* how far they were from it, as a part of it */
    unsigned forecasts, held;  /* compared with an outcome; with the truth in their interval */
    double error;              /* how far the expected time was off, as a part of the real one */
    UT_hash_handle hh;
};
struct paths {
    struct path *list; /* by key; the one not used for longest first */
};

void paths_fini(struct paths *paths);
const struct path *paths_find(const struct paths *paths, const char *source, const char *target);
/* Takes over what a finished job tells, if anything: bytes and time of one that ended well.
 * Without memory it is not remembered. */
void paths_learn(struct paths *paths, const struct job *job);
/* What to count on; path may be NULL; limit 0: none. */
struct path_speed paths_speed(const struct path *path, uint64_t limit_bps);

#endif
