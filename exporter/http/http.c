/* http.c - see http.h. One exchange per request: read, serve (here or on a worker), answer.
 *
 * A connection that waits for a worker is suspended. A disconnect of its client is noticed after it
 * is resumed, at the latest at the deadline of the request.
 */
#include "exporter/http/http.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "exporter/http/http_guard.h"
#include "exporter/http/http_log.h"
#include "exporter/http/http_message.h"
#include "exporter/http/http_page.h"
#include "exporter/http/http_stream.h"

enum {
    METHOD_MAX = 16,
    PATH_MAX_BYTES = 2048,
    HTTP_SOCKET_MAX = 108, /* sun_path */
};

struct listener {
    struct http *http;
    struct MHD_Daemon *daemon;
    enum http_transport transport;
    unsigned tag, port, connections_max;
    struct http_count watches;
    int fd;
    bool is_loopback;
    gid_t gid;                  /* of a Unix socket; (gid_t)-1: none */
    char path[HTTP_SOCKET_MAX]; /* of a Unix socket */
};

struct http {
    struct listener listeners[HTTP_LISTENERS_MAX];
    size_t n_listeners;
    struct http_tls *tls;
    const struct clock *clock;
    struct http_service service;
    struct http_work *work;
    struct http_streams streams;
    struct guard *guard;
    atomic_size_t body_bytes; /* of long bodies */
    struct http_log log;
};

/* One for each connection, from its first to its last moment. */
struct client {
    struct http_peer peer;
    struct tls_material *material; /* TLS only */
    struct guarded *guarded;       /* NULL: not guarded */
    struct http *http;
    struct listener *listener;
    bool is_known; /* the names of its certificate have been read */
};

struct exchange {
    struct http_job job; /* first: an http_job is cast to its exchange */
    struct http *http;
    struct MHD_Connection *connection;
    struct client *client;
    struct access_identity identity;
    bool is_refused, must_wait; /* by the service's admit */
    char method[METHOD_MAX], path[PATH_MAX_BYTES], allow[ROUTE_ALLOW_MAX];
    const struct http_route *route;
    struct route_parts parts;
    struct buf body;
    size_t received, counted; /* bytes of the body; those in http->body_bytes */
    bool is_too_much;         /* they do not fit: the body is drained, not kept */
    int64_t began_ms;
    enum { READING, WORKING, SERVED } state;
    struct http_reply reply;
    size_t queued;    /* bytes of the reply, taken from the guard's budget */
    bool shares_page; /* likewise those of its page, with others */
};

/* ---- one exchange ---- */

static void reply_fini(struct http_reply *reply)
{
    http_page_unref(reply->page);
    free(reply->body);
    if (reply->stream.next != NULL)
        reply->stream.free(reply->stream.ctx);
    *reply = (struct http_reply){0};
}

static void exchange_free(struct exchange *e)
{
    size_t page_bytes;
    guard_give_bytes(e->http->guard, e->queued);
    (void)atomic_fetch_sub(&e->http->body_bytes, e->counted);
    if (e->shares_page) {
        (void)http_page_text(e->reply.page, &page_bytes);
        guard_give_shared(e->http->guard, http_page_readers(e->reply.page), page_bytes);
    }
    reply_fini(&e->reply);
    buf_fini(&e->body);
    free(e);
}

static struct exchange *exchange_new(struct http *http, struct MHD_Connection *connection,
                                     struct client *client, const char *method, const char *path)
{
    struct exchange *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->http = http;
    e->connection = connection;
    e->client = client;
    e->began_ms = clock_mono_ms(http->clock);
    buf_init(&e->body, EXPORTER_BODY_MAX);
    /* A truncated path could be another path: it gets no route. */
    bool is_whole = text_copy(e->method, sizeof e->method, method);
    is_whole = text_copy(e->path, sizeof e->path, path) && is_whole;
    if (is_whole)
        e->route = e->http->service.find(e->method, e->path, &e->parts, e->allow);
    return e;
}

