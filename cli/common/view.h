/* view.h - lenient access to API objects for display: missing fields are empty. Never for decisions
 * about a guest.
 */
#ifndef CLI_COMMON_VIEW_H
#define CLI_COMMON_VIEW_H

#include <stdint.h>

#include "base/json.h"

/* Text at a dotted path; "" when missing, null or not a scalar. Borrowed. Object may be NULL. */
const char *view_text(struct json_object *object, const char *path);
int64_t view_i64(struct json_object *object, const char *path, int64_t fallback);
bool view_bool(struct json_object *object, const char *path);
/* An RFC 3339 time as wall milliseconds, 0 when missing or unreadable. */
int64_t view_time(struct json_object *object, const char *path);
/* Elements of an array at a path; 0 when it is none. */
size_t view_count(struct json_object *object, const char *path);
struct json_object *view_element(struct json_object *object, const char *path, size_t index);

#endif
