/* api_patch.c - applies a patch (patch.def) to a copy of an object. Pure.
 *
 * A strategic merge differs from a plain one only in lists with a merge key. No writable list here
 * has one (taints and tolerations are replaced as a whole, as in Kubernetes); directives that need
 * one are refused.
 */
#include <string.h>

#include "base/yaml.h"
#include "exporter/api/api_request.h"

static const char *const types[API_PATCH_COUNT] = {
#define PATCH(id, type, help) [API_PATCH_##id] = type,
#include "exporter/api/patch.def"
#undef PATCH
};

bool api_is_patch(const struct http_request *request, enum api_patch *out_type,
                  struct http_reply *reply)
{
    const char *found = http_header(request, "Content-Type");
    size_t n = found == NULL ? 0 : strcspn(found, "; ");
    enum api_patch type = 0;
    while (type < API_PATCH_COUNT &&
           (strlen(types[type]) != n || strncasecmp(types[type], found, n) != 0))
        type++;
    *out_type = type;
    if (type < API_PATCH_COUNT)
        return true;
    struct buf text;
    buf_init(&text, ERR_TEXT_MAX);
    buf_add(&text, "the body of the request was in an unknown format - accepted media types:");
    for (type = 0; type < API_PATCH_COUNT; type++)
        buf_addf(&text, "%s %s", type == 0 ? "" : ",", types[type]);
    reply_refusal(reply, 415, text.data == NULL ? "unknown format" : text.data);
    buf_fini(&text);
    return false;
}

/* ---- merging ---- */

static void clear(struct json_object *object)
{
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        json_object_object_del(object, key);
    }
}

/* A directive of a strategic patch. False with an error when it is not supported. */
static bool apply_directive(struct json_object *into, const char *key, struct json_object *value,
                            struct err *err)
{
    const char *text = json_object_get_string(value);
    if (text_has_prefix(key, "$setElementOrder/") || strcmp(key, "$retainKeys") == 0)
        return true;
    if (strcmp(key, "$patch") == 0 && text_equal(text, "merge"))
        return true;
    if (strcmp(key, "$patch") != 0 || !text_equal(text, "replace"))
        return err_set(err, ERR_UNPROCESSABLE, "patch: the directive '%.60s' is not supported",
                       key);
    clear(into);
    return true;
}

static bool has_directives(struct json_object *list)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_object) &&
            json_object_object_get_ex(item, "$patch", NULL))
            return true;
    }
    return false;
}

static bool merge(struct json_object *into, struct json_object *patch, bool strategic,
                  struct err *err);

static bool merge_member(struct json_object *into, const char *key, struct json_object *value,
                         bool strategic, struct err *err)
{
    if (value == NULL) {
        json_object_object_del(into, key);
        return true;
    }
    if (strategic && json_object_is_type(value, json_type_array) && has_directives(value))
        return err_set(err, ERR_UNPROCESSABLE,
                       "patch: '%.60s' is replaced as a whole; send all of it, without $patch",
                       key);
    if (!json_object_is_type(value, json_type_object)) {
        json_add(into, key, json_object_get(value));
        return true;
    }
    struct json_object *old = json_object_object_get(into, key);
    if (!json_object_is_type(old, json_type_object))
        old = json_add_object(into, key);
    return old == NULL ? err_set(err, ERR_NOMEM, "no memory for the patch")
                       : merge(old, value, strategic, err);
}

/* Depth is bounded by the parser of the patch. */
static bool merge(struct json_object *into, struct json_object *patch, bool strategic,
                  struct err *err)
{
    json_object_object_foreach(patch, word, directive)
    {
        if (strategic && word[0] == '$' && !apply_directive(into, word, directive, err))
            return false;
    }
    json_object_object_foreach(patch, key, value)
    {
        if (strategic && key[0] == '$')
            continue;
        if (!merge_member(into, key, value, strategic, err))
            return false;
    }
    return true;
}

/* ---- RFC 6902 ---- */

enum { TOKEN_MAX = 512 };

/* The next part of a pointer ("/a~1b/0"), unescaped; NULL when it is malformed. */
static const char *next_token(const char *at, char *out)
{
    size_t n = 0;
    if (*at++ != '/')
        return NULL;
    for (; *at != '\0' && *at != '/'; at++) {
        char c = *at;
        if (c == '~') {
            at++;
            if (*at != '0' && *at != '1')
                return NULL;
            c = *at == '0' ? '~' : '/';
        }
        if (n + 1 >= TOKEN_MAX)
            return NULL;
        out[n++] = c;
    }
    out[n] = '\0';
    return at;
}

