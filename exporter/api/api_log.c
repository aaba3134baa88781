/* api_log.c - `kubectl logs` of a launcher: the end of its guest's QEMU log, as far as it can be
 * read from here (qemuLogDir), else a line that says why not.
 *
 * On a worker thread; the log is read by a thread of its own that is waited for a bounded time, so
 * that a file system that hangs holds no worker (analyzer/record/analysis_logs.h). */
#include <string.h>

#include "exporter/api/api.h"
#include "exporter/exporter_impl.h"

enum { LOG_BYTES_MAX = 256 * 1024 };

/* Where the newest `lines` lines of the text begin. */
static const char *tail_of(const char *text, size_t n, int64_t lines)
{
    const char *at = text + n;
    if (lines == 0)
        return at;
    for (; at > text; at--)
        if (at[-1] == '\n' && at != text + n && --lines == 0)
            break;
    return at;
}

static bool read_lines(const struct http_request *http, int64_t *out_lines, struct err *err)
{
    const char *lines = http_query(http, "tailLines");
    *out_lines = INT64_MAX;
    return lines == NULL || text_to_i64(lines, 0, INT64_MAX, out_lines) ||
           err_set(err, ERR_INVALID, "tailLines '%.40s' is not a number of lines", lines);
}

static bool is_true(const char *text)
{
    return text_equal(text, "true") || text_equal(text, "1");
}

/* What this server does not do is refused, never answered with something else. */
static bool check_query(const struct http_request *http, struct err *err)
{
    const char *container = http_query(http, "container");
    if (container != NULL && *container != '\0' && strcmp(container, "compute") != 0)
        return err_set(err, ERR_INVALID, "container %.100s is not valid for a launcher: compute",
                       container);
    if (is_true(http_query(http, "follow")))
        return err_set(err, ERR_INVALID,
                       "a QEMU log cannot be followed here; use `tail -f` on the node");
    return !is_true(http_query(http, "previous")) ||
           err_set(err, ERR_INVALID, "a launcher has no previous container");
}

static void add_log(const struct api_call *call, const char *node, const char *guest,
                    struct buf *out)
{
    struct err err = {0};
    const struct exporter_logs *logs = &call->x->logs;
    if (logs->read == NULL)
        (void)err_set(&err, ERR_NOT_FOUND, "no log is configured (qemuLogDir)");
    else if (logs->read(logs->ctx, node, guest, out, &err))
        return;
    buf_addf(out, "ferry: the QEMU log of %s on node %s cannot be read here: %s\n", guest,
             *node == '\0' ? "(none)" : node, err.text);
}

void serve_pod_log(const struct api_call *call, struct http_reply *out_reply)
{
    struct err err = {0};
    const struct http_request *http = call->request;
    int64_t lines;
    size_t i;
    if (call->snapshot == NULL) {
        reply_refusal(out_reply, 503, "Ferry is starting: no snapshot yet");
        return;
    }
    if (!api_find(&api_pods, call->snapshot, http->ns, http->name, &i)) {
        reply_not_found(out_reply, KIND_POD, http->name);
        return;
    }
    if (!read_lines(http, &lines, &err) || !check_query(http, &err)) {
        reply_err(out_reply, &err, KIND_POD, http->name);
        return;
    }
    OWNED(json_object) pod = api_pods.object(call->snapshot, i);
    const char *node = json_object_get_string(json_at(pod, "spec.nodeName"));
    struct json_object *annotations = json_at(pod, "metadata.annotations");
    const char *guest =
        json_object_get_string(json_object_object_get(annotations, "kubevirt.io/domain"));
    struct buf text, tail;
    buf_init(&text, LOG_BYTES_MAX);
    buf_init(&tail, LOG_BYTES_MAX);
    add_log(call, node == NULL ? "" : node, guest == NULL ? "" : guest, &text);
    if (text.data != NULL)
        buf_add(&tail, tail_of(text.data, text.length, lines));
    buf_fini(&text);
    reply_buf(out_reply, 200, &tail);
    out_reply->type = "text/plain; charset=utf-8";
}
