/* http_stream.h - a reply that is made while it is sent, in the terms of libmicrohttpd.
 *
 * A long reply as one text would cost a copy for each slow reader. A stream holds one piece: when
 * the client has taken it, the connection is suspended, a thread of the makers' pool makes the next
 * piece, and the connection goes on. No piece is made on a connection's thread, so that a scrape
 * waits for none, and the makers are not the workers: those may all be waiting for the engine.
 *
 * Threads: a stream belongs to its connection's thread, and to a maker while it is suspended. */
#ifndef EXPORTER_HTTP_HTTP_STREAM_H
#define EXPORTER_HTTP_HTTP_STREAM_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "exporter/http/http.h"
#include "exporter/http/http_guard.h"

/* How many streams there are of a kind, and may be. */
struct http_count {
    atomic_uint n;
    unsigned max;
};
/* The makers, and the lists that are being sent. Watches count by listener (http.c): on none can
 * they take the connections that health and metrics need. */
struct http_streams {
    struct http_work *makers;
    struct http_count lists;
    struct guard *guard;
};
/* A place for the stream of a reply; false: too many are being sent already. */
bool http_stream_reserve(struct http_stream *stream, struct http_count *count);
/* Takes the reply's body, the first piece, and its stream. NULL: no memory; they are freed. */
struct MHD_Response *http_stream_response(struct http_streams *streams,
                                          struct MHD_Connection *connection,
                                          struct http_reply *reply);

#endif
