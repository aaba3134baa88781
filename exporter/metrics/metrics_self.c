/* metrics_self.c - Ferry's own metrics: queues, store, calls to hosts, process. Sampled once a
 * second; nothing is read here. */
#include "exporter/metrics/metrics.h"

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
    case METRIC_OPENINGS_HANGING: return lane->openings_hanging;
    case METRIC_OPENINGS_ABANDONED: return (double)lane->openings_abandoned;
    default: return seconds(lane->oldest_ms);
    }
}

static void render_lanes(const struct exporter_self *self, struct promx_page *page)
{
    static const enum metric families[] = {METRIC_CALLS,
                                           METRIC_CALL_FAILURES,
                                           METRIC_CALL_TIME,
                                           METRIC_CALLS_IN_FLIGHT,
                                           METRIC_CALL_OLDEST,
                                           METRIC_OPENINGS_HANGING,
                                           METRIC_OPENINGS_ABANDONED};
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(page, families[f]);
        for (size_t i = 0; i < self->n_lanes; i++) {
            const struct metric_pair node = {"node", self->lanes[i].node};
            labels.length = 0;
            metric_add_pairs(&labels, &node, 1);
            if (!labels.failed)
                metric_add_labelled(page, families[f], labels.data, "lane", self->lanes[i].lane,
                                    lane_value(&self->lanes[i], families[f]));
        }
    }
    buf_fini(&labels);
}

/* ---- several appliances ---- */

static void add_cell(struct promx_page *page, enum metric metric, const struct exporter_cell *cell,
                     double value)
{
    metric_add_labelled(page, metric, "", "cell", cell->cell, value);
}

static void render_held(const struct exporter_self *self, struct promx_page *page)
{
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_CELL_HELD);
    for (size_t i = 0; i < self->n_cells; i++) {
        const struct metric_pair cell = {"cell", self->cells[i].cell};
        labels.length = 0;
        metric_add_pairs(&labels, &cell, 1);
        if (self->cells[i].left_ms >= 0 && !labels.failed)
            metric_add_labelled(page, METRIC_CELL_HELD, labels.data, "holder", self->appliance, 1);
    }
    buf_fini(&labels);
}

/* What every appliance knows of all cells; of its own: how long its lease is certain. */
static void render_cells(const struct exporter_self *self, struct promx_page *page)
{
    if (self->n_cells == 0)
        return;
    render_held(self, page);
    metric_add_header(page, METRIC_CELL_HOLDER_KNOWN);
    for (size_t i = 0; i < self->n_cells; i++)
        add_cell(page, METRIC_CELL_HOLDER_KNOWN, &self->cells[i], self->cells[i].holder[0] != '\0');
    metric_add_header(page, METRIC_CELL_EPOCH);
    for (size_t i = 0; i < self->n_cells; i++)
        add_cell(page, METRIC_CELL_EPOCH, &self->cells[i], (double)self->cells[i].epoch);
    metric_add_header(page, METRIC_CELL_LEASE_LEFT);
    for (size_t i = 0; i < self->n_cells; i++)
        if (self->cells[i].left_ms >= 0)
            add_cell(page, METRIC_CELL_LEASE_LEFT, &self->cells[i],
                     seconds(self->cells[i].left_ms));
    metric_add_alone(page, METRIC_CELL_TAKEOVER, seconds(self->takeover_ms));
    metric_add_alone(page, METRIC_STORE_ANSWER, seconds(self->store_answer_ms));
}

/* ---- Ferry itself ---- */

static void render_unknown(const struct exporter_self *self, struct promx_page *page)
{
    static const char *const kinds[] = {"state", "job-type", "operation"};
    _Static_assert(COUNT(kinds) == COUNT(self->unknown_statuses), "a label for each");
    metric_add_header(page, METRIC_UNKNOWN_STATUSES);
    for (size_t i = 0; i < COUNT(kinds); i++)
        metric_add_labelled(page, METRIC_UNKNOWN_STATUSES, "", "kind", kinds[i],
                            (double)self->unknown_statuses[i]);
}

