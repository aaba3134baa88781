/* policy.h - MigrationPolicy: which one applies to a guest, and the resulting configuration.
 *
 * A policy without selectors never matches; empty selectors match everything with score 0. Every
 * pair must match, in the guest's labels and in its namespace's. More pairs win, then more pairs
 * of the guest, then the smaller name. Pure. */
#ifndef ENGINE_MODEL_OBJECTS_POLICY_H
#define ENGINE_MODEL_OBJECTS_POLICY_H

#include "base/own.h"
#include "engine/model/settings/labels.h"
#include "engine/model/settings/migration_config.h"

struct policy {
    bool has_selectors;
    struct labels guest, ns; /* virtualMachineInstanceSelector, namespaceSelector */
    uint64_t set;            /* bits of enum setting */
    bool retired;            /* it has SETTING_RETIRED, which has no effect */
    struct migration_config values;
};
/* From a MigrationPolicy's spec. ERR_UNPROCESSABLE with the field. */
struct policy *policy_parse(const char *spec_json, struct err *err);
void policy_free(struct policy *policy);
DEFINE_OWNED(policy)

struct policy_score {
    bool matches;
    unsigned guest_pairs, ns_pairs;
    char why_not[160]; /* "namespace: label env=prod is missing"; empty when it matches */
};
void policy_match(const struct policy *policy, const struct labels *guest, const struct labels *ns,
                  struct policy_score *out_score);
/* Is a better than b? Both match; names break ties. */
bool policy_better(const struct policy_score *a, const char *a_name, const struct policy_score *b,
                   const char *b_name);
/* The fleet's configuration overridden by the policy (NULL: none). A policy that allows
 * post-copy and does not set disruption allows disruption too. */
void policy_merge(const struct migration_config *fleet, const struct policy *policy,
                  struct migration_config *out_config);

#endif
