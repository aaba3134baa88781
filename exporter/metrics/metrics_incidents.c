/* metrics_incidents.c - open incidents by name, for alerts. */
#include "exporter/metrics/metrics.h"

static void render_open(const struct snapshot *snapshot, struct promx_page *page)
{
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_INCIDENT);
    for (size_t i = 0; i < snapshot->n_incidents; i++) {
        const struct incident *incident = &snapshot->incidents[i];
        const struct metric_pair pairs[] = {
            {"namespace", incident->ns},        {"name", incident->guest},
            {"node", incident->node},           {"source", incident->source},
            {"target", incident->target},       {"guest_at", incident->guest_at},
            {"plane", incident->plane},         {"cause", incident->cause},
            {"migration", incident->migration}, {"kind", incident_kind_name(incident->kind)}};
        labels.length = 0;
        metric_add_pairs(&labels, pairs, COUNT(pairs));
        if (!labels.failed)
            metric_add_sample(page, METRIC_INCIDENT, labels.data, 1);
    }
    buf_fini(&labels);
}

void metrics_render_incidents(const struct snapshot *snapshot, struct promx_page *page)
{
    const struct incident_totals *totals = &snapshot->incident_totals;
    render_open(snapshot, page);
    metric_add_header(page, METRIC_INCIDENTS_OPENED);
    for (enum incident_kind kind = 0; kind < INCIDENT_KINDS; kind++)
        metric_add_labelled(page, METRIC_INCIDENTS_OPENED, "", "kind", incident_kind_name(kind),
                            (double)totals->opened[kind]);
    metric_add_header(page, METRIC_INCIDENTS_CLOSED);
    for (enum incident_end end = INCIDENT_END_NONE + 1; end < INCIDENT_ENDS; end++)
        metric_add_labelled(page, METRIC_INCIDENTS_CLOSED, "", "by", incident_end_name(end),
                            (double)totals->closed[end]);
    metric_add_alone(page, METRIC_INCIDENTS_OVERFLOW, (double)totals->overflow);
}
