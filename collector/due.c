/* due.c - see due.h. */
#include "collector/due.h"

#include <assert.h>
#include <stdlib.h>

void due_fini(struct due_heap *heap)
{
    free(heap->items);
    *heap = (struct due_heap){0};
}

bool due_reserve(struct due_heap *heap, size_t capacity, struct err *err)
{
    if (capacity <= heap->capacity)
        return true;
    size_t grown = capacity < heap->capacity * 2 ? heap->capacity * 2 : capacity;
    struct due **items = realloc(heap->items, grown * sizeof *items);
    if (items == NULL)
        return err_set(err, ERR_NOMEM, "deadlines of %zu objects", grown);
    heap->items = items;
    heap->capacity = grown;
    return true;
}

static void put(struct due_heap *heap, size_t position, struct due *due)
{
    heap->items[position - 1] = due;
    due->position = position;
}

static void sift_up(struct due_heap *heap, struct due *due)
{
    size_t position = due->position;
    while (position > 1 && heap->items[position / 2 - 1]->at_ms > due->at_ms) {
        put(heap, position, heap->items[position / 2 - 1]);
        position /= 2;
    }
    put(heap, position, due);
}

static void sift_down(struct due_heap *heap, struct due *due)
{
    size_t position = due->position;
    for (;;) {
        size_t child = position * 2;
        if (child > heap->n)
            break;
        if (child < heap->n && heap->items[child]->at_ms < heap->items[child - 1]->at_ms)
            child++;
        if (heap->items[child - 1]->at_ms >= due->at_ms)
            break;
        put(heap, position, heap->items[child - 1]);
        position = child;
    }
    put(heap, position, due);
}

void due_set(struct due_heap *heap, struct due *due, int64_t at_ms)
{
    due->at_ms = at_ms;
    if (due->position == 0) {
        assert(heap->n < heap->capacity);
        put(heap, ++heap->n, due);
    }
    sift_up(heap, due);
    sift_down(heap, due);
}

void due_clear(struct due_heap *heap, struct due *due)
{
    if (due->position == 0)
        return;
    struct due *last = heap->items[--heap->n];
    size_t position = due->position;
    due->position = 0;
    if (last == due)
        return;
    put(heap, position, last);
    sift_up(heap, last);
    sift_down(heap, last);
}

struct due *due_first(const struct due_heap *heap)
{
    return heap->n > 0 ? heap->items[0] : NULL;
}
