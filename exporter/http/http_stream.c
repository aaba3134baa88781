/* http_stream.c - see http_stream.h. */
#include "exporter/http/http_stream.h"

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
    bool is_last, has_failed; /* no piece follows; one could not be made */
};

bool http_stream_reserve(struct http_streams *streams)
{
    if (atomic_fetch_add(&streams->n, 1) < HTTP_STREAMS_MAX)
        return true;
    (void)atomic_fetch_sub(&streams->n, 1);
    return false;
}

static void make_piece(struct sending *s)
{
    struct buf piece;
    buf_init(&piece, PIECE_MAX);
    s->is_last = !s->source.next(s->source.ctx, &piece);
    s->n = piece.length;
    s->sent = 0;
    s->piece = buf_take(&piece);
    s->has_failed = s->piece == NULL;
}

static void run_maker(struct http_job *job, bool stopping)
{
    struct sending *s = (struct sending *)job;
    if (stopping)
        s->has_failed = true;
    else
        make_piece(s);
    MHD_resume_connection(s->connection); /* s belongs to its connection again */
}

/* Suspended before the push: a fast maker resumes it. Each stream has at most one piece under way,
 * so that the makers' queue takes all of them; it refuses only when the server stops. */
static void ask_for_piece(struct sending *s)
{
    free(s->piece);
    s->piece = NULL;
    s->n = s->sent = 0;
    s->job.run = run_maker;
    MHD_suspend_connection(s->connection);
    if (http_work_push(s->streams->makers, &s->job))
        return;
    s->has_failed = true;
    MHD_resume_connection(s->connection);
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
    (void)atomic_fetch_sub(&s->streams->n, 1);
    s->source.free(s->source.ctx);
    free(s->piece);
    free(s);
}

struct MHD_Response *http_stream_response(struct http_streams *streams,
                                          struct MHD_Connection *connection,
                                          struct http_reply *reply)
{
    struct sending *s = calloc(1, sizeof *s);
    if (s == NULL) {
        reply->stream.free(reply->stream.ctx);
        reply->stream = (struct http_stream){0};
        (void)atomic_fetch_sub(&streams->n, 1);
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
