/* http_message.c - see http_message.h. */
#include "exporter/http/http_message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "exporter/http/http_stream.h"

/* A page without a policy of its own runs no script and loads nothing. */
#define HTML_POLICY                                                                          \
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; " \
    "base-uri 'none'; form-action 'none'"

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

struct joining {
    const char *key;
    struct buf *out;
};

static enum MHD_Result join(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    (void)kind;
    struct joining *joining = cls;
    if (strcasecmp(key, joining->key) == 0 && value != NULL)
        buf_addf(joining->out, "%s%s", joining->out->length > 0 ? "," : "", value);
    return MHD_YES;
}

void http_header_all(const struct http_request *request, const char *key, struct buf *out)
{
    struct joining joining = {key, out};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, join, &joining);
}

struct header_counts {
    unsigned lengths, hosts;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct header_counts *counts = cls;
    (void)kind, (void)value;
    counts->lengths += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    counts->hosts += strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0;
    return MHD_YES;
}

const char *http_malformed(struct MHD_Connection *connection)
{
    struct header_counts counts = {0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &counts);
    if (counts.lengths > 1)
        return "the request has several Content-Length headers";
    return counts.hosts == 1 ? NULL : "the request needs exactly one Host header";
}

static struct MHD_Response *whole_response(struct http_reply *reply)
{
    char *body = TAKE(reply->body);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body == NULL ? 0 : reply->body_bytes, body,
        body == NULL ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(body);
    return response;
}

/* A browser would ask its user for a password, over the page that asked with a wrong token. */
static bool is_of_script(struct MHD_Connection *connection)
{
    const char *mode = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Mode");
    return mode != NULL && strcmp(mode, "navigate") != 0;
}

enum MHD_Result http_send_body(struct MHD_Connection *connection, struct http_streams *streams,
                               struct http_reply *reply)
{
    struct MHD_Response *response = reply->stream.next != NULL
                                        ? http_stream_response(streams, connection, reply)
                                        : whole_response(reply);
    if (response == NULL)
        return MHD_NO;
    if (reply->type != NULL)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (reply->type != NULL && text_has_prefix(reply->type, "text/html"))
        (void)MHD_add_response_header(response, "Content-Security-Policy",
                                      reply->policy != NULL ? reply->policy : HTML_POLICY);
    if (reply->allow[0] != '\0')
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
    if (reply->challenge) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                      "Bearer realm=\"ferry\"");
        if (!is_of_script(connection))
            (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                          "Basic realm=\"ferry\", charset=\"UTF-8\"");
    }
    if (reply->try_again)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    enum MHD_Result queued = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}
