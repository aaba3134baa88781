/* api.h - the API without a socket, for fuzz targets: a fleet with one migration under way, an
 * engine that only checks what it is asked, and requests whose query and headers are lists.
 *
 * The linker puts the two functions that read a connection (http_query, http_header) aside for the
 * ones here; see --wrap in the Makefile.
 */
#ifndef TESTS_FUZZ_API_H
#define TESTS_FUZZ_API_H

#include "exporter/api/routes.h"
#include "exporter/http/http.h"

enum { API_FIELDS_MAX = 16 };
struct api_fields {
    size_t n_query, n_headers;
    struct api_field {
        const char *key, *value;
    } query[API_FIELDS_MAX], headers[API_FIELDS_MAX];
};

#define API_MIGRATIONS "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"

/* What the handlers asked of the engine since the last call of api_serve. */
struct api_asked {
    unsigned creates, cancels, puts, removes, evictions, questions;
};
/* Everything among it that changes something. */
static inline unsigned api_asked_changes(const struct api_asked *asked)
{
    return asked->creates + asked->cancels + asked->puts + asked->removes + asked->evictions;
}

/* Finds the route, serves, checks the reply, frees it. request->connection must be a struct
 * api_fields. Returns the status. */
unsigned api_serve(struct http_request *request, struct api_asked *out_asked);

#endif
