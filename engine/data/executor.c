/* executor.c - see executor.h. */
#include "engine/data/executor.h"

#include <assert.h>

#include "base/text.h"

bool executor_order(const struct hv_act *act, const struct effect *effect,
                    struct hv_reply_sink reply_to, struct err *err)
{
    assert(effect->kind == EFFECT_DO_MIGRATE || effect->kind == EFFECT_DO_ABORT);
    struct hv_request request = {.id = effect->of.act.id, .reply_to = reply_to};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (effect->kind == EFFECT_DO_MIGRATE) {
        request.call = HV_CALL_MIGRATE;
        request.with.migrate = effect->of.act.migrate;
    } else {
        request.call = HV_CALL_ABORT;
    }
    return hv_act_submit(act, &request, err);
}
