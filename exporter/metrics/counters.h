/* counters.h - private part of struct metrics_counters, for metrics_counters.c and metrics_names.c.
 *
 * One prom_* metric per row of the COUNT plane. Label values come from closed enums; policies,
 * hosts and paths are bounded in number, and further ones are counted as "other". */
#ifndef EXPORTER_METRICS_COUNTERS_H
#define EXPORTER_METRICS_COUNTERS_H

#include <pthread.h>

#include "exporter/metrics/metrics.h"

enum {
    COUNTERS_LATE_MAX = 256,    /* finished migrations that wait for their final statistics */
    COUNTERS_LATE_MS = 60000,   /* and for how long */
    COUNTERS_EXEMPLAR_MAX = 512 /* bytes; above OpenMetrics' limit */
};

struct metrics_counters {
    prom_collector_registry_t *registry;
    prom_metric_t *of[METRIC_COUNT]; /* NULL: no counter of this file */
    pthread_mutex_t lock;            /* the rest */
    size_t n_policies, n_late;
    char policies[METRICS_POLICIES_MAX][SNAPSHOT_NAME_MAX];
    char late[COUNTERS_LATE_MAX][SNAPSHOT_UID_MAX];
};

/* Creates every series with known labels, with zero. */
void counters_touch(struct metrics_counters *counters);
/* Series of the fleet's hosts, policies and, in small fleets, paths. */
void counters_preset(struct metrics_counters *counters, const struct snapshot *snapshot);
/* Series of a hand-off: policy, path and target. */
void counters_touch_job(struct metrics_counters *counters, const struct snapshot_job *job);

/* Label values of a policy and of a path. */
const char *counters_policy(struct metrics_counters *counters, const char *policy);
void counters_path(struct metrics_counters *counters, const char *source, const char *target,
                   const char *out_path[static 2]);

/* Label values without a .def table. */
const char *counters_mode_cause(const char *cause, enum mode to);
const char *counters_recovery_result(
    const struct snapshot_job *job); /* NULL: no broken post-copy */
/* The outcome; "gave-up": aborted by Ferry without a request. */
const char *counters_outcome(const struct snapshot_job *job);
/* Label managed_by: "ferry", or the manager of somebody else's migration, or "unknown". */
const char *counters_manager(const struct snapshot_job *job);

#endif
