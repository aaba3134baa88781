/* metrics.c - the table of metrics.def and the parts of the page that describe Ferry itself. */
#include "exporter/metrics.h"

#include <assert.h>

#include "exporter/promx.h"

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC(id, name, type, plane, unit, labels, help) \
    [METRIC_##id] = {name, METRIC_TYPE_##type, METRIC_PLANE_##plane, unit, labels, help},
#include "exporter/metrics.def"
#undef METRIC
};

const struct metric_row *metric_row(enum metric metric)
{
    assert(metric < METRIC_COUNT);
    return &rows[metric];
}

const char *metric_type_name(enum metric_type type)
{
    static const char *const names[] = {"gauge", "counter", "histogram", "gauge"};
    assert(type < COUNT(names));
    return names[type];
}

void metric_add_header(struct buf *out, enum metric metric)
{
    const struct metric_row *row = metric_row(metric);
    promx_add_header(out, row->name, metric_type_name(row->type), row->help);
}

static void add_value(struct buf *out, double value)
{
    buf_add_bytes(out, " ", 1);
    promx_add_value(out, value);
    buf_add_bytes(out, "\n", 1);
}

void metric_add_sample(struct buf *out, enum metric metric, const char *labels, double value)
{
    buf_add(out, metric_row(metric)->name);
    if (labels[0] != '\0') {
        buf_add_bytes(out, "{", 1);
        buf_add(out, labels);
        buf_add_bytes(out, "}", 1);
    }
    add_value(out, value);
}

void metric_add_labelled(struct buf *out, enum metric metric, const char *labels, const char *key,
                         const char *text, double value)
{
    buf_add(out, metric_row(metric)->name);
    buf_add_bytes(out, "{", 1);
    buf_add(out, labels);
    buf_add(out, labels[0] == '\0' ? "" : ",");
    buf_add(out, key);
    buf_add_bytes(out, "=\"", 2);
    promx_add_label_value(out, text);
    buf_add_bytes(out, "\"}", 2);
    add_value(out, value);
}

static void add_family(struct buf *out, enum metric metric, double value)
{
    metric_add_header(out, metric);
    metric_add_sample(out, metric, "", value);
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* ---- calls to hosts ---- */

static double lane_value(const struct exporter_lane *lane, enum metric metric)
{
    switch (metric) {
    case METRIC_CALLS: return (double)lane->calls;
    case METRIC_CALL_FAILURES: return (double)lane->failures;
    case METRIC_CALL_TIME: return (double)lane->total_ms / 1000;
    case METRIC_CALLS_IN_FLIGHT: return lane->in_flight;
    default: return seconds(lane->oldest_ms);
    }
}

static void render_lanes(const struct exporter_self *self, struct buf *out)
{
    static const enum metric families[] = {METRIC_CALLS, METRIC_CALL_FAILURES, METRIC_CALL_TIME,
                                           METRIC_CALLS_IN_FLIGHT, METRIC_CALL_OLDEST};
    struct buf labels;
    buf_init(&labels, 4096);
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(out, families[f]);
        for (size_t i = 0; i < self->n_lanes; i++) {
            labels.length = 0;
            buf_add(&labels, "node=\"");
            promx_add_label_value(&labels, self->lanes[i].node);
            buf_add(&labels, "\"");
            if (!labels.failed)
                metric_add_labelled(out, families[f], labels.data, "lane", self->lanes[i].lane,
                                    lane_value(&self->lanes[i], families[f]));
        }
    }
    buf_fini(&labels);
}

/* ---- Ferry itself ---- */

static void render_self(const struct exporter_self *self, struct buf *out)
{
    add_family(out, METRIC_SAMPLES, (double)self->samples);
    add_family(out, METRIC_SAMPLES_DROPPED, (double)self->samples_dropped);
    add_family(out, METRIC_SAMPLE_FAILURES, (double)self->stats_failures);
    add_family(out, METRIC_COLLECTOR_LAG, seconds(self->collector_lag_ms));
    add_family(out, METRIC_SAMPLE_GAP, seconds(self->sample_gap_max_ms));
    metric_add_header(out, METRIC_QUEUE_DEPTH);
    metric_add_labelled(out, METRIC_QUEUE_DEPTH, "", "queue", "collector",
                        (double)self->collector_queue);
    metric_add_labelled(out, METRIC_QUEUE_DEPTH, "", "queue", "engine", (double)self->engine_queue);
    metric_add_header(out, METRIC_QUEUE_DROPS);
    metric_add_labelled(out, METRIC_QUEUE_DROPS, "", "queue", "collector",
                        (double)self->collector_drops);
    metric_add_labelled(out, METRIC_QUEUE_DROPS, "", "queue", "engine", (double)self->engine_drops);
    add_family(out, METRIC_TURNS, (double)self->turns);
    add_family(out, METRIC_STORE_OK, self->store_ok);
    add_family(out, METRIC_STORE_COMMITS, (double)self->commits);
    add_family(out, METRIC_STORE_FAILURES, (double)self->commit_failures);
    add_family(out, METRIC_STORE_TIME, (double)self->commit_ms_total / 1000);
    render_lanes(self, out);
}

