/* roles.h - roles.def as a table, and the decision: may this identity do that? Pure. */
#ifndef EXPORTER_ACCESS_ROLES_H
#define EXPORTER_ACCESS_ROLES_H

#include "exporter/access/identity.h"

/* What is asked for, as in Kubernetes' SubjectAccessReview: a resource, or a path. NULL: none. */
struct access_action {
    const char *verb; /* get, list, create, update, patch, delete */
    const char *group, *resource, *subresource;
    const char *ns;   /* of the resource or the path */
    const char *path; /* the pattern of the route; then there is no resource */
};

enum access_scope { SCOPE_EVERY, SCOPE_FLEET, SCOPE_NAMESPACE };
struct access_rule {
    const char *group, *resource, *verbs; /* of a resource; "pods/eviction", "get,list" */
    const char *path;                     /* or of a path */
    enum access_scope scope;
    enum access_role role;
};
/* All of them, resources first. */
const struct access_rule *access_rules(size_t *out_n);
/* NULL: there is none, nobody may. "*" as a verb, group or resource has none. */
const struct access_rule *access_rule_find(const struct access_action *action);
/* Does the rule hold for the verb? */
bool access_rule_has_verb(const struct access_rule *rule, const char *verb);
bool access_is_change(const struct access_rule *rule); /* NULL: no */

enum { ACCESS_WHO_MAX = 320, ACCESS_WHY_MAX = 2 * ACCESS_WHO_MAX + 64 };
/* False: out_why (ACCESS_WHY_MAX) says who cannot do what, and what is missing. */
bool access_allows(const struct access_identity *identity, const struct access_action *action,
                   char *out_why);
/* 'create virtualmachineinstancemigrations in namespace "web"', 'get /metrics'. */
void access_action_text(const struct access_action *action, char *out, size_t n);

#endif
