/* metrics.h - the page of /metrics, from a snapshot and a sample of Ferry itself.
 *
 * Rendering is a function of its arguments: no clock, no call to anybody, so one view always
 * gives the same bytes. What only events know (how often, how long) is counted beside it,
 * through the prom_* functions, in struct metrics_counters.
 */
#ifndef EXPORTER_METRICS_H
#define EXPORTER_METRICS_H

#include "base/text.h"
#include "engine/snapshot.h"
#include "exporter/exporter.h"

enum metric {
#define METRIC(id, name, type, plane, unit, labels, help) METRIC_##id,
#include "exporter/metrics.def"
#undef METRIC
    METRIC_COUNT
};
enum metric_type {
    METRIC_TYPE_GAUGE,
    METRIC_TYPE_COUNTER,
    METRIC_TYPE_HISTOGRAM,
    METRIC_TYPE_INFO
};
enum metric_plane { /* metrics.def says what each is */
                    METRIC_PLANE_LIVE,
                    METRIC_PLANE_COUNT,
                    METRIC_PLANE_INCIDENT,
                    METRIC_PLANE_FLEET,
                    METRIC_PLANE_SELF,
                    METRIC_PLANE_KUBEVIRT
};
struct metric_row {
    const char *name;
    enum metric_type type;
    enum metric_plane plane;
    const char *unit, *labels, *help; /* labels: comma-separated, empty when none */
};
const struct metric_row *metric_row(enum metric metric);
const char *metric_type_name(enum metric_type type);

/* The process as the kernel sees it. */
struct process_stats {
    double cpu_s, start_s; /* start: seconds since 1970 */
    uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};
void process_read(struct process_stats *out_stats); /* zeros where /proc does not tell */

struct metrics_view { /* all borrowed */
    const char *version;
    uint64_t number;                     /* of this page */
    const struct snapshot *snapshot;     /* NULL: none published yet */
    const struct exporter_self *self;    /* NULL: not sampled yet */
    const struct process_stats *process; /* NULL: not sampled yet */
};
void metrics_render(const struct metrics_view *view, struct buf *out);
/* Parts of it, one per file. */
void metrics_render_migrations(const struct snapshot *snapshot, struct buf *out);
void metrics_render_fleet(const struct snapshot *snapshot, struct buf *out);

/* HELP and TYPE of a row; one sample of it. labels: rendered pairs or "". */
void metric_add_header(struct buf *out, enum metric metric);
void metric_add_sample(struct buf *out, enum metric metric, const char *labels, double value);
/* One sample with one more label after `labels`. */
void metric_add_labelled(struct buf *out, enum metric metric, const char *labels, const char *key,
                         const char *text, double value);

/* Counters and histograms. Every series with a known label value is there from the start, with
 * zero, so that the first event is an increase. Threads: any. */
struct metrics_counters;
struct metrics_counters *metrics_counters_new(struct err *err);
void metrics_counters_free(struct metrics_counters *counters);
DEFINE_OWNED(metrics_counters)
void metrics_count_step(struct metrics_counters *counters, enum phase from, enum phase to,
                        int64_t spent_ms);
void metrics_count_finished(struct metrics_counters *counters, const struct snapshot_job *job);
/* A verdict that was found at now_ms. Of migrations that ended more than METRICS_OLD_MS before it
 * none is counted: an upgrade that explains the past is no storm of failures. */
enum { METRICS_OLD_MS = 24 * 60 * 60 * 1000 };
void metrics_count_judged(struct metrics_counters *counters, const struct judgement *judgement,
                          int64_t now_ms);
void metrics_counters_render(struct metrics_counters *counters, struct buf *out);

#endif
