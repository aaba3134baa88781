/* timer.h - what is due when: a heap of timers that live inside the things they belong to.
 *
 * Order is (time, number of the setting): two things due in the same millisecond happen in the
 * order in which they were set, never in the order of addresses. Setting cannot fail: room is
 * taken when the owner is made (timers_reserve) and given back when it goes.
 */
#ifndef HYPERVISOR_SIM_TIMER_H
#define HYPERVISOR_SIM_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

struct sim;

struct timer {
    int64_t at_ms;
    uint64_t number;
    size_t slot; /* place in the heap, from 1; 0: not set */
    void (*fire)(struct sim *sim, void *owner);
    void *owner; /* borrowed: the thing that contains this timer */
};

struct timers {
    struct timer **heap; /* owned array, [1..n]; the timers are borrowed */
    size_t n, reserved, capacity;
    uint64_t next_number;
};

MUST_CHECK bool timers_reserve(struct timers *timers, size_t more);
void timers_release(struct timers *timers, size_t fewer);
void timers_fini(struct timers *timers);

/* Sets it, or moves it when it is set already. */
void timer_set(struct timers *timers, struct timer *timer, int64_t at_ms);
void timer_clear(struct timers *timers, struct timer *timer); /* not set: nothing happens */
static inline bool timer_is_set(const struct timer *timer)
{
    return timer->slot != 0;
}
struct timer *timers_first(const struct timers *timers); /* NULL when nothing is due ever */

#endif
