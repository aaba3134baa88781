/* labels.c - see labels.h. A pair is one block: the value follows its key. */
#include "engine/model/settings/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { NAME_MAX_CHARS = 63, PREFIX_MAX_CHARS = 253 };

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

static bool is_name(const char *name, size_t length)
{
    if (length < 1 || length > NAME_MAX_CHARS || !is_alnum(name[0]) || !is_alnum(name[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_alnum(name[i]) && name[i] != '-' && name[i] != '_' && name[i] != '.')
            return false;
    return true;
}

/* Lower case words between dots, each of them starting and ending with a letter or digit. */
static bool is_subdomain(const char *text, size_t length)
{
    if (length < 1 || length > PREFIX_MAX_CHARS)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool first = i == 0 || text[i - 1] == '.';
        bool last = i + 1 == length || text[i + 1] == '.';
        bool inner = (text[i] == '-' || text[i] == '.') && !first && !last;
        if (!is_lower_alnum(text[i]) && !inner)
            return false;
    }
    return true;
}

bool label_key_is_valid(const char *key)
{
    const char *slash = strchr(key, '/');
    if (slash == NULL)
        return is_name(key, strlen(key));
    return is_subdomain(key, (size_t)(slash - key)) && is_name(slash + 1, strlen(slash + 1));
}

bool label_value_is_valid(const char *value)
{
    return value[0] == '\0' || is_name(value, strlen(value));
}

/* Index of the key, or where it would be inserted. */
static size_t find(const struct labels *labels, const char *key, bool *out_found)
{
    size_t low = 0, high = labels->n;
    *out_found = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(labels->pairs[middle].key, key);
        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool pair_make(const char *key, const char *value, struct label *out_pair)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    char *block = malloc(key_bytes + value_bytes);
    if (block == NULL)
        return false;
    memcpy(block, key, key_bytes);
    memcpy(block + key_bytes, value, value_bytes);
    *out_pair = (struct label){.key = block, .value = block + key_bytes};
    return true;
}

static uint64_t mark_of(const struct label *pair)
{
    uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char *c = pair->key; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001B3ULL;
    for (const char *c = pair->value; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001B3ULL;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ULL; /* the last characters count as well */
    return 1ULL << (hash >> 58);
}

static uint64_t marks_of(const struct labels *labels)
{
    uint64_t marks = 0;
    for (size_t i = 0; i < labels->n; i++)
        marks |= mark_of(&labels->pairs[i]);
    return marks;
}

/* Opens a gap at `at`. */
static bool make_room(struct labels *labels, size_t at)
{
    if (labels->n >= LABELS_MAX)
        return false;
    struct label *pairs = reallocarray(labels->pairs, labels->n + 1, sizeof *pairs);
    if (pairs == NULL)
        return false;
    labels->pairs = pairs;
    memmove(pairs + at + 1, pairs + at, (labels->n - at) * sizeof *pairs);
    labels->n++;
    return true;
}

bool labels_set(struct labels *labels, const char *key, const char *value)
{
    struct label pair;
    bool found;
    size_t at = find(labels, key, &found);
    if (!pair_make(key, value, &pair))
        return false;
    if (found)
        free(labels->pairs[at].key);
    else if (!make_room(labels, at)) {
        free(pair.key);
        return false;
    }
    labels->pairs[at] = pair;
    labels->marks = found ? marks_of(labels) : labels->marks | mark_of(&pair);
    return true;
}

void labels_fini(struct labels *labels)
{
    for (size_t i = 0; i < labels->n; i++)
        free(labels->pairs[i].key);
    free(labels->pairs);
    *labels = (struct labels){0};
}

bool labels_copy(const struct labels *from, struct labels *out_labels)
{
    struct labels copy = {0};
    for (size_t i = 0; i < from->n; i++)
        if (!labels_set(&copy, from->pairs[i].key, from->pairs[i].value)) {
            labels_fini(&copy);
            return false;
        }
    *out_labels = copy;
    return true;
}

static bool add_member(struct labels *labels, const char *where, const char *key,
                       struct json_object *member, struct err *err)
{
    if (!label_key_is_valid(key))
        return err_set(err, ERR_INVALID,
                       "%s: \"%.80s\" is not a label key: [prefix/]name of letters, digits, "
                       "'-', '_' and '.', the name up to 63 long",
                       where, key);
    if (!json_object_is_type(member, json_type_string))
        return err_set(err, ERR_INVALID, "%s.%s: expected a string", where, key);
    const char *value = json_object_get_string(member);
    if (!label_value_is_valid(value))
        return err_set(err, ERR_INVALID,
                       "%s.%s: \"%.80s\" is not a label value: up to 63 letters, digits, "
                       "'-', '_' and '.'",
                       where, key, value);
    if (!labels_set(labels, key, value))
        return err_set(err, ERR_NOMEM, "%s: out of memory", where);
    return true;
}

bool labels_from(struct json_object *object, const char *where, struct labels *out_labels,
                 struct err *err)
{
    *out_labels = (struct labels){0};
    if (object == NULL)
        return true;
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, "%s: expected an object of strings", where);
    if (json_object_object_length(object) > LABELS_MAX)
        return err_set(err, ERR_INVALID, "%s: more than %d labels", where, LABELS_MAX);
    struct labels labels = {0};
    json_object_object_foreach(object, key, member)
    {
        if (!add_member(&labels, where, key, member, err)) {
            labels_fini(&labels);
            return false;
        }
    }
    *out_labels = labels;
    return true;
}

bool labels_parse(const char *json, const char *where, struct labels *out_labels, struct err *err)
{
    *out_labels = (struct labels){0};
    if (json == NULL || json[0] == '\0')
        return true;
    OWNED(json_object) object = json_parse(json, strlen(json), where, err);
    return object != NULL && labels_from(object, where, out_labels, err);
}

const char *labels_get(const struct labels *labels, const char *key)
{
    bool found;
    size_t at = find(labels, key, &found);
    return found ? labels->pairs[at].value : NULL;
}

bool labels_cover(const struct labels *have, const struct labels *wanted,
                  const struct label **out_missing)
{
    if (out_missing == NULL && labels_lack(have, wanted))
        return false;
    for (size_t i = 0; i < wanted->n; i++) {
        const char *value = labels_get(have, wanted->pairs[i].key);
        if (value != NULL && strcmp(value, wanted->pairs[i].value) == 0)
            continue;
        if (out_missing != NULL)
            *out_missing = &wanted->pairs[i];
        return false;
    }
    return true;
}

bool labels_equal(const struct labels *a, const struct labels *b)
{
    return a->n == b->n && labels_cover(a, b, NULL);
}

struct json_object *labels_json(const struct labels *labels)
{
    if (labels->n == 0)
        return NULL;
    struct json_object *object = json_object_new_object();
    for (size_t i = 0; i < labels->n; i++)
        json_add_text(object, labels->pairs[i].key, labels->pairs[i].value);
    return object;
}
