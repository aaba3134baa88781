/* intent.c - see intent.h. */
#include "engine/data/intent.h"

#include "base/text.h"

int64_t intent_open(struct job *job, const char *action, const char *argument, struct moment now,
                    struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_INTENT, job, now.wall_ms);
    effect->of.intent.epoch = job->epoch;
    effect->of.intent.seq = ++job->intent_seq;
    effect->of.intent.action = action;
    effect->of.intent.status = "open";
    effect->of.intent.asked_ms = now.wall_ms;
    TEXT_SET(effect->of.intent.node, job->source);
    TEXT_SET(effect->of.intent.argument, argument != NULL ? argument : "");
    job->changed = true;
    return job->intent_seq;
}

void intent_close(const struct job *job, const char *action, int64_t seq, int64_t asked_ms,
                  const struct err *err, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_INTENT, job, now.wall_ms);
    effect->of.intent.epoch = job->epoch;
    effect->of.intent.seq = seq;
    effect->of.intent.action = action;
    effect->of.intent.asked_ms = asked_ms;
    effect->of.intent.status = err->code == ERR_UNREACHABLE ? "lost" : "done";
    effect->of.intent.done_ms = now.wall_ms;
    effect->of.intent.err = *err;
    TEXT_SET(effect->of.intent.node, job->source);
}

void intent_error(const struct job *job, const char *call, const struct err *err, struct moment now,
                  struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_ERROR, job, now.wall_ms);
    TEXT_SET(effect->of.error.node, job->source);
    effect->of.error.call = call;
    effect->of.error.err = *err;
}
