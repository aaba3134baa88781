/* carry.h - what libvirt does not carry along with a persistent guest: autostart, and edits of the
 * persistent definition made during the migration. Pure.
 *
 * Autostart: no libvirt sends it, and undefining the guest on the source removes it there. It is
 * read right before the call and set on the target once the guest arrived; the job is final when
 * that is done, or failed for CARRY_WAIT_MS, which is an event. A transient guest has no autostart.
 *
 * The persistent definition: libvirt copies it when the call begins. An edit that is made later is
 * lost with the source's definition. libvirt refuses every other change of a migrating guest, and
 * sends an event for this one, so Ferry reports it. Ferry does not define the edit on the target: a
 * read-only connection shows a definition without its secrets. An edit made while Ferry is not
 * connected to the source is not noticed.
 */
#ifndef ENGINE_DATA_CARRY_H
#define ENGINE_DATA_CARRY_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

enum { CARRY_TRIES_MAX = 5, CARRY_AGAIN_MS = 2000, CARRY_WAIT_MS = 15000 };

/* Right before the call: takes autostart from the newest observation of the source. */
void carry_begin(struct job *job);
void carry_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now,
                 struct effects *fx);
/* The guest is on the target. True: autostart is being set there, the job is not over yet. */
bool carry_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* The guest is on the target and the job ends: reports an edit that was not carried. */
void carry_ended(const struct job *job, struct moment now, struct effects *fx);
/* Operator override, guest on the target: one try, whose answer comes after the end. */
void carry_by_override(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
void carry_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);

#endif
