/* oob.h - second monitors of guests, which their QEMUs open towards Ferry.
 *
 * In a switch-over whose path is dead a QEMU's main loop hangs, and libvirt's monitor with it. A
 * monitor that was told before that it may take orders out of band still answers, so through it the
 * stream can be broken and the guest runs on. libvirt's own is not of that kind; a guest that is
 * started with
 *     -chardev socket,id=ferry,host=ADDRESS,port=PORT,reconnect=1 -mon chardev=ferry,mode=control
 * dials Ferry by itself, at both ends of a migration, and again after each loss.
 *
 * Nothing but breaking the streams of a migration is ever ordered: nodes of disks on their way and
 * memory. Both ends of a migration have the same uuid; each that is there is told, which is as safe
 * as one: the target lets the guest run only after the source said that all has gone.
 *
 * One thread reads all monitors, line by line, bounded; what is no answer to us is dropped. Whoever
 * can connect here can claim to be a guest and get nothing for it; but what QEMU dials is trusted
 * by it without a question: see docs/operations.md. Functions may be called from any thread.
 */
#ifndef HYPERVISOR_OOB_OOB_H
#define HYPERVISOR_OOB_OOB_H

#include "base/own.h"
#include "hypervisor/types.h"

enum {
    OOB_PEERS_MAX = 8192,
    OOB_LINE_MAX = 32768,     /* of one message; who sends longer ones is let go */
    OOB_HANDSHAKE_MS = 10000, /* until a monitor is ready */
    OOB_ANSWER_MS = 2000,     /* until a yank is answered */
};

struct oob;
struct oob *oob_new(const char *address, struct err *err); /* "10.0.0.9:4555"; NULL with err */
void oob_free(struct oob *oob);                            /* NULL is fine */
DEFINE_OWNED(oob)

/* How many monitors of that guest are ready. */
unsigned oob_monitors(struct oob *oob, const char *guest);
/* Breaks the streams of the guest's migration; blocks for OOB_ANSWER_MS at most. NOT_FOUND: it has
 * no monitor here; REFUSED: there is no stream, or QEMU says no; TIMEOUT: not known. */
bool oob_yank(struct oob *oob, const char *guest, struct err *err);

#endif
