/* decision.c - see decision.h. */
#include "engine/model/job/decision.h"

#include <assert.h>

#include "base/text.h"

const char *monitor_action_name(enum monitor_action action)
{
    static const char *const names[] = {
#define ACTION(id, name, help) [MONITOR_##id] = name,
#include "engine/model/job/decision.def"
#undef ACTION
    };
    assert(action < MONITOR_ACTION_COUNT);
    return names[action];
}

enum by { BY_MONITOR, BY_REMEDY };

static const struct {
    const char *name, *help;
    enum monitor_action action;
    enum by by;
} rows[DECISION_COUNT] = {
#define DECISION(id, name, action, by, help) \
    [DECISION_##id] = {name, help, MONITOR_##action, BY_##by},
#include "engine/model/job/decision.def"
#undef DECISION
};

const char *decision_name(enum decision decision)
{
    assert(decision < DECISION_COUNT);
    return rows[decision].name;
}

const char *decision_help(enum decision decision)
{
    assert(decision < DECISION_COUNT);
    return rows[decision].help;
}

enum monitor_action decision_action(enum decision decision)
{
    assert(decision < DECISION_COUNT);
    return rows[decision].action;
}

bool decision_is_remedy(enum decision decision)
{
    assert(decision < DECISION_COUNT);
    return rows[decision].by == BY_REMEDY;
}

enum decision decision_from_name(const char *name)
{
    enum decision decision = 0;
    while (decision < DECISION_COUNT && !text_equal(rows[decision].name, name))
        decision++;
    return decision;
}
