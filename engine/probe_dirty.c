/* probe_dirty.c - measures the dirty rate of a guest: page sampling over a short and a long
 * window, in sequence, a few guests at a time. Runs on the hypervisor's threads; only posts. */
#include "base/text.h"
#include "engine/data/expect.h"
#include "engine/impl.h"

enum { SHORT_S = 1, ANSWER_MS = 30000 }; /* of a host, besides the windows */

struct dirty_probe { /* in the engine's list until it is answered */
    struct engine *engine;
    struct dirty_probe *prev, *next;
    char node[HV_HOST_MAX], guest[HV_UUID_MAX];
    unsigned seconds; /* of the long window */
    struct dirty_curve curve;
};

static void ask(struct dirty_probe *probe, unsigned window_s);

static void drop(struct dirty_probe *probe)
{
    struct engine *e = probe->engine;
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_DELETE(e->dirty_probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    free(probe);
}

void probe_dirty_free_all(struct engine *e)
{
    struct dirty_probe *probe, *next;
    DL_FOREACH_SAFE(e->dirty_probes, probe, next)
    {
        free(probe);
    }
    e->dirty_probes = NULL;
}

static void answer(struct dirty_probe *take_probe, const struct err *err)
{
    struct input *input = intake_new(INPUT_DIRTY, take_probe->node, take_probe->guest);
    if (input != NULL) {
        input->of.dirty = take_probe->curve;
        input->err = *err;
    }
    (void)intake_post(take_probe->engine, input);
    drop(take_probe);
}

static void on_measured(void *ctx, struct hv_reply *reply)
{
    struct dirty_probe *probe = ctx;
    struct dirty_curve *curve = &probe->curve;
    struct err err = reply->err;
    if (err.code == ERR_NONE) {
        curve->at[curve->n].seconds = curve->n == 0 ? SHORT_S : probe->seconds;
        curve->at[curve->n++].bps = reply->with.dirty_bps;
    }
    hv_reply_fini(reply);
    curve->wall_ms = clock_wall_ms(probe->engine->parts.clock);
    if (err.code == ERR_NONE && curve->n == 1 && probe->seconds > SHORT_S)
        ask(probe, probe->seconds);
    else
        answer(probe, &err);
}

static void ask(struct dirty_probe *probe, unsigned window_s)
{
    struct err err = {0};
    struct hv_request request = {.call = HV_CALL_MEASURE_DIRTY,
                                 .reply_to = {on_measured, probe},
                                 .with.tune.value = window_s};
    TEXT_SET(request.host, probe->node);
    TEXT_SET(request.guest, probe->guest);
    if (!hv_probe_submit(probe->engine->parts.probe, &request, &err))
        answer(probe, &err);
}

static bool has_room(struct engine *e)
{
    const struct dirty_probe *probe;
    size_t n;
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_COUNT(e->dirty_probes, probe, n);
    (void)pthread_mutex_unlock(&e->probes_lock);
    return n < EXPECT_MEASURES_MAX;
}

static bool begin(struct engine *e, struct guest *guest, unsigned seconds, struct err *err)
{
    int64_t most_ms = (int64_t)(SHORT_S + seconds) * 1000 + ANSWER_MS;
    if (!expect_may_measure(e->fleet, guest, err))
        return false;
    if (!has_room(e))
        return err_set(err, ERR_LIMIT, "%d guests are already being measured; try again later",
                       (int)EXPECT_MEASURES_MAX);
    struct dirty_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL || !expect_measuring(guest, clock_wall_ms(e->parts.clock), most_ms)) {
        free(probe);
        return err_set(err, ERR_NOMEM, "out of memory: measurement");
    }
    probe->engine = e;
    probe->seconds = seconds;
    probe->curve.from = DIRTY_MEASURED;
    TEXT_SET(probe->node, guest->owner->node->name);
    TEXT_SET(probe->guest, guest->uuid);
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_APPEND(e->dirty_probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    ask(probe, SHORT_S);
    return true;
}

void probe_dirty(struct engine *e, const struct question *question)
{
    static const struct dirty_curve nothing;
    struct err err = {0};
    unsigned count, seconds = question->measure_s;
    struct guest *guest = fleet_guest_named(e->fleet, question->ns, question->name, &count);
    if (guest == NULL || expect_is_measuring(guest, clock_wall_ms(e->parts.clock)))
        return;
    if (seconds > CHECK_MEASURE_MAX_S)
        seconds = CHECK_MEASURE_MAX_S;
    if (!begin(e, guest, seconds, &err))
        expect_measured(e->fleet, guest->uuid, &nothing, &err);
}
