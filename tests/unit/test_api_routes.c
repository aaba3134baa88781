/* test_api_routes.c - the API over the wire: events, discovery, and that every route answers. */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

static void events_are_found_by_object(void **state)
{
    static const struct {
        const char *path, *names;
    } rows[] = {
        {"/api/v1/events", "Running Migrated Draining Lost"},
        {"/api/v1/namespaces/default/events", "Running Migrated"},
        {"/api/v1/events?fieldSelector=involvedObject.uid%3D10000000-0000-4000-8000-000000000001",
         "Migrated"},
        {"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dmoving,"
         "involvedObject.kind%3DVirtualMachineInstanceMigration",
         "Running"},
        {"/api/v1/namespaces/default/events?fieldSelector=type%3DWarning", "Migrated"},
        {"/api/v1/events?fieldSelector=involvedObject.name%3Dc", "Lost"},
        {"/api/v1/events?fieldSelector=involvedObject.kind%3DNode,involvedObject.name%3Dc,"
         "involvedObject.uid%3D00000000-0000-4000-8000-000000000002",
         "Lost"},
        {"/api/v1/events?fieldSelector=involvedObject.kind%3DDrain,involvedObject.name%3Db-now",
         "Draining"},
        {"/api/v1/events?fieldSelector=involvedObject.name%3Dnobody", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = get(*state, rows[i].path);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "kind"), "EventList");
        char reasons[256] = "";
        struct json_object *items = json_at(a.json, "items");
        for (size_t e = 0; e < json_object_array_length(items); e++) {
            size_t n = strlen(reasons);
            (void)snprintf(
                reasons + n, sizeof reasons - n, "%s%s", e == 0 ? "" : " ",
                json_object_get_string(json_at(json_object_array_get_idx(items, e), "reason")));
        }
        assert_string_equal(reasons, rows[i].names);
        answer_fini(&a);
    }
}

static void an_event_tells_how_often_it_happened(void **state)
{
    struct answer a = get(*state, "/api/v1/events");
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"items.1.count", "3"},
        {"items.1.firstTimestamp", "2025-11-16T05:07:21Z"},
        {"items.1.lastTimestamp", "2025-11-16T05:07:31Z"},
        {"items.0.count", "1"},
        {"items.2.involvedObject.apiVersion", "ferry.internal/v1"},
        {"items.2.involvedObject.kind", "Drain"},
        {"items.3.count", "1"}, /* of an older store: it happened, so once at least */
        {"items.3.firstTimestamp", "2025-11-16T05:07:32Z"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i].path), rows[i].want);
    answer_fini(&a);
}

/* Where the resources of a kind's version are listed. */
static void list_path(const char *version, char *out, size_t out_bytes)
{
    (void)snprintf(out, out_bytes, "/%s/%s", strchr(version, '/') == NULL ? "api" : "apis",
                   version);
}

static void discovery_names_every_kind(void **state)
{
    static const char *const documents[][2] = {
        {"/api", "APIVersions"},
        {"/apis", "APIGroupList"},
        {"/api/v1", "APIResourceList"},
        {"/apis/kubevirt.io", "APIGroup"},
        {"/apis/ferry.internal", "APIGroup"},
        {"/apis/kubevirt.io/v1", "APIResourceList"},
    };
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct answer a = get(*state, documents[i][0]);
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "kind"), documents[i][1]);
        answer_fini(&a);
    }
    struct answer groups = get(*state, "/apis");
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_kind_row *row = api_kind_row(kind);
        char path[128], quoted[160];
        list_path(row->api_version, path, sizeof path);
        struct answer a = get(*state, path);
        (void)snprintf(quoted, sizeof quoted, "\"name\":\"%s\"", row->plural);
        assert_non_null(strstr(a.body, quoted));
        (void)snprintf(quoted, sizeof quoted, "\"groupVersion\":\"%s\"", row->api_version);
        if (strchr(row->api_version, '/') != NULL)
            assert_non_null(strstr(groups.body, quoted));
        answer_fini(&a);
    }
    answer_fini(&groups);
    struct answer a = get(*state, "/version");
    assert_string_equal(at(&a, "ferryVersion"), "0.1.0");
    answer_fini(&a);
}

/* A kubectl that does not find this deletes the pods instead of evicting them. */
static void discovery_offers_evictions(void **state)
{
    struct answer a = get(*state, "/api/v1");
    struct json_object *resources = json_at(a.json, "resources"), *found = NULL;
    for (size_t i = 0; i < json_object_array_length(resources); i++) {
        struct json_object *item = json_object_array_get_idx(resources, i);
        if (strcmp(json_object_get_string(json_at(item, "name")), "pods/eviction") == 0)
            found = item;
    }
    assert_non_null(found);
    assert_string_equal(json_object_get_string(json_at(found, "kind")), "Eviction");
    assert_string_equal(json_object_get_string(json_at(found, "group")), "policy");
    assert_string_equal(json_object_get_string(json_at(found, "version")), "v1");
    assert_string_equal(json_object_get_string(json_at(found, "verbs.0")), "create");
    answer_fini(&a);
}

