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

static void serve_from(const char *folder, const char *name, struct http_reply *out_reply)
{
    const struct served_file *file = served_file_find(folder, name);
    struct buf text;
    if (file == NULL) {
        struct err err = {0};
        err_set(&err, ERR_NOT_FOUND, "'%.100s' does not exist; docs/ has the list", name);
        reply_err(out_reply, &err, KIND_NONE, NULL);
        return;
    }
    buf_init(&text, EXPORTER_PAGE_MAX);
    buf_add_bytes(&text, file->text, file->bytes);
    reply_buf(out_reply, 200, &text);
    out_reply->type = type_of(file->path);
}

void serve_runbook(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from("docs/runbooks", call->request->name, out_reply);
}

void serve_alerts(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from("alerts", call->request->name, out_reply);
}

void serve_dashboard(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from("dashboards", call->request->name, out_reply);
}
