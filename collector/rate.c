/* rate.c - see rate.h. */
#include "collector/rate.h"

#include <assert.h>

static void start_again(struct rate *rate, int64_t at_ms, uint64_t counter)
{
    *rate = (struct rate){.points = 1, .at_ms = at_ms, .counter = counter};
}

uint64_t rate_add(struct rate *rate, int64_t at_ms, uint64_t counter)
{
    if (rate->points == 0 || counter < rate->counter) {
        start_again(rate, at_ms, counter);
        return 0;
    }
    assert(at_ms >= rate->at_ms);
    int64_t dt_ms = at_ms - rate->at_ms;
    if (dt_ms == 0) /* no time, no rate: the bytes count with the next reading */
        return (uint64_t)rate->bps;

    double now_bps = (double)(counter - rate->counter) * 1000.0 / (double)dt_ms;
    double weight = dt_ms < RATE_WINDOW_MS ? (double)dt_ms / RATE_WINDOW_MS : 1.0;
    if (rate->points == 1)
        weight = 1.0;
    rate->bps += (now_bps - rate->bps) * weight;
    rate->points = 2;
    rate->at_ms = at_ms;
    rate->counter = counter;
    return rate->bps < 9e18 ? (uint64_t)rate->bps : UINT64_C(9000000000000000000);
}
