/* monitor_save.c - a monitor's state as text and back, so that an interrupted one continues
 * where it was. See monitor.h. */
#include <string.h>

#include "base/json.h"
#include "engine/data/monitor_rules.h"

#define NUMBER_MAX INT64_C(1152921504606846976) /* 2^60, the upper bound of a monitor's numbers */

static void add_BOOL(struct json_object *object, const char *key, bool value)
{
    json_add_bool(object, key, value);
}
static void add_TIME(struct json_object *object, const char *key, int64_t value)
{
    json_add_i64(object, key, value);
}
static void add_SIZE(struct json_object *object, const char *key, uint64_t value)
{
    json_add_i64(object, key, (int64_t)value);
}
static void add_RATE(struct json_object *object, const char *key, double value)
{
    json_add(object, key, json_object_new_double(value)); /* written with 17 digits: the same */
}
static void add_WHY(struct json_object *object, const char *key, enum decision value)
{
    json_add_text(object, key, decision_name(value));
}

static bool get_BOOL(struct json_object *value, bool *out)
{
    *out = json_object_get_boolean(value) != 0;
    return json_object_is_type(value, json_type_boolean);
}
static bool get_TIME(struct json_object *value, int64_t *out)
{
    *out = json_object_get_int64(value);
    return json_object_is_type(value, json_type_int) && *out >= 0 && *out <= NUMBER_MAX;
}
static bool get_SIZE(struct json_object *value, uint64_t *out)
{
    int64_t number = 0;
    bool is = get_TIME(value, &number);
    *out = is ? (uint64_t)number : 0;
    return is;
}
static bool get_RATE(struct json_object *value, double *out)
{
    *out = json_object_get_double(value);
    bool is =
        json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);
    return is && *out >= 0 && *out <= (double)NUMBER_MAX * 1000;
}
static bool get_WHY(struct json_object *value, enum decision *out)
{
    *out = json_object_is_type(value, json_type_string)
               ? decision_from_name(json_object_get_string(value))
               : DECISION_COUNT;
    return *out < DECISION_COUNT;
}

static struct json_object *state_json(const struct monitor *m)
{
    struct json_object *object = json_object_new_object();
#define STATE(type, id) add_##type(object, #id, m->id);
#define FLOW(type, id) add_##type(object, #id, m->flow.id);
#define PAST(type, id) add_##type(object, #id, m->past.id);
#include "engine/data/monitor.def"
#undef PAST
#undef FLOW
#undef STATE
    return object;
}

static bool get_state(struct json_object *object, struct monitor *m)
{
    bool good = true;
#define STATE(type, id) good = get_##type(json_at(object, #id), &m->id) && good;
#define FLOW(type, id) good = get_##type(json_at(object, #id), &m->flow.id) && good;
#define PAST(type, id) good = get_##type(json_at(object, #id), &m->past.id) && good;
#include "engine/data/monitor.def"
#undef PAST
#undef FLOW
#undef STATE
    return good;
}

static void add_lists(struct json_object *object, const struct monitor *m)
{
    struct json_object *minima = json_add_array(object, "minima");
    for (size_t i = 0; i < m->n_minima; i++) {
        struct json_object *one = json_add_array(minima, "");
        add_SIZE(one, "", m->minima[i].remaining);
        add_TIME(one, "", m->minima[i].at_ms);
    }
    struct json_object *later = json_add_array(object, "later");
    for (size_t i = 0; i < m->n_later; i++)
        add_SIZE(later, "", m->later[i]);
}

static bool get_list(struct json_object *object, const char *key, size_t max,
                     struct json_object **out_list, size_t *out_n)
{
    *out_list = json_at(object, key);
    if (!json_object_is_type(*out_list, json_type_array))
        return false;
    *out_n = json_object_array_length(*out_list);
    return *out_n <= max;
}

static bool get_lists(struct json_object *object, struct monitor *m)
{
    struct json_object *minima, *later;
    if (!get_list(object, "minima", MONITOR_MINIMA_MAX, &minima, &m->n_minima) ||
        !get_list(object, "later", MONITOR_LATER_MAX, &later, &m->n_later))
        return false;
    for (size_t i = 0; i < m->n_minima; i++) {
        struct json_object *one = json_object_array_get_idx(minima, i);
        if (!get_SIZE(json_at(one, "0"), &m->minima[i].remaining) ||
            !get_TIME(json_at(one, "1"), &m->minima[i].at_ms))
            return false;
    }
    for (size_t i = 0; i < m->n_later; i++)
        if (!get_SIZE(json_object_array_get_idx(later, i), &m->later[i]))
            return false;
    return true;
}

char *monitor_save(const struct monitor *m)
{
    OWNED(json_object) object = json_object_new_object();
    json_add_text(object, "monitor", m->kind == MONITOR_LEGACY ? "legacy" : "stall");
    json_add(object, "config", migration_config_json(&m->config));
    json_add_bool(object, "disruptionSaid", m->config.disruption_set);
    add_SIZE(object, "memoryBytes", m->facts.memory_bytes);
    add_SIZE(object, "diskBytes", m->facts.disk_bytes);
    json_add_bool(object, "vfio", m->facts.vfio);
    json_add_bool(object, "tuning", m->facts.tuning);
    json_add(object, "state", state_json(m));
    add_lists(object, m);
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    return text == NULL ? NULL : strdup(text);
}

static bool get_kind(struct json_object *value, enum monitor_kind *out)
{
    const char *name = json_object_get_string(value);
    *out = name != NULL && strcmp(name, "legacy") == 0 ? MONITOR_LEGACY : MONITOR_STALL;
    return name != NULL && (*out == MONITOR_LEGACY || strcmp(name, "stall") == 0);
}

bool monitor_load(const char *json, struct monitor *out_m)
{
    struct err err = {0};
    OWNED(json_object)
    object = json == NULL ? NULL : json_parse(json, strlen(json), "monitor", &err);
    struct json_object *config = json_at(object, "config");
    if (!json_object_is_type(config, json_type_object))
        return false;
    struct monitor m;
    memset(&m, 0, sizeof m);
    migration_config_restore(json_object_to_json_string_ext(config, JSON_C_TO_STRING_PLAIN),
                             &m.config);
    if (!get_kind(json_at(object, "monitor"), &m.kind) ||
        !get_BOOL(json_at(object, "disruptionSaid"), &m.config.disruption_set) ||
        !get_SIZE(json_at(object, "memoryBytes"), &m.facts.memory_bytes) ||
        !get_SIZE(json_at(object, "diskBytes"), &m.facts.disk_bytes) ||
        !get_BOOL(json_at(object, "vfio"), &m.facts.vfio) ||
        !get_BOOL(json_at(object, "tuning"), &m.facts.tuning) ||
        !get_state(json_at(object, "state"), &m) || !get_lists(object, &m))
        return false;
    *out_m = m;
    return true;
}
