/* routes.h - routes.def and kinds.def as tables, and finding a route. Pure. */
#ifndef EXPORTER_ROUTES_H
#define EXPORTER_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http.h"

enum api_kind {
    KIND_NONE, /* the route is not about objects */
#define KIND(id, plural, singular, kind, api_version, namespaced, short_names, verbs) KIND_##id,
#include "exporter/kinds.def"
#undef KIND
    KIND_COUNT
};
struct api_kind_row {
    const char *plural, *singular, *kind, *api_version;
    bool namespaced;
    const char *short_names, *verbs; /* comma-separated */
};
const struct api_kind_row *api_kind_row(enum api_kind kind);

enum http_lane { HTTP_LANE_INLINE, HTTP_LANE_WORKER };

struct exporter;
struct snapshot;
/* One call of a handler. */
struct api_call {
    struct exporter *x;
    enum api_kind kind;
    const struct snapshot *snapshot; /* NULL until the engine published one */
    const struct http_request *request;
};
typedef void http_handler(const struct api_call *call, struct http_reply *out_reply);
#define ROUTE(method, pattern, handler, kind, lane, help) http_handler handler;
#include "exporter/routes.def"
#undef ROUTE

struct http_route {
    const char *method, *pattern;
    http_handler *handler;
    enum api_kind kind;
    enum http_lane lane;
    const char *help;
};
const struct http_route *routes_all(size_t *out_n);

enum { ROUTE_PART_MAX = 256 };
struct route_parts { /* what {ns} and {name} took */
    char ns[ROUTE_PART_MAX], name[ROUTE_PART_MAX];
    bool has_ns, has_name;
};
/* NULL when there is none; out_allow (64 bytes) then lists the methods of the path. */
const struct http_route *route_find(const char *method, const char *path,
                                    struct route_parts *out_parts, char *out_allow);

#endif
