/* intent.c - see intent.h. */
#include "engine/data/intent.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

int64_t intent_open_at(struct job *job, const char *node, enum intent_kind kind,
                       const char *argument, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_INTENT, job, now.wall_ms);
    effect->of.intent.epoch = job->epoch;
    effect->of.intent.seq = ++job->intent_seq;
    effect->of.intent.kind = kind;
    effect->of.intent.status = "open";
    effect->of.intent.asked_ms = now.wall_ms;
    TEXT_SET(effect->of.intent.node, node);
    TEXT_SET(effect->of.intent.argument, argument != NULL ? argument : "");
    job->changed = true;
    return job->intent_seq;
}

int64_t intent_open(struct job *job, enum intent_kind kind, const char *argument, struct moment now,
                    struct effects *fx)
{
    return intent_open_at(job, job->source, kind, argument, now, fx);
}

static struct effect *close_at(const struct job *job, const struct job_order *order,
                               const struct err *err, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_INTENT, job, now.wall_ms);
    effect->of.intent.epoch = job->epoch;
    effect->of.intent.seq = order->seq;
    effect->of.intent.kind = order->kind;
    effect->of.intent.asked_ms = order->asked_ms;
    effect->of.intent.status = err->code == ERR_UNREACHABLE ? "lost" : "done";
    effect->of.intent.done_ms = now.wall_ms;
    effect->of.intent.err = *err;
    TEXT_SET(effect->of.intent.node, order->node);
    TEXT_SET(effect->of.intent.argument, order->argument);
    return effect;
}

static void error_at(const struct job *job, const char *node, enum intent_kind kind,
                     const struct err *err, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_ERROR, job, now.wall_ms);
    TEXT_SET(effect->of.error.node, node);
    effect->of.error.call = intent_kind_name(kind);
    effect->of.error.err = *err;
}

void intent_close(const struct job *job, enum intent_kind kind, int64_t seq, int64_t asked_ms,
                  const struct err *err, struct moment now, struct effects *fx)
{
    struct job_order order = {.seq = seq, .asked_ms = asked_ms, .kind = kind};
    TEXT_SET(order.node, job->source);
    (void)close_at(job, &order, err, now, fx);
}

void intent_error(const struct job *job, enum intent_kind kind, const struct err *err,
                  struct moment now, struct effects *fx)
{
    error_at(job, job->source, kind, err, now, fx);
}

void intent_close_left(struct job *job, struct moment now, struct effects *fx)
{
    struct err lost = {0};
    err_set(&lost, ERR_UNREACHABLE, "the process that gave the order ended");
    for (unsigned i = 0; i < job->resolution.n_left; i++) {
        struct effect *effect = close_at(job, &job->resolution.left[i].order, &lost, now, fx);
        TEXT_SET(effect->of.intent.unknown, job->resolution.left[i].unknown);
    }
    free(job->resolution.left);
    job->resolution.left = NULL;
    job->resolution.n_left = 0;
}

struct effect *order_give(struct fleet *f, struct job *job, struct job_order *order,
                          enum hv_call call, const char *node, enum intent_kind kind,
                          const char *argument, struct moment now, struct effects *fx)
{
    order->seq = intent_open_at(job, node, kind, argument, now, fx);
    order->asked_ms = now.wall_ms;
    order->kind = kind;
    order->id = ++f->next_call_id;
    TEXT_SET(order->node, node);
    TEXT_SET(order->argument, argument != NULL ? argument : "");
    enum effect_kind what = call == HV_CALL_MIGRATE ? EFFECT_DO_MIGRATE : EFFECT_DO_TUNE;
    struct effect *effect = effects_add(fx, what, job, now.wall_ms);
    effect->of.act.id = order->id;
    effect->of.act.call = call;
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
    return effect;
}

bool order_answered(struct job *job, struct job_order *order, uint64_t id, const struct err *err,
                    struct moment now, struct effects *fx)
{
    if (order->id == 0 || order->id != id)
        return false;
    order->id = 0;
    (void)close_at(job, order, err, now, fx);
    if (err->code != ERR_NONE && err->code != ERR_REFUSED) /* REFUSED: our own shell's word */
        error_at(job, order->node, order->kind, err, now, fx);
    job->changed = true;
    return true;
}
