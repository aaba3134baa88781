/* labels.h - Kubernetes labels of guests, nodes and namespaces, and plain selectors on them.
 * Sorted by key, so that equal maps are equal lists. Pure. */
#ifndef ENGINE_MODEL_SETTINGS_LABELS_H
#define ENGINE_MODEL_SETTINGS_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json_object;

enum { LABELS_MAX = 64, LABEL_KEY_MAX = 318, LABEL_VALUE_MAX = 64 }; /* with terminator */

struct label {
    char *key, *value; /* owned by the map */
};
struct labels { /* zeroed: empty */
    size_t n;
    struct label *pairs;
    uint64_t marks; /* one bit per pair, mostly distinct: see labels_lack() */
};

/* Kubernetes' syntax: a key is "name" or "dns.sub.domain/name"; a name is 1..63 letters, digits,
 * '-', '_' and '.'; a value is such a name or empty. */
bool label_key_is_valid(const char *key);
bool label_value_is_valid(const char *value);

/* From a JSON object of strings; NULL or "" gives the empty map. where names the field in errors
 * ("spec.nodeSelector"). ERR_INVALID: not an object of strings, an invalid key or value, more
 * than LABELS_MAX. On failure the map is empty. */
bool labels_parse(const char *json, const char *where, struct labels *out_labels, struct err *err);
bool labels_from(struct json_object *object, const char *where, struct labels *out_labels,
                 struct err *err);
bool labels_copy(const struct labels *from, struct labels *out_labels);
/* Adds or replaces one pair; false when there is no memory or no room. */
bool labels_set(struct labels *labels, const char *key, const char *value);
void labels_fini(struct labels *labels);

/* As a JSON object, new; NULL when the map is empty. */
struct json_object *labels_json(const struct labels *labels);

const char *labels_get(const struct labels *labels, const char *key); /* NULL: no such key */
/* Has `have` every pair of `wanted`? *out_missing: the first missing pair, if wanted. */
bool labels_cover(const struct labels *have, const struct labels *wanted,
                  const struct label **out_missing);
/* A quick test by bit sets: true when `have` surely lacks a pair of `wanted`; false: call
 * labels_cover(). */
static inline bool labels_lack(const struct labels *have, const struct labels *wanted)
{
    return (wanted->marks & ~have->marks) != 0;
}
bool labels_equal(const struct labels *a, const struct labels *b);

#endif
