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

/* The makers, and how many streams there are. */
struct http_streams {
    struct http_work *makers;
    atomic_uint n, n_watches;
    struct guard *guard;
};
/* A stream for the next http_stream_response(); false: too many are being sent already. */
bool http_stream_reserve(struct http_streams *streams, bool is_watch);
/* Takes the reply's body, the first piece, and its stream. NULL: no memory; they are freed. */
struct MHD_Response *http_stream_response(struct http_streams *streams,
                                          struct MHD_Connection *connection,
                                          struct http_reply *reply);

#endif
