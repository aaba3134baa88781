/* foreign_pace.h - when to query statistics of a migration that somebody else started. Pure.
 *
 * A statistics call takes libvirt's lock of the guest (the job). libvirt's own migration needs the
 * same lock to let QEMU switch over, to cancel it and to resume the guest after a failure, and
 * gives up after 30 s. From the switch-over on QEMU may not answer: a call that is in flight then
 * hangs with the lock as long as the stream stalls. So a migration that is not Ferry's gets a call
 *
 *   - not at an iteration event: QEMU decides there to switch over;
 *   - not while little is left of an iteration, until the next one has begun; but every
 *     FOREIGN_SLOW_MS, because a stream may stall there, and twice that in short iterations;
 *   - so seldom that calls take at most 1/FOREIGN_SHARE of the time, however slow the host is.
 */
#ifndef COLLECTOR_FOREIGN_PACE_H
#define COLLECTOR_FOREIGN_PACE_H

#include <stdint.h>

enum {
    FOREIGN_QUIET_MS = 2000, /* before the expected end of an iteration */
    FOREIGN_SETTLE_MS = 500, /* after the begin of one */
    FOREIGN_SLOW_MS = 5000,  /* between two calls when nothing is known or little is left */
    FOREIGN_LONG_MS = 1000,  /* shorter iterations are not sampled each */
    FOREIGN_SHARE = 20,
};

struct foreign_pace {
    int64_t asked_ms, every_ms; /* the newest call; how often at most */
};

/* The answer to a call came. left_ms: what is left of the iteration, at the present speed;
 * negative: not known. Returns when to call next. */
int64_t foreign_pace_answered(struct foreign_pace *pace, int64_t asked_ms, int64_t now_ms,
                              int64_t sample_ms, int64_t left_ms);
/* An iteration began, gap_ms after the one before (0: it is the first). Returns when to call next,
 * when that was planned for next_ms. */
int64_t foreign_pace_iteration(const struct foreign_pace *pace, int64_t now_ms, int64_t gap_ms,
                               int64_t next_ms);

#endif
