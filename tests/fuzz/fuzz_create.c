/* fuzz_create.c - the bodies that clients send: what is created, and the options of a delete. */
#include "base/own.h"
#include "tests/fuzz/api.h"
#include "tests/fuzz/fuzz.h"

static unsigned send_body(const char *method, const char *path, const char *body, size_t n,
                          struct api_asked *out_asked)
{
    struct api_fields fields = {.n_headers = 1, .headers = {{"Content-Type", "application/json"}}};
    struct http_request request = {
        .method = method, .path = path, .body = body, .body_bytes = n, .connection = &fields};
    return api_serve(&request, out_asked);
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
    return 0;
}