/* The location a pointer names: in an object a key, in a list an index (its length: past the
 * end). */
struct spot {
    struct json_object *in;
    char key[TOKEN_MAX];
    size_t index;
    bool exists;
    struct json_object *value; /* borrowed */
};

static bool locate(struct json_object *in, struct spot *spot)
{
    spot->in = in;
    spot->value = NULL;
    if (json_object_is_type(in, json_type_object)) {
        spot->exists = json_object_object_get_ex(in, spot->key, &spot->value);
        return true;
    }
    if (!json_object_is_type(in, json_type_array))
        return false;
    size_t length = json_object_array_length(in);
    int64_t index = (int64_t)length;
    bool is_plain = spot->key[0] != '0' || spot->key[1] == '\0';
    if (strcmp(spot->key, "-") != 0 &&
        !(is_plain && text_to_i64(spot->key, 0, (int64_t)length, &index)))
        return false;
    spot->index = (size_t)index;
    spot->exists = spot->index < length;
    spot->value = spot->exists ? json_object_array_get_idx(in, spot->index) : NULL;
    return true;
}

static bool find(struct json_object *object, const char *pointer, struct spot *out)
{
    const char *at = pointer;
    for (struct json_object *in = object;; in = out->value) {
        at = next_token(at, out->key);
        if (at == NULL || !locate(in, out))
            return false;
        if (*at == '\0')
            return true;
        if (!out->exists)
            return false;
    }
}

static void insert(struct json_object *list, size_t index, struct json_object *take_value)
{
    for (size_t i = json_object_array_length(list); i > index; i--)
        (void)json_object_array_put_idx(list, i,
                                        json_object_get(json_object_array_get_idx(list, i - 1)));
    (void)json_object_array_put_idx(list, index, take_value);
}

/* A copy: two locations must not share a value that a later operation changes. */
static struct json_object *copy_of(struct json_object *value)
{
    struct json_object *copy = NULL;
    if (value != NULL)
        (void)json_object_deep_copy(value, &copy, NULL);
    return copy;
}

static void set(const struct spot *spot, bool is_add, struct json_object *value)
{
    bool in_list = json_object_is_type(spot->in, json_type_array);
    if (in_list && is_add)
        insert(spot->in, spot->index, copy_of(value));
    else if (in_list)
        (void)json_object_array_put_idx(spot->in, spot->index, copy_of(value));
    else
        json_add(spot->in, spot->key, copy_of(value));
}

static void drop(const struct spot *spot)
{
    if (json_object_is_type(spot->in, json_type_array))
        (void)json_object_array_del_idx(spot->in, spot->index, 1);
    else
        json_object_object_del(spot->in, spot->key);
}

static bool run(struct json_object *object, const char *op, const char *path, bool has_value,
                struct json_object *value, struct err *err)
{
    bool adds = text_equal(op, "add"), replaces = text_equal(op, "replace");
    bool tests = text_equal(op, "test"), removes = text_equal(op, "remove");
    struct spot spot;
    if (!adds && !replaces && !tests && !removes)
        return err_set(err, ERR_UNPROCESSABLE,
                       "op: '%.40s' is not one of add, copy, move, remove, replace, test", op);
    if (!removes && !has_value)
        return err_set(err, ERR_INVALID, "value: is missing for '%s' of %.200s", op, path);
    if (!find(object, path, &spot) || (!adds && !spot.exists))
        return err_set(err, ERR_UNPROCESSABLE, "path: %.300s: does not exist", path);
    if (tests && !json_object_equal(spot.value, value))
        return err_set(err, ERR_UNPROCESSABLE, "path: %.300s: the test failed", path);
    if (adds || replaces)
        set(&spot, adds, value);
    if (removes)
        drop(&spot);
    return true;
}

/* copy and move: what is at `from` is added at path; nothing moves into itself. */
static bool take_from(struct json_object *object, bool is_move, const char *from, const char *path,
                      struct err *err)
{
    struct spot spot;
    size_t n = strlen(from);
    if (!find(object, from, &spot) || !spot.exists)
        return err_set(err, ERR_UNPROCESSABLE, "from: %.300s: does not exist", from);
    if (is_move && text_has_prefix(path, from) && path[n] == '/')
        return err_set(err, ERR_UNPROCESSABLE, "path: %.300s: is inside of what moves there", path);
    OWNED(json_object) value = copy_of(spot.value);
    if (is_move)
        drop(&spot);
    return run(object, "add", path, true, value, err);
}

