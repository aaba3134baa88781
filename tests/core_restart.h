/* core_restart.h - the process of a core_world ends and the next one takes over what was stored. */
#ifndef TESTS_CORE_RESTART_H
#define TESTS_CORE_RESTART_H

#include "tests/core_world.h"

/* Everything is stored and read back into a new fleet with the same hosts; questions and calls
 * that were out are answered to nobody. Hosts connect and tell who is there. Time: mono begins
 * anew, `away_ms` of wall time have passed. */
void core_restart(struct core_world *w, int64_t away_ms);
/* The same, but the hosts have not connected yet. */
void core_restart_blind(struct core_world *w, int64_t away_ms);

#endif
