/* http.c - see http.h. One exchange per request: read, serve (here or on a worker), answer.
 *
 * A connection that waits for a worker is suspended. A disconnect of its client is noticed after it
 * is resumed, at the latest at the deadline of the request.
 */
#include "exporter/http/http.h"

#include <assert.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "exporter/http/limits.h"

enum { LOG_LINES_MAX = 5, LOG_WINDOW_MS = 60000, METHOD_MAX = 16, PATH_MAX_BYTES = 2048 };

struct http {
    struct MHD_Daemon *daemon;
    int fd;
    unsigned port;
    const struct clock *clock;
    struct http_service service;
    struct http_work *work;
    pthread_mutex_t log_lock; /* the rest */
    struct log_budget {
        int64_t since_ms;
        unsigned lines, suppressed; /* in this minute; suppressed: beyond the limit */
    } library_log, refusal_log;
};

struct exchange {
    struct http_job job; /* first: an http_job is cast to its exchange */
    struct http *http;
    struct MHD_Connection *connection;
    char method[METHOD_MAX], path[PATH_MAX_BYTES], allow[ROUTE_ALLOW_MAX];
    const struct http_route *route;
    struct route_parts parts;
    struct buf body;
    size_t received;
    int64_t began_ms;
    enum { READING, WORKING, SERVED } state;
    struct http_reply reply;
};

const char *http_query(const struct http_request *request, const char *key)
{
    const char *value = NULL;
    size_t n = 0;
    if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, key, strlen(key),
                                      &value, &n) != MHD_YES)
        return NULL;
    return value == NULL ? "" : value;
}

const char *http_header(const struct http_request *request, const char *key)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, key);
}

/* ---- pages ---- */

struct http_page {
    atomic_int references;
    struct MHD_Response *response;
    const char *text; /* the response's */
    size_t n;
};

struct http_page *http_page_new(char *take_body, size_t n, const char *type)
{
    struct http_page *page = calloc(1, sizeof *page);
    if (page != NULL)
        page->response = MHD_create_response_from_buffer(n, take_body, MHD_RESPMEM_MUST_FREE);
    if (page == NULL || page->response == NULL) {
        free(take_body);
        free(page);
        return NULL;
    }
    atomic_init(&page->references, 1);
    page->text = take_body;
    page->n = n;
    (void)MHD_add_response_header(page->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return page;
}

void http_page_add_header(struct http_page *page, const char *key, const char *value)
{
    (void)MHD_add_response_header(page->response, key, value);
}

const char *http_page_text(const struct http_page *page, size_t *out_n)
{
    *out_n = page->n;
    return page->text;
}

struct http_page *http_page_ref(struct http_page *page)
{
    if (page != NULL)
        (void)atomic_fetch_add(&page->references, 1);
    return page;
}

void http_page_unref(struct http_page *page)
{
    if (page == NULL || atomic_fetch_sub(&page->references, 1) != 1)
        return;
    MHD_destroy_response(page->response); /* connections hold references of their own */
    free(page);
}

/* ---- one exchange ---- */

static void exchange_free(struct exchange *e)
{
    http_page_unref(e->reply.page);
    free(e->reply.body);
    buf_fini(&e->body);
    free(e);
}

static struct exchange *exchange_new(struct http *http, struct MHD_Connection *connection,
                                     const char *method, const char *path)
{
    struct exchange *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->http = http;
    e->connection = connection;
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
                                 .connection = e->connection};
}

static void refuse(struct exchange *e, unsigned status, const char *text)
{
    e->http->service.refuse(e->http->service.ctx, status, text, &e->reply);
    e->state = SERVED;
}

static void serve(struct exchange *e)
{
    struct http_request request = request_of(e);
    e->http->service.serve(e->http->service.ctx, e->route, &request, e->allow, &e->reply);
    e->state = SERVED;
}

static enum MHD_Result queue_body(struct exchange *e)
{
    char *body = TAKE(e->reply.body);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body == NULL ? 0 : e->reply.body_bytes, body,
        body == NULL ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(body);
        return MHD_NO;
    }
    if (e->reply.type != NULL)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, e->reply.type);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (e->reply.allow[0] != '\0')
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, e->reply.allow);
    if (e->reply.try_again)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    enum MHD_Result queued = MHD_queue_response(e->connection, e->reply.status, response);
    MHD_destroy_response(response);
    return queued;
}

/* May another line be logged in this minute? *out_suppressed: lines suppressed in the minute
 * before. */
static bool may_log(struct http *http, struct log_budget *budget, unsigned max,
                    unsigned *out_suppressed)
{
    int64_t now_ms = clock_mono_ms(http->clock);
    (void)pthread_mutex_lock(&http->log_lock);
    *out_suppressed = 0;
    if (now_ms - budget->since_ms >= LOG_WINDOW_MS) {
        *out_suppressed = budget->suppressed;
        *budget = (struct log_budget){.since_ms = now_ms};
    }
    bool may = budget->lines < max;
    if (may)
        budget->lines++;
    else
        budget->suppressed++;
    (void)pthread_mutex_unlock(&http->log_lock);
    return may;
}

/* Changes are always logged; refused requests are limited, since any client can repeat them. */
static bool is_worth_a_line(const struct exchange *e)
{
    unsigned suppressed = 0;
    if (e->reply.status < 400)
        return true;
    bool may = may_log(e->http, &e->http->refusal_log, HTTP_REFUSALS_LOGGED, &suppressed);
    if (suppressed > 0)
        LOG(WARN, "http_refusals_not_logged", FIELD_I64(COUNT, suppressed));
    return may;
}

