/* api_discovery.c - discovery for Kubernetes clients: versions, groups, resources, schemas.
 * Expanded from kinds.def and subresources.def.
 *
 * The schemas (api_schema.h) are for people, `kubectl explain`: a client that finds the
 * fieldValidation parameter leaves validation to the server. Every kubectl accepts an empty octet
 * stream as /openapi/v2.
 */
#include <string.h>

#include "exporter/api/api.h"
#include "exporter/api/api_schema.h"
#include "exporter/exporter_impl.h"

static const struct {
    const char *list, *name;
    bool namespaced;
    const char *kind, *group, *version, *verbs;
} subresources[] = {
#define SUBRESOURCE(list, name, namespaced, kind, group, version, verbs) \
    {list, name, namespaced, kind, group, version, verbs},
#include "exporter/api/subresources.def"
#undef SUBRESOURCE
};

/* Every served group and version once, core first. */
enum { VERSIONS_MAX = 16 };
static size_t all_versions(const char *out_versions[static VERSIONS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < KIND_COUNT - 1 + COUNT(subresources); i++) {
        const char *version = i < KIND_COUNT - 1
                                  ? api_kind_row((enum api_kind)(KIND_NONE + 1 + i))->api_version
                                  : subresources[i - (KIND_COUNT - 1)].list;
        size_t seen = 0;
        while (seen < n && strcmp(out_versions[seen], version) != 0)
            seen++;
        if (seen == n && n < VERSIONS_MAX)
            out_versions[n++] = version;
    }
    return n;
}

/* "group/version" of the path of a request; "v1" for the core group. out holds 2 parts. */
enum { GROUP_VERSION_MAX = 2 * ROUTE_PART_MAX };
static void version_of(const struct http_request *request, char *out)
{
    if (request->ns == NULL)
        (void)text_copy(out, GROUP_VERSION_MAX, "v1");
    else
        (void)snprintf(out, GROUP_VERSION_MAX, "%.255s/%.255s", request->ns, request->name);
}

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

static bool is_of_group(const char *version, const char *group)
{
    size_t n = strlen(group);
    return strncmp(version, group, n) == 0 && version[n] == '/';
}

static void add_version(struct json_object *out, const char *group_version)
{
    json_add_text(out, "groupVersion", group_version);
    json_add_text(out, "version", strchr(group_version, '/') + 1);
}

/* Each group has one version. */
static void fill_group(struct json_object *out, const char *group_version)
{
    json_add(out, "name",
             json_object_new_string_len(group_version, (int)strcspn(group_version, "/")));
    add_version(json_add_object(json_add_array(out, "versions"), ""), group_version);
    add_version(json_add_object(out, "preferredVersion"), group_version);
}

void serve_api_groups(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    const char *versions[VERSIONS_MAX];
    size_t n = all_versions(versions);
    struct json_object *list = new_document("APIGroupList", "v1");
    struct json_object *groups = json_add_array(list, "groups");
    for (size_t i = 0; i < n; i++)
        if (strchr(versions[i], '/') != NULL)
            fill_group(json_add_object(groups, ""), versions[i]);
    reply_json(out_reply, 200, list);
}

void serve_api_group(const struct api_call *call, struct http_reply *out_reply)
{
    const char *versions[VERSIONS_MAX];
    size_t n = all_versions(versions), i = 0;
    while (i < n && !is_of_group(versions[i], call->request->name))
        i++;
    if (i == n) {
        reply_no_route(out_reply, call->request, "");
        return;
    }
    struct json_object *out = new_document("APIGroup", "v1");
    fill_group(out, versions[i]);
    reply_json(out_reply, 200, out);
}

static void add_words(struct json_object *array, const char *words)
{
    char copy[128], *rest = copy;
    TEXT_SET(copy, words);
    for (char *word; words[0] != '\0' && (word = strsep(&rest, ",")) != NULL;)
        json_add_text(array, "", word);
}

static void add_kinds(struct json_object *resources, const char *version)
{
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_kind_row *row = api_kind_row(kind);
        if (strcmp(row->api_version, version) != 0)
            continue;
        struct json_object *resource = json_add_object(resources, "");
        json_add_text(resource, "name", row->plural);
        json_add_text(resource, "singularName", row->singular);
        json_add_bool(resource, "namespaced", row->namespaced);
        json_add_text(resource, "kind", row->kind);
        add_words(json_add_array(resource, "verbs"), row->verbs);
        add_words(json_add_array(resource, "shortNames"), row->short_names);
        if (is_of_group(version, "kubevirt.io"))
            json_add_text(json_add_array(resource, "categories"), "", "all");
    }
}

