/* fault.h - crash points for the kill tests; see fault.def. No cost when not armed. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

enum fault {
#define FAULT(id, name, help) FAULT_##id,
#include "base/fault.def"
#undef FAULT
    FAULT_COUNT
};

/* Reads FERRY_FAULT once. False, nothing armed, when it names no point. Call before threads. */
bool fault_arm_from_env(void);
/* Kills the process with SIGKILL if this point is armed and its count is reached. */
void fault_point(enum fault point);
const char *fault_name(enum fault point);

#endif
