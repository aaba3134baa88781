/* timer.h - a heap of timers; each is a member of its owner.
 *
 * Order is (time, number of the setting): two timers of the same millisecond fire in the order in
 * which they were set, never in the order of addresses. Setting cannot fail: memory is reserved
 * when the owner is made (timers_reserve) and released with it.
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
    size_t slot; /* index in the heap, from 1; 0: not set */
    void (*fire)(struct sim *sim, void *owner);
    void *owner; /* borrowed: the object that contains this timer */
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
void timer_clear(struct timers *timers, struct timer *timer); /* no effect when not set */
static inline bool timer_is_set(const struct timer *timer)
{
    return timer->slot != 0;
}
struct timer *timers_first(const struct timers *timers); /* NULL when no timer is set */

#endif