/* Law: no group without resources (old clients ask again and again), every one with a schema. */
static void every_group_has_resources_and_a_schema(void **state)
{
    struct answer groups = get(*state, "/apis"), schemas = get(*state, "/openapi/v3");
    struct json_object *list = json_at(groups.json, "groups");
    assert_int_equal(json_object_array_length(list), 4);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        const char *version = json_object_get_string(
            json_at(json_object_array_get_idx(list, i), "preferredVersion.groupVersion"));
        char path[160], key[160];
        list_path(version, path, sizeof path);
        struct answer a = get(*state, path);
        assert_true(json_object_array_length(json_at(a.json, "resources")) > 0);
        answer_fini(&a);
        (void)snprintf(key, sizeof key, "apis/%s", version);
        struct json_object *url = json_at(
            json_object_object_get(json_at(schemas.json, "paths"), key), "serverRelativeURL");
        a = get(*state, json_object_get_string(url));
        assert_int_equal(a.status, 200);
        assert_string_equal(at(&a, "openapi"), "3.0.0");
        answer_fini(&a);
    }
    answer_fini(&groups);
    answer_fini(&schemas);
    static const char *const none[] = {"/apis/apps", "/apis/kubevirt.io/v9", "/apis/apps/v1"};
    for (size_t i = 0; i < COUNT(none); i++) {
        struct answer a = get(*state, none[i]);
        assert_refused(&a, 404, "NotFound");
        answer_fini(&a);
    }
}

/* What stands for {name} in a route of a kind, so that it is found. */
static const char *name_of(const struct http_route *route)
{
    static const char *const names[KIND_COUNT] = {
        [KIND_MIGRATION] = "moving", [KIND_INSTANCE] = "vm2",
        [KIND_NODE] = "a",           [KIND_POD] = "virt-launcher-vm2-abcde",
        [KIND_NAMESPACE] = "prod",   [KIND_QUOTA] = "small",
        [KIND_POLICY] = "gentle",    [KIND_DRAIN] = "b-now",
        [KIND_INCIDENT] = "broke",   [KIND_TOKEN] = "fresh", /* made just before */
    };
    return route->kind == KIND_NONE ? "v1" : names[route->kind];
}

static void path_of(const struct http_route *route, struct buf *out)
{
    for (const char *c = route->pattern; *c != '\0';) {
        if (text_has_prefix(c, "/apis/{name}")) {
            buf_add(out, "/apis/kubevirt.io");
            c += strlen("/apis/{name}");
        } else if (text_has_prefix(c, "{ns}")) {
            buf_add(out, route->kind == KIND_NONE    ? "kubevirt.io"
                         : route->kind == KIND_QUOTA ? "prod"
                                                     : "default");
            c += 4;
        } else if (text_has_prefix(c, "{name}")) {
            buf_add(out, name_of(route));
            c += 6;
        } else {
            buf_add_bytes(out, c++, 1);
        }
    }
}

/* The answer to a sensible request: what is read can be written back, an empty patch is fine. */
static struct answer call_route(const struct rig *rig, const struct http_route *route,
                                const char *path)
{
    static const char json[] = "Content-Type: application/json\r\n";
    size_t n = strlen(route->pattern);
    bool is_object = n > 6 && strcmp(route->pattern + n - 6, "{name}") == 0;
    bool names_a_guest = route->kind == KIND_MIGRATION || route->kind == KIND_CHECK;
    if (strcmp(route->method, "PATCH") == 0)
        return patch(rig, path, "merge-patch+json", "{}");
    if (strstr(route->pattern, "/recover") != NULL || strstr(route->pattern, "/ack") != NULL)
        return post(rig, path, "{}");
    if (strstr(route->pattern, "/adopt") != NULL)
        return post(rig, path, "{\"from\":\"a\",\"to\":\"b\"}");
    if (strstr(route->pattern, "/resolve") != NULL)
        return post(rig, path, "{\"guestAt\":\"source\",\"because\":\"seen\"}");
    if (strcmp(route->method, "POST") == 0)
        return post(rig, path,
                    route->kind == KIND_POD ? "{}"
                    : route->kind == KIND_TOKEN
                        ? "{\"metadata\":{\"name\":\"fresh\"},\"spec\":{\"role\":\"viewer\"}}"
                    : names_a_guest ? "{\"spec\":{\"vmiName\":\"vm3\"}}"
                                    : "{\"metadata\":{\"name\":\"fresh\"},\"spec\":{}}");
    if (strcmp(route->method, "PUT") != 0)
        return ask(rig, route->method, path, "", NULL);
    if (!is_object)
        return ask(rig, "PUT", path, json, "{}");
    struct answer now = get(rig, path), put = ask(rig, "PUT", path, json, now.body);
    answer_fini(&now);
    return put;
}

