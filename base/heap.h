/* heap.h - a priority queue whose entries know their place, so that any of them can leave early.
 * Intrusive: the entry lives in what it orders. Ordered by two numbers, smallest first; equal ones
 * in no promised order, so give the second a unique value where order matters. Not thread-safe. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;
struct heap_link { /* zeroed: in none */
    struct heap *in;
    size_t at;
    int64_t first, second;
    void *of; /* what it stands for; set by heap_put */
};
struct heap_slot {
    int64_t first, second; /* as in the link */
    struct heap_link *link;
};
struct heap { /* zeroed: empty */
    size_t n, capacity;
    struct heap_slot *list; /* the best one stands first; the others in no order to rely on */
};

/* Puts it in, or moves it to its new place, also from another heap. Ends the process without
 * memory: a job that is in no queue would be forgotten. */
void heap_put(struct heap *heap, struct heap_link *link, int64_t first, int64_t second, void *of);
void heap_leave(struct heap_link *link); /* in none: nothing */
void *heap_top(const struct heap *heap); /* NULL: empty */
void *heap_take(struct heap *heap);      /* NULL: empty */
void heap_fini(struct heap *heap);       /* its links forget it */

#endif