static struct http_request request_of(const struct exchange *e)
{
    return (struct http_request){.method = e->method,
                                 .path = e->path,
                                 .ns = e->parts.has_ns ? e->parts.ns : NULL,
                                 .name = e->parts.has_name ? e->parts.name : NULL,
                                 .body = e->body.data == NULL ? "" : e->body.data,
                                 .body_bytes = e->body.length,
                                 .connection = e->connection,
                                 .peer = &e->client->peer,
                                 .identity = &e->identity};
}

static void refuse(struct exchange *e, unsigned status, const char *text)
{
    e->http->service.refuse(e->http->service.ctx, status, text, &e->reply);
    e->state = SERVED;
}

static enum http_admission admit(struct exchange *e, bool may_wait)
{
    struct http_request request = request_of(e);
    return e->http->service.admit(e->http->service.ctx, e->route, &request, may_wait, &e->identity,
                                  &e->reply);
}

static void serve(struct exchange *e)
{
    struct http_request request = request_of(e);
    e->http->service.serve(e->http->service.ctx, e->route, &request, e->allow, &e->reply);
    e->state = SERVED;
}

/* Replies that wait for slow readers are memory. Short ones always go; a stream holds one piece; a
 * page counts once, whoever reads it, and pages may take as much again: stopped readers of lists
 * do not keep a scrape out. */
static bool may_queue(struct exchange *e)
{
    struct guard *guard = e->http->guard;
    size_t n = e->reply.body_bytes;
    if (e->reply.stream.next != NULL)
        return http_stream_reserve(&e->reply.stream, e->reply.stream.wait == NULL
                                                         ? &e->http->streams.lists
                                                         : &e->client->listener->watches);
    if (e->reply.page != NULL) {
        (void)http_page_text(e->reply.page, &n);
        e->shares_page = guard_take_shared(guard, http_page_readers(e->reply.page), n,
                                           2 * (size_t)HTTP_QUEUED_MAX);
        return e->shares_page;
    }
    if (n <= HTTP_SHORT_REPLY || e->queued > 0)
        return true;
    if (!guard_take_bytes(guard, n, HTTP_QUEUED_MAX))
        return false;
    e->queued = n;
    return true;
}

static enum MHD_Result answer(struct exchange *e)
{
    if (!may_queue(e)) {
        reply_fini(&e->reply);
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "too many replies wait to be read; try again");
        e->reply.try_again = true;
    }
    guard_set(e->http->guard, e->client->guarded, GUARD_SENDING);
    e->reply.stream.guarded = e->client->guarded;
    struct http_request request = request_of(e);
    e->http->service.done(e->http->service.ctx, e->route, &request, e->reply.status,
                          clock_mono_ms(e->http->clock) - e->began_ms);
    if (e->reply.page == NULL)
        return http_send_body(e->connection, &e->http->streams, &e->reply);
    return MHD_queue_response(e->connection, e->reply.status, http_page_response(e->reply.page));
}

/* ---- workers ---- */

static void run_exchange(struct http_job *job, bool stopping)
{
    struct exchange *e = (struct exchange *)job;
    if (stopping)
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "Ferry is stopping");
    else if (e->must_wait && admit(e, true) != HTTP_ADMITTED)
        e->state = SERVED; /* the refusal */
    else
        serve(e);
    MHD_resume_connection(e->connection); /* e belongs to its connection again */
}

/* Suspended before the push: a fast worker resumes it. */
static enum MHD_Result give_to_worker(struct exchange *e)
{
    e->state = WORKING;
    e->job.run = run_exchange;
    MHD_suspend_connection(e->connection);
    if (!http_work_push(e->http->work, &e->job)) {
        if (http_work_is_stopping(e->http->work))
            refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "Ferry is stopping");
        else
            refuse(e, MHD_HTTP_TOO_MANY_REQUESTS,
                   "too many requests wait for the engine; try again");
        MHD_resume_connection(e->connection);
    }
    return MHD_YES;
}