static void render_self(const struct exporter_self *self, struct promx_page *page)
{
    metric_add_alone(page, METRIC_SAMPLES, (double)self->samples);
    metric_add_alone(page, METRIC_SAMPLES_DROPPED, (double)self->samples_dropped);
    metric_add_alone(page, METRIC_SAMPLE_FAILURES, (double)self->stats_failures);
    metric_add_alone(page, METRIC_COLLECTOR_LAG, seconds(self->collector_lag_ms));
    metric_add_alone(page, METRIC_SAMPLE_GAP, seconds(self->sample_gap_max_ms));
    metric_add_header(page, METRIC_QUEUE_DEPTH);
    metric_add_labelled(page, METRIC_QUEUE_DEPTH, "", "queue", "collector",
                        (double)self->collector_queue);
    metric_add_labelled(page, METRIC_QUEUE_DEPTH, "", "queue", "engine",
                        (double)self->engine_queue);
    metric_add_labelled(page, METRIC_QUEUE_DEPTH, "", "queue", "analyser",
                        (double)self->analyser_queue);
    metric_add_header(page, METRIC_QUEUE_DROPS);
    metric_add_labelled(page, METRIC_QUEUE_DROPS, "", "queue", "collector",
                        (double)self->collector_drops);
    metric_add_labelled(page, METRIC_QUEUE_DROPS, "", "queue", "engine",
                        (double)self->engine_drops);
    metric_add_alone(page, METRIC_VERDICT_FAILURES, (double)self->verdict_failures);
    metric_add_alone(page, METRIC_TURNS, (double)self->turns);
    metric_add_alone(page, METRIC_TURN_AGE, seconds(self->turn_age_ms));
    metric_add_alone(page, METRIC_INTERNAL_ERRORS, (double)self->internal_errors);
    metric_add_alone(page, METRIC_STORE_OK, self->store_ok);
    metric_add_alone(page, METRIC_STORE_COMMITS, (double)self->commits);
    metric_add_alone(page, METRIC_STORE_FAILURES, (double)self->commit_failures);
    metric_add_alone(page, METRIC_STORE_TIME, (double)self->commit_ms_total / 1000);
    metric_add_alone(page, METRIC_STORE_SLOWEST, seconds(self->commit_ms_max));
    render_cells(self, page);
    render_unknown(self, page);
    render_lanes(self, page);
}

static void render_process(const struct process_stats *process, struct promx_page *page)
{
    metric_add_alone(page, METRIC_PROCESS_CPU, process->cpu_s);
    metric_add_alone(page, METRIC_PROCESS_RESIDENT, (double)process->resident_bytes);
    metric_add_alone(page, METRIC_PROCESS_VIRTUAL, (double)process->virtual_bytes);
    metric_add_alone(page, METRIC_PROCESS_FDS, (double)process->open_fds);
    metric_add_alone(page, METRIC_PROCESS_FDS_MAX, (double)process->max_fds);
    metric_add_alone(page, METRIC_PROCESS_START, process->start_s);
}

void metrics_render_self(const struct metrics_view *view, struct promx_page *page)
{
    metric_add_alone(page, METRIC_SNAPSHOT, (double)view->number);
    metric_add_header(page, METRIC_SNAPSHOT_TIME);
    if (view->snapshot != NULL)
        metric_add_sample(page, METRIC_SNAPSHOT_TIME, "", seconds(view->snapshot->wall_ms));
    metric_add_header(page, METRIC_BUILD);
    metric_add_labelled(page, METRIC_BUILD, "", "version", view->version, 1);
    page->created_s = view->process != NULL ? view->process->start_s : 0;
    if (view->self != NULL)
        render_self(view->self, page);
    if (view->process != NULL)
        render_process(view->process, page);
}
