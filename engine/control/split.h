/* split.h - a guest that runs on two nodes although no migration of it is under way: seen by lists,
 * or by the last look at both sides after a job ended. Such sights are of different moments, so
 * both nodes are asked again, twice, before anybody is told. What was told is over when they say
 * otherwise. Nothing is touched. Pure. */
#ifndef ENGINE_CONTROL_SPLIT_H
#define ENGINE_CONTROL_SPLIT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

void split_tick(struct fleet *f, struct moment now, struct effects *fx);

#endif