/* ---- libmicrohttpd's callbacks ---- */

/* The headers have arrived, the body has not. A body declared too large is refused now if the
 * client waits for 100-continue, or if it is too long to drain. The body of a request that is not
 * admitted is drained, not kept: a client that is still sending would not see the answer. */
static enum MHD_Result begin(struct exchange *e)
{
    struct http_request request = request_of(e);
    guard_set(e->http->guard, e->client->guarded, GUARD_IDLE); /* its body */
    const char *malformed = http_malformed(e->connection);
    if (malformed != NULL) {
        refuse(e, MHD_HTTP_BAD_REQUEST, malformed);
        return answer(e);
    }
    enum http_admission admission = admit(e, false);
    e->is_refused = admission == HTTP_REFUSED;
    e->must_wait = admission == HTTP_LATER;
    const char *length = http_header(&request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t declared;
    if (length == NULL || !text_to_i64(length, 0, INT64_MAX, &declared))
        return MHD_YES;
    bool waits = http_header(&request, MHD_HTTP_HEADER_EXPECT) != NULL;
    if (declared <= EXPORTER_BODY_MAX || (!waits && declared <= HTTP_DRAIN_MAX))
        return MHD_YES;
    if (!e->is_refused)
        refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than 1 MiB");
    e->state = SERVED;
    return answer(e);
}

/* Bodies that arrive slowly are memory, of clients that may turn out to be nobody. */
static bool may_keep(struct exchange *e)
{
    if (e->counted > 0 || e->received <= HTTP_SHORT_BODY)
        return true;
    if (atomic_fetch_add(&e->http->body_bytes, EXPORTER_BODY_MAX) <= HTTP_BODIES_MAX) {
        e->counted = EXPORTER_BODY_MAX;
        return true;
    }
    (void)atomic_fetch_sub(&e->http->body_bytes, EXPORTER_BODY_MAX);
    return false;
}

/* One part of the body. MHD_NO closes the connection: the body is too long or too slow. */
static enum MHD_Result take_body(struct exchange *e, const char *bytes, size_t n)
{
    e->received += n;
    if (e->received > HTTP_DRAIN_MAX ||
        clock_mono_ms(e->http->clock) - e->began_ms > EXPORTER_TIMEOUT_S * INT64_C(1000))
        return MHD_NO;
    if (e->is_refused)
        return MHD_YES;
    e->is_too_much = e->is_too_much || !may_keep(e);
    if (e->is_too_much)
        buf_fini(&e->body);
    else
        buf_add_bytes(&e->body, bytes, n);
    return MHD_YES;
}

static bool has_control_character(const char *text)
{
    while ((unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text != '\0';
}

static bool is_get(const struct exchange *e)
{
    return strcmp(e->method, "GET") == 0;
}

static enum MHD_Result dispatch(struct exchange *e)
{
    guard_set(e->http->guard, e->client->guarded, GUARD_WORKING);
    bool on_worker =
        e->must_wait || (e->route != NULL && e->http->service.lane(e->route) == HTTP_LANE_WORKER);
    if (e->is_refused)
        e->state = SERVED;
    else if (has_control_character(e->path))
        refuse(e, MHD_HTTP_BAD_REQUEST, "the path has a control character in it");
    else if (e->body.failed)
        refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than 1 MiB");
    else if (e->is_too_much) {
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "too many long bodies are being sent; try again");
        e->reply.try_again = true;
    } else if (on_worker && guard_bytes(e->http->guard) > HTTP_QUEUED_MAX / 2 && is_get(e)) {
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "too many replies wait to be read; try again");
        e->reply.try_again = true;
    } else if (on_worker)
        return give_to_worker(e);
    else
        serve(e);
    return answer(e);
}

/* Who is at the other end; NULL: the connection cannot be used. */
static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *context =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct client *client = context == NULL ? NULL : context->socket_context;
    if (client == NULL || client->is_known || client->peer.transport != HTTP_TLS)
        return client;
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (tls == NULL || client->material == NULL)
        return NULL;
    tls_material_names(client->material, tls->tls_session, &client->peer);
    client->is_known = true;
    return client;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **con_cls)
{
    (void)version;
    struct exchange *e = *con_cls;
    if (e == NULL) {
        struct client *client = client_of(connection);
        e = client == NULL ? NULL : exchange_new(cls, connection, client, method, url);
        *con_cls = e;
        return e == NULL ? MHD_NO : begin(e);
    }
    if (*upload_data_size > 0) {
        size_t n = *upload_data_size;
        *upload_data_size = 0;
        return e->state == READING ? take_body(e, upload_data, n) : MHD_YES;
    }
    if (e->state == READING)
        return dispatch(e);
    return e->state == SERVED ? answer(e) : MHD_YES;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode why)
{
    (void)cls;
    (void)connection;
    (void)why;
    struct exchange *e = *con_cls;
    *con_cls = NULL;
    if (e == NULL)
        return;
    guard_set(e->http->guard, e->client->guarded, GUARD_IDLE); /* the next request, if any */
    exchange_free(e);
}

