/* eviction.h - the answer to an eviction request for a launcher: KubeVirt's rules and texts
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
    bool is_target;         /* the target launcher of a migration, not the guest's own */
    enum strategy strategy; /* the effective strategy */
    bool migratable;        /* LiveMigratable, or not known to be false */
    bool marked;            /* already marked for evacuation of this node */
    bool shutdown_allowed;  /* the request allows a shutdown */
    bool descheduler;       /* no person asked: UNSET is None */
};
enum eviction eviction_answer(const struct eviction_case *c);
bool eviction_is_allowed(enum eviction answer);
const char *eviction_format(enum eviction answer);
/* The guest's own strategy, else the fleet's; UNSET if neither is set. */
enum strategy strategy_effective(enum strategy guest, enum strategy fleet);
enum moves { MOVES_NO, MOVES_YES, MOVES_IF_POSSIBLE };
enum moves strategy_moves(enum strategy strategy);
bool strategy_marks(enum strategy strategy);

#endif
