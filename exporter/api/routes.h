/* routes.h - routes.def and kinds.def as tables, and finding a route. Pure. */
#ifndef EXPORTER_API_ROUTES_H
#define EXPORTER_API_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/access/roles.h"
#include "exporter/http/http.h"

enum api_kind {
    KIND_NONE, /* the route is not about objects */
#define KIND(id, plural, singular, kind, api_version, namespaced, short_names, verbs) KIND_##id,
#include "exporter/api/kinds.def"
#undef KIND
    KIND_COUNT
};
struct api_kind_row {
    const char *plural, *singular, *kind, *api_version;
    bool namespaced;
    const char *short_names, *verbs; /* comma-separated */
};
const struct api_kind_row *api_kind_row(enum api_kind kind);

struct exporter;
struct snapshot;
struct versions;
/* One call of a handler. */
struct api_call {
    struct exporter *x;
    enum api_kind kind;
    const struct versions *versions; /* NULL until the engine published a snapshot */
    const struct snapshot *snapshot; /* theirs, or NULL */
    const struct http_request *request;
};
typedef void http_handler(const struct api_call *call, struct http_reply *out_reply);
#define ROUTE(method, pattern, handler, kind, lane, help) http_handler handler;
#include "exporter/api/routes.def"
#undef ROUTE

struct http_route {
    const char *method, *pattern;
    http_handler *handler;
    enum api_kind kind;
    enum http_lane lane;
    const char *help;
};
const struct http_route *routes_all(size_t *out_n);

/* NULL when there is none; out_allow (ROUTE_ALLOW_MAX) then lists the methods of the path. */
const struct http_route *route_find(const char *method, const char *path,
                                    struct route_parts *out_parts, char *out_allow);
/* What a request for the route asks for, as roles.def names it: the resource is read from the
 * pattern. Texts live in the storage. */
enum { ROUTE_WORD_MAX = 64 };
struct route_action {
    char group[ROUTE_WORD_MAX], resource[ROUTE_WORD_MAX], subresource[ROUTE_WORD_MAX];
};
struct access_action route_action(const struct http_route *route, const char *ns,
                                  struct route_action *storage);
enum http_lane route_lane(const struct http_route *route);

#endif
