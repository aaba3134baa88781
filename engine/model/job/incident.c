/* incident.c - see incident.h. */
#include "engine/model/job/incident.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum { FADES = false, LASTS = true };
static const struct {
    const char *name;
    bool lasts;
} kinds[] = {
#define INCIDENT_KIND(id, name, lasts, help) [INCIDENT_##id] = {name, lasts},
#include "engine/model/job/incident.def"
#undef INCIDENT_KIND
};

const char *incident_kind_name(enum incident_kind kind)
{
    assert(kind < INCIDENT_KINDS);
    return kinds[kind].name;
}

enum incident_kind incident_kind_from_name(const char *name)
{
    enum incident_kind kind = 0;
    while (kind < INCIDENT_KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

bool incident_lasts(enum incident_kind kind)
{
    assert(kind < INCIDENT_KINDS);
    return kinds[kind].lasts;
}

const char *incident_end_name(enum incident_end end)
{
    static const char *const names[] = {
#define INCIDENT_END(id, name, help) [INCIDENT_END_##id] = name,
#include "engine/model/job/incident.def"
#undef INCIDENT_END
    };
    assert(end < COUNT(names));
    return names[end];
}

void incidents_fini(struct incidents *incidents)
{
    free(incidents->list);
    free(incidents->closed);
    *incidents = (struct incidents){0};
}

static bool is_open(const struct incident *incident)
{
    return incident->end == INCIDENT_END_NONE;
}

static struct incident *find_uid(struct incidents *incidents, const char *uid)
{
    for (size_t i = 0; i < incidents->n; i++)
        if (is_open(&incidents->list[i]) && strcmp(incidents->list[i].uid, uid) == 0)
            return &incidents->list[i];
    return NULL;
}

const char *incident_name(const struct incident *incident)
{
    return incident->migration[0] != '\0' ? incident->migration : incident->guest;
}

const struct incident *incidents_find(const struct incidents *incidents, const char *ns,
                                      const char *migration)
{
    const struct incident *found = NULL;
    for (size_t i = 0; i < incidents->n; i++) {
        const struct incident *incident = &incidents->list[i];
        if (!is_open(incident) || strcmp(incident->ns, ns) != 0 ||
            strcmp(incident_name(incident), migration) != 0)
            continue;
        if (found == NULL || incident->migration[0] != '\0')
            found = incident;
    }
    return found;
}

const struct incident *incidents_with_uid(const struct incidents *incidents, const char *uid)
{
    for (size_t i = 0; i < incidents->n; i++)
        if (is_open(&incidents->list[i]) && strcmp(incidents->list[i].uid, uid) == 0)
            return &incidents->list[i];
    return NULL;
}

static void note_change(struct incidents *incidents, struct incident *incident)
{
    incident->changed = true;
    incidents->changed = true;
    incidents->version++;
}

void incidents_store_again(struct incidents *incidents)
{
    for (size_t i = 0; i < incidents->n; i++)
        note_change(incidents, &incidents->list[i]);
}

static void close_one(struct incidents *incidents, struct incident *incident, enum incident_end end,
                      const char *by, int64_t now_ms)
{
    assert(is_open(incident) && end != INCIDENT_END_NONE);
    incident->end = end;
    incident->closed_ms = now_ms;
    TEXT_SET(incident->by, by);
    incidents->n_open--;
    incidents->totals.closed[end]++;
    note_change(incidents, incident);
}

/* The oldest ordinary incident is dropped; lasting ones never. */
static bool make_room(struct incidents *incidents, int64_t now_ms)
{
    if (incidents->n_open < INCIDENTS_MAX)
        return true;
    incidents->totals.overflow++;
    for (size_t i = 0; i < incidents->n; i++) {
        struct incident *incident = &incidents->list[i];
        if (!is_open(incident) || incident_lasts(incident->kind))
            continue;
        close_one(incidents, incident, INCIDENT_END_CROWDED, "ferry", now_ms);
        return true;
    }
    incidents->version++;
    return false;
}

/* An incident that was closed, and opened again by a newer verdict, is shown once. */
static void forget_closed(struct incidents *incidents, const char *uid)
{
    for (size_t i = 0; i < incidents->n_closed; i++)
        if (strcmp(incidents->closed[i].uid, uid) == 0) {
            incidents->n_closed--;
            memmove(&incidents->closed[i], &incidents->closed[i + 1],
                    (incidents->n_closed - i) * sizeof *incidents->closed);
            return;
        }
}

/* The labels of exporter/metrics/metrics_incidents.c. */
static bool resembles(const struct incident *a, const struct incident *b)
{
    return a->kind == b->kind && strcmp(a->ns, b->ns) == 0 && strcmp(a->guest, b->guest) == 0 &&
           strcmp(a->node, b->node) == 0 && strcmp(a->source, b->source) == 0 &&
           strcmp(a->target, b->target) == 0 && strcmp(a->guest_at, b->guest_at) == 0 &&
           strcmp(a->plane, b->plane) == 0 && strcmp(a->cause, b->cause) == 0 &&
           strcmp(a->migration, b->migration) == 0;
}

/* E.g. a migration that was deleted and created again under its name. */
static void replace_twins(struct incidents *incidents, const struct incident *newest)
{
    for (size_t i = 0; i < incidents->n; i++) {
        struct incident *incident = &incidents->list[i];
        if (incident != newest && is_open(incident) && resembles(incident, newest))
            close_one(incidents, incident, INCIDENT_END_REPLACED, "ferry", newest->opened_ms);
    }
}

bool incidents_restore(struct incidents *incidents, const struct incident *incident)
{
    if (incidents->n_open >= INCIDENTS_MAX || incidents->n >= INCIDENTS_KEPT_MAX)
        return false;
    struct incident *list = realloc(incidents->list, (incidents->n + 1) * sizeof *incidents->list);
    if (list == NULL)
        return false;
    incidents->list = list;
    list[incidents->n] = *incident;
    list[incidents->n].end = INCIDENT_END_NONE;
    list[incidents->n].changed = false;
    incidents->n++;
    incidents->n_open++;
    incidents->version++;
    replace_twins(incidents, &list[incidents->n - 1]);
    return true;
}

bool incidents_open(struct incidents *incidents, const struct incident *incident)
{
    struct incident *before = find_uid(incidents, incident->uid);
    if (before != NULL) {
        const struct incident was = *before;
        *before = *incident;
        before->opened_ms = was.opened_ms;
        if (was.kind == INCIDENT_SPLIT &&
            (!incident_lasts(incident->kind) || incident->kind == INCIDENT_INTERNAL ||
             incident->kind == INCIDENT_UNREADABLE)) {
            before->kind = was.kind; /* the end or the freeze of the migration does not lower it */
            TEXT_SET(before->guest_at, was.guest_at);
        }
        note_change(incidents, before);
        replace_twins(incidents, before);
        return true;
    }
    incidents->totals.opened[incident->kind]++;
    if (!make_room(incidents, incident->opened_ms) || !incidents_restore(incidents, incident))
        return false;
    forget_closed(incidents, incident->uid);
    note_change(incidents, &incidents->list[incidents->n - 1]);
    return true;
}

bool incidents_close(struct incidents *incidents, const char *uid, enum incident_end end,
                     const char *by, int64_t now_ms)
{
    struct incident *incident = find_uid(incidents, uid);
    if (incident != NULL)
        close_one(incidents, incident, end, by, now_ms);
    return incident != NULL;
}

void incidents_guest_moved(struct incidents *incidents, const char *ns, const char *guest,
                           int64_t moved_ms, int64_t now_ms)
{
    for (size_t i = 0; i < incidents->n; i++) {
        struct incident *incident = &incidents->list[i];
        if (is_open(incident) && !incident_lasts(incident->kind) &&
            incident->ended_ms <= moved_ms && strcmp(incident->ns, ns) == 0 &&
            strcmp(incident->guest, guest) == 0)
            close_one(incidents, incident, INCIDENT_END_MOVED, "ferry", now_ms);
    }
}

void incidents_age(struct incidents *incidents, int64_t now_ms)
{
    for (size_t i = 0; i < incidents->n; i++) {
        struct incident *incident = &incidents->list[i];
        if (is_open(incident) && !incident_lasts(incident->kind) &&
            now_ms - incident->opened_ms >= INCIDENT_AGE_MS)
            close_one(incidents, incident, INCIDENT_END_AGED, "ferry", now_ms);
    }
}

/* Without memory it is not shown. */
static void keep_closed(struct incidents *incidents, const struct incident *incident)
{
    forget_closed(incidents, incident->uid);
    if (incidents->closed == NULL)
        incidents->closed = calloc(INCIDENTS_CLOSED_MAX, sizeof *incidents->closed);
    if (incidents->closed == NULL)
        return;
    if (incidents->n_closed == INCIDENTS_CLOSED_MAX)
        forget_closed(incidents, incidents->closed[0].uid);
    incidents->closed[incidents->n_closed++] = *incident;
}

void incidents_stored(struct incidents *incidents)
{
    size_t kept = 0;
    for (size_t i = 0; incidents->changed && i < incidents->n; i++) {
        incidents->list[i].changed = false;
        if (is_open(&incidents->list[i]))
            incidents->list[kept++] = incidents->list[i];
        else
            keep_closed(incidents, &incidents->list[i]);
    }
    if (incidents->changed)
        incidents->n = kept;
    incidents->changed = false;
}
