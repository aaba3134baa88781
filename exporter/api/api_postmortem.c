/* api_postmortem.c - /postmortem: the report on one migration. Made from the store on a worker
 * thread; one at a time, because its replays take milliseconds of CPU.
 */
#include <stdatomic.h>
#include <string.h>

#include "analyzer/report/postmortem.h"
#include "exporter/api/api.h"
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

static bool render(const struct api_call *call, enum pm_format format, struct buf *out,
                   struct err *err)
{
    OWNED(archive)
    archive = archive_load(call->x->store, call->request->ns, call->request->name, err);
    if (archive != NULL && !api_may_see(call->request, archive->job.ns))
        return err_set(err, ERR_NOT_FOUND, "no migration '%s' in namespace '%s'",
                       call->request->name, call->request->ns);
    OWNED(postmortem) pm = archive != NULL ? postmortem_new(archive, err) : NULL;
    if (pm == NULL)
        return false;
    postmortem_render(pm, format, 0, out);
    return !out->failed ||
           err_set(err, ERR_LIMIT, "the report is larger than %d bytes", POSTMORTEM_PAGE_MAX);
}

static void reply_page(const struct http_request *http, enum pm_format format, struct buf *text,
                       struct http_reply *out_reply)
{
    static const char *const types[PM_FORMAT_COUNT] = {
        [PM_TEXT] = "text/plain; charset=utf-8",
        [PM_MARKDOWN] = "text/markdown; charset=utf-8",
        [PM_JSON] = "application/json",
        [PM_HTML] = "text/html; charset=utf-8",
    };
    if (http_query(http, "wrap") == NULL) {
        reply_buf(out_reply, 200, text);
        out_reply->type = types[format];
        return;
    }
    struct json_object *answer = json_object_new_object(); /* for clients that accept only JSON */
    json_add_text(answer, "page", text->data);
    buf_fini(text);
    reply_json(out_reply, 200, answer);
}

void serve_postmortem(const struct api_call *call, struct http_reply *out_reply)
{
    const char *name = http_query(call->request, "format");
    enum pm_format format = PM_HTML;
    struct err err = {0};
    struct buf text;
    if (name != NULL && !pm_format_from_name(name, &format)) {
        (void)err_set(&err, ERR_UNPROCESSABLE, "format: '%.40s' is none of html, md, json, text",
                      name);
        reply_err(out_reply, &err, KIND_NONE, NULL);
        return;
    }
    if (call->x->store == NULL) {
        reply_refusal(out_reply, 503, "no store");
        return;
    }
    if (atomic_exchange(&call->x->is_rendering_postmortem, true)) {
        reply_refusal(out_reply, 429, "another post-mortem is in progress; try again");
        out_reply->try_again = true;
        return;
    }
    buf_init(&text, POSTMORTEM_PAGE_MAX);
    bool done = render(call, format, &text, &err);
    atomic_store(&call->x->is_rendering_postmortem, false);
    if (done) {
        reply_page(call->request, format, &text, out_reply);
        return;
    }
    buf_fini(&text);
    reply_err(out_reply, &err, KIND_NONE, NULL);
}
