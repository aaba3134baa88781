/* check.h - can this guest move, where to, under which policy: the answer to `ferry check`. Pure.
 *
 * {"guest": {"namespace","name","uuid","node"}, "migratable": bool,
 *  "reasons": [{"reason","message","help"}],           what its definition says, all that apply
 *  "evictionStrategy": "...", "activeMigration": "name" or absent,
 *  "policy": {"name" or absent, "configuration": {..},
 *             "candidates": [{"name","matches":bool,"guestPairs","namespacePairs","why"}]},
 *  "wouldWaitFor": [{"reason","message"}],             slots, quota, backoff, backup: as of now
 *  "nodes": [{"name","fits":bool,"reason","detail","forEver":bool,"score"}],
 *  "best": "node" or absent,
 *  "dirtyRate": {"measuring": bool, "error", "from": "measured" or "last-migration", "at",
 *                "windows": [{"seconds","bytesPerSecond"}]},   without "from": not known
 *  "forecast": {"node","expectedMs","lowMs","highMs","downtimeMs","downtimeHighMs",
 *               "convergePercent","ends","bandwidthBytesPerSecond","why"}}
 */
#ifndef ENGINE_CONTROL_CHECK_H
#define ENGINE_CONTROL_CHECK_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"

/* A new JSON text. NULL with ERR_NOT_FOUND (guest, node). Changes nothing. */
char *check_guest(struct fleet *f, const struct question *question, struct moment now,
                  struct err *err);

#endif
