/* carry.c - see carry.h. */
#include "engine/data/carry.h"

#include "base/text.h"
#include "engine/data/order.h"
#include "engine/model/turn/step.h"

enum { DETAIL_UPDATED = 1 }; /* libvirt's, of the lifecycle event DEFINED */

void carry_begin(struct job *job)
{
    const struct hv_observation *source = &job->resolution.source_side.observation;
    job->carry = (struct job_carry){.autostart = source->persistent && source->autostart};
}

void carry_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now,
                 struct effects *fx)
{
    bool edits = at_source && event->kind == HV_EVENT_LIFECYCLE &&
                 event->a == HV_LIFECYCLE_DEFINED && event->b == DETAIL_UPDATED;
    bool calls = job->phase == PHASE_TARGET_READY || job->phase == PHASE_RUNNING;
    if (!edits || !calls || job->carry.edited || (job->call.flags & HV_MIGRATE_PERSIST) == 0)
        return;
    job->carry.edited = job->changed = true;
    effects_event(fx, job, now.wall_ms, true, "DefinitionEdited",
                  "The persistent definition was edited on %s during the migration; %s gets the "
                  "earlier one.",
                  job->source, job->target);
}

static void give(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_SET_AUTOSTART,
                                    .intent = INTENT_SET_AUTOSTART,
                                    .node = job->target};
    job->carry.tries++;
    job->carry.tried_ms = now.mono_ms;
    struct effect *effect = order_give(f, job, ORDER_AUTOSTART, &spec, now, fx);
    effect->of.act.value = 1;
}

static void report_failure(struct job *job, struct moment now, struct effects *fx)
{
    if (job->carry.reported)
        return;
    job->carry.reported = true;
    effects_event(fx, job, now.wall_ms, true, "AutostartNotSet",
                  "Autostart was set on %s, and could not be set on %s: %.300s. Run there: "
                  "`virsh autostart %s`.",
                  job->source, job->target,
                  job->carry.error[0] != '\0' ? job->carry.error : "no answer", job->guest_name);
}

bool carry_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *target = &job->resolution.target_side.observation;
    bool is_set = target->presence == HV_PRESENT && target->autostart;
    bool is_out = job->orders[ORDER_AUTOSTART].id != 0;
    if (!job->carry.autostart || is_set)
        return false;
    if (job->carry.since_ms == 0)
        job->carry.since_ms = now.mono_ms;
    if ((job->carry.tries >= CARRY_TRIES_MAX && !is_out) ||
        now.mono_ms - job->carry.since_ms >= CARRY_WAIT_MS) {
        report_failure(job, now, fx);
        return false;
    }
    bool is_due = job->carry.tried_ms == 0 || now.mono_ms - job->carry.tried_ms >= CARRY_AGAIN_MS;
    if (!is_out && is_due)
        give(f, job, now, fx);
    step_wait(job, PENDING_UNPROVEN, now, "Arrived on %s; setting autostart there", job->target);
    return true;
}

void carry_ended(const struct job *job, struct moment now, struct effects *fx)
{
    if (job->carry.edited)
        effects_event(
            fx, job, now.wall_ms, true, "DefinitionEditNotCarried",
            "An edit of the persistent definition made on %s during the migration is not on "
            "%s: repeat it there.",
            job->source, job->target);
}

void carry_by_override(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    carry_ended(job, now, fx);
    if (job->carry.autostart && job->orders[ORDER_AUTOSTART].id == 0)
        give(f, job, now, fx);
}

void carry_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    TEXT_SET(job->carry.error, err->text);
    job->resolution.next_round_ms = now.mono_ms;
    if (err->code == ERR_NONE)
        effects_event(fx, job, now.wall_ms, false, "AutostartSet",
                      "Autostart is set on %s, as it was on %s.", job->target, job->source);
    else if (phase_is_final(job->phase))
        report_failure(job, now, fx);
}