static void log_request(const struct exchange *e)
{
    const struct log_field fields[] = {FIELD_TEXT(METHOD, e->method), FIELD_TEXT(PATH, e->path),
                                       FIELD_I64(STATUS, e->reply.status),
                                       FIELD_I64(SPENT_MS,
                                                 clock_mono_ms(e->http->clock) - e->began_ms)};
    bool changes = strcmp(e->method, "GET") != 0 && strcmp(e->method, "HEAD") != 0;
    enum log_level level = changes ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
    if (log_enabled(level) && (!changes || is_worth_a_line(e)))
        log_line(level, "http_request", fields, COUNT(fields));
}

static enum MHD_Result answer(struct exchange *e)
{
    log_request(e);
    if (e->reply.page == NULL)
        return queue_body(e);
    return MHD_queue_response(e->connection, e->reply.status, e->reply.page->response);
}

/* ---- workers ---- */

static void run_exchange(struct http_job *job, bool stopping)
{
    struct exchange *e = (struct exchange *)job;
    if (stopping)
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "Ferry is stopping");
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
 * client waits for 100-continue, or if it is too long to drain. */
static enum MHD_Result begin(struct exchange *e)
{
    struct http_request request = request_of(e);
    const char *length = http_header(&request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t declared;
    if (length == NULL || !text_to_i64(length, 0, INT64_MAX, &declared))
        return MHD_YES;
    bool waits = http_header(&request, MHD_HTTP_HEADER_EXPECT) != NULL;
    if (declared <= EXPORTER_BODY_MAX || (!waits && declared <= HTTP_DRAIN_MAX))
        return MHD_YES;
    refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than 1 MiB");
    return answer(e);
}

/* One part of the body. MHD_NO closes the connection: the body is too long or too slow. */
static enum MHD_Result take_body(struct exchange *e, const char *bytes, size_t n)
{
    e->received += n;
    if (e->received > HTTP_DRAIN_MAX ||
        clock_mono_ms(e->http->clock) - e->began_ms > EXPORTER_TIMEOUT_S * INT64_C(1000))
        return MHD_NO;
    buf_add_bytes(&e->body, bytes, n);
    return MHD_YES;
}

static bool has_control_character(const char *text)
{
    while ((unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text != '\0';
}

static enum MHD_Result dispatch(struct exchange *e)
{
    struct http_request request = request_of(e);
    const char *host = http_header(&request, MHD_HTTP_HEADER_HOST);
    if (host != NULL && !http_host_is_loopback(host))
        refuse(e, MHD_HTTP_MISDIRECTED_REQUEST, "the Host header is not a loopback address");
    else if (has_control_character(e->path))
        refuse(e, MHD_HTTP_BAD_REQUEST, "the path has a control character in it");
    else if (e->body.failed)
        refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than 1 MiB");
    else if (e->route != NULL && e->http->service.lane(e->route) == HTTP_LANE_WORKER)
        return give_to_worker(e);
    else
        serve(e);
    return answer(e);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **con_cls)
{
    (void)version;
    struct exchange *e = *con_cls;
    if (e == NULL) {
        e = exchange_new(cls, connection, method, url);
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
    if (e != NULL)
        exchange_free(e);
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

/* The library logs a line per lost client; limited to a few per minute. */
static void on_log(void *cls, const char *fmt, va_list args)
{
    struct http *http = cls;
    unsigned suppressed;
    if (!may_log(http, &http->library_log, LOG_LINES_MAX, &suppressed))
        return;
    char text[256];
    /* The formats come from the library, not from a client. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)vsnprintf(text, sizeof text, fmt, args);
#pragma GCC diagnostic pop
    text[strcspn(text, "\n")] = '\0';
    LOG(DEBUG, "http_library", FIELD_TEXT(TEXT, text));
}

/* ---- life ---- */

static struct MHD_Daemon *start(struct http *http)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER,
                            on_log, http, MHD_OPTION_LISTEN_SOCKET, http->fd,
                            MHD_OPTION_THREAD_POOL_SIZE, (unsigned)HTTP_THREADS,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)EXPORTER_CONNECTIONS_MAX,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)EXPORTER_TIMEOUT_S,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_MAX,
                            MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, http,
                            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_END);
}

struct http *http_new(const char *listen, const struct clock *clock,
                      const struct http_service *service, struct err *err)
{
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the HTTP server");
        return NULL;
    }
    http->clock = clock;
    http->service = *service;
    http->library_log.since_ms = http->refusal_log.since_ms = clock_mono_ms(clock);
    (void)pthread_mutex_init(&http->log_lock, NULL);
    http->fd = http_listen(listen, &http->port, err);
    if (http->fd >= 0)
        http->work = http_work_new(HTTP_WORKERS, HTTP_WORK_MAX, err);
    if (http->work != NULL) {
        http->daemon = start(http);
        if (http->daemon != NULL)
            return http;
        err_set(err, ERR_IO, "cannot start the HTTP server on %s", listen);
    }
    http_free(http);
    return NULL;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    if (http->daemon != NULL)
        (void)MHD_quiesce_daemon(http->daemon);
    if (http->work != NULL)
        http_work_stop(http->work); /* no connection may be suspended when the daemon stops */
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    http_work_free(http->work); /* a request could push until here */
    if (http->fd >= 0)
        (void)close(http->fd);
    (void)pthread_mutex_destroy(&http->log_lock);
    free(http);
}

unsigned http_port(const struct http *http)
{
    return http->port;
}
