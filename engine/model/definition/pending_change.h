/* pending_change.h - does a guest need a migration for its persistent definition to take effect?
 * Compares the interfaces of the live and the persistent definition, by MAC address. Pure.
 *
 * NOW: an interface changed to another network, or a host device interface was added. SOON: any
 * other interface was added or removed: hotplug can apply it, so 15 s are left for that first.
 * NO: they agree, or one of the two is not known. The first hit decides, in the order of the
 * persistent definition, then of the live one.
 *
 * A migration can only connect interfaces to another network or bridge: the guest's devices must
 * be the same on both sides, so none is added, removed or changes its type. Where a migration
 * does not help none is created; `todo` gives the remedy. */
#ifndef ENGINE_MODEL_DEFINITION_PENDING_CHANGE_H
#define ENGINE_MODEL_DEFINITION_PENDING_CHANGE_H

#include "hypervisor/definition.h"

enum { PENDING_CHANGE_GRACE_MS = 15000, PENDING_CHANGE_DETAIL_MAX = 160 };
enum pending_change_kind { PENDING_CHANGE_NO, PENDING_CHANGE_SOON, PENDING_CHANGE_NOW };

struct pending_change {
    enum pending_change_kind is;
    uint64_t hash; /* of the persistent definition; 0 with NO */
    char detail[PENDING_CHANGE_DETAIL_MAX];
    bool cures;       /* a migration would connect an interface to another network */
    const char *todo; /* a literal: the remedy where a migration does not help; NULL: it does */
};
/* The live definition for the target, with the interfaces that a migration connects elsewhere. */
void pending_change_plug(struct hv_definition *live, const struct hv_definition *persistent);
/* persistent NULL: a transient guest. */
void pending_change_evaluate(const struct hv_definition *live,
                             const struct hv_definition *persistent,
                             struct pending_change *out_change);

#endif