/* Before the first byte is read, and for TLS before the handshake. */
static struct client *client_new(struct listener *listener, struct MHD_Connection *connection)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return NULL;
    struct http_peer *peer = &client->peer;
    peer->transport = listener->transport;
    peer->tag = listener->tag;
    peer->is_loopback = listener->is_loopback;
    peer->uid = (uid_t)-1;
    if (listener->transport == HTTP_UNIX) {
        const union MHD_ConnectionInfo *fd =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (fd != NULL && http_peer_of_socket(fd->connect_fd, listener->gid, peer))
            return client;
        free(client);
        return NULL;
    }
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    http_peer_address(address == NULL ? NULL : address->client_addr, peer->address);
    if (listener->transport == HTTP_TLS) {
        const union MHD_ConnectionInfo *tls =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        client->material =
            http_tls_attach(listener->http->tls, tls == NULL ? NULL : tls->tls_session);
    }
    return client;
}

static void guard_client(struct listener *listener, struct MHD_Connection *connection,
                         struct client *client)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (client == NULL)
        return;
    client->http = listener->http;
    client->listener = listener;
    if (fd != NULL)
        client->guarded =
            guard_add(listener->http->guard, listener, listener->connections_max, fd->connect_fd);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = client_new(cls, connection);
        guard_client(cls, connection, *socket_context);
        return;
    }
    struct client *client = *socket_context;
    *socket_context = NULL;
    if (client != NULL) {
        guard_remove(client->http->guard, client->guarded);
        tls_material_unref(client->material);
    }
    free(client);
}

/* Decodes a path, key or value in place. "%00" would truncate the text, so it becomes a character
 * that no path, name or value may have. */
static size_t on_unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    for (char *at = text; (at = strstr(at, "%00")) != NULL; at += 3)
        at[2] = '1';
    return MHD_http_unescape(text);
}

/* ---- life ---- */

static struct MHD_Daemon *start(struct listener *listener)
{
    struct http *http = listener->http;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    unsigned threads = listener->transport == HTTP_UNIX ? HTTP_THREADS / 2 : HTTP_THREADS;
    struct MHD_OptionItem tls_items[3] = {{MHD_OPTION_END, 0, NULL}};
    struct tls_material *material = NULL;
    if (listener->transport == HTTP_TLS) {
        const char *cert, *key;
        material = http_tls_material(http->tls);
        tls_material_pem(material, &cert, &key);
        flags |= MHD_USE_TLS;
        union {
            const char *from;
            void *to;
        } cert_text = {cert}, key_text = {key};
        tls_items[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, cert_text.to};
        tls_items[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, key_text.to};
        tls_items[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    }
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, http_log_library,
        &http->log, MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, listener->connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)EXPORTER_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_MAX,
        MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, http, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        http, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        listener, MHD_OPTION_ARRAY, tls_items, MHD_OPTION_END);
    tls_material_unref(material);
    return daemon;
}

