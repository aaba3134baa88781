/* api_discovery.c - what a Kubernetes client asks before it asks for anything: versions, groups,
 * resources, schemas. Expanded from kinds.def.
 *
 * The schema is minimal on purpose: a client that finds the fieldValidation parameter leaves
 * checking to the server. An empty octet stream is the one answer to /openapi/v2 that every
 * kubectl accepts.
 */
#include <string.h>

#include "exporter/api.h"
#include "exporter/exporter_impl.h"

static const char group[] = "kubevirt.io", group_version[] = "kubevirt.io/v1";

static struct json_object *new_document(const char *kind, const char *api_version)
{
    struct json_object *document = json_object_new_object();
    json_add_text(document, "kind", kind);
    json_add_text(document, "apiVersion", api_version);
    return document;
}

void serve_version(const struct api_call *call, struct http_reply *out_reply)
{
    /* The Kubernetes release whose conventions are followed; clients compare it with their own. */
    char git_version[128];
    (void)snprintf(git_version, sizeof git_version, "v1.33.0+ferry-%s", call->x->version);
    struct json_object *version = json_object_new_object();
    json_add_text(version, "major", "1");
    json_add_text(version, "minor", "33");
    json_add_text(version, "gitVersion", git_version);
    json_add_text(version, "platform", "linux");
    json_add_text(version, "ferryVersion", call->x->version);
    reply_json(out_reply, 200, version);
}

void serve_api_versions(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    struct json_object *versions = new_document("APIVersions", "v1");
    json_add_text(json_add_array(versions, "versions"), "", "v1");
    (void)json_add_array(versions, "serverAddressByClientCIDRs");
    reply_json(out_reply, 200, versions);
}

static void fill_group(struct json_object *out)
{
    json_add_text(out, "name", group);
    struct json_object *version = json_add_object(json_add_array(out, "versions"), "");
    json_add_text(version, "groupVersion", group_version);
    json_add_text(version, "version", "v1");
    struct json_object *preferred = json_add_object(out, "preferredVersion");
    json_add_text(preferred, "groupVersion", group_version);
    json_add_text(preferred, "version", "v1");
}

void serve_api_groups(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    struct json_object *list = new_document("APIGroupList", "v1");
    fill_group(json_add_object(json_add_array(list, "groups"), ""));
    reply_json(out_reply, 200, list);
}

void serve_api_group(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    struct json_object *out = new_document("APIGroup", "v1");
    fill_group(out);
    reply_json(out_reply, 200, out);
}

static void add_words(struct json_object *array, const char *words)
{
    char copy[128], *rest = copy;
    TEXT_SET(copy, words);
    for (char *word; (word = strsep(&rest, ",")) != NULL;)
        json_add_text(array, "", word);
}

static void reply_resources(struct http_reply *reply, const char *api_version)
{
    struct json_object *list = new_document("APIResourceList", "v1");
    json_add_text(list, "groupVersion", api_version);
    struct json_object *resources = json_add_array(list, "resources");
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_kind_row *row = api_kind_row(kind);
        if (strcmp(row->api_version, api_version) != 0)
            continue;
        struct json_object *resource = json_add_object(resources, "");
        json_add_text(resource, "name", row->plural);
        json_add_text(resource, "singularName", row->singular);
        json_add_bool(resource, "namespaced", row->namespaced);
        json_add_text(resource, "kind", row->kind);
        add_words(json_add_array(resource, "verbs"), row->verbs);
        add_words(json_add_array(resource, "shortNames"), row->short_names);
        if (strcmp(api_version, group_version) == 0)
            json_add_text(json_add_array(resource, "categories"), "", "all");
    }
    reply_json(reply, 200, list);
}

void serve_resources_core(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    reply_resources(out_reply, "v1");
}

void serve_resources_kubevirt(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    reply_resources(out_reply, group_version);
}

void serve_openapi_v2(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    out_reply->status = 200;
    out_reply->type = "application/octet-stream";
}

void serve_openapi_v3(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    struct json_object *document = json_object_new_object();
    struct json_object *paths = json_add_object(document, "paths");
    json_add_text(json_add_object(paths, "apis/kubevirt.io/v1"), "serverRelativeURL",
                  "/openapi/v3/apis/kubevirt.io/v1?hash=1");
    reply_json(out_reply, 200, document);
}

static void add_schema(struct json_object *schemas, const struct api_kind_row *row)
{
    char name[128];
    (void)snprintf(name, sizeof name, "io.kubevirt.v1.%s", row->kind);
    struct json_object *schema = json_add_object(schemas, name);
    json_add_text(schema, "type", "object");
    json_add_bool(schema, "x-kubernetes-preserve-unknown-fields", true);
    struct json_object *gvk =
        json_add_object(json_add_array(schema, "x-kubernetes-group-version-kind"), "");
    json_add_text(gvk, "group", group);
    json_add_text(gvk, "version", "v1");
    json_add_text(gvk, "kind", row->kind);
}

/* `what` on the objects of a kind, with the parameter that clients look for. */
static void add_operation(struct json_object *path, const char *what,
                          const struct api_kind_row *row)
{
    struct json_object *operation = json_add_object(path, what);
    struct json_object *gvk = json_add_object(operation, "x-kubernetes-group-version-kind");
    json_add_text(gvk, "group", group);
    json_add_text(gvk, "version", "v1");
    json_add_text(gvk, "kind", row->kind);
    struct json_object *parameter = json_add_object(json_add_array(operation, "parameters"), "");
    json_add_text(parameter, "name", "fieldValidation");
    json_add_text(parameter, "in", "query");
    json_add_text(json_add_object(parameter, "schema"), "type", "string");
}

void serve_openapi_kubevirt(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    const struct api_kind_row *row = api_kind_row(KIND_MIGRATION);
    struct json_object *document = json_object_new_object();
    json_add_text(document, "openapi", "3.0.0");
    struct json_object *info = json_add_object(document, "info");
    json_add_text(info, "title", "Ferry");
    json_add_text(info, "version", "v1");
    char path[256];
    (void)snprintf(path, sizeof path, "/apis/%s/namespaces/{namespace}/%s", row->api_version,
                   row->plural);
    struct json_object *item = json_add_object(json_add_object(document, "paths"), path);
    add_operation(item, "post", row);
    add_operation(item, "patch", row); /* not served; the parameter is looked for here */
    struct json_object *schemas =
        json_add_object(json_add_object(document, "components"), "schemas");
    add_schema(schemas, row);
    add_schema(schemas, api_kind_row(KIND_INSTANCE));
    reply_json(out_reply, 200, document);
}
