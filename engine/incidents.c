/* incidents.c - see incidents.h. */
#include "engine/incidents.h"

#include <string.h>

#include "base/text.h"

void incidents_put(struct store *store, const struct incidents *incidents)
{
    for (size_t i = 0; incidents->changed && i < incidents->n; i++) {
        const struct incident *incident = &incidents->list[i];
        const struct store_incident row = {
            .job_uid = incident->uid,
            .ns = incident->ns,
            .name = incident->guest,
            .migration = incident->migration,
            .node = incident->node,
            .source_node = incident->source,
            .target_node = incident->target,
            .guest_at = incident->guest_at,
            .plane = incident->plane,
            .cause = incident->cause,
            .kind = incident_kind_name(incident->kind),
            .opened_ms = incident->opened_ms,
            .ended_ms = incident->ended_ms,
            .closed_ms = incident->closed_ms,
            .closed_by = incident->by,
            .closed_why = incident_end_name(incident->end),
        };
        if (incident->changed)
            store->ops->put_incident(store, &row);
    }
}

static bool add(void *ctx, const struct store_incident *row)
{
    struct fleet *f = ctx;
    if (!fleet_is_about(f, row->node) && !fleet_is_about(f, row->source_node))
        return true;
    enum incident_kind kind = incident_kind_from_name(row->kind);
    struct incident incident = {.kind = kind == INCIDENT_KINDS ? INCIDENT_UNKNOWN : kind,
                                .opened_ms = row->opened_ms,
                                .ended_ms = row->ended_ms};
    TEXT_SET(incident.uid, row->job_uid);
    TEXT_SET(incident.ns, row->ns);
    TEXT_SET(incident.guest, row->name);
    TEXT_SET(incident.migration, row->migration);
    TEXT_SET(incident.node, row->node);
    TEXT_SET(incident.source, row->source_node);
    TEXT_SET(incident.target, row->target_node);
    TEXT_SET(incident.guest_at, row->guest_at);
    TEXT_SET(incident.plane, row->plane);
    TEXT_SET(incident.cause, row->cause);
    (void)incidents_restore(&f->incidents, &incident);
    return true;
}

bool incidents_load(struct store *store, struct fleet *f, struct err *err)
{
    return store->ops->each_incident(store, true, add, f, err);
}