static void add_subresources(struct json_object *resources, const char *version)
{
    for (size_t i = 0; i < COUNT(subresources); i++) {
        if (strcmp(subresources[i].list, version) != 0)
            continue;
        struct json_object *resource = json_add_object(resources, "");
        json_add_text(resource, "name", subresources[i].name);
        json_add_text(resource, "singularName", "");
        json_add_bool(resource, "namespaced", subresources[i].namespaced);
        json_add_text(resource, "kind", subresources[i].kind);
        api_add_unless_empty(resource, "group", subresources[i].group);
        api_add_unless_empty(resource, "version", subresources[i].version);
        add_words(json_add_array(resource, "verbs"), subresources[i].verbs);
    }
}

void serve_resources(const struct api_call *call, struct http_reply *out_reply)
{
    char version[GROUP_VERSION_MAX];
    version_of(call->request, version);
    struct json_object *list = new_document("APIResourceList", "v1");
    json_add_text(list, "groupVersion", version);
    struct json_object *resources = json_add_array(list, "resources");
    add_kinds(resources, version);
    add_subresources(resources, version);
    if (json_object_array_length(resources) > 0) {
        reply_json(out_reply, 200, list);
        return;
    }
    json_object_free(list);
    reply_no_route(out_reply, call->request, "");
}

void serve_openapi_v2(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    out_reply->status = 200;
    out_reply->type = "application/octet-stream";
}

/* ---- schemas ---- */

static const char *root_of(const char *version)
{
    return strchr(version, '/') == NULL ? "api" : "apis";
}

void serve_openapi_v3(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    const char *versions[VERSIONS_MAX];
    size_t n = all_versions(versions);
    struct json_object *document = json_object_new_object();
    struct json_object *paths = json_add_object(document, "paths");
    for (size_t i = 0; i < n; i++) {
        char key[128], url[192];
        (void)snprintf(key, sizeof key, "%s/%s", root_of(versions[i]), versions[i]);
        (void)snprintf(url, sizeof url, "/openapi/v3/%s?hash=%llX", key,
                       (unsigned long long)api_schema_hash());
        json_add_text(json_add_object(paths, key), "serverRelativeURL", url);
    }
    reply_json(out_reply, 200, document);
}

static void fill_gvk(struct json_object *gvk, const struct api_kind_row *row)
{
    const char *slash = strchr(row->api_version, '/');
    json_add(gvk, "group",
             json_object_new_string_len(row->api_version,
                                        slash == NULL ? 0 : (int)(slash - row->api_version)));
    json_add_text(gvk, "version", slash == NULL ? row->api_version : slash + 1);
    json_add_text(gvk, "kind", row->kind);
}

static void add_schema(struct json_object *schemas, enum api_kind kind)
{
    const struct api_kind_row *row = api_kind_row(kind);
    char name[128];
    (void)snprintf(name, sizeof name, "ferry.%s", row->kind);
    struct json_object *schema = api_schema(kind);
    json_add(schemas, name, schema);
    json_add_bool(schema, "x-kubernetes-preserve-unknown-fields", true);
    fill_gvk(json_add_object(json_add_array(schema, "x-kubernetes-group-version-kind"), ""), row);
}

/* The operation `what` of a kind, with the parameter that clients look for. */
static void add_operation(struct json_object *path, const char *what,
                          const struct api_kind_row *row)
{
    struct json_object *operation = json_add_object(path, what);
    fill_gvk(json_add_object(operation, "x-kubernetes-group-version-kind"), row);
    struct json_object *parameter = json_add_object(json_add_array(operation, "parameters"), "");
    json_add_text(parameter, "name", "fieldValidation");
    json_add_text(parameter, "in", "query");
    json_add_text(json_add_object(parameter, "schema"), "type", "string");
}

static void add_path(struct json_object *paths, const struct api_kind_row *row)
{
    char path[256];
    (void)snprintf(path, sizeof path, "/%s/%s%s/%s", root_of(row->api_version), row->api_version,
                   row->namespaced ? "/namespaces/{namespace}" : "", row->plural);
    struct json_object *item = json_add_object(paths, path);
    if (strstr(row->verbs, "create") != NULL)
        add_operation(item, "post", row);
    if (strstr(row->verbs, "patch") != NULL)
        add_operation(item, "patch", row); /* clients look for the parameter here */
}

void serve_openapi_schema(const struct api_call *call, struct http_reply *out_reply)
{
    char version[GROUP_VERSION_MAX];
    version_of(call->request, version);
    struct json_object *document = json_object_new_object();
    json_add_text(document, "openapi", "3.0.0");
    struct json_object *info = json_add_object(document, "info");
    json_add_text(info, "title", "Ferry");
    json_add_text(info, "version", "v1");
    struct json_object *paths = json_add_object(document, "paths");
    struct json_object *schemas =
        json_add_object(json_add_object(document, "components"), "schemas");
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_kind_row *row = api_kind_row(kind);
        if (strcmp(row->api_version, version) != 0)
            continue;
        add_path(paths, row);
        add_schema(schemas, kind);
    }
    reply_json(out_reply, 200, document);
}
