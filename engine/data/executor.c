/* executor.c - see executor.h. */
#include "engine/data/executor.h"

#include <assert.h>

#include "base/text.h"
#include "engine/model/definition/volumes.h"

/* As stored in the job, which Ferry wrote itself. */
static bool take_volumes(const struct job *job, struct hv_volume *list, struct hv_migrate *migrate,
                         struct err *err)
{
    struct volumes volumes;
    if (job == NULL || job->request.volumes_json == NULL)
        return true;
    if (!volumes_parse(job->request.volumes_json, true, &volumes, err))
        return false;
    for (size_t i = 0; i < volumes.n; i++)
        list[i] = volumes.list[i].is;
    migrate->volumes = list;
    migrate->n_volumes = volumes.n;
    return true;
}

bool executor_order(const struct hv_act *act, const struct effect *effect, const struct job *job,
                    struct hv_reply_sink reply_to, struct err *err)
{
    assert(effect_answer(effect->kind) == INPUT_CALL);
    struct hv_volume volumes[HV_VOLUMES_MAX];
    struct hv_request request = {
        .id = effect->of.act.id, .call = effect_call(effect), .reply_to = reply_to};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (request.call == HV_CALL_MIGRATE || request.call == HV_CALL_RESUME_STREAM) {
        request.with.migrate = effect->of.act.migrate;
    } else if (effect->kind == EFFECT_DO_TUNE) {
        request.with.tune.value = effect->of.act.value;
        request.with.tune.postcopy = effect->of.act.postcopy;
    }
    if (request.call == HV_CALL_MIGRATE && !take_volumes(job, volumes, &request.with.migrate, err))
        return false;
    return hv_act_submit(act, &request, err);
}
