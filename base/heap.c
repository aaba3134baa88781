/* heap.c - see heap.h. A binary heap in an array; each link knows its index, so that leaving costs
 * no search. */
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

enum { HEAP_FIRST = 16 };

static bool comes_before(const struct heap_link *a, const struct heap_link *b)
{
    return a->first != b->first ? a->first < b->first : a->second < b->second;
}

static void set(struct heap *heap, size_t at, struct heap_link *link)
{
    heap->list[at] = link;
    link->at = at;
}

static void rise(struct heap *heap, struct heap_link *link)
{
    size_t at = link->at;
    while (at > 0 && comes_before(link, heap->list[(at - 1) / 2])) {
        set(heap, at, heap->list[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    set(heap, at, link);
}

static void sink(struct heap *heap, struct heap_link *link)
{
    size_t at = link->at;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child + 1 < heap->n && comes_before(heap->list[child + 1], heap->list[child]))
            child++;
        if (child >= heap->n || !comes_before(heap->list[child], link))
            break;
        set(heap, at, heap->list[child]);
        at = child;
    }
    set(heap, at, link);
}

static void grow(struct heap *heap)
{
    size_t capacity = heap->capacity == 0 ? HEAP_FIRST : heap->capacity * 2;
    struct heap_link **list = reallocarray(heap->list, capacity, sizeof *list);
    if (list == NULL) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "a job cannot be queued; ending"));
        abort();
    }
    heap->list = list;
    heap->capacity = capacity;
}

void heap_put(struct heap *heap, struct heap_link *link, int64_t first, int64_t second, void *of)
{
    assert(of != NULL);
    if (link->in != heap) {
        heap_leave(link);
        if (heap->n == heap->capacity)
            grow(heap);
        link->in = heap;
        set(heap, heap->n++, link);
    }
    link->first = first;
    link->second = second;
    link->of = of;
    rise(heap, link);
    sink(heap, link);
}

void heap_leave(struct heap_link *link)
{
    struct heap *heap = link->in;
    if (heap == NULL)
        return;
    assert(link->at < heap->n && heap->list[link->at] == link);
    struct heap_link *last = heap->list[--heap->n];
    if (last != link) {
        set(heap, link->at, last);
        rise(heap, last);
        sink(heap, last);
    }
    link->in = NULL;
}

void *heap_top(const struct heap *heap)
{
    return heap->n == 0 ? NULL : heap->list[0]->of;
}

void *heap_take(struct heap *heap)
{
    void *of = heap_top(heap);
    if (of != NULL)
        heap_leave(heap->list[0]);
    return of;
}

void heap_fini(struct heap *heap)
{
    for (size_t i = 0; i < heap->n; i++)
        heap->list[i]->in = NULL;
    free(heap->list);
    *heap = (struct heap){0};
}
