/* quota.c - see quota.h. */
#include "engine/model/objects/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"

enum resource { CPU, LAUNCHERS, MEMORY, RESOURCE_COUNT }; /* in the order of the message */

static const char *const shown[RESOURCE_COUNT] = {
    [CPU] = "cpu", [LAUNCHERS] = "launchers", [MEMORY] = "memory"};

static const struct {
    const char *name;
    enum resource resource;
} names[] = {
    {"launchers", LAUNCHERS},
    {"pods", LAUNCHERS},
    {"count/pods", LAUNCHERS},
    {"memory", MEMORY},
    {"requests.memory", MEMORY},
    {"limits.memory", MEMORY},
    {"cpu", CPU},
    {"requests.cpu", CPU},
    {"limits.cpu", CPU},
};

static uint64_t amount(const struct resources *resources, enum resource resource)
{
    switch (resource) {
    case CPU: return resources->vcpus;
    case LAUNCHERS: return resources->launchers;
    case MEMORY: return resources->memory_kib;
    case RESOURCE_COUNT: break;
    }
    return 0;
}

static bool is_limited(const struct quota *quota, enum resource resource)
{
    switch (resource) {
    case CPU: return quota->has_vcpus;
    case LAUNCHERS: return quota->has_launchers;
    case MEMORY: return quota->has_memory;
    case RESOURCE_COUNT: break;
    }
    return false;
}

static void limit(bool *has, uint64_t *hard, uint64_t value)
{
    if (!*has || value < *hard)
        *hard = value;
    *has = true;
}

/* A text or a whole number, as quantities are written. */
static bool read_quantity(struct json_object *value, const char *where, bool whole, int64_t *out,
                          struct err *err)
{
    if (!json_object_is_type(value, json_type_string) && !json_object_is_type(value, json_type_int))
        return err_set(err, ERR_UNPROCESSABLE, "%s: expected a quantity such as \"64Gi\"", where);
    const char *text = json_object_get_string(value);
    return whole ? quantity_parse_whole(text, where, out, err)
                 : quantity_parse(text, where, out, err);
}

/* A fraction of a KiB or a CPU is of no use to a launcher: limits are rounded down. */
static bool read_limit(enum resource resource, struct json_object *value, const char *where,
                       struct quota *quota, struct err *err)
{
    int64_t number;
    if (!read_quantity(value, where, resource == MEMORY, &number, err))
        return false;
    switch (resource) {
    case CPU: limit(&quota->has_vcpus, &quota->hard.vcpus, (uint64_t)number / 1000); break;
    case MEMORY: limit(&quota->has_memory, &quota->hard.memory_kib, (uint64_t)number / 1024); break;
    case LAUNCHERS:
        if (number % 1000 != 0)
            return err_set(err, ERR_UNPROCESSABLE, "%s: must be an integer", where);
        limit(&quota->has_launchers, &quota->hard.launchers, (uint64_t)number / 1000);
        break;
    case RESOURCE_COUNT: break;
    }
    return true;
}

static bool unknown_resource(const char *name, struct err *err)
{
    const char *known[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++)
        known[i] = names[i].name;
    const char *nearest = text_nearest(name, known, COUNT(names));
    if (nearest != NULL)
        return err_set(err, ERR_UNPROCESSABLE,
                       "spec.hard: \"%.60s\" cannot be limited; did you mean %s?", name, nearest);
    return err_set(err, ERR_UNPROCESSABLE,
                   "spec.hard: \"%.60s\" cannot be limited; valid: launchers, memory, cpu", name);
}

static bool read_hard(struct json_object *hard, struct quota *quota, struct err *err)
{
    if (!json_object_is_type(hard, json_type_object))
        return err_set(err, ERR_UNPROCESSABLE, "spec.hard: expected an object");
    json_object_object_foreach(hard, key, value)
    {
        size_t i = 0;
        while (i < COUNT(names) && strcmp(names[i].name, key) != 0)
            i++;
        if (i == COUNT(names))
            return unknown_resource(key, err);
        char where[64];
        (void)snprintf(where, sizeof where, "spec.hard.%s", names[i].name);
        if (!read_limit(names[i].resource, value, where, quota, err))
            return false;
    }
    return true;
}

