/* http_message.h - requests and replies in libmicrohttpd's terms. Called on the connection's
 * thread. */
#ifndef EXPORTER_HTTP_HTTP_MESSAGE_H
#define EXPORTER_HTTP_HTTP_MESSAGE_H

#include <microhttpd.h>

#include "exporter/http/http.h"

/* Why a request could be read in two ways; NULL: it is well formed. Two lengths are how a request
 * is smuggled past a proxy; a missing Host has no allowed name. */
const char *http_malformed(struct MHD_Connection *connection);
/* Queues the reply with its headers; takes its body and its stream. */
struct http_streams;
enum MHD_Result http_send_body(struct MHD_Connection *connection, struct http_streams *streams,
                               struct http_reply *reply);

#endif
