/* fleet_incidents.c - see fleet_incidents.h. */
#include "engine/model/fleet/fleet_incidents.h"

#include <string.h>

#include "base/text.h"

/* The incident that a verdict calls for; INCIDENT_KINDS: none. No incident: a result that a user
 * requested, caused in his own guest or stated as an override. A wait that timed out is one:
 * nobody requested that. */
static enum incident_kind kind_of(const struct verdict_rows *judged)
{
    enum outcome outcome = outcome_from_name(judged->verdict.outcome);
    enum guest_at guest_at = guest_at_from_name(judged->verdict.guest_at);
    enum trigger ended_by = trigger_from_name(judged->about.ended_by);
    bool overridden =
        ended_by == TRIGGER_OVERRIDE_ON_TARGET || ended_by == TRIGGER_OVERRIDE_OTHERWISE;
    bool is_nobodys = strcmp(judged->verdict.plane, "none") == 0;
    if (outcome == OUTCOME_IRRECOVERABLE)
        return INCIDENT_IRRECOVERABLE;
    if (overridden)
        return INCIDENT_KINDS;
    if (outcome == OUTCOME_SUCCEEDED) /* without a cause it ended as its user wanted */
        return guest_at == GUEST_AT_CRASHED && !is_nobodys ? INCIDENT_DOWN : INCIDENT_KINDS;
    if (is_nobodys && ended_by != TRIGGER_WAITED_TOO_LONG)
        return INCIDENT_KINDS;
    if (outcome == OUTCOME_LOST)
        return INCIDENT_LOST;
    if (guest_at == GUEST_AT_STOPPED)
        return INCIDENT_DOWN;
    return guest_at == GUEST_AT_UNKNOWN && judged->about.handed_off ? INCIDENT_UNKNOWN
                                                                    : INCIDENT_ORDINARY;
}

/* The node to inspect first: the one with the incomplete guest, else the source. */
static const char *node_of(const struct verdict_rows *judged)
{
    enum guest_at guest_at = guest_at_from_name(judged->verdict.guest_at);
    bool there =
        guest_at == GUEST_AT_TARGET || guest_at == GUEST_AT_CRASHED || guest_at == GUEST_AT_BROKEN;
    return there ? judged->about.target : judged->about.source;
}

static void open_judged(struct fleet *f, const struct verdict_rows *judged, enum incident_kind kind,
                        int64_t now_ms)
{
    const struct verdict_subject *about = &judged->about;
    struct incident incident = {
        .kind = kind, .opened_ms = now_ms, .ended_ms = judged->verdict.at_ms};
    TEXT_SET(incident.uid, judged->verdict.job_uid);
    TEXT_SET(incident.ns, about->ns);
    TEXT_SET(incident.guest, about->guest);
    TEXT_SET(incident.migration, about->migration);
    TEXT_SET(incident.node, node_of(judged));
    TEXT_SET(incident.source, about->source);
    TEXT_SET(incident.target, about->target);
    TEXT_SET(incident.guest_at, judged->verdict.guest_at);
    TEXT_SET(incident.plane, judged->verdict.plane);
    TEXT_SET(incident.cause, judged->verdict.cause);
    (void)incidents_open(&f->incidents, &incident);
}

void incidents_judged(struct fleet *f, const struct verdict_rows *judged, int64_t now_ms)
{
    uint64_t before = f->incidents.version;
    if (outcome_from_name(judged->verdict.outcome) == OUTCOME_SUCCEEDED)
        incidents_guest_moved(&f->incidents, judged->about.ns, judged->about.guest,
                              judged->verdict.at_ms, now_ms);
    enum incident_kind kind = kind_of(judged);
    int64_t age_ms = now_ms - judged->verdict.at_ms;
    if (kind != INCIDENT_KINDS &&
        age_ms < (incident_lasts(kind) ? INCIDENT_NEWS_MS : INCIDENT_AGE_MS))
        open_judged(f, judged, kind, now_ms);
    if (f->incidents.version != before)
        (void)fleet_touch(f);
}

