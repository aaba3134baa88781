/* counters.h - the inside of struct metrics_counters, for the files metrics_counters.c and
 * metrics_names.c only.
 *
 * One prom_* metric per row of the counting plane. Labels are words of closed vocabularies, so the
 * number of series is known before anything happens; policies, hosts and paths are bounded by
 * their number, and what is beyond is counted as "other". */
#ifndef EXPORTER_METRICS_COUNTERS_H
#define EXPORTER_METRICS_COUNTERS_H

#include <pthread.h>

#include "exporter/metrics/metrics.h"

enum {
    COUNTERS_LATE_MAX = 256,    /* finished migrations whose numbers are still awaited */
    COUNTERS_LATE_MS = 60000,   /* for so long */
    COUNTERS_EXEMPLAR_MAX = 512 /* bytes; what OpenMetrics allows is less */
};

struct metrics_counters {
    prom_collector_registry_t *registry;
    prom_metric_t *of[METRIC_COUNT]; /* NULL: no counter, or shown elsewhere */
    pthread_mutex_t lock;            /* the rest */
    size_t n_policies, n_late;
    char policies[METRICS_POLICIES_MAX][SNAPSHOT_NAME_MAX];
    char late[COUNTERS_LATE_MAX][SNAPSHOT_UID_MAX];
};

/* Every series whose labels are known words, with zero. */
void counters_touch(struct metrics_counters *counters);
/* What the fleet makes foreseeable: series of its hosts, of its policies and, where they are few,
 * of its paths. */
void counters_foresee(struct metrics_counters *counters, const struct snapshot *snapshot);
/* What a hand-off does: series of its policy, its path and its target. */
void counters_touch_job(struct metrics_counters *counters, const struct snapshot_job *job);

/* The word a policy is counted by, and the pair of hosts. */
const char *counters_policy(struct metrics_counters *counters, const char *policy);
void counters_path(struct metrics_counters *counters, const char *source, const char *target,
                   const char *out_path[static 2]);

/* Words that are in no .def table, because only counters use them. */
const char *counters_mode_cause(const char *cause, enum mode to);
const char *counters_recovery_result(const struct snapshot_job *job); /* NULL: nothing broke */
/* How it ended; "gave-up" where Ferry aborted it and nobody had asked. */
const char *counters_outcome(const struct snapshot_job *job);

#endif
