/* effects.c - see effects.h. */
#include "engine/model/turn/effects.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

enum { EFFECTS_FIRST = 64 };
enum { NO_CALL = HV_CALL_COUNT, OWN_CALL, NO_ANSWER = INPUT_COUNT };

static const struct {
    enum { RECORD, ACTION } is;
    enum effect_commit commit;
    int call, answer; /* enum hv_call, enum input_kind, or one of the above */
} rows[EFFECT_COUNT] = {
#define EFFECT(id, is, commit, call, answer, help) \
    [EFFECT_##id] = {is, EFFECT_##commit, call, answer},
#include "engine/model/turn/effect.def"
#undef EFFECT
};

bool effect_is_record(enum effect_kind kind)
{
    assert(kind < EFFECT_COUNT);
    return rows[kind].is == RECORD;
}

enum effect_commit effect_commit(enum effect_kind kind)
{
    assert(kind < EFFECT_COUNT);
    return rows[kind].commit;
}

enum input_kind effect_answer(enum effect_kind kind)
{
    assert(kind < EFFECT_COUNT);
    return (enum input_kind)rows[kind].answer;
}

enum hv_call effect_call(const struct effect *effect)
{
    assert(effect->kind < EFFECT_COUNT);
    int call = rows[effect->kind].call;
    return call == OWN_CALL ? effect->of.act.call : (enum hv_call)call;
}

const char *effect_intent_name(const struct effect *effect)
{
    assert(effect->kind == EFFECT_INTENT);
    enum intent_kind kind = effect->of.intent.kind;
    return kind == INTENT_COUNT ? effect->of.intent.unknown : intent_kind_name(kind);
}

const char *monitor_input_kind_name(enum monitor_input_kind kind)
{
    static const char *const names[MONITOR_INPUT_COUNT] = {"begin", "look", "accepted", "refused"};
    return names[kind];
}

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

static struct effect *add(struct effects *fx, enum effect_kind kind, const char *uid,
                          int64_t wall_ms)
{
    if (fx->n == fx->capacity)
        grow(fx);
    struct effect *effect = &fx->list[fx->n++];
    memset(effect, 0, sizeof *effect);
    effect->kind = kind;
    effect->wall_ms = wall_ms;
    TEXT_SET(effect->job_uid, uid);
    return effect;
}

struct effect *effects_add(struct effects *fx, enum effect_kind kind, const struct job *job,
                           int64_t wall_ms)
{
    return add(fx, kind, job->uid, wall_ms);
}

struct effect *effects_order(struct effects *fx, enum effect_kind kind, const char *node,
                             const char *guest_uuid, int64_t wall_ms)
{
    struct effect *effect = add(fx, kind, "", wall_ms);
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, guest_uuid);
    return effect;
}

struct involved involved_guest(const char *ns, const char *name, const char *uuid)
{
    return (struct involved){"VirtualMachineInstance", ns, name, uuid};
}

void effects_note(struct effects *fx, struct involved object, int64_t wall_ms, bool warning,
                  const char *reason, const char *fmt, ...)
{
    struct effect *effect = add(fx, EFFECT_EVENT, object.uid, wall_ms);
    effect->of.event.kind = object.kind;
    effect->of.event.warning = warning;
    effect->of.event.reason = reason;
    TEXT_SET(effect->of.event.ns, object.ns);
    TEXT_SET(effect->of.event.name, object.name);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(effect->of.event.message, sizeof effect->of.event.message, fmt, args);
    va_end(args);
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
