/* fuzz_create.c - the bodies that clients send: what is created or patched, evictions, and the
 * options of a delete. */
#include "base/own.h"
#include "tests/fuzz/api.h"
#include "tests/fuzz/fuzz.h"

#define POLICIES "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"

static unsigned send_typed(const char *method, const char *path, const char *type, const char *body,
                           size_t n, struct api_asked *out_asked)
{
    struct api_fields fields = {.n_headers = 1, .headers = {{"Content-Type", type}}};
    struct http_request request = {
        .method = method, .path = path, .body = body, .body_bytes = n, .connection = &fields};
    return api_serve(&request, out_asked);
}

static unsigned send_body(const char *method, const char *path, const char *body, size_t n,
                          struct api_asked *out_asked)
{
    return send_typed(method, path, "application/json", body, n, out_asked);
}

/* Everything else that reads a body. */
static void send_others(const char *body, size_t n)
{
    static const struct {
        const char *method, *path, *type;
    } rows[] = {
        {"PATCH", "/api/v1/nodes/h1", "application/merge-patch+json"},
        {"PATCH", "/api/v1/nodes/h1", "application/strategic-merge-patch+json"},
        {"PATCH", "/api/v1/nodes/h1", "application/json-patch+json"},
        {"PATCH", API_MIGRATIONS "/m1", "application/json-patch+json"},
        {"PATCH", POLICIES "/p1", "application/apply-patch+yaml"},
        {"PUT", "/api/v1/nodes/h1", "application/json"},
        {"POST", POLICIES, "application/json"},
        {"POST", "/apis/ferry.internal/v1/drains", "application/json"},
        {"POST", "/apis/ferry.internal/v1/namespaces/default/checks", "application/json"},
        {"POST", "/api/v1/namespaces/default/pods/p1/eviction", "application/json"},
        {"PUT", "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/g1/migrate",
         "application/json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct api_asked asked = {0};
        unsigned status = send_typed(rows[i].method, rows[i].path, rows[i].type, body, n, &asked);
        FUZZ_LAW(api_asked_changes(&asked) <= 1, "one request asked the engine for more");
        FUZZ_LAW(status != 201 || api_asked_changes(&asked) + asked.questions > 0,
                 "created without the engine");
    }
}

FUZZ_TARGET(create)
{
    OWNED_TEXT body = fuzz_text(data, n);
    struct api_asked asked = {0};
    unsigned status = send_body("POST", API_MIGRATIONS, body, n, &asked);
    FUZZ_LAW(asked.cancels == 0 && asked.creates <= 1, "one create asked the engine for more");
    FUZZ_LAW(status != 201 || asked.creates == 1, "created without the engine");
    status = send_body("DELETE", API_MIGRATIONS "/m1", body, n, &asked);
    FUZZ_LAW(asked.creates == 0 && asked.cancels <= 1, "one delete asked the engine for more");
    FUZZ_LAW(status < 400 || asked.cancels == 0, "refused a delete, and asked for it");
    send_others(body, n);
    return 0;
}
