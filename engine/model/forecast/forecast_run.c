/* forecast_run.c - see forecast_run.h. The monitor's rules in closed form, one step per
 * iteration: decisions that engine/data/monitor_stall.c takes from samples are taken here from
 * the model, so that a forecast ends the way the migration would. tests/unit/test_forecast.c
 * compares the two. */
#include "engine/model/forecast/forecast_run.h"

enum {
    ITERATIONS_MAX = 1024,
    FIRST_DOWNTIME_MS = 300,
    ITERATION_MIN_MS = 10,
    STEADY_MS = 500, /* equal iterations are taken together */
    THROTTLE_FIRST = 20,
    THROTTLE_STEP = 10,
    THROTTLE_MAX = 99,
    HAND_OVER_MS = 60, /* of the switch-over itself */
};
#define GIB (UINT64_C(1) << 30)
#define GB UINT64_C(1000000000)

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

struct run {
    const struct forecast_input *in;
    const struct scenario *s;
    double now_ms, begin_ms, budget_ms; /* budget 0: none */
    double rest;                        /* to be sent in this iteration */
    double limit_ms, limit_set_ms;      /* present max downtime */
    double best;                        /* least remaining at the start of an iteration */
    unsigned flat;                      /* consecutive iterations that did not beat it */
    double throttle;                    /* CPU throttle, as a share of the guest's time */
    unsigned hot;
    bool soft; /* the full max downtime is allowed, because it stalled */
    double soft_until_ms;
    unsigned n, outside; /* iterations in the window; those before `outside` are older */
    double least_outside;
    struct {
        double at_ms, rest;
    } iterations[ITERATIONS_MAX];
};

/* Between two measured points the curve lies between the straight line and the tangent of the
 * segment before; beyond the last point between flat and the last slope. */
double scenario_dirtied(const struct dirty_curve *curve, const struct scenario *s, double seconds,
                        double bound)
{
    double t = seconds * s->faster, t0 = 0, d0 = 0, slope = 0, got = 0;
    for (unsigned i = 0; i < curve->n; i++) {
        double t1 = curve->at[i].seconds, d1 = most(d0, t1 * (double)curve->at[i].bps);
        double chord = t1 > t0 ? (d1 - d0) / (t1 - t0) : 0;
        double before = i == 0 ? chord * s->burst : most(slope, chord);
        if (t <= t1) {
            double line = d0 + chord * (t - t0), bent = least(d1, d0 + before * (t - t0));
            got = line + s->bend * (bent - line);
            return least(i == 0 && s->burst > 1 ? bent : got, bound);
        }
        slope = chord;
        t0 = t1;
        d0 = d1;
    }
    return least(d0 + s->bend * slope * (t - t0), bound);
}

static double dirtied(const struct run *r, double seconds)
{
    return scenario_dirtied(&r->in->dirty, r->s, seconds * (1 - r->throttle),
                            (double)r->in->memory_bytes);
}

/* ---- the monitor's rules ---- */

static double budget_ms(const struct forecast_input *in)
{
    uint64_t unit = in->config->monitor == MONITOR_LEGACY ? GB : GIB;
    uint64_t units = in->memory_bytes / unit + (in->memory_bytes % unit != 0);
    return (double)in->config->completion_timeout * 1000 * (double)units;
}

static bool is_legacy(const struct run *r)
{
    return r->in->config->monitor == MONITOR_LEGACY;
}

/* An iteration that begins with no less than the least of those before the window. */
static bool has_stalled(struct run *r)
{
    double window_ms = (double)r->in->config->stall_timeout * 1000;
    double margin = (double)r->in->config->stall_margin / 100;
    if (r->n < ITERATIONS_MAX) {
        r->iterations[r->n].at_ms = r->now_ms;
        r->iterations[r->n++].rest = r->rest;
    }
    for (; r->outside < r->n && r->now_ms - r->iterations[r->outside].at_ms > window_ms;
         r->outside++)
        if (r->outside == 0 || r->iterations[r->outside].rest < r->least_outside)
            r->least_outside = r->iterations[r->outside].rest;
    return r->outside > 0 && r->rest >= r->least_outside * (1 - margin);
}

static void note_flat(struct run *r)
{
    double margin = (double)r->in->config->stall_margin / 100;
    r->flat = r->rest < r->best * (1 - margin) ? 0 : r->flat + 1;
    r->best = least(r->best, r->rest);
}

static void ramp(struct run *r, unsigned iteration)
{
    const struct migration_config *c = r->in->config;
    double max = (double)c->max_downtime_ms, first = least(max, FIRST_DOWNTIME_MS);
    if (is_legacy(r) || r->flat == 0 || iteration < (unsigned)c->downtime_after ||
        r->now_ms - r->limit_set_ms < (double)c->downtime_cooldown * 1000)
        return;
    r->limit_ms = least(max, r->limit_ms + most(1, (max - first) / (double)c->downtime_steps));
    r->limit_set_ms = r->now_ms;
}

