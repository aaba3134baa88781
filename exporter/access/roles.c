/* roles.c - see roles.h. */
#include "exporter/access/roles.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const struct access_rule rules[] = {
#define RULE(group, resource, verbs, role) \
    {group, resource, verbs, NULL, SCOPE_NAMESPACE, ROLE_##role},
#define PATH(route, scope, role) {NULL, NULL, NULL, route, SCOPE_##scope, ROLE_##role},
#include "exporter/access/roles.def"
#undef PATH
#undef RULE
};

const struct access_rule *access_rules(size_t *out_n)
{
    *out_n = COUNT(rules);
    return rules;
}

bool access_rule_has_verb(const struct access_rule *rule, const char *verb)
{
    size_t n = strlen(verb);
    for (const char *at = rule->verbs; at != NULL && n > 0; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, verb, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* "pods/eviction" is resource "pods", subresource "eviction". */
static bool is_resource(const struct access_rule *rule, const struct access_action *action)
{
    const char *sub = action->subresource == NULL ? "" : action->subresource;
    size_t n = strlen(action->resource);
    return strncmp(rule->resource, action->resource, n) == 0 &&
           (*sub == '\0' ? rule->resource[n] == '\0'
                         : rule->resource[n] == '/' && strcmp(rule->resource + n + 1, sub) == 0);
}

const struct access_rule *access_rule_find(const struct access_action *action)
{
    for (size_t i = 0; i < COUNT(rules); i++) {
        const struct access_rule *rule = &rules[i];
        if (action->path != NULL
                ? text_equal(rule->path, action->path)
                : rule->path == NULL && action->resource != NULL &&
                      text_equal(rule->group, action->group) && is_resource(rule, action) &&
                      access_rule_has_verb(rule, action->verb))
            return rule;
    }
    return NULL;
}

bool access_is_change(const struct access_rule *rule)
{
    return rule != NULL && rule->role > ROLE_VIEWER;
}

void access_action_text(const struct access_action *action, char *out, size_t n)
{
    bool has_sub = action->subresource != NULL && action->subresource[0] != '\0';
    bool has_ns = action->ns != NULL && action->ns[0] != '\0';
    if (action->path != NULL)
        (void)snprintf(out, n, "%s %s", action->verb, action->path);
    else
        (void)snprintf(out, n, "%s %.100s%s%.60s%s%.63s%s", action->verb,
                       action->resource == NULL ? "nothing" : action->resource, has_sub ? "/" : "",
                       has_sub ? action->subresource : "", has_ns ? " in namespace \"" : "",
                       has_ns ? action->ns : "", has_ns ? "\"" : "");
}

/* Does the role of an identity hold where the action is? */
static bool is_in_reach(const struct access_identity *identity, const struct access_rule *rule,
                        const struct access_action *action)
{
    return identity->ns[0] == '\0' || rule->scope == SCOPE_EVERY ||
           (rule->scope == SCOPE_NAMESPACE && text_equal(action->ns, identity->ns));
}

bool access_allows(const struct access_identity *identity, const struct access_action *action,
                   char *out_why)
{
    const struct access_rule *rule = access_rule_find(action);
    bool has_role = rule != NULL && identity->role >= rule->role && rule->role > ROLE_NONE;
    if (has_role && is_in_reach(identity, rule, action))
        return true;
    char who[ACCESS_WHO_MAX], what[ACCESS_WHO_MAX];
    access_identity_text(identity, who, sizeof who);
    access_action_text(action, what, sizeof what);
    bool has_ns = action->ns != NULL && action->ns[0] != '\0';
    if (rule == NULL)
        (void)snprintf(out_why, ACCESS_WHY_MAX, "%s cannot %s: no role allows it", who, what);
    else
        (void)snprintf(out_why, ACCESS_WHY_MAX, "%s cannot %s: needs %s%s", who, what,
                       access_role_name(rule->role),
                       identity->ns[0] == '\0' ? ""
                       : has_ns                ? " in that namespace"
                                               : " in all namespaces");
    return false;
}