/* What discovery promises is what the routes do, and no route is dead. */
static void every_route_answers(void **state)
{
    size_t n;
    const struct http_route *routes = routes_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct buf path;
        buf_init(&path, 1024);
        path_of(&routes[i], &path);
        struct answer a = call_route(*state, &routes[i], path.data);
        int want = strstr(routes[i].pattern, "{name}/recover") != NULL      ? 202
                   : strstr(routes[i].pattern, "{name}/ack") != NULL        ? 200
                   : strstr(routes[i].pattern, "{name}/resolve") != NULL    ? 200
                   : strstr(routes[i].pattern, "{name}/adopt") != NULL      ? 202
                   : strstr(routes[i].pattern, "/reload") != NULL           ? 200
                   : strcmp(routes[i].pattern, "/query") == 0               ? 400 /* no question */
                   : strstr(routes[i].pattern, "/postmortem") != NULL       ? 404
                   : strcmp(routes[i].pattern, "/runbooks/{name}") == 0     ? 404 /* no such */
                   : strcmp(routes[i].pattern, "/page/{name}") == 0         ? 404
                   : strcmp(routes[i].pattern, "/docs/{name}") == 0         ? 404
                   : strcmp(routes[i].pattern, "/alerts/{name}") == 0       ? 404
                   : strcmp(routes[i].pattern, "/dashboards/{name}") == 0   ? 404
                   : strcmp(routes[i].method, "POST") == 0                  ? 201
                   : strcmp(routes[i].pattern, "/readyz") == 0              ? 503
                   : strstr(routes[i].pattern, "{name}/verdict") != NULL    ? 404 /* it moves */
                   : strstr(routes[i].pattern, "{name}/migrate") != NULL    ? 202
                   : routes[i].kind == KIND_POD && *routes[i].method == 'D' ? 405
                                                                            : 200;
        if (a.status != want)
            fail_msg("%s %s: %d: %s", routes[i].method, path.data, a.status, at(&a, "message"));
        assert_true(strlen(routes[i].help) > 0);
        answer_fini(&a);
        buf_fini(&path);
    }
}

/* What an alert links to is there. */
static void documents_alerts_and_dashboards_are_served(void **state)
{
    static const struct {
        const char *path, *begins;
    } rows[] = {
        {"/runbooks/FerryDown", "# FerryDown"},
        {"/runbooks/FerryDown.md", "# FerryDown"},
        {"/alerts/ferry.rules.yml", "# ferry.rules.yml"},
        {"/dashboards/fleet", "{"},
        {"/docs/queries", "# Ten questions"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = get(*state, rows[i].path);
        assert_int_equal(a.status, 200);
        assert_memory_equal(a.body, rows[i].begins, strlen(rows[i].begins));
        answer_fini(&a);
    }
    struct answer a = get(*state, "/runbooks/Ferry"); /* the beginning of many */
    assert_int_equal(a.status, 404);
    answer_fini(&a);
}

/* Law: a verb that discovery names has a route, and a route is named. */
static void verbs_are_routes(void **state)
{
    (void)state;
    static const struct {
        const char *verb, *method;
        bool of_one;
    } verbs[] = {{"create", "POST", false}, {"list", "GET", false},   {"get", "GET", true},
                 {"update", "PUT", true},   {"patch", "PATCH", true}, {"delete", "DELETE", true}};
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (size_t v = 0; v < COUNT(verbs); v++) {
            const struct api_kind_row *row = api_kind_row(kind);
            char path[256], allow[64];
            struct route_parts parts;
            (void)snprintf(path, sizeof path, "/%s/%s%s/%s%s",
                           strchr(row->api_version, '/') == NULL ? "api" : "apis", row->api_version,
                           row->namespaced ? "/namespaces/default" : "", row->plural,
                           verbs[v].of_one ? "/x" : "");
            const struct http_route *route = route_find(verbs[v].method, path, &parts, allow);
            bool is_refusal = kind == KIND_POD && strcmp(verbs[v].verb, "delete") == 0;
            bool promised = strstr(row->verbs, verbs[v].verb) != NULL;
            assert_int_equal(route != NULL && route->kind == kind && !is_refusal, promised);
        }
}

static void a_watch_of_events_is_refused_clearly(void **state)
{
    struct answer a = get(*state, "/api/v1/namespaces/default/events?watch=true");
    assert_refused(&a, 405, "MethodNotAllowed");
    answer_fini(&a);
    a = get(*state, "/api/v1/namespaces/default/events?watch=true&sendInitialEvents=true");
    assert_refused(&a, 422, "Invalid");
    answer_fini(&a);
    a = get(*state, VMIM_PATH "?watch=false");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_routes)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(events_are_found_by_object),
        WIRE_TEST(an_event_tells_how_often_it_happened),
        WIRE_TEST(discovery_names_every_kind),
        WIRE_TEST(discovery_offers_evictions),
        WIRE_TEST(every_group_has_resources_and_a_schema),
        cmocka_unit_test(verbs_are_routes),
        WIRE_TEST(every_route_answers),
        WIRE_TEST(documents_alerts_and_dashboards_are_served),
        WIRE_TEST(a_watch_of_events_is_refused_clearly),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api routes", tests, NULL, NULL);
}
