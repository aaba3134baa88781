/* api_override.c - operator overrides for a migration that Ferry cannot finish: recover a broken
 * post-copy again, or state where the guest is when no host can prove it. */
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

/* The body; only known members, may be empty. NULL with err. */
static struct json_object *read_word(const struct http_request *http, struct api_words known,
                                     struct err *err)
{
    OWNED(json_object) body =
        http->body_bytes == 0 ? json_object_new_object() : api_body(http, err);
    bool by_query = false, by_body = false;
    if (body == NULL || !api_only_known(body, "", known, (struct api_words){0}, err) ||
        !api_dry_run(http, &by_query, err) ||
        !api_dry_run_list(json_at(body, "dryRun"), &by_body, err))
        return NULL;
    if (by_query || by_body) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "dryRun: not supported for an operator override; nothing was changed");
        return NULL;
    }
    return TAKE(body);
}

/* Stored with the job: one line, not empty. */
static bool read_because(struct json_object *body, struct resolve_request *out, struct err *err)
{
    const char *text;
    if (!json_get_text(body, "because", "", &text, err))
        return false;
    if (text[strspn(text, " ")] == '\0')
        return err_set(err, ERR_UNPROCESSABLE,
                       "because: is missing; state how the location is known");
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return err_set(err, ERR_UNPROCESSABLE,
                           "because: must be one line, without control characters");
    if (!text_copy(out->why, sizeof out->why, text))
        return err_set(err, ERR_UNPROCESSABLE, "because: is %zu bytes long; the limit is %zu",
                       strlen(text), sizeof out->why - 1);
    return true;
}

static bool read_place(struct json_object *body, struct resolve_request *out, struct err *err)
{
    static const struct {
        const char *name;
        enum override_kind kind;
    } words[] = {
        {"source", RESOLVE_ON_SOURCE}, {"target", RESOLVE_ON_TARGET}, {"gone", RESOLVE_GONE}};
    const char *text;
    if (!json_get_text(body, "guestAt", "", &text, err))
        return false;
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(words[i].name, text) == 0) {
            out->kind = words[i].kind;
            return true;
        }
    if (*text == '\0')
        return err_set(err, ERR_UNPROCESSABLE,
                       "guestAt: is missing; expected source, target or gone");
    return err_set(err, ERR_UNPROCESSABLE, "guestAt: '%.60s' is none of source, target, gone",
                   text);
}

/* Sends it to the engine, which checks whether it applies. */
static void send_override(const struct api_call *call, struct resolve_request *request,
                          unsigned status, struct http_reply *reply)
{
    const struct http_request *http = call->request;
    struct err err = {0};
    bool is_of_guest = request->kind == RESOLVE_ADOPT || request->kind == RESOLVE_PAUSE ||
                       request->kind == RESOLVE_UNPAUSE;
    enum api_kind about = is_of_guest ? KIND_INSTANCE : KIND_MIGRATION;
    api_requester(http, request->requester);
    if (!text_copy(request->ns, sizeof request->ns, http->ns) ||
        !text_copy(request->name, sizeof request->name, http->name))
        reply_not_found(reply, KIND_MIGRATION, http->name); /* no object can have such a name */
    else if (call->x->requests.resolve(call->x->requests.ctx, request, &err))
        reply_success(reply, status);
    else if (err.code == ERR_NOT_FOUND)
        reply_not_found(reply, about, http->name);
    else
        reply_err(reply, &err, about, http->name);
}

/* An override without parameters. */
static void serve_plain(const struct api_call *call, enum override_kind kind, unsigned status,
                        struct http_reply *out_reply)
{
    static const char *const known[] = {"dryRun"};
    struct resolve_request request = {.kind = kind};
    struct err err = {0};
    if (!api_is_json(call->request, out_reply))
        return;
    OWNED(json_object) body = read_word(call->request, API_WORDS(known), &err);
    if (body == NULL)
        reply_err(out_reply, &err, KIND_MIGRATION, call->request->name);
    else
        send_override(call, &request, status, out_reply);
}

void serve_recover(const struct api_call *call, struct http_reply *out_reply)
{
    serve_plain(call, RESOLVE_RECOVER, 202, out_reply);
}

void serve_ack(const struct api_call *call, struct http_reply *out_reply)
{
    serve_plain(call, RESOLVE_ACKNOWLEDGE, 200, out_reply);
}

static bool read_nodes(struct json_object *body, struct resolve_request *out, struct err *err)
{
    const char *from, *to;
    if (!json_get_text(body, "from", "", &from, err) || !json_get_text(body, "to", "", &to, err))
        return false;
    if (*from == '\0' || *to == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "from, to: both nodes must be named");
    return (text_copy(out->source, sizeof out->source, from) &&
            text_copy(out->target, sizeof out->target, to)) ||
           err_set(err, ERR_UNPROCESSABLE, "from, to: no node has such a long name");
}

void serve_adopt(const struct api_call *call, struct http_reply *out_reply)
{
    static const char *const known[] = {"from", "to", "dryRun"};
    struct resolve_request request = {.kind = RESOLVE_ADOPT};
    struct err err = {0};
    if (!api_is_json(call->request, out_reply))
        return;
    OWNED(json_object) body = read_word(call->request, API_WORDS(known), &err);
    if (body == NULL || !read_nodes(body, &request, &err))
        reply_err(out_reply, &err, KIND_INSTANCE, call->request->name);
    else
        send_override(call, &request, 202, out_reply);
}

void serve_resolve(const struct api_call *call, struct http_reply *out_reply)
{
    static const char *const known[] = {"guestAt", "because", "dryRun"};
    struct resolve_request request = {0};
    struct err err = {0};
    if (!api_is_json(call->request, out_reply))
        return;
    OWNED(json_object) body = read_word(call->request, API_WORDS(known), &err);
    if (body == NULL || !read_place(body, &request, &err) || !read_because(body, &request, &err))
        reply_err(out_reply, &err, KIND_MIGRATION, call->request->name);
    else
        send_override(call, &request, 200, out_reply);
}
