/* api_reload.c - POST /apis/ferry.internal/v1/reload: the configuration is read again. Answers what
 * changed, or why nothing did. */
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

void serve_reload(const struct api_call *call, struct http_reply *out_reply)
{
    struct err err = {0};
    char *text = NULL;
    if (!api_is_json(call->request, out_reply))
        return;
    if (call->x->reload.run == NULL)
        (void)err_set(&err, ERR_REFUSED, "this appliance has no configuration file");
    else if (call->x->reload.run(call->x->reload.ctx, &text, &err))
        reply_json(out_reply, 200, json_tokener_parse(text));
    if (err.code != ERR_NONE)
        reply_err(out_reply, &err, KIND_NONE, NULL);
    free(text);
}
