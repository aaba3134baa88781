/* streams.h - requests that run beside each other: watches that do not end, and short ones.
 *
 * streams_wait() waits for their bytes and for descriptors of the caller's, and calls the sinks.
 * The answer of a request that fails is read as an err; it is bounded. One thread.
 */
#ifndef CLI_COMMON_STREAMS_H
#define CLI_COMMON_STREAMS_H

#include "cli/common/client.h"

enum { STREAM_FAILURE_MAX = 64 * 1024, STREAMS_DESCRIPTORS_MAX = 4 };

struct streams;
/* The client must outlive them. */
struct streams *streams_new(const struct client *client, struct err *err);
void streams_free(struct streams *streams); /* closes those that are open, without a word */
DEFINE_OWNED(streams)

/* May close and open streams, its own included. */
struct stream_sink {
    void *ctx;
    /* Bytes of an answer of success; first none, when it begins. False: no more of it; the request
     * ends as failed with *err. */
    bool (*on_bytes)(void *ctx, const char *bytes, size_t n, struct err *err);
    /* Once, and the stream is gone; err NULL: the answer is whole. Not after stream_close(). */
    void (*on_end)(void *ctx, const struct err *err);
};
struct stream_request {
    const char *method, *path, *body; /* body NULL: none */
    int64_t timeout_ms;               /* of the whole answer; 0: none */
};
struct stream;
/* NULL with *err. It lives until on_end() or stream_close(). */
struct stream *stream_open(struct streams *streams, const struct stream_request *request,
                           const struct stream_sink *sink, struct err *err);
void stream_close(struct stream *stream); /* NULL is fine; not from its own on_bytes() */

/* Until bytes came, a descriptor can be read or the time is over. Calls the sinks. Returns a bit
 * for each descriptor that can be read or was closed at its other end. */
unsigned streams_wait(struct streams *streams, const int *descriptors, size_t n, int64_t ms);

#endif
