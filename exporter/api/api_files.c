/* api_files.c - /runbooks, /alerts and /dashboards: files for operators, Prometheus and Grafana. */
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/api/files.h"
#include "exporter/exporter_impl.h"

const struct served_file *served_file_find(const char *folder, const char *name)
{
    size_t folder_n = strlen(folder), name_n = strlen(name);
    for (const struct served_file *file = served_files; file->path != NULL; file++) {
        if (strncmp(file->path, folder, folder_n) != 0 || file->path[folder_n] != '/')
            continue;
        const char *rest = file->path + folder_n + 1;
        if (strncmp(rest, name, name_n) == 0 && (rest[name_n] == '\0' || rest[name_n] == '.'))
            return file;
    }
    return NULL;
}

static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".json") == 0)
        return "application/json";
    if (dot != NULL && strcmp(dot, ".md") == 0)
        return "text/markdown; charset=utf-8";
    return "text/plain; charset=utf-8";
}

/* The file, with links to this appliance as people reach it. */
static void add_file(const struct served_file *file, const char *external_url, struct buf *out)
{
    static const char link[] = "http://{{ or $labels.instance \"127.0.0.1:9178\" }}/";
    const char *at = file->text, *end = at + file->bytes;
    for (const char *found; external_url[0] != '\0' &&
                            (found = memmem(at, (size_t)(end - at), link, strlen(link))) != NULL;
         at = found + strlen(link)) {
        buf_add_bytes(out, at, (size_t)(found - at));
        buf_addf(out, "%s/", external_url);
    }
    buf_add_bytes(out, at, (size_t)(end - at));
}

static void serve_from(const struct api_call *call, const char *folder,
                       struct http_reply *out_reply)
{
    const char *name = call->request->name;
    const struct served_file *file = served_file_find(folder, name);
    struct buf text;
    if (file == NULL) {
        struct err err = {0};
        err_set(&err, ERR_NOT_FOUND, "'%.100s' does not exist; docs/ has the list", name);
        reply_err(out_reply, &err, KIND_NONE, NULL);
        return;
    }
    buf_init(&text, EXPORTER_PAGE_MAX);
    add_file(file, gate_config(call->x->gate)->external_url, &text);
    reply_buf(out_reply, 200, &text);
    out_reply->type = type_of(file->path);
}

void serve_runbook(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from(call, "docs/runbooks", out_reply);
}

void serve_alerts(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from(call, "alerts", out_reply);
}

void serve_dashboard(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from(call, "dashboards", out_reply);
}
