/* policy.c - see policy.h. */
#include "engine/model/objects/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static bool has(uint64_t set, enum setting setting)
{
    return (set & UINT64_C(1) << setting) != 0;
}

static bool read_selectors(struct json_object *selectors, struct policy *policy, struct err *err)
{
    if (selectors == NULL)
        return true;
    if (!json_object_is_type(selectors, json_type_object))
        return err_set(err, ERR_UNPROCESSABLE, "spec.selectors: expected an object");
    policy->has_selectors = true;
    json_object_object_foreach(selectors, key, member)
    {
        struct labels *into = NULL;
        if (strcmp(key, "virtualMachineInstanceSelector") == 0)
            into = &policy->guest;
        else if (strcmp(key, "namespaceSelector") == 0)
            into = &policy->ns;
        else
            return err_set(err, ERR_UNPROCESSABLE,
                           "spec.selectors: unknown field \"%.60s\"; valid: namespaceSelector "
                           "and virtualMachineInstanceSelector",
                           key);
        char where[64];
        (void)snprintf(where, sizeof where, "spec.selectors.%.40s", key);
        if (!labels_from(member, where, into, err))
            return false;
    }
    return true;
}

static bool read_spec(struct json_object *spec, struct policy *policy, struct err *err)
{
    static const char *const ignored[] = {"selectors", NULL};
    if (!json_object_is_type(spec, json_type_object))
        return err_set(err, ERR_UNPROCESSABLE, "spec: expected an object");
    migration_config_default(&policy->values);
    policy->retired = json_at(spec, SETTING_RETIRED) != NULL;
    return read_selectors(json_at(spec, "selectors"), policy, err) &&
           migration_config_read(spec, true, ignored, &policy->values, &policy->set, err);
}

struct policy *policy_parse(const char *spec_json, struct err *err)
{
    OWNED(json_object) spec = json_parse(spec_json, strlen(spec_json), "spec", err);
    if (spec == NULL)
        return NULL;
    OWNED(policy) policy = calloc(1, sizeof *policy);
    if (policy == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory: policy");
        return NULL;
    }
    if (!read_spec(spec, policy, err)) {
        if (err->code == ERR_INVALID) /* the JSON is valid, a field is not */
            err->code = ERR_UNPROCESSABLE;
        return NULL;
    }
    return TAKE(policy);
}

void policy_free(struct policy *policy)
{
    if (policy == NULL)
        return;
    labels_fini(&policy->guest);
    labels_fini(&policy->ns);
    free(policy);
}

void policy_match(const struct policy *policy, const struct labels *guest, const struct labels *ns,
                  struct policy_score *out_score)
{
    *out_score = (struct policy_score){0};
    const struct label *missing = NULL;
    const char *who = NULL;
    if (!labels_cover(guest, &policy->guest, &missing))
        who = "guest";
    else if (!labels_cover(ns, &policy->ns, &missing))
        who = "namespace";
    if (!policy->has_selectors)
        (void)snprintf(out_score->why_not, sizeof out_score->why_not,
                       "no selectors: never applies");
    else if (who != NULL)
        (void)snprintf(out_score->why_not, sizeof out_score->why_not, "%s: label %s=%s is missing",
                       who, missing->key, missing->value);
    else
        *out_score = (struct policy_score){.matches = true,
                                           .guest_pairs = (unsigned)policy->guest.n,
                                           .ns_pairs = (unsigned)policy->ns.n};
}

bool policy_better(const struct policy_score *a, const char *a_name, const struct policy_score *b,
                   const char *b_name)
{
    unsigned a_sum = a->guest_pairs + a->ns_pairs, b_sum = b->guest_pairs + b->ns_pairs;
    if (a_sum != b_sum)
        return a_sum > b_sum;
    if (a->guest_pairs != b->guest_pairs)
        return a->guest_pairs > b->guest_pairs;
    return strcmp(a_name, b_name) < 0;
}

void policy_merge(const struct migration_config *fleet, const struct policy *policy,
                  struct migration_config *out_config)
{
    struct migration_config config = *fleet;
    if (!config.disruption_set)
        config.disruption = config.post_copy;
    if (policy != NULL) {
        migration_config_overlay(&config, &policy->values, policy->set);
        if (has(policy->set, SETTING_post_copy) && !has(policy->set, SETTING_disruption))
            config.disruption = policy->values.post_copy;
    }
    *out_config = config;
}
