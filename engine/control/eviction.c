/* eviction.c - see eviction.h. */
#include "engine/control/eviction.h"

#include <assert.h>

#define YES true
#define NO false
static const struct {
    bool allowed;
    const char *format;
} answers[EVICTION_COUNT] = {
#define EVICTION(id, allowed, text) [EVICTION_##id] = {allowed, text},
#include "engine/model/settings/eviction.def"
#undef EVICTION
};

static const struct {
    enum moves moves;
    bool marks;
} strategies[STRATEGY_COUNT] = {
#define STRATEGY(id, name, moves, marks, help) [STRATEGY_##id] = {MOVES_##moves, marks},
#include "engine/model/settings/eviction.def"
#undef STRATEGY
};
#undef YES
#undef NO

bool eviction_is_allowed(enum eviction answer)
{
    assert(answer < EVICTION_COUNT);
    return answers[answer].allowed;
}

const char *eviction_format(enum eviction answer)
{
    assert(answer < EVICTION_COUNT);
    return answers[answer].format;
}

enum moves strategy_moves(enum strategy strategy)
{
    assert(strategy < STRATEGY_COUNT);
    return strategies[strategy].moves;
}

bool strategy_marks(enum strategy strategy)
{
    assert(strategy < STRATEGY_COUNT);
    return strategies[strategy].marks;
}

enum strategy strategy_effective(enum strategy guest, enum strategy fleet)
{
    assert(guest < STRATEGY_COUNT && fleet < STRATEGY_COUNT);
    return guest != STRATEGY_UNSET ? guest : fleet;
}

enum eviction eviction_answer(const struct eviction_case *c)
{
    bool unset = c->strategy == STRATEGY_UNSET;
    enum strategy strategy = unset && c->descheduler ? STRATEGY_NONE : c->strategy;
    enum moves moves = strategy_moves(strategy);
    /* External: marked whether the guest is migratable or not. */
    bool marks = strategy_marks(strategy) && (c->migratable || moves == MOVES_NO);
    if (!c->ours)
        return EVICTION_NOT_OURS;
    if (moves == MOVES_YES && !c->migratable)
        return EVICTION_NOT_MIGRATABLE;
    if (c->marked && marks)
        return EVICTION_IN_PROGRESS;
    if (c->is_target) /* also with None: the guest does not run on that node yet */
        return EVICTION_TARGET_POD;
    if (marks)
        return unset ? EVICTION_MARKED_UNSET : EVICTION_MARKED;
    return c->shutdown_allowed ? EVICTION_SHUT_DOWN : EVICTION_WOULD_SHUT_DOWN;
}