static bool run_item(struct json_object *object, struct json_object *item, struct err *err)
{
    struct json_object *value = NULL;
    const char *op, *path, *from;
    if (!json_get_text(item, "op", "", &op, err) || !json_get_text(item, "path", "", &path, err) ||
        !json_get_text(item, "from", "", &from, err))
        return false;
    if (text_equal(op, "copy") || text_equal(op, "move"))
        return take_from(object, text_equal(op, "move"), from, path, err);
    bool has_value = json_object_object_get_ex(item, "value", &value);
    return run(object, op, path, has_value, value, err);
}

static bool run_all(struct json_object *object, struct json_object *ops, struct err *err)
{
    if (!json_object_is_type(ops, json_type_array))
        return err_set(err, ERR_INVALID, "patch: expected a list of operations");
    if (json_object_array_length(ops) > API_PATCH_OPS_MAX)
        return err_set(err, ERR_INVALID, "patch: more than %d operations", API_PATCH_OPS_MAX);
    for (size_t i = 0; i < json_object_array_length(ops); i++) {
        struct json_object *item = json_object_array_get_idx(ops, i);
        if (!json_object_is_type(item, json_type_object))
            return err_set(err, ERR_INVALID, "patch: operation %zu is not an object", i);
        if (!run_item(object, item, err))
            return false;
    }
    return true;
}

/* ---- all types ---- */

static struct json_object *parse_yaml(const char *text, size_t n, struct err *err)
{
    OWNED(yaml) yaml = yaml_parse(text, n, "body", err);
    if (yaml == NULL)
        return NULL;
    if (yaml_document_count(yaml) != 1) {
        err_set(err, ERR_INVALID, "body: expected one document");
        return NULL;
    }
    struct json_object *value = yaml_to_json(yaml_document(yaml, 0));
    if (value == NULL)
        err_set(err, ERR_INVALID, "body: expected an object");
    return value;
}

/* As JSON begins; YAML in flow style begins with a brace too. */
static bool begins_as_json(const char *text)
{
    static const char white[] = " \t\r\n";
    const char *at = text + strspn(text, white);
    if (*at != '{')
        return false;
    at += 1 + strspn(at + 1, white);
    return *at == '"' || *at == '}';
}

static struct json_object *parse(enum api_patch type, const char *text, size_t n, struct err *err)
{
    return type == API_PATCH_APPLY && !begins_as_json(text) ? parse_yaml(text, n, err)
                                                            : json_parse(text, n, "body", err);
}

/* Checked like a request body: operations can nest deeper than the parser allows. */
static struct json_object *read_again(struct json_object *after, struct err *err)
{
    size_t n = 0;
    const char *text = json_object_to_json_string_length(after, JSON_C_TO_STRING_PLAIN, &n);
    if (text != NULL)
        return json_parse(text, n, "the patched object", err);
    err_set(err, ERR_NOMEM, "no memory for the patch");
    return NULL;
}

struct json_object *api_apply_body(const char *text, size_t n, struct err *err)
{
    OWNED(json_object) config = parse(API_PATCH_APPLY, text, n, err);
    if (config == NULL || json_object_is_type(config, json_type_object))
        return TAKE(config);
    err_set(err, ERR_INVALID, "patch: expected an object");
    return NULL;
}

struct json_object *api_patch(enum api_patch type, struct json_object *before, const char *text,
                              size_t n, struct err *err)
{
    OWNED(json_object) patch = parse(type, text, n, err);
    if (patch == NULL)
        return NULL;
    OWNED(json_object) after = before == NULL ? json_object_new_object() : copy_of(before);
    if (after == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the patch");
        return NULL;
    }
    bool is_done = false;
    if (type == API_PATCH_JSON)
        is_done = run_all(after, patch, err);
    else if (!json_object_is_type(patch, json_type_object))
        err_set(err, ERR_INVALID, "patch: expected an object");
    else
        is_done = merge(after, patch, type == API_PATCH_STRATEGIC, err);
    return is_done ? read_again(after, err) : NULL;
}
