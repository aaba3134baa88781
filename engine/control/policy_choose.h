/* policy_choose.h - the MigrationPolicy that applies to a guest. Pure. */
#ifndef ENGINE_CONTROL_POLICY_CHOOSE_H
#define ENGINE_CONTROL_POLICY_CHOOSE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/policy.h"

/* The best match by policy_better(), or NULL; borrowed from the fleet. */
const struct object *policy_choose(const struct fleet *f, const struct guest *guest);
/* How one policy matches the guest and its namespace. */
void policy_match_guest(const struct object *object, const struct guest *guest,
                        struct policy_score *out_score);

#endif
