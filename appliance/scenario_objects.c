/* scenario_objects.c - the initial policies, quotas and namespaces of a scenario. See scenario.h.
 * Stored before the engine starts, which finds them as after a restart. */
#include <stdio.h>
#include <string.h>

#include "appliance/scenario.h"
#include "base/text.h"
#include "base/yaml.h"
#include "engine/model/objects/policy.h"
#include "engine/model/objects/quota.h"
#include "engine/model/settings/labels.h"

static bool read_name(const struct yaml *yaml, const struct yaml_node *map, const char *key,
                      char *out_name, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    const char *text;
    if (node == NULL)
        return yaml_fail(yaml, map, err, "an object of this kind requires a '%s'", key);
    if (!yaml_text(yaml, node, &text, err))
        return false;
    if (!text_is_dns_label(text))
        return yaml_fail(yaml, node, err, "%s '%s' is not a DNS label", key, text);
    (void)text_copy(out_name, HV_HOST_MAX, text);
    return true;
}

/* Validated as in the engine. */
static bool check_spec(enum object_kind kind, struct json_object *spec, const char *text,
                       struct err *err)
{
    if (kind == OBJECT_POLICY) {
        OWNED(policy) policy = policy_parse(text, err);
        return policy != NULL;
    }
    if (kind == OBJECT_QUOTA) {
        OWNED(quota) quota = quota_parse(text, err);
        return quota != NULL;
    }
    struct labels labels = {0};
    bool fine = labels_from(json_at(spec, "labels"), "spec.labels", &labels, err);
    labels_fini(&labels);
    return fine;
}

static bool read_object(const struct yaml *yaml, const struct yaml_node *map,
                        struct scenario_object *out, struct err *err)
{
    const struct yaml_node *kind = yaml_child(map, "kind"), *spec = yaml_child(map, "spec");
    const char *word = kind != NULL && kind->text != NULL ? kind->text : "";
    struct err inner = {0};
    out->kind = object_kind_from_name(word);
    if (out->kind != OBJECT_POLICY && out->kind != OBJECT_QUOTA && out->kind != OBJECT_NAMESPACE)
        return yaml_fail(yaml, kind != NULL ? kind : map, err,
                         "kind '%s' is none of MigrationPolicy, ResourceQuota, Namespace", word);
    if (!read_name(yaml, map, "name", out->name, err) ||
        (object_kind_is_spaced(out->kind) && !read_name(yaml, map, "namespace", out->ns, err)))
        return false;
    if (spec == NULL || spec->kind != YAML_MAP)
        return yaml_fail(yaml, map, err, "an object requires a 'spec'");
    OWNED(json_object) object = yaml_to_json(spec);
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    if (!check_spec(out->kind, object, text, &inner))
        return yaml_fail(yaml, spec, err, "%s", inner.text);
    out->spec_json = strdup(text);
    return out->spec_json != NULL ? true : err_set(err, ERR_NOMEM, "no memory for an object");
}

bool scenario_add_object(const struct yaml *yaml, const struct yaml_node *map,
                         struct scenario *scenario, struct err *err)
{
    static const char *const keys[] = {"kind", "name", "namespace", "spec"};
    if (map->kind != YAML_MAP)
        return yaml_fail(yaml, map, err, "expected a map of keys and values");
    if (!yaml_only_keys(yaml, map, keys, COUNT(keys), err))
        return false;
    if (scenario->n_objects == SCENARIO_OBJECTS_MAX)
        return yaml_fail(yaml, map, err, "at most %d objects", SCENARIO_OBJECTS_MAX);
    if (scenario->objects == NULL)
        scenario->objects = calloc(SCENARIO_OBJECTS_MAX, sizeof *scenario->objects);
    if (scenario->objects == NULL)
        return err_set(err, ERR_NOMEM, "no memory for objects");
    return read_object(yaml, map, &scenario->objects[scenario->n_objects++], err);
}

bool scenario_seed(const struct scenario *scenario, struct store *store, int64_t wall_ms,
                   struct err *err)
{
    if (scenario->n_objects == 0)
        return true;
    store->ops->begin(store);
    for (size_t i = 0; i < scenario->n_objects; i++) {
        const struct scenario_object *object = &scenario->objects[i];
        char uid[HV_UUID_MAX];
        (void)snprintf(uid, sizeof uid, "00000000-0000-4000-9000-%012x", (unsigned)(i + 1));
        const struct store_object row = {
            .kind = object_kind_name(object->kind),
            .ns = object->ns,
            .name = object->name,
            .uid = uid,
            .requester = "simulation",
            .spec_json = object->spec_json,
            .created_ms = wall_ms,
            .changed_ms = wall_ms,
            .resource_version = (int64_t)i + 1,
        };
        store->ops->put_object(store, &row);
    }
    return store->ops->commit(store, err);
}
