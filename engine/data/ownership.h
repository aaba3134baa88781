/* ownership.h - the truth table: two observations of a guest -> which host owns it. Pure.
 *
 * Decides from states only, never from the text or number of an error: the same fault gives
 * different errors, and an error may arrive although the migration worked. */
#ifndef ENGINE_DATA_OWNERSHIP_H
#define ENGINE_DATA_OWNERSHIP_H

#include "engine/model/job/phase.h"
#include "hypervisor/types.h"

enum ownership_side {
#define SIDE(id, name, help) SIDE_##id,
#include "engine/data/ownership.def"
#undef SIDE
    SIDE_COUNT
};
enum ownership {
    OWNERSHIP_NONE, /* no row; a test proves that it never occurs */
    OWNERSHIP_WAIT,
    OWNERSHIP_ON_SOURCE,
    OWNERSHIP_ON_TARGET,
    OWNERSHIP_GONE,
    OWNERSHIP_SPLIT,
    OWNERSHIP_BROKEN,
    OWNERSHIP_BLIND,
};

enum ownership_side ownership_side(const struct hv_observation *observation);
enum ownership ownership_from_sides(enum ownership_side source, enum ownership_side target);
enum guest_at ownership_guest_at(enum ownership ownership);
/* The host answered: the guest does not run there, and cannot start to. */
bool ownership_is_gone(enum ownership_side side);
const char *ownership_side_name(enum ownership_side side);

#endif
