/* dispatch.c - carries out what a committed turn asked for. Nothing here blocks; whatever cannot
 * even be asked comes back at once as the input that says so. */
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/data/executor.h"
#include "engine/impl.h"

static void answer_order(struct engine *e, const struct effect *effect, enum hv_call call,
                         const struct err *err)
{
    struct input *input = intake_new(INPUT_CALL, effect->of.act.node, effect->of.act.guest);
    if (input != NULL) {
        input->id = effect->of.act.id;
        input->of.call = call;
        input->err = *err;
    }
    (void)intake_post(e, input);
}

static void order(struct engine *e, const struct effect *effect, enum hv_call call)
{
    struct err err = {0};
    if (!executor_order(e->parts.act, effect, intake_reply_sink(e), &err))
        answer_order(e, effect, call, &err);
}

static void look(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    if (collector_look(e->parts.collector, effect->of.act.id, effect->of.act.node,
                       effect->of.act.guest, &err))
        return;
    struct input *input = intake_new(INPUT_LOOK, effect->of.act.node, effect->of.act.guest);
    if (input != NULL) {
        input->id = effect->of.act.id;
        input->err = err;
        input->of.sight.presence = HV_UNREACHABLE;
    }
    (void)intake_post(e, input);
}

static void ask_job(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    struct hv_request request = {
        .id = effect->of.act.id, .call = HV_CALL_JOB_STATS, .reply_to = intake_reply_sink(e)};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (hv_observe_submit(e->parts.observe, &request, &err))
        return;
    struct input *input = intake_new(INPUT_ASK_JOB, effect->of.act.node, effect->of.act.guest);
    if (input != NULL) {
        input->id = effect->of.act.id;
        input->err = err;
    }
    (void)intake_post(e, input);
}

static void watch(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    if (!collector_watch(e->parts.collector, effect->job_uid, effect->of.act.node,
                         effect->of.act.guest, effect->of.act.next_seq, &err))
        LOG(WARN, "watch_refused", FIELD_TEXT(MIGRATION, effect->job_uid),
            FIELD_TEXT(ERROR, err.text));
}

void dispatch(struct engine *e, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_LOOK: look(e, effect); break;
    case EFFECT_DO_ASK_JOB: ask_job(e, effect); break;
    case EFFECT_DO_MIGRATE: order(e, effect, HV_CALL_MIGRATE); break;
    case EFFECT_DO_ABORT: order(e, effect, HV_CALL_ABORT); break;
    case EFFECT_DO_WATCH: watch(e, effect); break;
    case EFFECT_DO_UNWATCH: collector_unwatch(e->parts.collector, effect->job_uid); break;
    default: break; /* a record: it is in the store already */
    }
}
