/* http.h - the only user of libmicrohttpd: a bounded HTTP server that passes whole requests to
 * handlers and sends their replies, whole or piece by piece (http_stream.h), on several listeners:
 * Unix sockets, plain TCP and TLS.
 *
 * Bounded: connections, header and body size, idle time, and the time a body may take. Handlers of
 * WORKER routes run on threads of their own while the connection is suspended; when too many wait,
 * the answer is 429. Who may ask for what is the service's (admit); the server reports what it
 * knows about the client (http_peer.h).
 */
#ifndef EXPORTER_HTTP_HTTP_H
#define EXPORTER_HTTP_HTTP_H

#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "exporter/access/identity.h"
#include "exporter/http/http_peer.h"
#include "exporter/http/http_tls.h"
#include "exporter/http/limits.h"

enum {
    HTTP_LISTENERS_MAX = 8,
    HTTP_THREADS = 4, /* of a TCP listener; a Unix socket has half of them */
    HTTP_WORKERS = 4,
    HTTP_WORK_MAX = 64,    /* requests waiting for a worker */
    HTTP_MAKERS = 2,       /* threads that make pieces of streams */
    HTTP_STREAMS_MAX = 64, /* replies that are made while they are sent */
    /* Likewise, of those that may wait: half of the connections of each listener. */
    HTTP_WATCHES_MAX = (EXPORTER_CONNECTIONS_MAX + EXPORTER_SOCKET_CONNECTIONS_MAX) / 2,
    HTTP_MAKING_MAX = HTTP_STREAMS_MAX + HTTP_WATCHES_MAX,
    HTTP_MEMORY_MAX = 32 * 1024,       /* per connection: request line and headers */
    HTTP_DRAIN_MAX = 16 * 1024 * 1024, /* bytes of a too large body drained before 413 */
};

struct http_route; /* of the service; opaque here */
enum http_lane { HTTP_LANE_INLINE, HTTP_LANE_WORKER };

enum { ROUTE_PART_MAX = 256, ROUTE_ALLOW_MAX = 64 };
struct route_parts { /* {ns} and {name} of the path */
    char ns[ROUTE_PART_MAX], name[ROUTE_PART_MAX];
    bool has_ns, has_name;
};

struct http_request { /* borrowed while the handler runs */
    const char *method, *path;
    const char *ns, *name; /* taken from the path; NULL when the route has none */
    const char *body;      /* terminated; "" when there is none */
    size_t body_bytes;
    void *connection;
    const struct http_peer *peer;
    const struct access_identity *identity; /* set by admit */
};
/* A query argument or header of the request; NULL: absent, "": without a value. */
const char *http_query(const struct http_request *request, const char *key);
const char *http_header(const struct http_request *request, const char *key);
/* All values of a header that may be repeated, joined by commas. */
struct buf;
void http_header_all(const struct http_request *request, const char *key, struct buf *out);

/* A body that many connections share. Counted; any thread. */
struct http_page;
struct http_page *http_page_new(char *take_body, size_t n, const char *type);
/* Before the page is shared. */
void http_page_add_header(struct http_page *page, const char *key, const char *value);
const char *http_page_text(const struct http_page *page, size_t *out_n); /* as long as the page */
struct http_page *http_page_ref(struct http_page *page);
void http_page_unref(struct http_page *page); /* NULL is fine */

/* What follows the body of a reply. Each piece is made when the client has taken the one before. */
struct http_stream {
    void *ctx;
    /* Adds the next piece, some bytes, to out. LATER, without a piece: wait() says when.
     * out->failed ends the connection. Any thread, one call at a time. NULL: no stream. */
    enum http_next { STREAM_LAST, STREAM_MORE, STREAM_LATER } (*next)(void *ctx, struct buf *out);
    /* Calls wake once, from any thread or at once, when next() may have something, and at least
     * every few seconds: a client that left is noticed then. NULL: next() is never LATER. A stream
     * with it is a watch: it may take as long as it likes. */
    void (*wait)(void *ctx, void (*wake)(void *wake_ctx), void *wake_ctx);
    void (*free)(void *ctx);
    struct guarded *guarded;       /* the server's: its connection */
    struct http_count *counted_in; /* the server's: it is one of these */
};