/* For a job without a verdict: the analyser makes one when the job has ended. */
static void open_unjudged(struct fleet *f, const struct job *job, enum incident_kind kind,
                          enum guest_at guest_at, const char *plane, int64_t now_ms)
{
    struct incident incident = {.kind = kind, .opened_ms = now_ms, .ended_ms = now_ms};
    TEXT_SET(incident.uid, job->uid);
    TEXT_SET(incident.ns, job->ns);
    TEXT_SET(incident.guest, job->guest_name);
    TEXT_SET(incident.migration, job->name);
    TEXT_SET(incident.node, job->source);
    TEXT_SET(incident.source, job->source);
    TEXT_SET(incident.target, job->target);
    TEXT_SET(incident.guest_at, guest_at_name(guest_at));
    TEXT_SET(incident.plane, plane);
    TEXT_SET(incident.cause, "unjudged");
    (void)incidents_open(&f->incidents, &incident);
    (void)fleet_touch(f);
}

void incidents_split(struct fleet *f, const struct job *job, int64_t now_ms)
{
    open_unjudged(f, job, INCIDENT_SPLIT, GUEST_AT_SPLIT, "data", now_ms);
}

void incidents_internal(struct fleet *f, const struct job *job, int64_t now_ms)
{
    open_unjudged(f, job, INCIDENT_INTERNAL, job->resolution.guest_at, "control", now_ms);
}

void incidents_unreadable(struct fleet *f, const struct job *job, int64_t now_ms)
{
    open_unjudged(f, job, INCIDENT_UNREADABLE, GUEST_AT_UNKNOWN, "control", now_ms);
}

void incidents_unproven(struct fleet *f, const struct job *job, int64_t now_ms)
{
    open_unjudged(f, job, INCIDENT_UNKNOWN, job->resolution.guest_at, "data", now_ms);
}

void incidents_guest(struct fleet *f, const struct guest *guest, enum incident_kind kind,
                     const char *one, const char *other, int64_t now_ms)
{
    struct incident incident = {.kind = kind, .opened_ms = now_ms, .ended_ms = now_ms};
    TEXT_SET(incident.uid, guest->uuid);
    TEXT_SET(incident.ns, guest->ns);
    TEXT_SET(incident.guest, guest->name);
    TEXT_SET(incident.node, one);
    TEXT_SET(incident.source, one);
    TEXT_SET(incident.target, other);
    TEXT_SET(incident.guest_at,
             guest_at_name(kind == INCIDENT_SPLIT ? GUEST_AT_SPLIT : GUEST_AT_UNKNOWN));
    TEXT_SET(incident.plane, "data");
    TEXT_SET(incident.cause, "no-migration");
    (void)incidents_open(&f->incidents, &incident);
    (void)fleet_touch(f);
}

void incidents_settled(struct fleet *f, const char *uid, enum incident_kind kind, int64_t now_ms)
{
    const struct incident *incident = incidents_with_uid(&f->incidents, uid);
    if (incident == NULL || incident->kind != kind)
        return;
    (void)incidents_close(&f->incidents, uid, INCIDENT_END_SETTLED, "ferry", now_ms);
    (void)fleet_touch(f);
}

bool incidents_is_visible(struct fleet *f, const char *uid)
{
    const struct incident *incident = incidents_with_uid(&f->incidents, uid);
    if (incident == NULL)
        return true;
    const struct node *one = fleet_node(f, incident->source);
    const struct node *other = fleet_node(f, incident->target);
    return (one == NULL || one->listed) && (other == NULL || other->listed);
}

void incidents_adopt_guest(struct fleet *f, struct guest *guest)
{
    for (size_t i = 0; i < f->incidents.n; i++) {
        const struct incident *incident = &f->incidents.list[i];
        const struct job *job = fleet_job(f, incident->uid);
        const char *uuid =
            job != NULL && phase_is_final(job->phase) ? job->guest_uuid : incident->uid;
        if (incident->end != INCIDENT_END_NONE || strcmp(uuid, guest->uuid) != 0)
            continue;
        if (incident->kind == INCIDENT_SPLIT) {
            guest->split.reported = true;
            TEXT_SET(guest->split.incident, incident->uid);
        }
        guest->stranded.reported = guest->stranded.reported || incident->kind == INCIDENT_STRANDED;
    }
}

bool incidents_override(struct fleet *f, const struct resolve_request *request, int64_t now_ms,
                        struct err *err)
{
    enum incident_end end =
        request->kind == RESOLVE_ACKNOWLEDGE ? INCIDENT_END_ACKNOWLEDGED : INCIDENT_END_RESOLVED;
    const struct incident *incident = incidents_find(&f->incidents, request->ns, request->name);
    if (incident == NULL)
        return err_set(err, ERR_NOT_FOUND, "migration \"%s\" has no open incident", request->name);
    (void)incidents_close(&f->incidents, incident->uid, end, request->requester, now_ms);
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
