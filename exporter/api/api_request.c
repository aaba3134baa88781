/* api_request.c - see api_request.h. */
#include "exporter/api/api_request.h"

#include <string.h>

#include "engine/model/settings/labels.h"
#include "exporter/api/protobuf.h"

enum { GENERATE_NAME_MAX = 240 };

void api_requester(const struct http_request *request, char *out)
{
    access_identity_id(request->identity, out, SNAPSHOT_WHO_MAX);
}

bool api_may_see(const struct http_request *request, const char *ns)
{
    return request->identity->ns[0] == '\0' || text_equal(request->identity->ns, ns);
}

static bool read_dry_run(const char *text, bool *out_dry_run, struct err *err)
{
    *out_dry_run = text_equal(text, "All");
    if (text != NULL && *text != '\0' && !*out_dry_run)
        return err_set(err, ERR_UNPROCESSABLE, "dryRun: '%.40s' is not supported, only All", text);
    return true;
}

bool api_dry_run(const struct http_request *request, bool *out_dry_run, struct err *err)
{
    return read_dry_run(http_query(request, "dryRun"), out_dry_run, err);
}

/* An unknown dryRun value is refused: ignoring it would carry the request out. */
bool api_dry_run_list(struct json_object *list, bool *out_dry_run, struct err *err)
{
    if (list == NULL)
        return true;
    if (!json_object_is_type(list, json_type_array))
        return err_set(err, ERR_INVALID, "dryRun: expected a list, like [\"All\"]");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *word = json_object_array_get_idx(list, i);
        const char *text = json_object_get_string(word);
        if (!read_dry_run(text == NULL || *text == '\0' ? "null" : text, out_dry_run, err))
            return false;
    }
    return true;
}

static bool has_type(const struct http_request *request, const char *wanted)
{
    const char *type = http_header(request, "Content-Type");
    size_t n = type == NULL ? 0 : strcspn(type, "; ");
    return n == strlen(wanted) && strncasecmp(type, wanted, n) == 0;
}

/* kubectl 1.20 sends JSON without saying so. No browser adds a token by itself, so that a page of
 * somebody else's cannot have made such a request. */
static bool is_plain_client(const struct http_request *request)
{
    return http_header(request, "Content-Type") == NULL &&
           request->identity->source == SOURCE_TOKEN;
}

bool api_is_json(const struct http_request *request, struct http_reply *reply)
{
    if (is_plain_client(request) || has_type(request, "application/json") ||
        has_type(request, PROTOBUF_TYPE))
        return true;
    reply_refusal(reply, 415, "the body must have Content-Type application/json");
    return false;
}

struct json_object *api_body(const struct http_request *request, struct err *err)
{
    OWNED(json_object) body = has_type(request, PROTOBUF_TYPE)
                                  ? protobuf_read(request->body, request->body_bytes, err)
                                  : json_parse(request->body, request->body_bytes, "body", err);
    if (body == NULL || json_object_is_type(body, json_type_object))
        return TAKE(body);
    err_set(err, ERR_INVALID, "body: expected an object");
    return NULL;
}

/* ---- checking ---- */

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Kubernetes' name of an object: lower case letters, digits, '-' and '.'; a prefix for generated
 * names may end in '-'. */
static bool is_object_name(const char *name, size_t max, bool is_prefix)
{
    size_t n = strlen(name);
    if (n == 0 || n > max || !is_lower_alnum(name[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_lower_alnum(name[i]) && name[i] != '-' && name[i] != '.')
            return false;
    return is_prefix || is_lower_alnum(name[n - 1]);
}

static bool is_among(struct api_words words, const char *word)
{
    size_t i = 0;
    while (i < words.n && strcmp(words.words[i], word) != 0)
        i++;
    return i < words.n;
}

bool api_only_known(struct json_object *object, const char *path, struct api_words known,
                    struct api_words later, struct err *err)
{
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        if (is_among(known, key))
            continue;
        if (is_among(later, key))
            return err_set(err, ERR_UNPROCESSABLE, "%s%s: not supported by this version of Ferry",
                           path, key);
        const char *nearest = text_nearest(key, known.words, known.n);
        return err_set(err, ERR_UNPROCESSABLE, "%s%.100s: unknown field%s%s%s", path, key,
                       nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                       nearest == NULL ? "" : "'?");
    }
    return true;
}

bool api_object_or_absent(struct json_object *value, const char *path, struct err *err)
{
    if (value == NULL || json_object_is_type(value, json_type_object))
        return true;
    return err_set(err, ERR_INVALID, "%s: expected an object", path);
}

bool api_namespace_is_valid(const char *ns, struct err *err)
{
    if (ns == NULL || (text_is_dns_label(ns) && strlen(ns) < HV_HOST_MAX))
        return true;
    return err_set(err, ERR_UNPROCESSABLE, "namespace '%.100s' is not a valid name", ns);
}

/* ---- objects ---- */

bool api_check_type(struct json_object *object, enum api_kind kind, struct err *err)
{
    static const char *const known[] = {"apiVersion", "kind", "metadata", "spec", "status"};
    const struct api_kind_row *row = api_kind_row(kind);
    const char *version, *name;
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, "body: expected an object");
    if (!api_only_known(object, "", API_WORDS(known), (struct api_words){0}, err) ||
        !json_get_text(object, "apiVersion", row->api_version, &version, err) ||
        !json_get_text(object, "kind", row->kind, &name, err))
        return false;
    if (strcmp(version, row->api_version) != 0 || strcmp(name, row->kind) != 0)
        return err_set(err, ERR_INVALID, "expected a %s of %s, found a %.60s of %.60s", row->kind,
                       row->api_version, name, version);
    return true;
}

