/* test_api_roles.c - the table of roles: laws over every route and every rule, and what a refusal
 * says. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "exporter/api/routes.h"
#include "tests/test.h"

static void every_route_has_a_rule(void **state)
{
    (void)state;
    size_t n;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct route_action storage;
        struct access_action action = route_action(&routes[i], "default", &storage);
        const struct access_rule *rule = access_rule_find(&action);
        if (rule == NULL || rule->role == ROLE_NONE)
            fail_msg("%s %s: nobody may (%s %s/%s of '%s')", routes[i].method, routes[i].pattern,
                     action.verb, storage.resource, storage.subresource, storage.group);
    }
}

static void every_rule_is_of_a_route(void **state)
{
    (void)state;
    size_t n, n_routes;
    const struct access_rule *rules = access_rules(&n);
    const struct http_route *routes = routes_all(&n_routes);
    for (size_t i = 0; i < n; i++) {
        size_t found = 0, verbs = 1;
        for (const char *c = rules[i].verbs; c != NULL && *c != '\0'; c++)
            verbs += *c == ',';
        char seen[512] = "";
        for (size_t k = 0; k < n_routes; k++) {
            struct route_action storage;
            struct access_action action = route_action(&routes[k], "default", &storage);
            if (access_rule_find(&action) != &rules[i] || strstr(seen, action.verb) != NULL)
                continue;
            found++;
            (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s ", action.verb);
        }
        if (rules[i].verbs != NULL && strstr(rules[i].verbs, "list,watch") != NULL)
            found++; /* a watch is a list that goes on: it has the list's route */
        if (found != verbs)
            fail_msg("%s%s %s: %zu of %zu verbs have a route", rules[i].path ? rules[i].path : "",
                     rules[i].resource ? rules[i].resource : "",
                     rules[i].verbs ? rules[i].verbs : "", found, verbs);
    }
}

/* POST, PUT, PATCH and DELETE change something, but for these. */
static void only_known_posts_are_reads(void **state)
{
    (void)state;
    static const char *const reads[] = {"/query", "/apis/ferry.internal/v1/namespaces/{ns}/checks",
                                        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                                        "/apis/authentication.k8s.io/v1/selfsubjectreviews"};
    size_t n;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct route_action storage;
        struct access_action action = route_action(&routes[i], "default", &storage);
        bool is_read = strcmp(routes[i].method, "GET") == 0;
        for (size_t k = 0; k < COUNT(reads); k++)
            is_read = is_read || strcmp(reads[k], routes[i].pattern) == 0;
        if (!is_read && !access_is_change(access_rule_find(&action)))
            fail_msg("%s %s is a change that a viewer may make", routes[i].method,
                     routes[i].pattern);
    }
}

/* Every cell: role, namespace of the role, rule. */
static void a_role_allows_what_its_rule_needs_where_it_holds(void **state)
{
    (void)state;
    size_t n;
    const struct http_route *routes = routes_all(&n);
    static const char *const spaces[] = {"", "default", "other"};
    for (size_t i = 0; i < n; i++)
        for (enum access_role role = ROLE_NONE; role < ROLE_COUNT; role++)
            for (size_t s = 0; s < COUNT(spaces); s++) {
                char why[ACCESS_WHY_MAX];
                struct route_action storage;
                bool has_ns = strstr(routes[i].pattern, "{ns}") != NULL;
                struct access_action action =
                    route_action(&routes[i], has_ns ? "default" : NULL, &storage);
                const struct access_rule *rule = access_rule_find(&action);
                struct access_identity identity = {.source = SOURCE_TOKEN, .role = role};
                TEXT_SET(identity.ns, spaces[s]);
                bool is_in_reach = s == 0 || rule->scope == SCOPE_EVERY ||
                                   (rule->scope == SCOPE_NAMESPACE && has_ns && s == 1);
                bool want = role >= rule->role && is_in_reach;
                if (access_allows(&identity, &action, why) != want)
                    fail_msg("%s %s as %s in '%s'", routes[i].method, routes[i].pattern,
                             access_role_name(role), spaces[s]);
            }
}

static void a_refusal_says_who_cannot_do_what_and_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        struct access_identity who;
        struct access_action what;
        const char *says;
    } rows[] = {
        {{SOURCE_TOKEN, ROLE_VIEWER, "x", "", ""},
         {"create", "kubevirt.io", "virtualmachineinstancemigrations", NULL, "y", NULL},
         "token \"x\" with role viewer cannot create virtualmachineinstancemigrations in namespace "
         "\"y\": needs operator"},
        {{SOURCE_TOKEN, ROLE_ADMIN, "ci", "web", ""},
         {"list", "", "nodes", NULL, NULL, NULL},
         "token \"ci\" with role admin in namespace \"web\" cannot list nodes: needs viewer in all "
         "namespaces"},
        {{SOURCE_SOCKET, ROLE_OPERATOR, "bob", "", ""},
         {"create", "ferry.internal", "tokens", NULL, NULL, NULL},
         "socket user \"bob\" with role operator cannot create tokens: needs admin"},
        {{SOURCE_SOCKET, ROLE_ADMIN, "root", "", ""},
         {"create", "", "secrets", NULL, NULL, NULL},
         "socket user \"root\" with role admin cannot create secrets: no role allows it"},
        {{SOURCE_CERTIFICATE, ROLE_VIEWER, "p", "web", ""},
         {"get", NULL, NULL, NULL, NULL, "/metrics"},
         "certificate \"p\" with role viewer in namespace \"web\" cannot get /metrics: needs "
         "viewer "
         "in all namespaces"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char why[ACCESS_WHY_MAX];
        assert_false(access_allows(&rows[i].who, &rows[i].what, why));
        assert_string_equal(why, rows[i].says);
    }
}

/* A name is the client's choice, and is shown in the journal and in terminals. */
static void a_stored_identity_is_printable_ascii(void **state)
{
    (void)state;
    static const struct {
        struct access_identity who;
        const char *id;
    } rows[] = {
        {{.source = SOURCE_ANONYMOUS}, "anonymous"},
        {{.source = SOURCE_TOKEN, .name = "ci"}, "token:ci"},
        {{.source = SOURCE_CERTIFICATE, .name = " a b~"}, "certificate: a b~"},
        {{.source = SOURCE_CERTIFICATE, .name = "J\xc3\xb6rg"}, "certificate:J??rg"},
        {{.source = SOURCE_PASSWORD, .name = "x\n\x1f\x7f\x1b[2J"}, "user:x????[2J"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char id[ACCESS_NAME_MAX + 16];
        access_identity_id(&rows[i].who, id, sizeof id);
        assert_string_equal(id, rows[i].id);
    }
}

TEST_FILE(test_api_roles)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_has_a_rule),
        cmocka_unit_test(every_rule_is_of_a_route),
        cmocka_unit_test(only_known_posts_are_reads),
        cmocka_unit_test(a_role_allows_what_its_rule_needs_where_it_holds),
        cmocka_unit_test(a_refusal_says_who_cannot_do_what_and_what_is_missing),
        cmocka_unit_test(a_stored_identity_is_printable_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
