/* gate.h - who asks, and whether they may: every request passes here before its handler.
 *
 * Reads credentials (the user behind the socket, a bearer token, a password, a client's
 * certificate), the Host header, signs of another web page, and asks exporter/access/roles.h. Holds
 * the web configuration file and the certificate, and reads them again when they change.
 *
 * Threads: gate_admit any; gate_on_snapshot the engine's; the rest the main thread's. */
#ifndef EXPORTER_GATE_GATE_H
#define EXPORTER_GATE_GATE_H

#include "base/clock.h"
#include "engine/snapshot.h"
#include "exporter/access/access_config.h"
#include "exporter/access/roles.h"
#include "exporter/http/http.h"

enum { GATE_REFUSAL_MAX = 2048 };

struct gate;
/* state_dir: of a certificate that Ferry makes itself; NULL: listeners with TLS need a web
 * configuration file. ERR_INVALID: the configuration would let a client without an identity in. */
struct gate *gate_new(const struct access_config *config, const char *state_dir,
                      const struct clock *clock, struct err *err);
void gate_free(struct gate *gate); /* NULL is fine */
DEFINE_OWNED(gate)
/* The listeners to open (HTTP_LISTENERS_MAX); they live as long as the gate. */
size_t gate_listeners(const struct gate *gate, struct http_listener_config *out_listeners);
struct http_tls *gate_tls(struct gate *gate); /* NULL: no listener needs it */

/* Reads the web configuration file and the certificates again; on failure the old ones stay. */
bool gate_reload(struct gate *gate, struct err *err);
void gate_tick(struct gate *gate); /* the same, when a file has changed */
void gate_on_snapshot(struct gate *gate, const struct snapshot *snapshot);

/* What a request asks for; the service knows it by the route. */
struct gate_ask {
    struct access_action action;
    bool is_costly; /* more than reading a snapshot: not for a web page of another origin */
};
struct gate_refusal {
    unsigned status;
    char text[GATE_REFUSAL_MAX];
};
/* As http_service.admit. ask NULL: there is no such route. The refusal is set for HTTP_REFUSED. */
enum http_admission gate_admit(struct gate *gate, const struct gate_ask *ask,
                               const struct http_request *request, bool may_wait,
                               struct access_identity *out_identity,
                               struct gate_refusal *out_refusal);
/* Where a change is possible, for a refusal: "the socket PATH or https://...". */
void gate_ways(const struct gate *gate, struct buf *out);
/* The URL of the API for clients elsewhere, "" without https. */
void gate_https_url(const struct gate *gate, unsigned port, char *out, size_t n);
size_t gate_https_listener(const struct gate *gate); /* its number; HTTP_LISTENERS_MAX: none */
const struct access_config *gate_config(const struct gate *gate);

#endif
