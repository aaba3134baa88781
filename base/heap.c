/* heap.c - see heap.h. A heap in an array with four children per node. Each link has its index, so
 * removal needs no search. The keys are copied into the array: comparing them in the entries would
 * miss the cache at every step. */
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

enum { HEAP_FIRST = 16, CHILDREN = 4 };

static bool comes_before(const struct heap_slot *a, const struct heap_slot *b)
{
    return a->first != b->first ? a->first < b->first : a->second < b->second;
}

static void set(struct heap *heap, size_t at, const struct heap_slot *slot)
{
    heap->list[at] = *slot;
    slot->link->at = at;
}

static size_t rise(struct heap *heap, size_t at, const struct heap_slot *slot)
{
    while (at > 0 && comes_before(slot, &heap->list[(at - 1) / CHILDREN])) {
        size_t parent = (at - 1) / CHILDREN;
        set(heap, at, &heap->list[parent]);
        at = parent;
    }
    return at;
}

static size_t best_child(const struct heap *heap, size_t at)
{
    size_t first = at * CHILDREN + 1, best = first;
    for (size_t i = first + 1; i < first + CHILDREN && i < heap->n; i++)
        if (comes_before(&heap->list[i], &heap->list[best]))
            best = i;
    return best;
}

static size_t sink(struct heap *heap, size_t at, const struct heap_slot *slot)
{
    for (;;) {
        size_t child = best_child(heap, at);
        if (child >= heap->n || !comes_before(&heap->list[child], slot))
            return at;
        set(heap, at, &heap->list[child]);
        at = child;
    }
}

/* Moves the entry at index `at` up or down to its position. */
static void place(struct heap *heap, size_t at, const struct heap_slot *slot)
{
    set(heap, sink(heap, rise(heap, at, slot), slot), slot);
}

static void grow(struct heap *heap)
{
    size_t capacity = heap->capacity == 0 ? HEAP_FIRST : heap->capacity * 2;
    struct heap_slot *list = reallocarray(heap->list, capacity, sizeof *list);
    if (list == NULL) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "no memory to queue a job; the process ends"));
        abort();
    }
    heap->list = list;
    heap->capacity = capacity;
}

void heap_put(struct heap *heap, struct heap_link *link, int64_t first, int64_t second, void *of)
{
    assert(of != NULL);
    if (link->in != heap) {
        heap_remove(link);
        if (heap->n == heap->capacity)
            grow(heap);
        link->in = heap;
        link->at = heap->n++;
    }
    link->first = first;
    link->second = second;
    link->of = of;
    place(heap, link->at, &(struct heap_slot){first, second, link});
}

void heap_remove(struct heap_link *link)
{
    struct heap *heap = link->in;
    if (heap == NULL)
        return;
    assert(link->at < heap->n && heap->list[link->at].link == link);
    struct heap_slot last = heap->list[--heap->n];
    if (last.link != link)
        place(heap, link->at, &last);
    link->in = NULL;
}

void *heap_top(const struct heap *heap)
{
    return heap->n == 0 ? NULL : heap->list[0].link->of;
}

void *heap_take(struct heap *heap)
{
    void *of = heap_top(heap);
    if (of != NULL)
        heap_remove(heap->list[0].link);
    return of;
}

void heap_fini(struct heap *heap)
{
    for (size_t i = 0; i < heap->n; i++)
        heap->list[i].link->in = NULL;
    free(heap->list);
    *heap = (struct heap){0};
}