/* Each listener has its share: a full one leaves the others reachable. */
static unsigned connections_of(const struct http_config *config, enum http_transport transport)
{
    unsigned n_tcp = 0;
    for (size_t i = 0; i < config->n_listeners; i++)
        n_tcp += config->listeners[i].transport != HTTP_UNIX;
    return transport == HTTP_UNIX ? EXPORTER_SOCKET_CONNECTIONS_MAX
                                  : EXPORTER_CONNECTIONS_MAX / n_tcp;
}

static bool open_listener(struct http *http, const struct http_listener_config *config,
                          unsigned connections_max, struct err *err)
{
    struct listener *listener = &http->listeners[http->n_listeners];
    *listener = (struct listener){.http = http,
                                  .transport = config->transport,
                                  .tag = config->tag,
                                  .connections_max = connections_max,
                                  .watches.max = connections_max / 2,
                                  .gid = (gid_t)-1,
                                  .is_loopback = true};
    if (config->transport == HTTP_UNIX) {
        listener->gid = http_group(config->group);
        listener->fd = http_listen_unix(config->address, listener->gid, err);
        if (listener->fd >= 0)
            TEXT_SET(listener->path, config->address);
    } else {
        if (!http_address_is_loopback(config->address, &listener->is_loopback, err))
            return false;
        listener->fd = http_listen_tcp(config->address, &listener->port, err);
    }
    if (listener->fd < 0)
        return false;
    http->n_listeners++;
    listener->daemon = start(listener);
    return listener->daemon != NULL ||
           err_set(err, ERR_IO, "cannot start the HTTP server on %s", config->address);
}

struct http *http_new(const struct http_config *config, const struct clock *clock,
                      const struct http_service *service, struct err *err)
{
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the HTTP server");
        return NULL;
    }
    http->clock = clock;
    http->service = *service;
    http->tls = config->tls;
    http_log_init(&http->log, clock);
    http->work = http_work_new(HTTP_WORKERS, HTTP_WORK_MAX, false, err);
    http->streams.makers = http_work_new(HTTP_MAKERS, HTTP_MAKING_MAX, true, err);
    http->streams.lists.max = HTTP_STREAMS_MAX;
    http->guard = http->streams.guard = guard_new(clock, err);
    bool is_open = http->work != NULL && http->streams.makers != NULL && http->guard != NULL;
    if (config->n_listeners > HTTP_LISTENERS_MAX)
        is_open = err_set(err, ERR_LIMIT, "at most %d listeners", HTTP_LISTENERS_MAX);
    for (size_t i = 0; is_open && i < config->n_listeners; i++)
        is_open = open_listener(http, &config->listeners[i],
                                connections_of(config, config->listeners[i].transport), err);
    if (is_open)
        return http;
    http_free(http);
    return NULL;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    for (size_t i = 0; i < http->n_listeners; i++) {
        if (http->listeners[i].daemon != NULL)
            (void)MHD_quiesce_daemon(http->listeners[i].daemon);
        if (http->listeners[i].path[0] != '\0')
            (void)unlink(http->listeners[i].path);
    }
    struct http_work *const pools[] = {http->work, http->streams.makers};
    for (size_t i = 0; i < COUNT(pools); i++)
        if (pools[i] != NULL)
            http_work_stop(pools[i]); /* no connection may be suspended when a daemon stops */
    for (size_t i = 0; i < http->n_listeners; i++)
        if (http->listeners[i].daemon != NULL)
            MHD_stop_daemon(http->listeners[i].daemon);
    for (size_t i = 0; i < COUNT(pools); i++)
        http_work_free(pools[i]); /* a request could push until here */
    for (size_t i = 0; i < http->n_listeners; i++)
        (void)close(http->listeners[i].fd);
    guard_free(http->guard);
    http_log_fini(&http->log);
    free(http);
}

unsigned http_port(const struct http *http, size_t listener)
{
    return listener < http->n_listeners ? http->listeners[listener].port : 0;
}
