/* pending_change.h - must a guest be migrated for its definition to come true? Compares the
 * interfaces of the live and of the persistent definition, by MAC address. Pure.
 *
 * NOW: an interface moved to another network, or one that is a device of the host was added.
 * SOON: any other interface was added or taken away: it can be plugged in place, so whoever does
 * that gets 15 s first. NO: they agree, or one of the two is not known. The first hit decides, in
 * the order of the persistent definition, then of the live one.
 *
 * A migration cures only interfaces that lead to another network or bridge: what the guest sees of
 * its devices must be the same on both sides, so none comes, goes or changes its kind on the way.
 * For what it does not cure nobody makes one; `todo` says what helps instead. */
#ifndef ENGINE_MODEL_DEFINITION_PENDING_CHANGE_H
#define ENGINE_MODEL_DEFINITION_PENDING_CHANGE_H

#include "hypervisor/definition.h"

enum { PENDING_CHANGE_GRACE_MS = 15000, PENDING_CHANGE_DETAIL_MAX = 160 };
enum pending_change_kind { PENDING_CHANGE_NO, PENDING_CHANGE_SOON, PENDING_CHANGE_NOW };

struct pending_change {
    enum pending_change_kind is;
    uint64_t hash; /* of what the persistent definition wants; 0 with NO */
    char detail[PENDING_CHANGE_DETAIL_MAX];
    bool cures;       /* some interface arrives plugged elsewhere if the guest is moved */
    const char *todo; /* a literal: what helps where that does not; NULL: it does */
};
/* The live definition as it will be at the target: what a migration can plug elsewhere is. */
void pending_change_plug(struct hv_definition *live, const struct hv_definition *persistent);
/* persistent NULL: a transient guest. */
void pending_change_evaluate(const struct hv_definition *live,
                             const struct hv_definition *persistent,
                             struct pending_change *out_change);

#endif
