/* heap.h - a priority queue from which any entry can be removed. Intrusive: the link is a member of
 * the queued object. Ordered by two numbers, smallest first; the order of equal entries is
 * undefined, so give the second a unique value where order matters. Not thread-safe. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;
struct heap_link { /* zeroed: in no heap */
    struct heap *in;
    size_t at;
    int64_t first, second;
    void *of; /* the queued object; set by heap_put */
};
struct heap_slot {
    int64_t first, second; /* as in the link */
    struct heap_link *link;
};
struct heap { /* zeroed: empty */
    size_t n, capacity;
    struct heap_slot *list; /* the smallest is first; the order of the others is undefined */
};

/* Adds the entry, or moves it, also from another heap. Without memory it ends the process: a job in
 * no queue would never run. */
void heap_put(struct heap *heap, struct heap_link *link, int64_t first, int64_t second, void *of);
void heap_remove(struct heap_link *link); /* no effect when in no heap */
void *heap_top(const struct heap *heap);  /* NULL: empty */
void *heap_take(struct heap *heap);       /* NULL: empty */
void heap_fini(struct heap *heap);        /* its links become zeroed */

#endif
