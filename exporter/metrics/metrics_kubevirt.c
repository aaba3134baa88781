/* metrics_kubevirt.c - the page under KubeVirt's names, for existing dashboards and alerts.
 *
 * Names, labels and help are KubeVirt's; types are corrected (the total of data to migrate is a
 * gauge) and samples have no timestamps. A job is shown while its object exists, as in KubeVirt. */
#include "exporter/metrics/metrics_guests.h"

static void add(struct promx_page *page, enum metric metric, const struct metric_pair *pairs,
                size_t n, double value)
{
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_pairs(&labels, pairs, n);
    if (labels.failed)
        page->out.failed = true;
    else
        metric_add_sample(page, metric, labels.data, value);
    buf_fini(&labels);
}

static double data_value(const struct snapshot_job *job, enum metric metric)
{
    const struct hv_job_stats *stats = &job->progress.sample.stats;
    switch (metric) {
    case METRIC_KV_DATA_TOTAL: return (double)stats->data_total;
    case METRIC_KV_DATA_PROCESSED: return (double)stats->data_processed;
    case METRIC_KV_DATA_REMAINING: return (double)stats->data_remaining;
    case METRIC_KV_DIRTY_RATE:
        return (double)stats->memory_dirty_rate * (double)stats->memory_page_size;
    default: return (double)job->progress.sample.bandwidth_bps;
    }
}

static void render_data(const struct snapshot *snapshot, struct promx_page *page)
{
    static const enum metric families[] = {METRIC_KV_DATA_TOTAL, METRIC_KV_DATA_PROCESSED,
                                           METRIC_KV_DATA_REMAINING, METRIC_KV_DIRTY_RATE,
                                           METRIC_KV_TRANSFER_RATE};
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(page, families[f]);
        for (size_t i = 0; i < snapshot->n_jobs; i++) {
            const struct snapshot_job *job = snapshot->jobs[i];
            const struct metric_pair pairs[] = {
                {"namespace", job->ns}, {"name", job->guest_name}, {"node", job->source}};
            if (phase_is_busy(job->phase) && job->progress.has_sample)
                add(page, families[f], pairs, COUNT(pairs), data_value(job, families[f]));
        }
    }
}

/* The node is where the guest is: the target once it has succeeded. */
static void render_times(const struct snapshot *snapshot, struct promx_page *page)
{
    static const enum metric families[] = {METRIC_KV_START, METRIC_KV_END};
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(page, families[f]);
        for (size_t i = 0; i < snapshot->n_jobs; i++) {
            const struct snapshot_job *job = snapshot->jobs[i];
            bool moved = job->phase == PHASE_SUCCEEDED;
            const struct metric_pair pairs[] = {{"node", moved ? job->target : job->source},
                                                {"namespace", job->ns},
                                                {"name", job->guest_name},
                                                {"migration_name", job->name},
                                                {"status", moved ? "succeeded" : "failed"}};
            bool is_end = families[f] == METRIC_KV_END;
            int64_t at_ms = is_end ? job->times.ended_ms : job->times.started_ms;
            if (job->times.started_ms != 0 && at_ms != 0)
                add(page, families[f], pairs, COUNT(pairs) - !is_end, (double)at_ms / 1000);
        }
    }
}

static void render_ends(const struct snapshot *snapshot, enum metric metric, enum phase phase,
                        struct promx_page *page)
{
    metric_add_header(page, metric);
    for (size_t i = 0; i < snapshot->n_jobs; i++) {
        const struct snapshot_job *job = snapshot->jobs[i];
        const struct metric_pair pairs[] = {
            {"vmi", job->guest_name}, {"vmim", job->name}, {"namespace", job->ns}};
        if (job->phase == phase)
            add(page, metric, pairs, COUNT(pairs), 1);
    }
}

static void render_phases(const struct snapshot *snapshot, struct promx_page *page)
{
    size_t pending = 0, scheduling = 0, running = 0;
    for (size_t i = 0; i < snapshot->n_jobs; i++) {
        enum phase phase = snapshot->jobs[i]->phase;
        pending += phase == PHASE_PENDING;
        scheduling += phase == PHASE_SCHEDULING;
        running += phase_is_busy(phase) && phase != PHASE_SCHEDULING;
    }
    metric_add_alone(page, METRIC_KV_PENDING, (double)pending);
    metric_add_alone(page, METRIC_KV_SCHEDULING, (double)scheduling);
    metric_add_alone(page, METRIC_KV_UNSET, 0); /* Ferry's jobs always have a phase */
    metric_add_alone(page, METRIC_KV_RUNNING, (double)running);
}

static void render_evictable(const struct snapshot *snapshot, struct promx_page *page)
{
    metric_add_header(page, METRIC_KV_NON_EVICTABLE);
    for (size_t i = 0; i < snapshot->n_guests; i++) {
        const struct snapshot_guest *guest = &snapshot->guests[i];
        const struct metric_pair pairs[] = {
            {"node", guest->node}, {"namespace", guest->ns}, {"name", guest->name}};
        if (guest->up)
            add(page, METRIC_KV_NON_EVICTABLE, pairs, COUNT(pairs), metrics_is_stuck(guest));
    }
}

void metrics_render_kubevirt(const struct snapshot *snapshot, struct promx_page *page)
{
    render_data(snapshot, page);
    render_times(snapshot, page);
    render_ends(snapshot, METRIC_KV_SUCCEEDED, PHASE_SUCCEEDED, page);
    render_ends(snapshot, METRIC_KV_FAILED, PHASE_FAILED, page);
    render_phases(snapshot, page);
    render_evictable(snapshot, page);
}
