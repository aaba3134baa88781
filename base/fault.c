/* fault.c - see fault.h. */
#include "base/fault.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FAULT_COUNT] = {
#define FAULT(id, name, help) [FAULT_##id] = name,
#include "base/fault.def"
#undef FAULT
};

/* Set once before threads start; the countdown is shared by all of them. */
static enum fault armed = FAULT_COUNT;
static atomic_long left;

bool fault_arm_from_env(void)
{
    const char *setting = getenv("FERRY_FAULT");
    if (setting == NULL || *setting == '\0')
        return true;
    size_t length = strcspn(setting, ":");
    for (enum fault point = 0; point < FAULT_COUNT; point++) {
        if (strlen(names[point]) != length || strncmp(names[point], setting, length) != 0)
            continue;
        long count = setting[length] == ':' ? strtol(setting + length + 1, NULL, 10) : 1;
        atomic_store(&left, count > 0 ? count : 1);
        armed = point;
        return true;
    }
    return false;
}

void fault_point(enum fault point)
{
    if (point == armed && atomic_fetch_sub(&left, 1) == 1)
        (void)raise(SIGKILL);
}

const char *fault_name(enum fault point)
{
    assert(point < FAULT_COUNT);
    return names[point];
}
