/* api_incident.c - incidents as objects, named after their migrations, or after the guest where no
 * migration is about it. Closed ones are shown for a
 * while; older ones are in the store (`ferry query`). */
#include <string.h>

#include "exporter/api/api.h"

static size_t count(const struct snapshot *s)
{
    return s->n_incidents + s->n_incidents_closed;
}

static const char *ns(const struct snapshot *s, size_t i)
{
    return s->incidents[i].ns;
}

static const char *name(const struct snapshot *s, size_t i)
{
    return incident_name(&s->incidents[i]);
}

static const char *uid(const struct snapshot *s, size_t i)
{
    return s->incidents[i].uid;
}

static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    return memcmp(&a->incidents[i], &b->incidents[j], sizeof a->incidents[i]) == 0;
}

static struct json_object *labels(const struct snapshot *s, size_t i)
{
    (void)s;
    (void)i;
    return NULL;
}

static const char *state_of(const struct incident *incident)
{
    return incident->end == INCIDENT_END_NONE ? "open" : incident_end_name(incident->end);
}

static struct json_object *object(const struct snapshot *s, size_t i)
{
    const struct incident *incident = &s->incidents[i];
    const struct api_meta meta = {incident->ns, incident_name(incident), incident->uid,
                                  incident->opened_ms};
    struct json_object *out = json_object_new_object();
    (void)api_add_meta(out, KIND_INCIDENT, &meta);
    struct json_object *spec = json_add_object(out, "spec");
    json_add_text(spec, "vmiName", incident->guest);
    api_add_unless_empty(spec, "migrationName", incident->migration);
    struct json_object *status = json_add_object(out, "status");
    json_add_text(status, "state", state_of(incident));
    json_add_text(status, "kind", incident_kind_name(incident->kind));
    json_add_text(status, "plane", incident->plane);
    json_add_text(status, "cause", incident->cause);
    api_add_unless_empty(status, "nodeName", incident->node);
    json_add_time(status, "since", incident->opened_ms);
    json_add_bool(status, "acknowledged", incident->end == INCIDENT_END_ACKNOWLEDGED);
    if (incident->end == INCIDENT_END_NONE)
        return out;
    json_add_time(status, "closedAt", incident->closed_ms);
    api_add_unless_empty(status, "closedBy", incident->by);
    return out;
}

static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    const struct incident *incident = &s->incidents[i];
    char age[API_SHORT_TEXT_MAX];
    api_age_text(incident->opened_ms, now_ms, age);
    const char *const texts[] = {
        state_of(incident), incident_kind_name(incident->kind),
        incident->guest,    incident->node,
        incident->cause,    age,
        incident->plane,    incident->by,
    };
    for (size_t t = 0; t < COUNT(texts); t++)
        json_add_text(cells, "", texts[t]);
}

static const char *field(const struct snapshot *s, size_t i, const char *key)
{
    const struct incident *incident = &s->incidents[i];
    const struct {
        const char *key, *value;
    } rows[] = {
        {"spec.vmiName", incident->guest},
        {"status.state", state_of(incident)},
        {"status.kind", incident_kind_name(incident->kind)},
        {"status.cause", incident->cause},
    };
    for (size_t r = 0; r < COUNT(rows); r++)
        if (text_equal(key, rows[r].key))
            return rows[r].value;
    return NULL;
}

const struct api_view api_incidents = {.count = count,
                                       .ns = ns,
                                       .name = name,
                                       .uid = uid,
                                       .is_same = is_same,
                                       .labels = labels,
                                       .object = object,
                                       .add_cells = add_cells,
                                       .fields =
                                           "spec.vmiName status.state status.kind status.cause",
                                       .field = field};