struct http_reply {
    unsigned status;
    const char *type;   /* a literal */
    const char *policy; /* likewise: Content-Security-Policy of an HTML page; NULL: runs nothing */
    char *body;         /* owned, or NULL */
    size_t body_bytes;
    struct http_stream stream; /* owned; body is then its first piece */
    struct http_page *page;    /* instead of body; one reference, owned */
    char allow[64];            /* for 405 */
    bool challenge;            /* adds WWW-Authenticate, for 401 */
    bool try_again;            /* adds Retry-After: 1; clients then retry */
};

enum http_admission { HTTP_ADMITTED, HTTP_REFUSED, HTTP_LATER };

struct http_service {
    void *ctx;
    /* The route of a request; NULL when there is none: out_allow (ROUTE_ALLOW_MAX) then lists the
     * methods of the path. Pure, as is lane. */
    const struct http_route *(*find)(const char *method, const char *path,
                                     struct route_parts *out_parts, char *out_allow);
    enum http_lane (*lane)(const struct http_route *route);
    /* May this client ask for that? Called when the headers have arrived: a refused body is not
     * kept. REFUSED: the reply is filled. LATER: to decide takes long; called again on a worker,
     * with may_wait. route NULL: there is none. */
    enum http_admission (*admit)(void *ctx, const struct http_route *route,
                                 const struct http_request *request, bool may_wait,
                                 struct access_identity *out_identity,
                                 struct http_reply *out_reply);
    /* A request was answered or refused with that status; for logs. */
    void (*done)(void *ctx, const struct http_route *route, const struct http_request *request,
                 unsigned status, int64_t spent_ms);
    /* Fills the reply. route NULL: there is none; `allow` then names the methods the path has,
     * empty when the path is unknown. Threads: several at once. */
    void (*serve)(void *ctx, const struct http_route *route, const struct http_request *request,
                  const char *allow, struct http_reply *out_reply);
    /* Fills the reply for a request that the server itself refuses. */
    void (*refuse)(void *ctx, unsigned status, const char *text, struct http_reply *out_reply);
};

struct http_listener_config {
    /* "ADDR:PORT", "[V6]:PORT", "localhost:PORT", or the path of a Unix socket. */
    const char *address;
    enum http_transport transport;
    const char *group; /* of a Unix socket: it may connect; NULL or unknown: only the own user */
    unsigned tag;      /* the service's own: peer->tag */
};
struct http_config {
    const struct http_listener_config *listeners;
    size_t n_listeners;   /* at most HTTP_LISTENERS_MAX */
    struct http_tls *tls; /* of the TLS listeners; borrowed */
};
struct http;
struct http *http_new(const struct http_config *config, const struct clock *clock,
                      const struct http_service *service, struct err *err);
/* Stops accepting, waits for running handlers, answers 503 to waiting requests. */
void http_free(struct http *http);
DEFINE_OWNED(http)
unsigned http_port(const struct http *http, size_t listener); /* 0: a Unix socket */

/* http_listen.c: a listening socket; -1 on failure. */
int http_listen_tcp(const char *address, unsigned *out_port, struct err *err);
/* Mode 0660, group gid ((gid_t)-1: unchanged). Replaces the socket of a process that is gone. */
int http_listen_unix(const char *path, gid_t gid, struct err *err);
gid_t http_group(const char *name); /* (gid_t)-1: NULL, empty or unknown */
/* Is an address of the configuration a loopback one? ERR_INVALID: it is no address. */
bool http_address_is_loopback(const char *address, bool *out_loopback, struct err *err);
/* A Host header without its port, "[::1]" without brackets; false: too long. */
bool http_host_name(const char *host, char *out, size_t n);
bool http_name_is_loopback(const char *name);
bool http_name_is_address(const char *name); /* an IP address, not a name */

/* http_work.c: a fixed number of threads that run jobs in order of arrival. */
struct http_work;
struct http_job {
    struct http_job *next;
    void (*run)(struct http_job *job, bool stopping);
};
/* is_quiet: its threads run when others do not want to. */
struct http_work *http_work_new(unsigned threads, unsigned capacity, bool is_quiet,
                                struct err *err);
bool http_work_push(struct http_work *work, struct http_job *job); /* false: full or stopping */
bool http_work_is_stopping(struct http_work *work);
/* Runs the queued jobs with stopping set and ends the threads; push is refused from here on. */
void http_work_stop(struct http_work *work);
void http_work_free(struct http_work *work); /* after the last push */

#endif
