/* recovery.h - a post-copy whose stream broke, or whose call failed. Pure.
 *
 * The guest's memory is on two hosts then, so no domain is resumed or destroyed here: the
 * hypervisors resume the stream, in a bounded loop of attempts, in one of two ways
 * (recovery_way.def): libvirt's POSTCOPY_RESUME or, where the target's version cannot do that
 * (hypervisor/versions.def) or a daemon ended after it, the monitor of the source's QEMU. Where
 * neither is safe the state is recovery-exhausted until an operator decides.
 * A helper on the source probes the path before each attempt: an attempt on a dead path would hang
 * for minutes and miss the moment in which the path is back.
 * The states of the two sides decide (RECOVER rows of recovery_plan.def):
 *   WATCH   only libvirt's connection broke; QEMU may finish by itself. The stream is ended only
 *           when it was measured to be quiet (stream.h) or the source's QEMU says that it is
 *           broken. What cannot be measured for a minute is paged, and an operator decides.
 *   PAUSE   the target knows that the stream is dead, the source does not: end the stream first
 *   RESUME  both know: resume. Where libvirt refuses that twice as the source's QEMU has a stream
 *           "still running", which may hang in an attempt that broke, it is ended as for PAUSE
 *   GONE    one side is proven gone: irrecoverable, both domains are left as they are
 *   BLIND   a host is unreachable: not known, observed further
 */
#ifndef ENGINE_DATA_RECOVERY_H
#define ENGINE_DATA_RECOVERY_H

#include "engine/data/ownership.h"
#include "engine/model/turn/step.h"

enum {
    RECOVERY_WINDOW_MS = 240000, /* only TCP, or a helper, ends a dead socket: it takes minutes */
    RECOVERY_AGAIN_MS = 4000,    /* between two attempts */
    RECOVERY_QUIET_MS = 8000,    /* no data for so long: the stream is dead */
    RECOVERY_SHOWN_MS = 10000,   /* an end of the window that moved is shown after so long */
    RECOVERY_GONE_MS = 1000,     /* a side must be gone for so long */
    RECOVERY_PATH_MS = 3000,     /* after a dead path it is probed again */
    RECOVERY_ANSWER_MS = 10000,  /* a probe's answer is awaited for so long */
    RECOVERY_DEATH_MS = 10000,   /* a daemon that ends so soon after an answer was ended by it */
    RECOVERY_REFUSED = 55, /* libvirt's error OPERATION_INVALID; the state is passing at times */
    RECOVERY_REFUSALS = 2, /* so often in a row: the source's stream is ended */
    RECOVERY_DOUBT_MS = 100000, /* path dead for so long: one attempt nevertheless. A firewall may
                                   allow the stream's own port only */
};

enum recovery_plan {
    RECOVER_NOT, /* no recovery needed */
    RECOVER_WATCH,
    RECOVER_PAUSE,
    RECOVER_RESUME,
    RECOVER_GONE,
    RECOVER_BLIND,
};
enum recovery_plan recovery_plan(enum ownership_side source, enum ownership_side target);

/* Both hosts of a job that is being resolved answered; `stood_ms`: for so long with equal
 * states. True: recovery has dealt with the job. */
bool recovery_advance(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                      struct effects *fx);
/* The call is still open, because the target does not know that the stream is dead: no order is
 * possible yet, but the window runs. */
void recovery_await_call(struct job *job, const char *text, struct moment now, struct effects *fx);
/* A post-copy of which nothing could be measured for a minute: paged once; and that it was
 * measured again. */
bool recovery_is_unmeasured(const struct job *job, struct moment now);
void recovery_unmeasured(struct job *job, struct moment now, struct effects *fx);
void recovery_measured(struct job *job, struct moment now);
/* The answer to an order. False: not an order of recovery. */
void recovery_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* The result of the source's helper for the path to the target, or err. False: not this query. */
bool recovery_probed(struct job *job, uint64_t id, enum hv_path path, const struct err *err,
                     struct moment now, struct effects *fx);
/* A job of an earlier process is adopted: no attempt was made meanwhile. */
void recovery_adopt(struct fleet *f, struct job *job, struct moment now);
/* The guest arrived after all. */
void recovery_arrived(struct job *job, struct moment now, struct effects *fx);
/* The ways after which a daemon ended, as stored; and back. */
const char *recovery_unsafe_text(const struct job *job);
void recovery_read_unsafe(struct job *job, const char *text);
/* An operator asks for another round of attempts. False: nothing to recover, err has the reason. */
bool recovery_request(struct job *job, const char *requester, struct moment now, struct effects *fx,
                      struct err *err);

#endif
