/* clock.h - time as a port. Only clock.c reads the system's clocks.
 *
 * Two clocks, never mixed: `mono` counts milliseconds since some start and never jumps; all waits
 * and durations use it. `wall` is milliseconds since 1970 UTC and is only for people and records.
 * The simulator has its own clock.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock {
    int64_t (*mono_ms)(void *ctx);
    int64_t (*wall_ms)(void *ctx);
    void *ctx;
};

/* The machine's clocks. */
const struct clock *clock_system(void);

static inline int64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock->ctx);
}
static inline int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock->ctx);
}

/* A clock for tests: time moves only when the test sets now_ms; wall = mono + epoch_ms. */
struct clock_fake {
    struct clock clock; /* pass this to the code under test */
    int64_t now_ms, epoch_ms;
};
void clock_fake_init(struct clock_fake *fake, int64_t epoch_ms);

/* A wall clock for deleting what is old: it follows the machine's, back at once and forward at most
 * twice as fast as time passes. So a clock that jumps forward by two days deletes nothing today; it
 * is believed two days later, unless somebody has set it right by then. */
struct clock_follower {
    bool begun;
    int64_t mono_ms, wall_ms;
};
/* What it shows first; without this, the machine's. */
void clock_follower_begin(struct clock_follower *follower, int64_t mono_ms, int64_t wall_ms);
int64_t clock_follow(struct clock_follower *follower, int64_t mono_ms, int64_t wall_ms);

/* Milliseconds since the machine booted, also while it slept: for leases, which go on meanwhile. */
int64_t clock_boot_ms(void);

/* Blocks the calling thread. Only for threads that do nothing but wait. */
void clock_sleep_ms(int64_t ms);

enum { CLOCK_TEXT_MAX = 32 };
/* "2026-11-16T05:07:39Z", as Kubernetes writes times. out_text holds CLOCK_TEXT_MAX. */
void clock_format_wall(int64_t wall_ms, char *out_text);

#endif