/* QEMU's rule: twice in a row more than half of the sent memory was dirtied again. */
static void slow_down(struct run *r, double sent)
{
    const struct migration_config *c = r->in->config;
    if (!c->auto_converge)
        return;
    r->hot = r->rest > sent / 2 ? r->hot + 1 : 0;
    if (r->hot < 2)
        return;
    r->hot = 0;
    double first = c->throttle_initial > 0 ? (double)c->throttle_initial : THROTTLE_FIRST;
    double step = c->throttle_increment > 0 ? (double)c->throttle_increment : THROTTLE_STEP;
    double percent = r->throttle > 0 ? r->throttle * 100 + step : first;
    r->throttle = least(percent, THROTTLE_MAX) / 100;
}

/* ---- endings ---- */

static void end(struct run *r, enum forecast_end how, double more_ms, double downtime_ms,
                struct ending *out)
{
    out->end = how;
    out->total_ms = r->now_ms + more_ms;
    out->downtime_ms = downtime_ms;
}

static void end_otherwise(struct run *r, struct ending *out)
{
    const struct migration_config *c = r->in->config;
    double remaining_ms = r->rest / r->s->bandwidth * 1000;
    double left_ms = r->begin_ms + r->budget_ms * c->completion_factor - r->now_ms;
    bool fits = r->budget_ms <= 0 || remaining_ms <= left_ms;
    if (fits && r->in->postcopy && c->disruption)
        end(r, FORECAST_POSTCOPY, r->rest / r->s->postcopy_bandwidth * 1000, HAND_OVER_MS, out);
    else if (fits && c->disruption)
        end(r, FORECAST_PAUSE, remaining_ms, remaining_ms + HAND_OVER_MS, out);
    else
        end(r, FORECAST_ABORT, 0, 0, out);
}

/* True: ended. False: continues, with the full downtime or a higher throttle. */
static bool stalls(struct run *r, struct ending *out)
{
    const struct migration_config *c = r->in->config;
    double max = (double)c->max_downtime_ms, remaining_ms = r->rest / r->s->bandwidth * 1000;
    if (r->soft && r->now_ms < r->soft_until_ms)
        return false;
    if (!r->soft && !c->disruption && remaining_ms <= max * c->precopy_factor) {
        r->soft = true;
        r->limit_ms = max;
        r->soft_until_ms = r->now_ms + (double)c->switchover_timeout * 1000;
        return false;
    }
    bool slows = c->auto_converge && r->throttle > 0 && r->throttle * 100 < THROTTLE_MAX;
    if (!c->disruption && !r->soft && slows)
        return false;
    end_otherwise(r, out);
    return true;
}

/* ---- iterations ---- */

/* Sends the remaining memory and computes what was dirtied meanwhile. */
static void end_iteration(struct run *r)
{
    double iteration_ms = most(r->rest / r->s->bandwidth * 1000, ITERATION_MIN_MS), sent = r->rest;
    r->rest = dirtied(r, iteration_ms / 1000);
    bool steady = most(r->rest - sent, sent - r->rest) <= sent / 1000;
    r->now_ms += steady ? most(iteration_ms, STEADY_MS) : iteration_ms;
    slow_down(r, sent);
}

static void begin(struct run *r, const struct forecast_input *in, const struct scenario *s)
{
    const struct migration_config *c = in->config;
    r->in = in;
    r->s = s;
    r->now_ms = r->begin_ms = (double)in->disk_bytes / s->bandwidth * 1000;
    r->budget_ms = budget_ms(in);
    r->rest = r->best = (double)in->memory_bytes * s->used;
    r->limit_ms = least((double)c->max_downtime_ms, FIRST_DOWNTIME_MS);
    r->limit_set_ms = r->now_ms;
    r->throttle = r->soft_until_ms = r->least_outside = 0;
    r->flat = r->hot = r->n = r->outside = 0;
    r->soft = false;
}

void scenario_run(const struct forecast_input *in, const struct scenario *s,
                  struct ending *out_ending)
{
    struct run r;
    begin(&r, in, s);
    out_ending->weight = s->weight;
    for (unsigned iteration = 1; iteration <= ITERATIONS_MAX; iteration++) {
        end_iteration(&r);
        double remaining_ms = r.rest / s->bandwidth * 1000;
        if (remaining_ms <= r.limit_ms) {
            end(&r, FORECAST_CONVERGES, remaining_ms, remaining_ms + HAND_OVER_MS, out_ending);
            return;
        }
        note_flat(&r);
        ramp(&r, iteration);
        bool late = r.budget_ms > 0 && r.now_ms > r.begin_ms + r.budget_ms;
        if (late || iteration == ITERATIONS_MAX) {
            end_otherwise(&r, out_ending);
            return;
        }
        if (!is_legacy(&r) && has_stalled(&r) && stalls(&r, out_ending))
            return;
    }
}
