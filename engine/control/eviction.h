/* eviction.h - what a request to evict a guest's launcher is answered: KubeVirt's rules and texts
 * (eviction.def). Pure. */
#ifndef ENGINE_CONTROL_EVICTION_H
#define ENGINE_CONTROL_EVICTION_H

#include "engine/model/settings/settings.h"

enum eviction {
#define EVICTION(id, allowed, text) EVICTION_##id,
#include "engine/model/settings/eviction.def"
#undef EVICTION
    EVICTION_COUNT
};
struct eviction_case {
    bool ours;              /* the pod is a launcher of a guest that is up */
    bool is_target;         /* of a launcher that is being prepared, not the guest's own */
    enum strategy strategy; /* in effect: never UNSET */
    bool migratable;        /* LiveMigratable, or not known to be false */
    bool marked;            /* evacuation of this node was asked for already */
    bool shutdown_allowed;  /* whoever asked said so */
};
enum eviction eviction_answer(const struct eviction_case *c);
bool eviction_is_allowed(enum eviction answer);
const char *eviction_format(enum eviction answer);
/* The guest's own strategy, or the fleet's; a fleet that says nothing means None. */
enum strategy strategy_effective(enum strategy guest, enum strategy fleet);
enum moves { MOVES_NO, MOVES_YES, MOVES_IF_POSSIBLE };
enum moves strategy_moves(enum strategy strategy);
bool strategy_marks(enum strategy strategy);

#endif
