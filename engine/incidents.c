/* incidents.c - see incidents.h. */
#include "engine/incidents.h"

#include <string.h>

#include "base/text.h"

/* What a verdict calls for; INCIDENT_KINDS: nothing. What somebody asked for, or did to his own
 * guest, is no incident. */
static enum incident_kind kind_of(const struct job *job, const struct store_verdict *verdict)
{
    if (job->outcome == OUTCOME_IRRECOVERABLE || verdict->irrecoverable)
        return INCIDENT_IRRECOVERABLE;
    if (job->guest_at == GUEST_AT_SPLIT)
        return INCIDENT_SPLIT;
    /* Ferry itself gave up: aborted too, but of the data plane, and nobody's wish. */
    if (job->outcome == OUTCOME_SUCCEEDED || job->told || strcmp(verdict->plane, "none") == 0)
        return INCIDENT_KINDS;
    if (job->outcome == OUTCOME_LOST)
        return INCIDENT_LOST;
    return job->guest_at == GUEST_AT_UNKNOWN && job->epoch > 0 ? INCIDENT_UNKNOWN
                                                               : INCIDENT_ORDINARY;
}

/* Where to look first: the half that is left, or the node the guest was to leave. */
static const char *node_of(const struct job *job)
{
    bool there = job->guest_at == GUEST_AT_TARGET || job->guest_at == GUEST_AT_BROKEN;
    return there ? job->target : job->source;
}

void incidents_judged(struct fleet *f, const struct job *job, const struct store_verdict *verdict,
                      int64_t now_ms)
{
    uint64_t before = f->incidents.version;
    if (job->outcome == OUTCOME_SUCCEEDED)
        incidents_guest_moved(&f->incidents, job->ns, job->guest_name, now_ms);
    enum incident_kind kind = kind_of(job, verdict);
    int64_t age_ms = now_ms - job->ended_ms;
    bool is_news = age_ms < (incident_lasts(kind == INCIDENT_KINDS ? 0 : kind) ? INCIDENT_NEWS_MS
                                                                               : INCIDENT_AGE_MS);
    if (kind != INCIDENT_KINDS && is_news) {
        struct incident incident = {.kind = kind, .opened_ms = now_ms};
        TEXT_SET(incident.uid, job->uid);
        TEXT_SET(incident.ns, job->ns);
        TEXT_SET(incident.guest, job->guest_name);
        TEXT_SET(incident.node, node_of(job));
        TEXT_SET(incident.migration, job->name);
        TEXT_SET(incident.plane, verdict->plane);
        TEXT_SET(incident.cause, verdict->cause);
        (void)incidents_open(&f->incidents, &incident);
    }
    if (f->incidents.version != before)
        (void)fleet_touch(f);
}

bool incidents_said(struct fleet *f, const char *ns, const char *migration, enum incident_end end,
                    const char *who, int64_t now_ms, struct err *err)
{
    const struct incident *incident = incidents_find(&f->incidents, ns, migration);
    if (incident == NULL)
        return err_set(err, ERR_NOT_FOUND, "no incident of migration \"%s\" is open", migration);
    (void)incidents_close(&f->incidents, incident->uid, end, who, now_ms);
    (void)fleet_touch(f);
    return true;
}

void incidents_tick(struct fleet *f, int64_t now_ms)
{
    uint64_t before = f->incidents.version;
    incidents_age(&f->incidents, now_ms);
    if (f->incidents.version != before)
        (void)fleet_touch(f);
}

void incidents_put(struct store *store, const struct incidents *incidents)
{
    for (size_t i = 0; incidents->changed && i < incidents->n; i++) {
        const struct incident *incident = &incidents->list[i];
        const struct store_incident row = {
            .job_uid = incident->uid,
            .ns = incident->ns,
            .name = incident->guest,
            .node = incident->node,
            .plane = incident->plane,
            .cause = incident->cause,
            .kind = incident_kind_name(incident->kind),
            .opened_ms = incident->opened_ms,
            .closed_ms = incident->closed_ms,
            .closed_by = incident->by,
            .closed_why = incident_end_name(incident->end),
        };
        if (incident->changed)
            store->ops->put_incident(store, &row);
    }
}

/* The migration's name is the job's; one that is not in view any more is called by its uid. */
static bool add(void *ctx, const struct store_incident *row)
{
    struct fleet *f = ctx;
    const struct job *job = fleet_job(f, row->job_uid);
    enum incident_kind kind = incident_kind_from_name(row->kind);
    struct incident incident = {.kind = kind == INCIDENT_KINDS ? INCIDENT_UNKNOWN : kind,
                                .opened_ms = row->opened_ms};
    TEXT_SET(incident.uid, row->job_uid);
    TEXT_SET(incident.ns, row->ns);
    TEXT_SET(incident.guest, row->name);
    TEXT_SET(incident.node, row->node);
    TEXT_SET(incident.plane, row->plane);
    TEXT_SET(incident.cause, row->cause);
    TEXT_SET(incident.migration, job != NULL ? job->name : row->job_uid);
    (void)incidents_restore(&f->incidents, &incident);
    return true;
}

bool incidents_load(struct store *store, struct fleet *f, struct err *err)
{
    return store->ops->each_incident(store, true, add, f, err);
}
