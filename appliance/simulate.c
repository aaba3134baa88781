/* simulate.c - see simulate.h. */
#include "appliance/simulate.h"

#include <assert.h>
#include <stdatomic.h>

enum { SEED = 1 };

struct simulate {
    struct clock clock;
    _Atomic int64_t now_ms; /* copy of the virtual time */
    int64_t epoch_wall_ms, epoch_mono_ms;
    struct sim *sim;
    struct scenario scenario;
};

static int64_t mono_ms(void *ctx)
{
    return atomic_load(&((struct simulate *)ctx)->now_ms);
}

static int64_t wall_ms(void *ctx)
{
    struct simulate *s = ctx;
    return s->epoch_wall_ms + atomic_load(&s->now_ms);
}

struct simulate *simulate_new(struct err *err)
{
    struct simulate *s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the simulator");
        return NULL;
    }
    s->clock = (struct clock){mono_ms, wall_ms, s};
    s->epoch_wall_ms = clock_wall_ms(clock_system());
    s->epoch_mono_ms = clock_mono_ms(clock_system());
    return s;
}

void simulate_free(struct simulate *s)
{
    if (s == NULL)
        return;
    sim_free(s->sim);
    scenario_fini(&s->scenario);
    free(s);
}

const struct clock *simulate_clock(struct simulate *s)
{
    return &s->clock;
}

bool simulate_load(struct simulate *s, const char *file, const struct hv_event_sink *events,
                   struct err *err)
{
    assert(s->sim == NULL);
    s->sim = sim_new(SEED, s->epoch_wall_ms, events, err);
    return s->sim != NULL && scenario_load(file, s->sim, &s->scenario, err);
}

struct hv *simulate_hv(struct simulate *s)
{
    return sim_hv(s->sim);
}

const struct scenario *simulate_scenario(const struct simulate *s)
{
    return &s->scenario;
}

void simulate_catch_up(struct simulate *s)
{
    int64_t until = clock_mono_ms(clock_system()) - s->epoch_mono_ms;
    sim_advance(s->sim, until);
    atomic_store(&s->now_ms, until);
}
