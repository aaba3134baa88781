/* due.h - a binary heap of deadlines; each is a member of the object that it belongs to.
 *
 * With 10,000 hosts a step handles only those that are due. Room is reserved when an object is
 * made, so setting a deadline cannot fail.
 */
#ifndef COLLECTOR_DUE_H
#define COLLECTOR_DUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum due_owner { DUE_HOST, DUE_WATCH };

struct due {
    int64_t at_ms;
    size_t position; /* 1-based place in the heap, 0: has no deadline */
    enum due_owner owner;
    void *object;
};
struct due_heap { /* zeroed is empty */
    struct due **items;
    size_t n, capacity;
};
void due_fini(struct due_heap *heap);
MUST_CHECK bool due_reserve(struct due_heap *heap, size_t capacity, struct err *err);
void due_set(struct due_heap *heap, struct due *due, int64_t at_ms); /* enters or moves */
void due_clear(struct due_heap *heap, struct due *due);              /* fine when not in it */
struct due *due_first(const struct due_heap *heap);                  /* NULL when empty */

#endif
