/* labels.h - keys with values, as Kubernetes has them: on guests, nodes and namespaces, and the
 * plain selectors that ask for them. Sorted by key, so that equal maps are equal lists. Pure. */
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
    uint64_t marks; /* one bit for each pair, more or less its own: see labels_lack() */
};

/* As Kubernetes has them: a key is "name" or "dns.sub.domain/name"; a name is 1..63 letters,
 * digits, '-', '_' and '.'; a value is such a name or empty. */
bool label_key_is_valid(const char *key);
bool label_value_is_valid(const char *value);

/* From a JSON object of texts; NULL or "" gives the empty map. where names the field in errors
 * ("spec.nodeSelector"). ERR_INVALID: not an object of texts, a key or value that is none, more
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
/* Does `have` hold every pair of `wanted`? The first pair it lacks, if asked for. */
bool labels_cover(const struct labels *have, const struct labels *wanted,
                  const struct label **out_missing);
/* Lacks `have` a pair of `wanted`, as can be seen without looking at them? Most of the time it can
 * be seen; false: ask labels_cover(). */
static inline bool labels_lack(const struct labels *have, const struct labels *wanted)
{
    return (wanted->marks & ~have->marks) != 0;
}
bool labels_equal(const struct labels *a, const struct labels *b);

#endif
