/* desk.h - where finished migrations are explained: facts gathered, judged, handed back.
 *
 * One job at a time, by a thread of the desk's own (or by desk_step() when there are no threads).
 * Told of a job's end after its commit, so all that the engine knows is in the store. Within two
 * seconds: samples are waited for a little, logs that do not come in time are done without. At
 * start, when its queue was full and when the rows of a job could not be read, jobs that ended
 * without a verdict are found in the store.
 *
 * Threads: the on_* functions may be called from any thread, they only note.
 */
#ifndef ANALYZER_RECORD_DESK_H
#define ANALYZER_RECORD_DESK_H

#include "analyzer/judge/judge.h"
#include "base/clock.h"
#include "engine/model/judgement.h"
#include "engine/snapshot.h"
#include "store/store.h"

enum {
    DESK_QUEUE_MAX = 4096,
    DESK_LOSSES_MAX = 1024, /* of connections, the newest of all hosts */
    DESK_SAMPLES_WAIT_MS = 700,
};

struct desk_host {
    const char *name;
    const char *log_dir; /* of its guests' QEMU logs, as seen from here; "" or NULL: not readable */
};
struct desk_parts { /* borrowed, outlive the desk */
    struct store *store;
    const struct ruleset *rules;
    const struct clock *clock;
    const struct desk_host *hosts;
    size_t n_hosts;
    void *ctx;
    /* To the engine; copies. False: not now, it is tried again. */
    bool (*post)(void *ctx, const struct judgement *judgement, struct err *err);
};

struct desk;
struct desk *desk_new(const struct desk_parts *parts, struct err *err);
void desk_free(struct desk *desk); /* its thread ends with the job at hand */
DEFINE_OWNED(desk)
MUST_CHECK bool desk_start(struct desk *desk, struct err *err);
/* Without a thread: judges one job; false when there is none. */
bool desk_step(struct desk *desk);

void desk_on_finished(struct desk *desk, const struct snapshot_job *job);
/* It ended right after it had arrived: judged once more, with what was seen then. */
void desk_on_fell(struct desk *desk, const char *job_uid);
void desk_on_judged(struct desk *desk, const struct judgement *judgement); /* it is stored */
void desk_on_host(struct desk *desk, const char *host, bool connected, const struct err *err);

struct desk_stats {
    uint64_t judged, failures; /* a verdict could not be found: the store could not be read */
    int64_t last_ms, worst_ms; /* from a job's end to its verdict, of those seen to end */
    size_t queue;
};
void desk_stats(struct desk *desk, struct desk_stats *out_stats); /* any thread */

#endif
