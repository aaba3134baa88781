/* carry.h - what belongs to a defined guest and libvirt does not take along. Pure.
 *
 * Autostart: no libvirt sends it, and undefining the guest on the source removes it there. It is
 * read right before the call and set on the target once the guest arrived; the job is final when
 * that is done, or was tried for CARRY_WAIT_MS, which is told. Nothing is done about a transient
 * guest.
 *
 * The stored definition: libvirt copies it when the call begins. An edit that is made later is
 * undefined with the source. Only a new definition can be stored meanwhile (libvirt refuses every
 * other change of a guest that migrates), and that sends an event: what was edited is told. It is
 * not defined on the target from here: what a read-only connection shows of a definition lacks its
 * secrets. An edit that is made while Ferry is not connected to the source is not seen.
 */
#ifndef ENGINE_DATA_CARRY_H
#define ENGINE_DATA_CARRY_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

enum { CARRY_TRIES_MAX = 5, CARRY_AGAIN_MS = 2000, CARRY_WAIT_MS = 15000 };

/* The call is about to be made: what the source was just seen to have. */
void carry_begin(struct job *job);
void carry_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now,
                 struct effects *fx);
/* The guest is on the target. True: autostart is being set there, the job is not over yet. */
bool carry_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* It is over, and the guest is on the target: an edit that stayed behind is told. */
void carry_ended(const struct job *job, struct moment now, struct effects *fx);
/* An operator said that the guest is on the target: one try, whose answer comes after the end. */
void carry_by_override(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
void carry_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);

#endif
