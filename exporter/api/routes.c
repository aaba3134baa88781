/* routes.c - see routes.h. */
#include "exporter/api/routes.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

static const struct http_route routes[] = {
#define ROUTE(method, pattern, handler, kind, lane, help) \
    {#method, pattern, handler, KIND_##kind, HTTP_LANE_##lane, help},
#include "exporter/api/routes.def"
#undef ROUTE
};

static const struct api_kind_row kinds[KIND_COUNT] = {
#define KIND(id, plural, singular, kind, api_version, namespaced, short_names, verbs) \
    [KIND_##id] = {plural, singular, kind, api_version, namespaced, short_names, verbs},
#include "exporter/api/kinds.def"
#undef KIND
};

const struct api_kind_row *api_kind_row(enum api_kind kind)
{
    assert(kind > KIND_NONE && kind < KIND_COUNT);
    return &kinds[kind];
}

const struct http_route *routes_all(size_t *out_n)
{
    *out_n = COUNT(routes);
    return routes;
}

/* Copies n bytes as one part of a path; false when empty or too long. */
static bool take_part(char *out, const char *from, size_t n)
{
    if (n == 0 || n >= ROUTE_PART_MAX)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

static bool part_matches(const char *pattern, size_t pattern_n, const char *path, size_t path_n,
                         struct route_parts *parts)
{
    if (pattern_n == 4 && memcmp(pattern, "{ns}", 4) == 0)
        return parts->has_ns = take_part(parts->ns, path, path_n);
    if (pattern_n == 6 && memcmp(pattern, "{name}", 6) == 0)
        return parts->has_name = take_part(parts->name, path, path_n);
    return pattern_n == path_n && memcmp(pattern, path, path_n) == 0;
}

static bool path_matches(const char *pattern, const char *path, struct route_parts *parts)
{
    *parts = (struct route_parts){0};
    while (*pattern == '/' && *path == '/') {
        size_t pattern_n = strcspn(++pattern, "/"), path_n = strcspn(++path, "/");
        if (!part_matches(pattern, pattern_n, path, path_n, parts))
            return false;
        pattern += pattern_n;
        path += path_n;
    }
    if (path[0] == '/' && path[1] == '\0')
        path++; /* one trailing slash is ignored */
    return *pattern == '\0' && *path == '\0';
}

static void add_allow(char *allow, const char *method)
{
    size_t n = strlen(allow);
    (void)snprintf(allow + n, ROUTE_ALLOW_MAX - n, "%s%s", n == 0 ? "" : ", ", method);
    if (strcmp(method, "GET") == 0)
        add_allow(allow, "HEAD");
}

const struct http_route *route_find(const char *method, const char *path,
                                    struct route_parts *out_parts, char *out_allow)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    out_allow[0] = '\0';
    for (size_t i = 0; i < COUNT(routes); i++) {
        if (!path_matches(routes[i].pattern, path, out_parts))
            continue;
        if (strcmp(routes[i].method, wanted) == 0)
            return &routes[i];
        add_allow(out_allow, routes[i].method);
    }
    return NULL;
}

/* Copies the part of a pattern that `*at` is at and moves on to the next. */
static void take_word(const char **at, char *out)
{
    size_t n = strcspn(*at, "/");
    (void)snprintf(out, ROUTE_WORD_MAX, "%.*s", (int)n, *at);
    *at += n + ((*at)[n] == '/');
}

static const char *verb_of(const struct http_route *route, bool has_name)
{
    static const char *const verbs[][2] = {
        {"POST", "create"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (strcmp(verbs[i][0], route->method) == 0)
            return verbs[i][1];
    return has_name ? "get" : "list";
}

/* "/apis/GROUP/VERSION[/namespaces/{ns}]/RESOURCE[/{name}[/SUBRESOURCE]]", or "/api/v1/...". */
struct access_action route_action(const struct http_route *route, const char *ns,
                                  struct route_action *storage)
{
    *storage = (struct route_action){0};
    if (route->kind == KIND_NONE)
        return (struct access_action){.verb = "get", .ns = ns, .path = route->pattern};
    const char *at = route->pattern + 1;
    char word[ROUTE_WORD_MAX];
    take_word(&at, word);
    if (strcmp(word, "apis") == 0)
        take_word(&at, storage->group);
    take_word(&at, word); /* the version */
    if (strncmp(at, "namespaces/{ns}/", strlen("namespaces/{ns}/")) == 0)
        at += strlen("namespaces/{ns}/");
    take_word(&at, storage->resource);
    bool has_name = *at != '\0';
    take_word(&at, word); /* {name} */
    take_word(&at, storage->subresource);
    return (struct access_action){.verb = verb_of(route, has_name),
                                  .group = storage->group,
                                  .resource = storage->resource,
                                  .subresource = storage->subresource,
                                  .ns = ns};
}

enum http_lane route_lane(const struct http_route *route)
{
    return route->lane;
}
