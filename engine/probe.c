/* probe.c - can another host provide the CPU that a guest sees where it runs? Two queries in
 * sequence: the live definition from the source (only there is the guest's CPU complete), then
 * the comparison by the candidate. Runs on the hypervisor's threads; only posts. */
#include <string.h>

#include "base/text.h"
#include "engine/impl.h"

struct probe { /* one pair of queries; in the engine's list until it is answered */
    struct engine *engine;
    struct probe *prev, *next;
    uint64_t id;
    char node[HV_HOST_MAX], guest[HV_UUID_MAX];
};

static void drop(struct probe *probe)
{
    struct engine *e = probe->engine;
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_DELETE(e->probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    free(probe);
}

void probe_free_all(struct engine *e)
{
    struct probe *probe, *next;
    DL_FOREACH_SAFE(e->probes, probe, next)
    {
        free(probe);
    }
    e->probes = NULL;
}

static void answer(const struct probe *probe, int comparison, const struct err *err)
{
    struct input *input = intake_new(INPUT_CPU, probe->node, probe->guest);
    if (input != NULL) {
        input->id = probe->id;
        input->of.comparison = comparison;
        input->err = *err;
    }
    (void)intake_post(probe->engine, input);
}

static void on_compared(void *ctx, struct hv_reply *reply)
{
    struct probe *probe = ctx;
    answer(probe, reply->with.comparison, &reply->err);
    hv_reply_fini(reply);
    drop(probe);
}

static void on_definition(void *ctx, struct hv_reply *reply)
{
    struct probe *probe = ctx;
    struct err err = reply->err;
    if (err.code == ERR_NONE) {
        struct hv_request request = {.id = probe->id,
                                     .call = HV_CALL_COMPARE_CPU,
                                     .reply_to = {on_compared, probe},
                                     .with.text = reply->with.text};
        TEXT_SET(request.host, probe->node);
        TEXT_SET(request.guest, probe->guest);
        if (hv_probe_submit(probe->engine->parts.probe, &request, &err)) {
            hv_reply_fini(reply);
            return;
        }
    }
    answer(probe, 0, &err);
    hv_reply_fini(reply);
    drop(probe);
}

void probe_cpu(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    struct probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL)
        return; /* no answer: the core asks again after a while */
    probe->engine = e;
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_APPEND(e->probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    probe->id = effect->of.act.id;
    TEXT_SET(probe->node, effect->of.act.node);
    TEXT_SET(probe->guest, effect->of.act.guest);
    struct hv_request request = {
        .id = probe->id, .call = HV_CALL_GUEST_XML, .reply_to = {on_definition, probe}};
    TEXT_SET(request.host, effect->of.act.from);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (hv_observe_submit(e->parts.observe, &request, &err))
        return;
    answer(probe, 0, &err);
    drop(probe);
}
