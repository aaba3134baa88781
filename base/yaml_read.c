/* yaml_read.c - typed reading of a YAML tree, and its JSON form; see yaml.h.
 *
 * Apart from yaml.c because nothing here needs libyaml. Numbers and booleans follow YAML 1.2's core
 * schema; yes, no, on and off are strings.
 */
#include "base/yaml.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *kind_name(const struct yaml_node *node)
{
    switch (node->kind) {
    case YAML_NULL: return "nothing";
    case YAML_SCALAR: return "text";
    case YAML_MAP: return "a map";
    case YAML_LIST: return "a list";
    }
    return "something else";
}

/* "name: " for messages about a map's member, "" for list elements and roots. */
static const char *label(const struct yaml_node *node)
{
    return node->key == NULL ? "" : node->key;
}

static bool fail_expected(const struct yaml *yaml, const struct yaml_node *node, const char *wanted,
                          struct err *err)
{
    const char *colon = node->key == NULL ? "" : ": ";
    if (node->kind == YAML_SCALAR)
        return yaml_fail(yaml, node, err, "%s%sexpected %s, found %s%.80s%s", label(node), colon,
                         wanted, node->quoted ? "the text \"" : "\"", node->text, "\"");
    return yaml_fail(yaml, node, err, "%s%sexpected %s, found %s", label(node), colon, wanted,
                     kind_name(node));
}

static bool fail_unknown(const struct yaml *yaml, const struct yaml_node *child,
                         const char *const *keys, size_t n, struct err *err)
{
    const char *nearest = text_nearest(child->key, keys, n);
    if (nearest != NULL)
        return yaml_fail(yaml, child, err, "unknown key \"%.80s\"; did you mean \"%s\"?",
                         child->key, nearest);
    struct buf list;
    buf_init(&list, 512);
    for (size_t i = 0; i < n; i++)
        buf_addf(&list, "%s%s", i == 0 ? "" : ", ", keys[i]);
    (void)yaml_fail(yaml, child, err, "unknown key \"%.80s\"; valid here: %s", child->key,
                    list.data == NULL ? "nothing" : list.data);
    buf_fini(&list);
    return false;
}

bool yaml_only_keys(const struct yaml *yaml, const struct yaml_node *map, const char *const *keys,
                    size_t n, struct err *err)
{
    if (map->kind == YAML_NULL)
        return true; /* "limits:" with nothing below it is an empty map */
    if (map->kind != YAML_MAP)
        return fail_expected(yaml, map, "a map", err);
    for (const struct yaml_node *child = map->child; child != NULL; child = child->next) {
        size_t i = 0;
        while (i < n && strcmp(keys[i], child->key) != 0)
            i++;
        if (i == n)
            return fail_unknown(yaml, child, keys, n, err);
    }
    return true;
}

bool yaml_text(const struct yaml *yaml, const struct yaml_node *node, const char **out_text,
               struct err *err)
{
    if (node->kind != YAML_SCALAR)
        return fail_expected(yaml, node, "text", err);
    *out_text = node->text;
    return true;
}

bool yaml_i64(const struct yaml *yaml, const struct yaml_node *node, int64_t min, int64_t max,
              int64_t *out_value, struct err *err)
{
    int64_t value;
    bool is_number = node->kind == YAML_SCALAR && !node->quoted &&
                     text_to_i64(node->text, INT64_MIN, INT64_MAX, &value);
    if (!is_number)
        return fail_expected(yaml, node, "a whole number", err);
    if (value < min || value > max)
        return yaml_fail(yaml, node, err, "%s%s%lld is not between %lld and %lld", label(node),
                         node->key == NULL ? "" : ": ", (long long)value, (long long)min,
                         (long long)max);
    *out_value = value;
    return true;
}

/* True, False, TRUE and so on are in the core schema too. */
static bool bool_from(const char *text, bool *out_value)
{
    bool is_true = text_equal(text, "true") || text_equal(text, "True") || text_equal(text, "TRUE");
    bool is_false =
        text_equal(text, "false") || text_equal(text, "False") || text_equal(text, "FALSE");
    *out_value = is_true;
    return is_true || is_false;
}

bool yaml_bool(const struct yaml *yaml, const struct yaml_node *node, bool *out_value,
               struct err *err)
{
    bool value;
    if (node->kind != YAML_SCALAR || node->quoted || !bool_from(node->text, &value))
        return fail_expected(yaml, node, "true or false", err);
    *out_value = value;
    return true;
}

/* [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+; NULL when it is none of them or too large. */
static struct json_object *whole_number(const char *text)
{
    static const char decimal[] = "0123456789";
    bool is_octal = text_has_prefix(text, "0o"), is_hex = text_has_prefix(text, "0x");
    const char *digits = text + (is_octal || is_hex ? 2 : (*text == '-' || *text == '+'));
    const char *allowed = is_octal ? "01234567" : is_hex ? "0123456789abcdefABCDEF" : decimal;
    if (*digits == '\0' || digits[strspn(digits, allowed)] != '\0')
        return NULL;
    errno = 0;
    long long value = strtoll(is_octal || is_hex ? digits : text, NULL,
                              is_octal ? 8
                              : is_hex ? 16
                                       : 10);
    return errno == 0 ? json_object_new_int64(value) : NULL;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? and finite; JSON has no infinity. */
static struct json_object *fraction(const char *text)
{
    if (*text == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0' ||
        strpbrk(text, "0123456789") == NULL)
        return NULL;
    char *end;
    double value = strtod(text, &end);
    return *end == '\0' && isfinite(value) ? json_object_new_double(value) : NULL;
}

static struct json_object *scalar_to_json(const struct yaml_node *node)
{
    bool value;
    if (node->quoted)
        return json_object_new_string(node->text);
    if (bool_from(node->text, &value))
        return json_object_new_boolean(value);
    struct json_object *number = whole_number(node->text);
    if (number == NULL)
        number = fraction(node->text);
    return number != NULL ? number : json_object_new_string(node->text);
}

struct json_object *yaml_to_json(const struct yaml_node *node)
{
    if (node->kind == YAML_NULL)
        return NULL; /* json-c's null */
    if (node->kind == YAML_SCALAR)
        return scalar_to_json(node);
    struct json_object *into =
        node->kind == YAML_MAP ? json_object_new_object() : json_object_new_array();
    for (const struct yaml_node *child = node->child; child != NULL; child = child->next)
        json_add(into, child->key, yaml_to_json(child));
    return into;
}

bool yaml_read_map(const struct yaml *yaml, const struct yaml_node *map,
                   const struct yaml_key *keys, size_t n, struct reading *r, struct err *err)
{
    const char *names[YAML_KEYS_MAX] = {NULL};
    assert(n <= YAML_KEYS_MAX);
    if (map->kind != YAML_MAP)
        return yaml_fail(yaml, map, err, "expected a map of keys and values");
    for (size_t i = 0; i < n; i++)
        names[i] = keys[i].name;
    if (!yaml_only_keys(yaml, map, names, n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *child = yaml_child(map, keys[i].name);
        if (child != NULL && !keys[i].read(r, child, err))
            return false;
    }
    return true;
}
