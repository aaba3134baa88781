/* http_stream.c - see http_stream.h. */
#include "exporter/http/http_stream.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { BLOCK_BYTES = 32 * 1024, PIECE_MAX = 16 * 1024 * 1024 };

struct sending {
    struct http_job job; /* first: an http_job is cast to this */
    struct http_streams *streams;
    struct MHD_Connection *connection;
    struct http_stream source;
    char *piece; /* what is being sent */
    size_t n, sent;
    bool has_waited;
    bool is_last, has_failed; /* no piece follows; one could not be made */
};

bool http_stream_reserve(struct http_stream *stream, struct http_count *count)
{
    if (atomic_fetch_add(&count->n, 1) < count->max) {
        stream->counted_in = count;
        return true;
    }
    (void)atomic_fetch_sub(&count->n, 1);
    return false;
}

static void stream_fini(struct http_stream *stream)
{
    (void)atomic_fetch_sub(&stream->counted_in->n, 1);
    stream->free(stream->ctx);
}

/* False: there is none yet. */
static bool make_piece(struct sending *s)
{
    struct buf piece;
    buf_init(&piece, PIECE_MAX);
    enum http_next next = s->source.next(s->source.ctx, &piece);
    s->is_last = next == STREAM_LAST;
    s->n = piece.length;
    s->sent = 0;
    s->piece = buf_take(&piece);
    s->has_failed = s->piece == NULL;
    return next != STREAM_LATER || s->has_failed;
}

/* The library does not look at a suspended connection. What the client sent before it left does not
 * hide that. */
static bool has_left(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd end = {.fd = fd == NULL ? -1 : fd->connect_fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) == 1;
}

static void run_maker(struct http_job *job, bool stopping);

/* Each stream has at most one piece under way, so that the makers' queue takes all of them; it
 * refuses only when the server stops. */
static void push(void *ctx)
{
    struct sending *s = ctx;
    s->job.run = run_maker;
    if (http_work_push(s->streams->makers, &s->job))
        return;
    s->has_failed = true;
    MHD_resume_connection(s->connection);
}

static void run_maker(struct http_job *job, bool stopping)
{
    struct sending *s = (struct sending *)job;
    if (!stopping && !make_piece(s)) {
        free(s->piece);
        s->piece = NULL;
        if (!has_left(s->connection)) {
            if (!s->has_waited) /* what it began with is sent: it may stay */
                guard_set(s->streams->guard, s->source.guarded, GUARD_WATCHING);
            s->has_waited = true;
            s->source.wait(s->source.ctx, push, s);
            return;
        }
        s->has_failed = true;
    }
    if (stopping)
        s->has_failed = true;
    MHD_resume_connection(s->connection); /* s belongs to its connection again */
}

/* Suspended before the push: a fast maker resumes it. */
static void ask_for_piece(struct sending *s)
{
    free(s->piece);
    s->piece = NULL;
    s->n = s->sent = 0;
    MHD_suspend_connection(s->connection);
    push(s);
}

/* An error closes the connection without the last chunk: the client sees that the list is cut. */
static ssize_t read_piece(void *ctx, uint64_t position, char *out, size_t max)
{
    struct sending *s = ctx;
    (void)position;
    if (s->has_failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (s->sent == s->n && s->is_last)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->sent == s->n) {
        ask_for_piece(s);
        return 0;
    }
    size_t n = s->n - s->sent < max ? s->n - s->sent : max;
    memcpy(out, s->piece + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

static void sending_free(void *ctx)
{
    struct sending *s = ctx;
    stream_fini(&s->source);
    free(s->piece);
    free(s);
}

struct MHD_Response *http_stream_response(struct http_streams *streams,
                                          struct MHD_Connection *connection,
                                          struct http_reply *reply)
{
    struct sending *s = calloc(1, sizeof *s);
    if (s == NULL) {
        stream_fini(&reply->stream);
        reply->stream = (struct http_stream){0};
        return NULL;
    }
    *s = (struct sending){.streams = streams,
                          .connection = connection,
                          .source = reply->stream,
                          .piece = TAKE(reply->body),
                          .n = reply->body_bytes};
    reply->stream = (struct http_stream){0};
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                      read_piece, s, sending_free);
    if (response == NULL)
        sending_free(s);
    return response;
}
