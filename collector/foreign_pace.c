/* foreign_pace.c - see foreign_pace.h. */
#include "collector/foreign_pace.h"

#include <stdbool.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t foreign_pace_answered(struct foreign_pace *pace, int64_t asked_ms, int64_t now_ms,
                              int64_t sample_ms, int64_t left_ms)
{
    pace->asked_ms = asked_ms;
    pace->every_ms = larger(sample_ms, (now_ms - asked_ms) * FOREIGN_SHARE);
    int64_t next_ms = larger(asked_ms + pace->every_ms, now_ms);
    bool ends_soon = left_ms >= 0 && next_ms > now_ms + left_ms - FOREIGN_QUIET_MS;
    return ends_soon ? larger(next_ms, asked_ms + FOREIGN_SLOW_MS) : next_ms;
}

int64_t foreign_pace_iteration(const struct foreign_pace *pace, int64_t now_ms, int64_t gap_ms,
                               int64_t next_ms)
{
    int64_t settled_ms = now_ms + FOREIGN_SETTLE_MS;
    bool is_long = gap_ms == 0 || gap_ms >= FOREIGN_LONG_MS;
    if (is_long)
        return larger(settled_ms, pace->asked_ms + pace->every_ms);
    /* Short ones in a row would put off the call for ever. */
    bool waited_long = now_ms - pace->asked_ms >= 2 * FOREIGN_SLOW_MS;
    return waited_long ? next_ms : larger(settled_ms, next_ms);
}