static void render_process(const struct process_stats *process, struct buf *out)
{
    add_family(out, METRIC_PROCESS_CPU, process->cpu_s);
    add_family(out, METRIC_PROCESS_RESIDENT, (double)process->resident_bytes);
    add_family(out, METRIC_PROCESS_VIRTUAL, (double)process->virtual_bytes);
    add_family(out, METRIC_PROCESS_FDS, (double)process->open_fds);
    add_family(out, METRIC_PROCESS_FDS_MAX, (double)process->max_fds);
    add_family(out, METRIC_PROCESS_START, process->start_s);
}

/* Families that have no samples yet. */
static void render_empty(struct buf *out)
{
    static const enum metric families[] = {
        METRIC_MIGRATION_INFO,
        METRIC_MIGRATION_PENDING,
        METRIC_MIGRATION_PENDING_SINCE,
        METRIC_MIGRATION_PENDING_DEADLINE,
        METRIC_MIGRATION_STALLED_SINCE,
        METRIC_MIGRATION_STOPPED_SINCE,
        METRIC_MIGRATION_BUDGET_USED,
        METRIC_MIGRATION_LOW_WATER,
        METRIC_MIGRATION_PROGRESS_AGE,
        METRIC_MIGRATION_ETA_LOW,
        METRIC_MIGRATION_ETA_HIGH,
        METRIC_VERDICT_LATENCY,
        METRIC_VERDICT_CONFIDENCE,
        METRIC_DECISIONS,
        METRIC_REJECTED,
        METRIC_PREPARATIONS,
        METRIC_PATH_MIGRATIONS,
        METRIC_PATH_BYTES,
        METRIC_PATH_TIME,
        METRIC_PATH_BLACKOUT,
        METRIC_MIGRATION_QUEUE_WAIT,
        METRIC_MIGRATION_WAIT,
        METRIC_MIGRATION_BLACKOUT,
        METRIC_MIGRATION_SENT_RATIO,
        METRIC_MIGRATION_SETUP,
        METRIC_UNKNOWN_STATUSES,
        METRIC_INCIDENT,
        METRIC_INCIDENTS_OPENED,
        METRIC_INCIDENTS_CLOSED,
        METRIC_INCIDENTS_OVERFLOW,
        METRIC_NODE_CAPACITY,
        METRIC_NODE_SLOTS_USED,
        METRIC_NODE_SLOTS,
        METRIC_SLOTS_USED,
        METRIC_SLOTS,
        METRIC_GUESTS_MOVABLE,
        METRIC_GUESTS_UNMOVABLE,
        METRIC_NOT_EVICTABLE,
        METRIC_GUESTS_NOT_EVICTABLE,
        METRIC_QUEUED,
        METRIC_DRAIN_STATE,
        METRIC_DRAIN_DEADLINE,
        METRIC_SNAPSHOT_TIME,
        METRIC_STORE_SLOWEST,
    };
    for (size_t i = 0; i < COUNT(families); i++)
        metric_add_header(out, families[i]);
}

void metrics_render(const struct metrics_view *view, struct buf *out)
{
    if (view->snapshot != NULL) {
        metrics_render_migrations(view->snapshot, out);
        metrics_render_fleet(view->snapshot, out);
    }
    add_family(out, METRIC_SNAPSHOT, (double)view->number);
    metric_add_header(out, METRIC_BUILD);
    metric_add_labelled(out, METRIC_BUILD, "", "version", view->version, 1);
    if (view->self != NULL)
        render_self(view->self, out);
    if (view->process != NULL)
        render_process(view->process, out);
    render_empty(out);
}
