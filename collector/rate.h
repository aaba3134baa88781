/* rate.h - bytes per second from differences of a growing counter.
 *
 * QEMU's own figure does not change when a stream stalls, so it cannot show a stall. Smoothing: a
 * difference over dt weighs dt / RATE_WINDOW_MS, at most all. Polls of 400 ms count 40 %, so a
 * stall shows at once and is under a tenth after two seconds; samples a second or more apart are
 * not smoothed at all. A counter that falls starts again: another job.
 */
#ifndef COLLECTOR_RATE_H
#define COLLECTOR_RATE_H

#include <stdint.h>

enum { RATE_WINDOW_MS = 1000 };

struct rate {        /* zeroed is empty */
    unsigned points; /* 0, 1, or 2 for "two and more" */
    int64_t at_ms;
    uint64_t counter;
    double bps;
};

/* Takes one reading; time never goes back. Returns the rate, 0 until two readings. */
uint64_t rate_add(struct rate *rate, int64_t at_ms, uint64_t counter);

#endif
