/* forecast_run.h - one scenario of a forecast, simulated iteration by iteration. Shared by
 * forecast.c and its test; nobody else includes it. */
#ifndef ENGINE_MODEL_FORECAST_FORECAST_RUN_H
#define ENGINE_MODEL_FORECAST_FORECAST_RUN_H

#include "engine/model/forecast/forecast.h"

struct scenario {
    double weight;
    double bandwidth, postcopy_bandwidth; /* bytes per second */
    double faster;                        /* factor on the dirty rate during the migration */
    double bend;  /* 0: no more than was measured .. 1: as much as possible */
    double burst; /* factor within the first window, if that looks full */
    double used;  /* share of memory that must be sent */
};
struct ending {
    enum forecast_end end;
    double total_ms, downtime_ms; /* without the overhead of every call */
    double weight;
};

double scenario_dirtied(const struct dirty_curve *curve, const struct scenario *s, double seconds,
                        double bound);
void scenario_run(const struct forecast_input *in, const struct scenario *s,
                  struct ending *out_ending);

#endif
