/* client.h - the command line's way to the appliance: JSON over HTTP, one request at a time.
 *
 * The only user of libcurl. Waits are bounded, answers are bounded, redirects and proxies are
 * not followed. A Kubernetes Status in an answer becomes an err with its message. One thread.
 */
#ifndef CLI_COMMON_CLIENT_H
#define CLI_COMMON_CLIENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

enum {
    CLIENT_CONNECT_MS = 3000,
    CLIENT_ANSWER_MS = 15000, /* more than the appliance takes to answer or refuse */
    CLIENT_BYTES_MAX = JSON_BYTES_MAX,
    CLIENT_URL_MAX = 256,
};
#define CLIENT_SERVER_DEFAULT "http://127.0.0.1:9178"

struct client;
/* server NULL: FERRY_SERVER, else the default. ERR_INVALID when it is not http(s)://... */
struct client *client_new(const char *server, struct err *err);
void client_free(struct client *client);
DEFINE_OWNED(client)
const char *client_url(const struct client *client);

/* method GET, POST, PUT, PATCH (a merge patch) or DELETE; body NULL for none. The answer is a new
 * reference. NULL: err is UNREACHABLE when nobody answers, TIMEOUT when a change was sent and
 * nobody said what became of it, else what the appliance said. */
struct json_object *client_call(struct client *client, const char *method, const char *path,
                                struct json_object *body, struct err *err);

/* How long the next calls may take, at most CLIENT_ANSWER_MS. */
void client_set_patience(struct client *client, int64_t ms);

/* An HTTP status and a Kubernetes Status body as an err; returns false. body may be NULL. Pure. */
bool client_fail_from_status(long http, struct json_object *body, struct err *err);

#endif
