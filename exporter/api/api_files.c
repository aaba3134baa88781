/* api_files.c - /docs, /runbooks, /alerts and /dashboards: files for operators, Prometheus
 * and Grafana. */
#include <string.h>

#include "base/own.h"
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

const char *served_file_type(const char *path)
{
    static const struct {
        const char *end, *type;
    } rows[] = {
        {".json", "application/json"},         {".md", "text/markdown; charset=utf-8"},
        {".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},   {".svg", "image/svg+xml"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < COUNT(rows); i++)
        if (strcmp(dot, rows[i].end) == 0)
            return rows[i].type;
    return "text/plain; charset=utf-8";
}

/* How alerts, dashboards and Grafana's data source write a link to the appliance. */
static const char *const links[] = {
    "http://{{ or $labels.instance \"127.0.0.1:9178\" }}/",
    "http://${__data.fields.instance}/",
    "http://${__field.labels.instance}/",
    "http://127.0.0.1:9178/migration/",
};

/* The first link in the text, and where it ends before its path; NULL: none. */
static const char *find_link(const char *at, const char *end, size_t *out_bytes)
{
    const char *first = NULL;
    for (size_t i = 0; i < COUNT(links); i++) {
        const char *found = memmem(at, (size_t)(end - at), links[i], strlen(links[i]));
        if (found == NULL || (first != NULL && found >= first))
            continue;
        first = found;
        *out_bytes = (size_t)(strpbrk(links[i] + strlen("http://"), "/") - links[i]);
    }
    return first;
}

void served_file_add(const struct served_file *file, const char *external_url, struct buf *out)
{
    const char *at = file->text, *end = at + file->bytes;
    size_t bytes = 0;
    for (const char *found; external_url[0] != '\0' && (found = find_link(at, end, &bytes)) != NULL;
         at = found + bytes) {
        buf_add_bytes(out, at, (size_t)(found - at));
        buf_add(out, external_url);
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
    served_file_add(file, gate_config(call->x->gate)->external_url, &text);
    reply_buf(out_reply, 200, &text);
    out_reply->type = served_file_type(file->path);
}

/* A browser that follows a link, not a script that reads: it has the page at / to show documents.
 */
static bool is_for_page(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return accept != NULL && strstr(accept, "text/html") != NULL &&
           served_file_find("exporter/page", "missing.html") == NULL;
}

/* The view of the page is below #, which no request reaches: the browser is sent there. */
static void serve_link(const struct api_call *call, const char *view, const char *folder,
                       struct http_reply *out_reply)
{
    const struct served_file *file = served_file_find(folder, call->request->name);
    if (file == NULL || !is_for_page(call->request)) {
        serve_from(call, folder, out_reply);
        return;
    }
    struct buf text;
    const char *name = file->path + strlen(folder) + 1;
    int n = (int)strcspn(name, ".");
    buf_init(&text, EXPORTER_PAGE_MAX);
    buf_addf(&text,
             "<!doctype html><html lang=\"en\"><title>%.*s</title><meta http-equiv=\"refresh\" "
             "content=\"0;url=../#/%s/%.*s\"><p><a href=\"../#/%s/%.*s\">%.*s</a></p></html>\n",
             n, name, view, n, name, view, n, name, n, name);
    reply_buf(out_reply, 200, &text);
    out_reply->type = "text/html; charset=utf-8";
}
/* Of another form than a name of Kubernetes: not in a page, also not as text. */
static bool is_name(const char *text)
{
    return *text != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(text);
}

/* For alerts, dashboards and exemplars. It tells nothing but where to look, so it needs no role in
 * the namespace; a client that does not follow it reads the address. */
void serve_migration_link(const struct api_call *call, struct http_reply *out_reply)
{
    const char *ns = call->request->ns, *name = call->request->name;
    bool has_page = served_file_find("exporter/page", "missing.html") == NULL;
    const char *view = has_page ? "#/migration" : "postmortem";
    struct buf text;
    if (!is_name(ns) || !is_name(name)) {
        struct err err = {0};
        err_set(&err, ERR_NOT_FOUND, "no migration has such a name");
        reply_err(out_reply, &err, KIND_NONE, NULL);
        return;
    }
    buf_init(&text, EXPORTER_PAGE_MAX);
    buf_addf(&text,
             "<!doctype html><html lang=\"en\"><title>%s</title><meta http-equiv=\"refresh\" "
             "content=\"0;url=../../%s/%s/%s\"><p><a href=\"../../%s/%s/%s\">%s</a></p></html>\n",
             name, view, ns, name, view, ns, name, name);
    reply_buf(out_reply, 200, &text);
    out_reply->type = "text/html; charset=utf-8";
}

void serve_runbook(const struct api_call *call, struct http_reply *out_reply)
{
    serve_link(call, "runbook", "docs/runbooks", out_reply);
}

void serve_doc(const struct api_call *call, struct http_reply *out_reply)
{
    serve_link(call, "doc", "docs", out_reply);
}

void serve_alerts(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from(call, "alerts", out_reply);
}

void serve_dashboard(const struct api_call *call, struct http_reply *out_reply)
{
    serve_from(call, "dashboards", out_reply);
}
