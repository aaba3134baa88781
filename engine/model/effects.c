/* effects.c - see effects.h. */
#include "engine/model/effects.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

enum { EFFECTS_FIRST = 64 };

void effects_fini(struct effects *fx)
{
    free(fx->list);
    *fx = (struct effects){0};
}

void effects_clear(struct effects *fx)
{
    fx->n = 0;
}

static void grow(struct effects *fx)
{
    size_t capacity = fx->capacity == 0 ? EFFECTS_FIRST : fx->capacity * 2;
    struct effect *list = reallocarray(fx->list, capacity, sizeof *list);
    if (list == NULL) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "a turn cannot be recorded; ending"));
        abort();
    }
    fx->list = list;
    fx->capacity = capacity;
}

struct effect *effects_add(struct effects *fx, enum effect_kind kind, const struct job *job,
                           int64_t wall_ms)
{
    if (fx->n == fx->capacity)
        grow(fx);
    struct effect *effect = &fx->list[fx->n++];
    memset(effect, 0, sizeof *effect);
    effect->kind = kind;
    effect->wall_ms = wall_ms;
    TEXT_SET(effect->job_uid, job->uid);
    return effect;
}

void effects_event(struct effects *fx, const struct job *job, int64_t wall_ms, bool warning,
                   const char *reason, const char *fmt, ...)
{
    struct effect *effect = effects_add(fx, EFFECT_EVENT, job, wall_ms);
    effect->of.event.warning = warning;
    effect->of.event.reason = reason;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(effect->of.event.message, sizeof effect->of.event.message, fmt, args);
    va_end(args);
}