const char *api_name_in(struct json_object *object)
{
    const char *name = NULL;
    struct err ignored = {0};
    if (object != NULL)
        (void)json_get_text(object, "metadata.name", NULL, &name, &ignored);
    return name;
}

void api_serve_create(const struct api_call *call, api_create_fn *create, struct http_reply *reply)
{
    struct err err = {0};
    if (!api_is_json(call->request, reply))
        return;
    OWNED(json_object) body = api_body(call->request, &err);
    if (body == NULL || !create(call, body, reply, &err))
        reply_err(reply, &err, call->kind, api_name_in(body));
}

bool api_read_names(struct json_object *object, const char *ns, const char **out_name,
                    const char **out_prefix, struct err *err)
{
    const char *found, *name, *prefix;
    const char *wanted = ns == NULL ? "" : ns;
    if (!api_object_or_absent(json_at(object, "metadata"), "metadata", err) ||
        !json_get_text(object, "metadata.namespace", wanted, &found, err) ||
        !json_get_text(object, "metadata.name", "", &name, err) ||
        !json_get_text(object, "metadata.generateName", "", &prefix, err))
        return false;
    if (strcmp(found, wanted) != 0)
        return err_set(err, ERR_INVALID,
                       "metadata.namespace: '%.63s' is not the namespace of the request, '%s'",
                       found, wanted);
    if (*name != '\0' && !is_object_name(name, SNAPSHOT_NAME_MAX - 1, false))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.name: '%.100s': lower case letters, digits, '-' and '.', at most "
                       "253, beginning and ending with a letter or digit",
                       name);
    if (*prefix != '\0' && !is_object_name(prefix, GENERATE_NAME_MAX, true))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.generateName: '%.100s': lower case letters, digits, '-' and '.', "
                       "at most %d",
                       prefix, GENERATE_NAME_MAX);
    *out_name = name;
    *out_prefix = prefix;
    return true;
}

bool api_copy_texts(struct json_object *object, const char *what, bool are_labels,
                    struct json_object *into, struct err *err)
{
    char path[32];
    (void)snprintf(path, sizeof path, "metadata.%s", what);
    struct json_object *from = json_at(object, path);
    if (!api_object_or_absent(from, path, err))
        return false;
    if (from == NULL || json_object_object_length(from) == 0)
        return true;
    json_object_object_foreach(from, key, value)
    {
        if (!json_object_is_type(value, json_type_string))
            return err_set(err, ERR_INVALID, "%s.%.100s: expected a string", path, key);
        if (!label_key_is_valid(key))
            return err_set(err, ERR_UNPROCESSABLE,
                           "%s.%.100s: a key is at most 63 letters, digits, '-', '_' and '.', "
                           "maybe after a domain and '/'",
                           path, key);
        if (are_labels && !label_value_is_valid(json_object_get_string(value)))
            return err_set(err, ERR_UNPROCESSABLE,
                           "%s.%.100s: at most 63 letters, digits, '-', '_' and '.'", path, key);
    }
    json_add(into, what, json_object_get(from));
    return true;
}

bool api_kept_text(struct json_object *kept, const char **out_text, struct err *err)
{
    *out_text = json_object_object_length(kept) == 0
                    ? NULL
                    : json_object_to_json_string_ext(kept, JSON_C_TO_STRING_PLAIN);
    if (*out_text != NULL && strlen(*out_text) >= REQUEST_METADATA_MAX)
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata: labels, annotations and field managers over %d bytes",
                       REQUEST_METADATA_MAX);
    return true;
}

/* ---- delete ---- */

bool api_read_preconditions(struct json_object *options, struct api_delete_options *out,
                            struct err *err)
{
    const char *uid, *version;
    if (!json_get_text(options, "preconditions.uid", "", &uid, err) ||
        !json_get_text(options, "preconditions.resourceVersion", "", &version, err))
        return false;
    if (*version != '\0')
        return err_set(err, ERR_UNPROCESSABLE,
                       "preconditions.resourceVersion: is not supported; name the uid");
    if (!text_copy(out->uid, sizeof out->uid, uid)) /* truncated, it could be another one */
        return err_set(err, ERR_REFUSED, "precondition: the uid is too long");
    return true;
}

static bool read_delete_body(const struct http_request *request, struct api_delete_options *out,
                             struct err *err)
{
    if (request->body_bytes == 0)
        return true;
    OWNED(json_object) body = api_body(request, err);
    return body != NULL && api_read_preconditions(body, out, err) &&
           api_dry_run_list(json_at(body, "dryRun"), &out->dry_run, err);
}

bool api_read_delete(const struct http_request *request, struct api_delete_options *out_options,
                     struct err *err)
{
    bool by_query;
    *out_options = (struct api_delete_options){0};
    if (!api_dry_run(request, &by_query, err) || !read_delete_body(request, out_options, err))
        return false;
    out_options->dry_run = out_options->dry_run || by_query;
    return true;
}

bool api_check_uid(const struct api_delete_options *options, const char *uid, struct err *err)
{
    if (options->uid[0] == '\0' || uid == NULL || strcmp(options->uid, uid) == 0)
        return true;
    return err_set(err, ERR_REFUSED, "precondition: its uid is '%s', not %s", uid, options->uid);
}
