/* client.h - the client of the appliance: JSON over HTTP, one request at a time.
 *
 * The only user of libcurl. Times and answers are bounded; redirects and proxies are not followed.
 * A Kubernetes Status in an answer becomes an err with its message. One thread.
 */
#ifndef CLI_COMMON_CLIENT_H
#define CLI_COMMON_CLIENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

enum {
    CLIENT_CONNECT_MS = 3000,
    CLIENT_ANSWER_MS = 15000, /* more than the appliance's own timeout */
    CLIENT_BYTES_MAX = JSON_BYTES_MAX,
    CLIENT_URL_MAX = 256,
    CLIENT_PATH_MAX = 8000, /* with its query */
    CLIENT_TOKEN_MAX = 512,
};
#define CLIENT_SOCKET_DEFAULT "/run/ferry/ferry.sock"
#define CLIENT_SERVER_DEFAULT "http://127.0.0.1:9178" /* read-only */

struct client;
/* server "unix:PATH", "https://..." or "http://..."; NULL: FERRY_SERVER, else the socket if there
 * is one that this user may use, else loopback. The token is FERRY_TOKEN's or that of the file
 * FERRY_TOKEN_FILE names, the CA of https FERRY_CA_FILE's. */
struct client *client_new(const char *server, struct err *err);
void client_free(struct client *client);
DEFINE_OWNED(client)
const char *client_url(const struct client *client);

/* method GET, POST, PUT, PATCH (a merge patch) or DELETE; body NULL for none. The answer is a new
 * reference. NULL: err is UNREACHABLE without an answer, TIMEOUT when a change was sent and its
 * result is unknown, else the appliance's error. */
struct json_object *client_call(struct client *client, const char *method, const char *path,
                                struct json_object *body, struct err *err);

/* A whole list, read in pages of CLIENT_PAGE objects, all of one moment; begun again where the
 * appliance no longer keeps that moment. As client_call. */
enum { CLIENT_PAGE = 500, CLIENT_PAGES_MAX = 2000, CLIENT_LIST_TRIES = 3 };
struct json_object *client_list(struct client *client, const char *path, struct err *err);

/* Timeout of the next calls, at most CLIENT_ANSWER_MS. */
void client_set_timeout(struct client *client, int64_t ms);

/* An HTTP status and a Kubernetes Status body as an err; returns false. body may be NULL. Pure. */
bool client_fail_from_status(long http, struct json_object *body, struct err *err);

#endif
