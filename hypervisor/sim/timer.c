/* timer.c - see timer.h. A binary heap whose elements have their index, so that a migration whose
 * rate changes moves its timer instead of leaving stale entries. */
#include "hypervisor/sim/timer.h"

#include <assert.h>
#include <stdlib.h>

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

static void put(struct timers *timers, size_t slot, struct timer *timer)
{
    timers->heap[slot] = timer;
    timer->slot = slot;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
    size_t slot = timer->slot;
    while (slot > 1 && is_before(timer, timers->heap[slot / 2])) {
        put(timers, slot, timers->heap[slot / 2]);
        slot /= 2;
    }
    put(timers, slot, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
    size_t slot = timer->slot;
    while (slot * 2 <= timers->n) {
        size_t child = slot * 2;
        if (child < timers->n && is_before(timers->heap[child + 1], timers->heap[child]))
            child++;
        if (!is_before(timers->heap[child], timer))
            break;
        put(timers, slot, timers->heap[child]);
        slot = child;
    }
    put(timers, slot, timer);
}

bool timers_reserve(struct timers *timers, size_t more)
{
    size_t wanted = timers->reserved + more;
    if (wanted >= timers->capacity) {
        size_t capacity = timers->capacity == 0 ? 64 : timers->capacity;
        while (capacity <= wanted)
            capacity *= 2;
        struct timer **heap = realloc(timers->heap, capacity * sizeof *heap);
        if (heap == NULL)
            return false;
        timers->heap = heap;
        timers->capacity = capacity;
    }
    timers->reserved = wanted;
    return true;
}

void timers_release(struct timers *timers, size_t fewer)
{
    assert(fewer <= timers->reserved);
    timers->reserved -= fewer;
}

void timers_fini(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}

void timer_set(struct timers *timers, struct timer *timer, int64_t at_ms)
{
    assert(timer->fire != NULL);
    if (!timer_is_set(timer)) {
        assert(timers->n < timers->reserved);
        put(timers, ++timers->n, timer);
    }
    timer->at_ms = at_ms;
    timer->number = timers->next_number++;
    sift_up(timers, timer);
    sift_down(timers, timer);
}

void timer_clear(struct timers *timers, struct timer *timer)
{
    if (!timer_is_set(timer))
        return;
    size_t slot = timer->slot;
    struct timer *last = timers->heap[timers->n--];
    timer->slot = 0;
    if (last == timer)
        return;
    put(timers, slot, last);
    sift_up(timers, last);
    sift_down(timers, last);
}

struct timer *timers_first(const struct timers *timers)
{
    return timers->n == 0 ? NULL : timers->heap[1];
}
