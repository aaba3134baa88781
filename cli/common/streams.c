/* streams.c - see streams.h. A stream is a curl handle of a multi handle. What has ended is
 * collected after curl's own work, so that a sink may open and close streams. */
#include "cli/common/streams.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/common/client_easy.h"

enum {
    KEEP_ALIVE_S = 10, /* of a peer that is silent: probes, so that a dead one is noticed */
    METHOD_MAX = 8,
};

struct stream {
    struct stream *next;
    struct streams *owner;
    CURL *easy;
    char method[METHOD_MAX];
    struct stream_sink sink;
    struct buf failure; /* the body of an answer that is none of success */
    struct err refused; /* by on_bytes() */
};

struct streams {
    const struct client *client;
    CURLM *multi;
    struct stream *first;
};

struct streams *streams_new(const struct client *client, struct err *err)
{
    OWNED(streams) streams = calloc(1, sizeof *streams);
    if (streams != NULL)
        streams->multi = curl_multi_init();
    if (streams == NULL || streams->multi == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the HTTP client");
        return NULL;
    }
    streams->client = client;
    return TAKE(streams);
}

void stream_close(struct stream *stream)
{
    if (stream == NULL)
        return;
    struct stream **at = &stream->owner->first;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    (void)curl_multi_remove_handle(stream->owner->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    buf_fini(&stream->failure);
    free(stream);
}

void streams_free(struct streams *streams)
{
    if (streams == NULL)
        return;
    while (streams->first != NULL)
        stream_close(streams->first);
    (void)curl_multi_cleanup(streams->multi);
    free(streams);
}

static long status_of(CURL *easy)
{
    long http = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http);
    return http;
}

static bool is_success(long http)
{
    return http >= 200 && http <= 299;
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
    struct stream *stream = ctx;
    if (!is_success(status_of(stream->easy))) {
        buf_add_bytes(&stream->failure, bytes, size * n);
        return stream->failure.failed ? 0 : size * n;
    }
    return stream->sink.on_bytes(stream->sink.ctx, bytes, size * n, &stream->refused) ? size * n
                                                                                      : 0;
}

/* The empty line ends them. */
static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct stream *stream = ctx;
    bool is_end = size * n <= 2 && (bytes[0] == '\r' || bytes[0] == '\n');
    if (is_end && is_success(status_of(stream->easy)) &&
        !stream->sink.on_bytes(stream->sink.ctx, "", 0, &stream->refused))
        return 0;
    return size * n;
}

static void set_options(struct stream *stream, int64_t timeout_ms)
{
    CURL *easy = stream->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, stream);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, stream);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, stream);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEP_ALIVE_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEP_ALIVE_S);
}

struct stream *stream_open(struct streams *streams, const struct stream_request *request,
                           const struct stream_sink *sink, struct err *err)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream != NULL)
        stream->easy =
            client_easy(streams->client, request->method, request->path, request->body, err);
    if (stream == NULL || stream->easy == NULL) {
        if (stream == NULL)
            (void)err_set(err, ERR_NOMEM, "no memory for a request");
        free(stream);
        return NULL;
    }
    stream->owner = streams;
    stream->sink = *sink;
    TEXT_SET(stream->method, request->method);
    buf_init(&stream->failure, STREAM_FAILURE_MAX);
    set_options(stream, request->timeout_ms);
    if (curl_multi_add_handle(streams->multi, stream->easy) != CURLM_OK) {
        (void)err_set(err, ERR_NOMEM, "no memory for a request");
        curl_easy_cleanup(stream->easy);
        free(stream);
        return NULL;
    }
    stream->next = streams->first;
    streams->first = stream;
    return stream;
}

/* What became of a request; NULL: the answer is whole. */
static const struct err *end_of(struct stream *stream, CURLcode code, struct err *err)
{
    long http = status_of(stream->easy);
    if (stream->refused.code != ERR_NONE) {
        *err = stream->refused;
        return err;
    }
    if (http != 0 && !is_success(http)) {
        struct err unreadable = {0};
        OWNED(json_object) body =
            json_parse(stream->failure.data != NULL ? stream->failure.data : "",
                       stream->failure.length, "the answer", &unreadable);
        (void)client_fail_from_status(http, body, err);
        return err;
    }
    if (code == CURLE_OK)
        return NULL;
    (void)client_fail_from_curl(stream->owner->client, stream->easy, code, stream->method, err);
    return err;
}

static void collect_ended(struct streams *streams)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(streams->multi, &left)) != NULL;) {
        char *ctx = NULL;
        struct err err = {0};
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* the message goes with the handle */
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ctx);
        struct stream *stream = (struct stream *)(void *)ctx;
        const struct err *why = end_of(stream, code, &err);
        struct stream_sink sink = stream->sink;
        stream_close(stream);
        sink.on_end(sink.ctx, why);
    }
}

unsigned streams_wait(struct streams *streams, const int *descriptors, size_t n, int64_t ms)
{
    struct curl_waitfd waits[STREAMS_DESCRIPTORS_MAX];
    unsigned readable = 0;
    int running;
    assert(n <= STREAMS_DESCRIPTORS_MAX);
    for (size_t i = 0; i < n; i++)
        waits[i] = (struct curl_waitfd){.fd = descriptors[i], .events = CURL_WAIT_POLLIN};
    (void)curl_multi_perform(streams->multi, &running);
    collect_ended(streams);
    (void)curl_multi_poll(streams->multi, waits, (unsigned)n, ms > 0 ? (int)ms : 0, NULL);
    (void)curl_multi_perform(streams->multi, &running);
    collect_ended(streams);
    for (size_t i = 0; i < n; i++)
        readable |= waits[i].revents != 0 ? 1u << i : 0;
    return readable;
}
