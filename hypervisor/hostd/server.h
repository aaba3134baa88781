/* server.h - `ferry hostd`: answers the requests of requests.def, on the host they are about.
 *
 * One thread greets all clients and waits for their requests, 256 at once and 64 of one address;
 * when there are more, the oldest that has sent no request is evicted. Only signed requests reach
 * the four workers, so silent clients cannot keep a request out. A client has 2 s to send its
 * request and gets its answer within 5 s. Uses neither libvirt nor QEMU, keeps no state, writes no
 * file but its log, which is bounded for what strangers can cause.
 */
#ifndef HYPERVISOR_HOSTD_SERVER_H
#define HYPERVISOR_HOSTD_SERVER_H

#include <stdint.h>

#include "base/own.h"
#include "hypervisor/hostd/protocol.h"
#include "hypervisor/hostd/sockets.h"

#define HOSTD_LISTEN_DEFAULT "127.0.0.1:7011"
enum {
    HOSTD_CLIENTS_MAX = 4, /* requests that are carried out at the same time */
    HOSTD_JOBS_MAX = 64,   /* signed requests that wait */
    HOSTD_WAITING_MAX = 256,
    HOSTD_PER_ADDRESS_MAX = 64,
    HOSTD_ASK_MS = 2000,
    HOSTD_SERVE_MS = 5000,
    HOSTD_PROBE_MS = 2000
};

struct hostd_config {
    const char *listen; /* hostd_address_parse */
    const char *secret;
    struct sockets_config sockets;
    int64_t ask_ms, serve_ms; /* 0: the defaults; tests use less */
};

struct hostd_server;
/* Listens when it returns. Strings are copied. */
struct hostd_server *hostd_server_new(const struct hostd_config *config, struct err *err);
/* Finishes the requests in progress: up to 5 s. NULL is fine. */
void hostd_server_free(struct hostd_server *server);
DEFINE_OWNED(hostd_server)
/* Where it listens, with the port the kernel gave for port 0; out_text holds HV_URI_MAX. */
void hostd_server_address(const struct hostd_server *server, char *out_text);

#endif
