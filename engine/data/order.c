/* order.c - see order.h. */
#include "engine/data/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum { AGAIN_FIRST_MS = 200, AGAIN_MAX_MS = 10000 };

/* The order that failed last, given once more. */
static bool is_repeated(const struct job *job, const struct job_order *order,
                        const struct order_spec *spec)
{
    return order->failed && order->epoch == job->epoch && order->kind == spec->intent &&
           strcmp(order->node, spec->node) == 0 &&
           strcmp(order->argument, spec->argument != NULL ? spec->argument : "") == 0;
}

int64_t order_due_ms(const struct job *job, enum order which, const struct order_spec *spec)
{
    const struct job_order *order = &job->orders[which];
    return is_repeated(job, order, spec) ? order->due_ms : 0;
}

void order_hurry(struct job *job, enum order which)
{
    job->orders[which].due_ms = 0;
    job->orders[which].waits = 0;
}

/* An order failed: when may it be repeated? */
static void back_off(struct job_order *order, struct moment now)
{
    int64_t wait_ms = AGAIN_FIRST_MS;
    for (unsigned i = 0; i < order->waits && wait_ms < AGAIN_MAX_MS; i++)
        wait_ms *= 2;
    order->waits++;
    order->due_ms = now.mono_ms + (wait_ms < AGAIN_MAX_MS ? wait_ms : AGAIN_MAX_MS);
}

static struct effect *record(const struct job *job, const struct job_order *order,
                             struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_INTENT, job, now.wall_ms);
    effect->of.intent.epoch = order->epoch;
    effect->of.intent.seq = order->seq;
    effect->of.intent.kind = order->kind;
    effect->of.intent.status = "open";
    effect->of.intent.asked_ms = order->asked_ms;
    effect->of.intent.first_ms = order->first_ms;
    effect->of.intent.times = order->times;
    TEXT_SET(effect->of.intent.node, order->node);
    TEXT_SET(effect->of.intent.argument, order->argument);
    return effect;
}

void order_open(struct fleet *f, struct job *job, enum order which, const struct order_spec *spec,
                struct moment now, struct effects *fx)
{
    struct job_order *order = &job->orders[which];
    assert(!job_is_observed(job)); /* somebody else's migration */
    if (is_repeated(job, order, spec)) {
        order->id = ++f->next_call_id;
        order->times++;
        order->asked_ms = now.wall_ms;
    } else {
        *order = (struct job_order){.id = ++f->next_call_id,
                                    .epoch = job->epoch,
                                    .seq = ++job->intent_seq,
                                    .asked_ms = now.wall_ms,
                                    .first_ms = now.wall_ms,
                                    .times = 1,
                                    .kind = spec->intent};
        TEXT_SET(order->node, spec->node);
        TEXT_SET(order->argument, spec->argument);
    }
    (void)record(job, order, now, fx);
    job->changed = true;
}

struct effect *order_carry_out(const struct job *job, enum order which,
                               const struct order_spec *spec, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, spec->effect, job, now.wall_ms);
    effect->of.act.id = job->orders[which].id;
    effect->of.act.call = spec->call;
    TEXT_SET(effect->of.act.node, spec->node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
    return effect;
}

struct effect *order_give(struct fleet *f, struct job *job, enum order which,
                          const struct order_spec *spec, struct moment now, struct effects *fx)
{
    order_open(f, job, which, spec, now, fx);
    return order_carry_out(job, which, spec, now, fx);
}

bool order_stands(const struct job *job, const struct effect *effect)
{
    enum { NOWHERE = GUEST_AT_COUNT };
    static const enum guest_at stands[ORDER_COUNT] = {
#define ORDER(id, answered, late, stands, help) [ORDER_##id] = (enum guest_at)(stands),
#include "engine/model/job/order.def"
#undef ORDER
    };
    if (!phase_is_final(job->phase))
        return true;
    for (enum order which = 0; which < ORDER_COUNT; which++)
        if (job->orders[which].id == effect->of.act.id)
            return stands[which] == job->resolution.guest_at;
    return false;
}

static struct effect *close_record(const struct job *job, const struct job_order *order,
                                   const struct err *err, struct moment now, struct effects *fx)
{
    struct effect *effect = record(job, order, now, fx);
    bool lost = err->code == ERR_UNREACHABLE || (order->lost && err->code != ERR_NONE);
    effect->of.intent.status = lost ? "lost" : "done";
    effect->of.intent.done_ms = now.wall_ms;
    effect->of.intent.err = *err;
    return effect;
}

void order_close(const struct job *job, enum order which, const struct err *err, struct moment now,
                 struct effects *fx)
{
    (void)close_record(job, &job->orders[which], err, now, fx);
}

void order_answered(struct job *job, enum order which, const struct err *err, struct moment now,
                    struct effects *fx)
{
    struct job_order *order = &job->orders[which];
    bool is_news = order->times <= 1 || err->code != order->err || err->hv_code != order->hv_code;
    order->id = 0;
    order_close(job, which, err, now, fx);
    order->failed = err->code != ERR_NONE;
    if (order->failed)
        back_off(order, now);
    order->lost = order->lost || err->code == ERR_UNREACHABLE;
    order->err = err->code;
    order->hv_code = err->hv_code;
    if (is_news && err->code != ERR_NONE && err->code != ERR_REFUSED) { /* REFUSED: by the shell */
        struct effect *effect = effects_add(fx, EFFECT_ERROR, job, now.wall_ms);
        TEXT_SET(effect->of.error.node, order->node);
        effect->of.error.call = intent_kind_name(order->kind);
        effect->of.error.err = *err;
    }
    job->changed = true;
}

void order_close_left(struct job *job, struct moment now, struct effects *fx)
{
    struct err lost = {0};
    err_set(&lost, ERR_UNREACHABLE, "the process that gave the order ended");
    for (unsigned i = 0; i < job->resolution.n_left; i++) {
        const struct job_stale_order *left = &job->resolution.left[i];
        struct effect *effect = close_record(job, &left->order, &lost, now, fx);
        TEXT_SET(effect->of.intent.unknown, left->unknown);
    }
    free(job->resolution.left);
    job->resolution.left = NULL;
    job->resolution.n_left = 0;
}
