/* seen.h - which version of each object was shown: so that a list that is told again shows only
 * what has changed. Pure. Bounded: SEEN_MAX objects.
 */
#ifndef CLI_COMMON_SEEN_H
#define CLI_COMMON_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum { SEEN_MAX = 1 << 20 };

struct seen {
    struct seen_slot *slots; /* owned; open addressing */
    size_t n, capacity;
};
void seen_fini(struct seen *seen);
/* Takes an object; *out_is_new: this version was not seen. False: there are too many. */
bool seen_add(struct seen *seen, struct json_object *object, bool *out_is_new);
void seen_remove(struct seen *seen, struct json_object *object);
/* Between seen_begin() and seen_end() all objects are told again; the end returns how many that
 * were seen were not told, and forgets them. */
void seen_begin(struct seen *seen);
size_t seen_end(struct seen *seen);

#endif
