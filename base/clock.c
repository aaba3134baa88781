/* clock.c - see clock.h. */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for these ids */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_mono_ms(void *ctx)
{
    (void)ctx;
    return read_ms(CLOCK_MONOTONIC);
}

static int64_t system_wall_ms(void *ctx)
{
    (void)ctx;
    return read_ms(CLOCK_REALTIME);
}

int64_t clock_boot_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {system_mono_ms, system_wall_ms, NULL};
    return &system_clock;
}

static int64_t fake_mono_ms(void *ctx)
{
    return ((struct clock_fake *)ctx)->now_ms;
}

static int64_t fake_wall_ms(void *ctx)
{
    const struct clock_fake *fake = ctx;
    return fake->epoch_ms + fake->now_ms;
}

void clock_fake_init(struct clock_fake *fake, int64_t epoch_ms)
{
    fake->clock = (struct clock){fake_mono_ms, fake_wall_ms, fake};
    fake->now_ms = 0;
    fake->epoch_ms = epoch_ms;
}

void clock_follower_begin(struct clock_follower *follower, int64_t mono_ms, int64_t wall_ms)
{
    *follower = (struct clock_follower){.begun = true, .mono_ms = mono_ms, .wall_ms = wall_ms};
}

int64_t clock_follow(struct clock_follower *follower, int64_t mono_ms, int64_t wall_ms)
{
    int64_t most_ms = follower->wall_ms + 2 * (mono_ms - follower->mono_ms);
    bool is_ahead = follower->begun && wall_ms > most_ms;
    clock_follower_begin(follower, mono_ms, is_ahead ? most_ms : wall_ms);
    return follower->wall_ms;
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

void clock_format_wall(int64_t wall_ms, char *out_text)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out_text, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        (void)snprintf(out_text, CLOCK_TEXT_MAX, "?");
}
