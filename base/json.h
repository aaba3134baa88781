/* json.h - the wrapper of json-c: parse errors have line and column, read errors a path, and
 * building needs no NULL check per line.
 *
 * Readers borrow; json_free() drops one reference (json-c counts them). Depth and size are bounded;
 * duplicate keys, trailing text, NaN and single quotes are refused (json-c accepts them).
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "base/err.h"
#include "base/own.h"

enum { JSON_DEPTH_MAX = 32, JSON_BYTES_MAX = 64 * 1024 * 1024 }; /* 50,000 guests */

static inline void json_object_free(struct json_object *value)
{
    (void)json_object_put(value);
}
DEFINE_OWNED(json_object)

/* One document. On failure NULL and ERR_INVALID "where: line L column C: what". */
struct json_object *json_parse(const char *text, size_t n, const char *where, struct err *err);
/* The same for a part of a longer text that begins at this line and column, from 1. */
struct json_object *json_parse_part(const char *text, size_t n, const char *where, int line,
                                    int column, struct err *err);

/* Reading. A missing or null member gives the fallback; a member of the wrong type is
 * ERR_INVALID naming its path ("spec.vmiName: expected a string, found a number"). */
bool json_get_text(struct json_object *object, const char *path, const char *fallback,
                   const char **out_text, struct err *err);
bool json_get_i64(struct json_object *object, const char *path, int64_t fallback,
                  int64_t *out_value, struct err *err);
bool json_get_bool(struct json_object *object, const char *path, bool fallback, bool *out_value,
                   struct err *err);
/* The member at a dotted path ("status.conditions.0.type"), or NULL. */
struct json_object *json_at(struct json_object *object, const char *path);

/* Building: each adds a member and, when text is NULL, nothing. json_add takes the value (NULL is
 * JSON's null). To an array they append and the key is ignored; adding to NULL does nothing, so a
 * failed allocation needs no check per line. Bytes that are not UTF-8 are replaced. */
void json_add(struct json_object *object, const char *key, struct json_object *take_value);
void json_add_text(struct json_object *object, const char *key, const char *text);
void json_add_i64(struct json_object *object, const char *key, int64_t value);
void json_add_bool(struct json_object *object, const char *key, bool value);
/* Adds an RFC 3339 time unless wall_ms is 0. */
void json_add_time(struct json_object *object, const char *key, int64_t wall_ms);
/* Adds an empty object member and returns it, borrowed. */
struct json_object *json_add_object(struct json_object *object, const char *key);
struct json_object *json_add_array(struct json_object *object, const char *key);

#endif
