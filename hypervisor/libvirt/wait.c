/* wait.c - condition variables with timeouts on the monotonic clock. */
#include <time.h>

#include "hypervisor/libvirt/internal.h"

void libvirt_wait_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

/* Always the machine's clock: a caller's clock may be a fake that does not move. */
void libvirt_wait_cond(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms)
{
    int64_t at_ms = clock_mono_ms(clock_system()) + ms;
    struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
                          .tv_nsec = (long)(at_ms % 1000) * 1000000L};
    (void)pthread_cond_timedwait(cond, lock, &at);
}
