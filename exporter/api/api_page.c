/* api_page.c - the page at /: an HTML file, its scripts and styles (exporter/page/), and the names
 * of the documents that it links to. Static: what it shows it reads from the API itself, as the
 * client that loaded it. */
#include <string.h>

#include "base/own.h"
#include "exporter/api/api_request.h"
#include "exporter/api/files.h"
#include "exporter/exporter_impl.h"

static const char folder[] = "exporter/page";

/* Scripts, styles and data from the appliance alone; nothing inline, no frame around it. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/* Unlike a document a script is found by its whole name only. */
static const struct served_file *find_file(const char *name)
{
    const struct served_file *file = served_file_find(folder, name);
    return file != NULL && strcmp(file->path + sizeof folder, name) == 0 ? file : NULL;
}

static void reply_file(const struct served_file *file, struct http_reply *out_reply)
{
    struct buf text;
    buf_init(&text, EXPORTER_PAGE_MAX);
    buf_add_bytes(&text, file->text, file->bytes);
    reply_buf(out_reply, 200, &text);
    out_reply->type = served_file_type(file->path);
    out_reply->policy = policy;
}

/* Built without npm there is another page, which says so. */
void serve_page(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    const struct served_file *missing = find_file("missing.html");
    const struct served_file *file = missing != NULL ? missing : find_file("index.html");
    if (file == NULL)
        reply_refusal(out_reply, 404, "this build has no page");
    else
        reply_file(file, out_reply);
}

void serve_page_file(const struct api_call *call, struct http_reply *out_reply)
{
    const struct served_file *file = find_file(call->request->name);
    struct err err = {0};
    if (file != NULL) {
        reply_file(file, out_reply);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "the page has no file '%.100s'", call->request->name);
    reply_err(out_reply, &err, KIND_NONE, NULL);
}

/* The names in a folder itself, without their extension. */
static void add_names(struct json_object *out, const char *key, const char *from)
{
    struct json_object *list = json_add_array(out, key);
    size_t n = strlen(from);
    for (const struct served_file *file = served_files; file->path != NULL; file++) {
        const char *name = file->path + n + 1;
        if (strncmp(file->path, from, n) != 0 || file->path[n] != '/' || strchr(name, '/') != NULL)
            continue;
        const char *dot = strrchr(name, '.');
        size_t length = dot == NULL ? strlen(name) : (size_t)(dot - name);
        json_add(list, "", json_object_new_string_len(name, (int)length));
    }
}

void serve_page_index(const struct api_call *call, struct http_reply *out_reply)
{
    struct json_object *out = json_object_new_object();
    json_add_text(out, "version", call->x->version);
    add_names(out, "docs", "docs");
    add_names(out, "runbooks", "docs/runbooks");
    add_names(out, "alerts", "alerts");
    add_names(out, "dashboards", "dashboards");
    reply_json(out_reply, 200, out);
}
