/* recovery.h - a post-copy whose stream broke, or whose call came back with an error. Pure.
 *
 * The guest's memory is on two hosts then, so nothing is resumed or destroyed here: the stream is
 * taken up again by the hypervisors themselves, in a bounded loop, in one of two ways
 * (recovery_way.def): by libvirt's POSTCOPY_RESUME, or, where the target's version does not bear
 * that (hypervisor/versions.def) or a daemon ended after it, through the monitor of the source's
 * QEMU. Where neither is safe it is recovery-exhausted until somebody decides.
 * Where the source has a helper, that tries the path before each try: one on a dead path would hang
 * for minutes and miss the moment in which the path is back.
 * What the two sides say decides which case it is (RECOVER rows of recovery_plan.def):
 *   WATCH   only libvirt's connection died; QEMU may finish by itself. An early order would be
 *           refused, so it waits until nothing moves.
 *   PAUSE   the source believes in a stream that the target knows is dead: it is ended first
 *   RESUME  both know: taken up again
 *   GONE    one side is proven gone: irrecoverable, both halves are left as they are
 *   BLIND   a host cannot be asked: not known, watched on
 */
#ifndef ENGINE_DATA_RECOVERY_H
#define ENGINE_DATA_RECOVERY_H

#include "engine/data/ownership.h"
#include "engine/model/turn/step.h"

enum {
    RECOVERY_WINDOW_MS = 240000, /* only TCP, or a helper, ends a dead socket: it takes minutes */
    RECOVERY_AGAIN_MS = 4000,    /* between two tries */
    RECOVERY_QUIET_MS = 8000,    /* nothing moved for so long: the stream is dead */
    RECOVERY_BLIND_MS = 20000,   /* the same, where no numbers come at all */
    RECOVERY_SHOWN_MS = 10000,   /* an end of the window that moved is shown so late */
    RECOVERY_GONE_MS = 1000,     /* a side must be seen gone for so long */
    RECOVERY_PATH_MS = 3000,     /* after a dead path it is probed again */
    RECOVERY_ANSWER_MS = 10000,  /* a probe's answer is awaited for so long */
    RECOVERY_DEATH_MS = 10000,   /* a daemon that ends so soon after an answer was ended by it */
    RECOVERY_DOUBT_MS = 100000,  /* a path dead for so long: one try all the same. A firewall may
                                    know the stream's own port and no other */
};

enum recovery_plan {
    RECOVER_NOT, /* none of recovery's business */
    RECOVER_WATCH,
    RECOVER_PAUSE,
    RECOVER_RESUME,
    RECOVER_GONE,
    RECOVER_BLIND,
};
enum recovery_plan recovery_plan(enum ownership_side source, enum ownership_side target);

/* Both sides of a job that is being resolved answered; `stood_ms`: they say the same since. True:
 * it is recovery's business, and was dealt with. */
bool recovery_advance(struct fleet *f, struct job *job, int64_t stood_ms, struct moment now,
                      struct effects *fx);
/* The call is still out, because the target does not know that the stream is dead: nothing can be
 * ordered yet, and the window runs all the same. */
void recovery_held(struct job *job, const char *text, struct moment now, struct effects *fx);
/* An order of recovery's was answered. False: it is none. */
void recovery_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* The source's helper found the path to the target so, or err. False: nobody asked. */
bool recovery_probed(struct job *job, uint64_t id, enum hv_path path, const struct err *err,
                     struct moment now, struct effects *fx);
/* A job of an earlier process is taken over: nobody tried meanwhile. */
void recovery_adopt(struct fleet *f, struct job *job, struct moment now);
/* The guest arrived after all. */
void recovery_arrived(struct job *job, struct moment now, struct effects *fx);
/* The ways after which a daemon ended, as they are stored; and back. */
const char *recovery_unsafe_text(const struct job *job);
void recovery_read_unsafe(struct job *job, const char *text);
/* An operator asks for another round of tries. False: there is nothing to recover, err says why. */
bool recovery_again(struct job *job, const char *requester, struct moment now, struct effects *fx,
                    struct err *err);

#endif
