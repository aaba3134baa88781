/* self.c - see self.h. */
#include "appliance/self.h"

struct self {
    const struct hv_host *hosts;
    size_t n_hosts;
    struct exporter_lane *lanes; /* room for every lane of every host */
    struct cells_status cells_status;
    struct exporter_cell cells[STORE_CELLS_MAX];
};

struct self *self_new(struct err *err)
{
    struct self *self = calloc(1, sizeof *self);
    if (self == NULL)
        (void)err_set(err, ERR_NOMEM, "no memory for Ferry's own metrics");
    return self;
}

bool self_set_hosts(struct self *self, const struct hv_host *hosts, size_t n, struct err *err)
{
    struct exporter_lane *lanes = calloc(n * HV_LANE_COUNT + 1, sizeof *lanes);
    if (lanes == NULL)
        return err_set(err, ERR_NOMEM, "no memory for metrics of %zu hosts", n);
    free(self->lanes);
    self->lanes = lanes;
    self->hosts = hosts;
    self->n_hosts = n;
    return true;
}

void self_free(struct self *self)
{
    if (self == NULL)
        return;
    free(self->lanes);
    free(self);
}

static size_t read_lanes(struct self *self, const struct hv *hv)
{
    size_t n = 0;
    for (size_t i = 0; i < self->n_hosts; i++) {
        for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++) {
            struct hv_lane_status status;
            if (!hv_lane_status(hv, self->hosts[i].name, lane, &status))
                continue;
            self->lanes[n++] = (struct exporter_lane){
                .node = self->hosts[i].name,
                .lane = hv_lane_name(lane),
                .in_flight = status.in_flight,
                .oldest_ms = status.oldest_ms,
                .calls = status.calls,
                .failures = status.failures,
                .total_ms = status.total_ms,
                .openings_hanging = status.openings_hanging,
                .openings_abandoned = status.openings_abandoned,
            };
        }
    }
    return n;
}

void self_fill(const struct collector_stats *collector, const struct engine_stats *engine,
               const struct store_stats *store, const struct analysis_stats *analysis,
               struct exporter_self *out_self)
{
    *out_self = (struct exporter_self){
        .samples = collector->samples,
        .samples_dropped = store->samples_dropped, /* by a full queue or a failed write */
        .stats_failures = collector->stats_failures,
        .collector_lag_ms = collector->lag_ms,
        .sample_gap_max_ms = collector->gap_max_ms,
        .collector_queue = collector->queue_depth,
        .engine_queue = engine->queue_depth,
        .analyser_queue = analysis->queue,
        .verdict_failures = analysis->failures,
        .collector_drops = collector->posts_dropped,
        .engine_drops = engine->posts_dropped,
        .commits = store->commits,
        .commit_failures = store->commit_failures,
        .commit_ms_total = store->commit_ms_total,
        .commit_ms_max = engine->commit_ms_max,
        .unknown_statuses = {collector->unknown_statuses[0], collector->unknown_statuses[1],
                             collector->unknown_statuses[2]},
        .turns = engine->turns,
        .turn_age_ms = engine->turn_age_ms,
        .internal_errors = engine->internal_errors,
        .store_ok = engine->store_ok && engine->turn_age_ms <= SELF_TURN_AGE_MAX_MS,
    };
}

bool self_is_stuck(struct engine *engine)
{
    struct engine_stats stats;
    engine_stats(engine, &stats);
    return stats.turn_age_ms > SELF_TURN_AGE_MAX_MS;
}

const char *self_trouble(const struct engine_stats *engine)
{
    if (engine->turn_age_ms > SELF_TURN_AGE_MAX_MS)
        return "no turn of the engine has ended for 10 s: a commit hangs, or the engine itself";
    return engine->store_ok ? NULL : "the store cannot commit";
}

/* As the store said the last time; nothing is certain while it does not answer. */
static void fill_cells(struct self *self, struct cells *cells, struct exporter_self *page)
{
    struct cells_status *status = &self->cells_status;
    if (cells == NULL)
        return;
    cells_status(cells, status);
    page->appliance = cells_name(cells);
    page->store_answer_ms = status->answer_ms;
    page->takeover_ms = status->takeover_ms;
    page->n_cells = status->n_leases;
    for (size_t i = 0; i < status->n_leases; i++) {
        const struct store_lease *lease = &status->leases[i];
        bool is_held = lease->owner[0] != '\0' && lease->left_ms > 0 && status->is_known;
        self->cells[i] = (struct exporter_cell){.cell = lease->cell,
                                                .holder = is_held ? lease->owner : "",
                                                .epoch = lease->epoch,
                                                .left_ms = status->left_ms[i]};
    }
    page->cells = self->cells;
}

const char *self_sample(struct self *self, const struct self_parts *parts,
                        struct exporter *exporter)
{
    struct collector_stats collector;
    struct engine_stats engine;
    struct store_stats store;
    struct analysis_stats analysis;
    struct exporter_self page;
    collector_stats(parts->collector, &collector);
    engine_stats(parts->engine, &engine);
    parts->store->ops->stats(parts->store, &store);
    analysis_stats(parts->analysis, &analysis);
    self_fill(&collector, &engine, &store, &analysis, &page);
    page.n_lanes = read_lanes(self, parts->hv);
    page.lanes = self->lanes;
    fill_cells(self, parts->cells, &page);
    exporter_set_self(exporter, &page);
    return self_trouble(&engine);
}
