/* api_reply.c - answers: text, JSON, and failures as Kubernetes' Status. */
#include <string.h>

#include "exporter/api/api.h"

static const char content_type[] = "application/json";

static const char *const reasons[ERR_COUNT] = {
#define REASON(id, reason) [ERR_##id] = reason,
#include "exporter/api/reason.def"
#undef REASON
};

void reply_text(struct http_reply *reply, unsigned status, const char *text)
{
    reply->status = status;
    reply->type = "text/plain; charset=utf-8";
    reply->body = strdup(text);
    reply->body_bytes = reply->body == NULL ? 0 : strlen(text);
}

void reply_buf(struct http_reply *reply, unsigned status, struct buf *take_buf)
{
    reply->status = status;
    reply->type = content_type;
    reply->body_bytes = take_buf->length;
    reply->body = buf_take(take_buf);
    if (reply->body != NULL)
        return;
    reply->status = 503; /* no memory for a Status */
    reply->body_bytes = 0;
}

void reply_json(struct http_reply *reply, unsigned status, struct json_object *take_value)
{
    OWNED(json_object) value = take_value;
    struct buf text;
    buf_init(&text, JSON_BYTES_MAX);
    size_t n = 0;
    const char *written = json_object_to_json_string_length(
        value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
    if (value == NULL || written == NULL)
        text.failed = true;
    else
        buf_add_bytes(&text, written, n);
    buf_add(&text, "\n");
    reply_buf(reply, status, &text);
}

/* Borrowed; NULL: not about an object. */
static struct json_object *add_details(struct json_object *status, enum api_kind kind,
                                       const char *name, const char *uid)
{
    if (kind == KIND_NONE)
        return NULL;
    const struct api_kind_row *row = api_kind_row(kind);
    struct json_object *details = json_add_object(status, "details");
    json_add_text(details, "name", name);
    const char *slash = strchr(row->api_version, '/');
    if (slash != NULL)
        json_add(details, "group",
                 json_object_new_string_len(row->api_version, (int)(slash - row->api_version)));
    json_add_text(details, "kind", row->plural);
    json_add_text(details, "uid", uid);
    return details;
}

/* "field: what" as a cause: kubectl shows only causes of an invalid object. */
static void add_cause(struct json_object *details, const char *message)
{
    size_t n = strcspn(message, ": ");
    bool has_field = text_has_prefix(message + n, ": ");
    struct json_object *cause = json_add_object(json_add_array(details, "causes"), "");
    json_add_text(cause, "reason", "FieldValueInvalid");
    json_add_text(cause, "message", has_field ? message + n + 2 : message);
    if (has_field) { /* the name may be truncated inside a character */
        char field[ERR_TEXT_MAX];
        (void)snprintf(field, sizeof field, "%.*s", (int)n, message);
        json_add_text(cause, "field", field);
    }
}

static struct json_object *status_new(const char *outcome)
{
    struct json_object *status = json_object_new_object();
    json_add_text(status, "kind", "Status");
    json_add_text(status, "apiVersion", "v1");
    (void)json_add_object(status, "metadata");
    json_add_text(status, "status", outcome);
    return status;
}

static void reply_failure(struct http_reply *reply, unsigned code, const char *reason,
                          const char *message, enum api_kind kind, const char *name)
{
    struct json_object *status = status_new("Failure");
    json_add_text(status, "message", message);
    json_add_text(status, "reason", reason);
    struct json_object *details = add_details(status, kind, name, NULL);
    if (code == 422)
        add_cause(details, message);
    json_add_i64(status, "code", code);
    reply_json(reply, code, status);
    reply->try_again = code == 429 || code == 503;
}

void reply_err(struct http_reply *reply, const struct err *err, enum api_kind kind,
               const char *name)
{
    const char *reason = reasons[err->code] == NULL ? "InternalError" : reasons[err->code];
    reply_failure(reply, (unsigned)err_http_status(err->code), reason, err->text, kind, name);
}

void reply_not_found(struct http_reply *reply, enum api_kind kind, const char *name)
{
    const struct api_kind_row *row = api_kind_row(kind);
    const char *slash = strchr(row->api_version, '/');
    char text[512];
    (void)snprintf(text, sizeof text, "%s%s%.*s \"%.256s\" not found", row->plural,
                   slash == NULL ? "" : ".", slash == NULL ? 0 : (int)(slash - row->api_version),
                   row->api_version, name);
    reply_failure(reply, 404, "NotFound", text, kind, name);
}

void reply_refusal(struct http_reply *reply, unsigned status, const char *text)
{
    static const struct {
        unsigned status;
        const char *reason;
    } rows[] = {
        {400, "BadRequest"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "NotFound"},
        {405, "MethodNotAllowed"},
        {413, "RequestEntityTooLarge"},
        {415, "UnsupportedMediaType"},
        {421, "MisdirectedRequest"},
        {422, "Invalid"},
        {429, "TooManyRequests"},
        {503, "ServiceUnavailable"},
    };
    const char *reason = "InternalError";
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].status == status)
            reason = rows[i].reason;
    reply_failure(reply, status, reason, text, KIND_NONE, NULL);
}

void reply_no_route(struct http_reply *reply, const struct http_request *request, const char *allow)
{
    char text[512];
    const char *why = allow[0] == '\0' ? api_unsupported(request->path) : NULL;
    if (why != NULL) {
        reply_refusal(reply, 405, why);
        return;
    }
    if (allow[0] == '\0') {
        (void)snprintf(text, sizeof text,
                       "the server could not find the requested resource (%.300s)", request->path);
        reply_refusal(reply, 404, text);
        return;
    }
    (void)snprintf(text, sizeof text, "%s is not allowed on %.300s; allowed: %s", request->method,
                   request->path, allow);
    reply_refusal(reply, 405, text);
    TEXT_SET(reply->allow, allow);
}

void reply_deleted(struct http_reply *reply, enum api_kind kind, const char *name, const char *uid)
{
    struct json_object *status = status_new("Success");
    (void)add_details(status, kind, name, uid);
    reply_json(reply, 200, status);
}

void reply_success(struct http_reply *reply, unsigned status)
{
    struct json_object *body = status_new("Success");
    json_add_i64(body, "code", status);
    reply_json(reply, status, body);
}
