/* paths.c - see paths.h. */
#include "engine/model/fleet/paths.h"

#include <stdio.h>

#include "base/own.h"

enum {
    BYTES_MIN = 16 << 20, /* less proves nothing about a path */
    TIME_MIN_MS = 300,
    CALL_MS = 700, /* overhead without data: connecting, starting, finishing */
};
#define NEW_PART 0.3 /* weight of the newest migration */
#define SPREAD_FIRST 0.25
#define SPREAD_MIN 0.08
#define SPREAD_MAX 0.5
#define UNPROVEN_BPS (UINT64_C(100) << 20) /* a limit does not prove that a link reaches it */

void paths_fini(struct paths *paths)
{
    struct path *path, *next;
    HASH_ITER(hh, paths->list, path, next)
    {
        HASH_DEL(paths->list, path);
        free(path);
    }
}

static void make_key(const char *source, const char *target, char out_key[2 * HV_HOST_MAX])
{
    (void)snprintf(out_key, 2 * HV_HOST_MAX, "%.63s/%.63s", source, target);
}

static struct path *find(const struct paths *paths, const char *source, const char *target)
{
    char key[2 * HV_HOST_MAX];
    struct path *path;
    make_key(source, target, key);
    HASH_FIND_STR(paths->list, key, path);
    return path;
}

const struct path *paths_find(const struct paths *paths, const char *source, const char *target)
{
    return find(paths, source, target);
}

/* The pair's record, made the newest; the oldest is dropped. */
static struct path *use(struct paths *paths, const char *source, const char *target)
{
    struct path *path = find(paths, source, target);
    if (path != NULL) {
        HASH_DEL(paths->list, path);
    } else {
        path = calloc(1, sizeof *path);
        if (path == NULL)
            return NULL;
        make_key(source, target, path->key);
    }
    if (HASH_COUNT(paths->list) >= PATHS_MAX) {
        struct path *oldest = paths->list;
        HASH_DEL(paths->list, oldest);
        free(oldest);
    }
    HASH_ADD_STR(paths->list, key, path);
    return path;
}

static double blend(double old, double newest)
{
    return old + NEW_PART * (newest - old);
}

/* A migration at its bandwidth limit shows a lower bound of the path. */
static void learn_speed(struct path *path, double bps, double limit_bps)
{
    bool held = limit_bps > 0 && bps > limit_bps * 0.85;
    if (path->moves == 0) {
        path->bandwidth = bps;
        path->spread = SPREAD_FIRST;
    } else if (!held || bps > path->bandwidth) {
        double off = bps / path->bandwidth - 1;
        path->spread = blend(path->spread, off < 0 ? -off : off);
        path->bandwidth = blend(path->bandwidth, bps);
    }
    path->moves++;
}

static void learn_error(struct path *path, const struct job_forecast *forecast, double took_ms)
{
    double off = ((double)forecast->total_ms - took_ms) / took_ms;
    off = off < 0 ? -off : off;
    path->held += took_ms >= (double)forecast->low_ms && took_ms <= (double)forecast->high_ms;
    path->error = path->forecasts == 0 ? off : blend(path->error, off);
    path->forecasts++;
}

void paths_learn(struct paths *paths, const struct job *job)
{
    const struct job_final *final = &job->final;
    uint64_t still_ms = CALL_MS < final->total_ms / 3 ? CALL_MS : final->total_ms / 3;
    if (job->result.outcome != OUTCOME_SUCCEEDED || !final->known || job->target[0] == '\0' ||
        final->bytes < BYTES_MIN || final->total_ms < TIME_MIN_MS)
        return;
    struct path *path = use(paths, job->source, job->target);
    if (path == NULL)
        return;
    double ms = (double)(final->total_ms - still_ms);
    learn_speed(path, (double) final->bytes * 1000 / ms, (double)job->call.config.bandwidth);
    if (job->forecast.made)
        learn_error(path, &job->forecast, (double) final->total_ms);
}

static uint64_t bytes_of(double bps)
{
    return bps < 1 ? 1 : bps > 1e18 ? (uint64_t)1e18 : (uint64_t)bps;
}

struct path_speed paths_speed(const struct path *path, uint64_t limit_bps)
{
    struct path_speed out = {0};
    double limit = (double)limit_bps;
    if (path != NULL && path->moves > 0 && (limit_bps == 0 || path->bandwidth < limit * 0.95)) {
        double spread = path->spread < SPREAD_MIN   ? SPREAD_MIN
                        : path->spread > SPREAD_MAX ? SPREAD_MAX
                                                    : path->spread;
        out.from = BANDWIDTH_PATH;
        out.moves = path->moves;
        out.likely = bytes_of(path->bandwidth);
        out.low = bytes_of(path->bandwidth * (1 - spread));
        out.high = bytes_of(path->bandwidth * (1 + spread));
        if (limit_bps > 0 && out.high > limit_bps)
            out.high = limit_bps;
    } else if (limit_bps > 0) {
        bool proven = path != NULL && path->moves > 0;
        out.from = BANDWIDTH_LIMIT;
        out.likely = bytes_of(limit * 0.97);
        out.low = bytes_of(limit * 0.9);
        out.high = limit_bps;
        if (!proven && out.low > UNPROVEN_BPS)
            out.low = UNPROVEN_BPS;
    }
    return out;
}