static bool read_spec(struct json_object *spec, struct quota *quota, struct err *err)
{
    if (!json_object_is_type(spec, json_type_object))
        return err_set(err, ERR_UNPROCESSABLE, "spec: expected an object");
    struct json_object *hard = NULL;
    json_object_object_foreach(spec, key, value)
    {
        if (strcmp(key, "hard") != 0)
            return err_set(err, ERR_UNPROCESSABLE, "spec: unknown field \"%.60s\"", key);
        hard = value;
    }
    return hard == NULL || read_hard(hard, quota, err);
}

struct quota *quota_parse(const char *spec_json, struct err *err)
{
    OWNED(json_object) spec = json_parse(spec_json, strlen(spec_json), "spec", err);
    if (spec == NULL)
        return NULL;
    OWNED(quota) quota = calloc(1, sizeof *quota);
    if (quota == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory: quota");
        return NULL;
    }
    if (!read_spec(spec, quota, err)) {
        if (err->code == ERR_INVALID) /* the JSON is valid, a field is not */
            err->code = ERR_UNPROCESSABLE;
        return NULL;
    }
    return TAKE(quota);
}

void quota_free(struct quota *quota)
{
    free(quota);
}

static bool is_exceeded(const struct quota *quota, const struct resources *used,
                        const struct resources *more, enum resource resource)
{
    uint64_t wanted = amount(more, resource), sum;
    if (wanted == 0 || !is_limited(quota, resource))
        return false;
    return __builtin_add_overflow(wanted, amount(used, resource), &sum) ||
           sum > amount(&quota->hard, resource);
}

/* "memory=1536Mi": the biggest unit without a fraction. */
static void add_amount(struct buf *buf, enum resource resource, uint64_t value)
{
    static const char *const units[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t unit = 0;
    while (resource == MEMORY && value != 0 && value % 1024 == 0 && unit + 1 < COUNT(units)) {
        value /= 1024;
        unit++;
    }
    buf_addf(buf, "%s=%" PRIu64 "%s", shown[resource], value,
             resource == MEMORY && value != 0 ? units[unit] : "");
}

static void add_amounts(struct buf *buf, const char *what, const struct resources *resources,
                        const bool *listed)
{
    const char *gap = "";
    buf_addf(buf, ", %s: ", what);
    for (enum resource resource = 0; resource < RESOURCE_COUNT; resource++) {
        if (!listed[resource])
            continue;
        buf_add(buf, gap);
        add_amount(buf, resource, amount(resources, resource));
        gap = ",";
    }
}

bool quota_allows(const struct quota *quota, const char *name, const struct resources *used,
                  const struct resources *more, char out_text[static QUOTA_TEXT_MAX])
{
    bool exceeded[RESOURCE_COUNT], any = false;
    for (enum resource resource = 0; resource < RESOURCE_COUNT; resource++) {
        exceeded[resource] = is_exceeded(quota, used, more, resource);
        any = any || exceeded[resource];
    }
    out_text[0] = '\0';
    if (!any)
        return true;
    struct buf buf;
    buf_init(&buf, QUOTA_TEXT_MAX - 1);
    buf_addf(&buf, "exceeded quota: %.63s", name);
    add_amounts(&buf, "requested", more, exceeded);
    add_amounts(&buf, "used", used, exceeded);
    add_amounts(&buf, "limited", &quota->hard, exceeded);
    (void)text_copy(out_text, QUOTA_TEXT_MAX, buf.data == NULL ? "exceeded quota" : buf.data);
    buf_fini(&buf);
    return false;
}
