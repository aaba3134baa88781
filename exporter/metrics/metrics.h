/* metrics.h - the page of /metrics, from a snapshot and a sample of Ferry itself.
 *
 * Rendering is pure: one view always gives the same bytes. Counters and histograms are kept beside
 * it, through the prom_* functions, in struct metrics_counters.
 */
#ifndef EXPORTER_METRICS_METRICS_H
#define EXPORTER_METRICS_METRICS_H

#include "engine/snapshot.h"
#include "exporter/metrics/metrics_self.h"
#include "exporter/prom/promx.h"

enum {
    METRICS_WAITING_MAX = 1000,    /* waiting migrations with series, oldest first */
    METRICS_STUCK_MAX = 1000,      /* guests that cannot be evicted, with series */
    METRICS_PATHS_MAX = 1024,      /* pairs of hosts with series */
    METRICS_PATHS_AHEAD = 64,      /* ... created before a migration: fleets of up to 8 hosts */
    METRICS_POLICIES_MAX = 64,     /* policies with series */
    METRICS_POLICIES_AHEAD = 32,   /* ... created before a migration */
    METRICS_LABELS_MAX = 16 * 1024 /* bytes of one series' labels */
};

enum metric {
#define METRIC(id, name, type, plane, unit, labels, help) METRIC_##id,
#include "exporter/metrics/metrics.def"
#undef METRIC
    METRIC_COUNT
};
enum metric_plane { /* see metrics.def */
                    METRIC_PLANE_LIVE,
                    METRIC_PLANE_COUNT,
                    METRIC_PLANE_INCIDENT,
                    METRIC_PLANE_FLEET,
                    METRIC_PLANE_SELF,
                    METRIC_PLANE_KUBEVIRT
};
struct metric_row {
    const char *name;
    size_t name_bytes;
    enum promx_type type;
    enum metric_plane plane;
    const char *unit, *labels, *help; /* labels: comma-separated, empty when none */
};
const struct metric_row *metric_row(enum metric metric);

/* Process statistics. */
struct process_stats {
    double cpu_s, start_s; /* start: seconds since 1970 */
    uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};
void process_read(struct process_stats *out_stats); /* zeros where /proc is unreadable */

struct metrics_view { /* all borrowed */
    const char *version;
    uint64_t number;                     /* of this page */
    const struct snapshot *snapshot;     /* NULL: none published yet */
    const struct exporter_self *self;    /* NULL: not sampled yet */
    const struct process_stats *process; /* NULL: not sampled yet */
    bool kubevirt;                       /* KubeVirt's names too */
};
/* Everything except the counters; without the end of the page. */
void metrics_render(const struct metrics_view *view, struct promx_page *page);
/* Parts of it, one per file. */
void metrics_render_migrations(const struct snapshot *snapshot, struct promx_page *page);
void metrics_render_fleet(const struct snapshot *snapshot, struct promx_page *page);
void metrics_render_incidents(const struct snapshot *snapshot, struct promx_page *page);
void metrics_render_self(const struct metrics_view *view, struct promx_page *page);
void metrics_render_kubevirt(const struct snapshot *snapshot, struct promx_page *page);

/* HELP and TYPE of a row; one sample of it. labels: rendered pairs or "". */
void metric_add_header(struct promx_page *page, enum metric metric);
void metric_add_sample(struct promx_page *page, enum metric metric, const char *labels,
                       double value);
/* One sample with one more label after `labels`. */
void metric_add_labelled(struct promx_page *page, enum metric metric, const char *labels,
                         const char *key, const char *text, double value);
/* Both, of a metric without labels. */
void metric_add_alone(struct promx_page *page, enum metric metric, double value);

struct metric_pair {
    const char *key, *text;
};
/* Appends rendered label pairs; marks the buffer as failed on overflow. */
void metric_add_pairs(struct buf *out, const struct metric_pair *labels, size_t n);

/* Counters and histograms. Every series with known labels exists from the start, with zero, so that
 * the first event is an increase. Threads: any. */
struct metrics_counters;
/* The clock is borrowed; kubevirt: also KubeVirt's histogram. */
struct metrics_counters *metrics_counters_new(const struct clock *clock, bool kubevirt,
                                              struct err *err);
void metrics_counters_free(struct metrics_counters *counters);
DEFINE_OWNED(metrics_counters)
void metrics_count_step(struct metrics_counters *counters, const struct snapshot_job *job,
                        enum phase from, enum phase to, int64_t spent_ms);
void metrics_count_decision(struct metrics_counters *counters, const char *monitor, bool shadow,
                            const char *decision);
void metrics_count_finished(struct metrics_counters *counters, const struct snapshot_job *job);
/* A verdict made at now_ms. Migrations that ended more than METRICS_OLD_MS before are not counted:
 * verdicts on old records are not new failures. */
enum { METRICS_OLD_MS = 24 * 60 * 60 * 1000 };
void metrics_count_judged(struct metrics_counters *counters,
                          const struct verdict_rows *verdict_rows, int64_t now_ms);
/* Counts final statistics that arrived after the end, from the target. */
void metrics_count_late(struct metrics_counters *counters, const struct snapshot *snapshot);
/* snapshot: creates the series of its fleet with zero; NULL: none. */
void metrics_counters_render(struct metrics_counters *counters, const struct snapshot *snapshot,
                             struct promx_page *page);

#endif
