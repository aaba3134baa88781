/* analysis.h - the analysis worker: collects the evidence of finished migrations, judges it, posts
 * the verdict.
 *
 * One job at a time, in its own thread (or by analysis_step() when there are no threads). It gets a
 * job's end after its commit, so all that the engine knows is in the store. Within two seconds: it
 * waits briefly for samples and skips logs that do not come in time. At start, when its queue was
 * full and when the rows of a job could not be read, it searches the store for ended jobs without a
 * verdict.
 *
 * Threads: the on_* functions may be called from any thread and only post.
 */
#ifndef ANALYZER_RECORD_ANALYSIS_H
#define ANALYZER_RECORD_ANALYSIS_H

#include "analyzer/judge/judge.h"
#include "base/clock.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/job/verdict_rows.h"
#include "engine/snapshot.h"
#include "store/store.h"

enum {
    ANALYSIS_QUEUE_MAX = 4096,
    ANALYSIS_LOSSES_MAX = 1024, /* of connections, the newest of all hosts */
    ANALYSIS_SAMPLES_WAIT_MS = 700,
};

struct analysis_host {
    const char *name;
    const char *log_dir; /* of its guests' QEMU logs, as seen from here; "" or NULL: not readable */
};
struct analysis_parts { /* borrowed, outlive the worker */
    struct store *store;
    const struct ruleset *rules;
    const struct clock *clock;
    void *ctx;
    /* To the engine; copies. False: not now, the worker retries. */
    bool (*post)(void *ctx, const struct verdict_rows *verdict_rows, struct err *err);
    const struct fleet_cells *cells; /* of several appliances: whose jobs are judged; NULL: all */
};

struct analysis;
struct analysis *analysis_new(const struct analysis_parts *parts, struct err *err);
void analysis_free(struct analysis *analysis); /* its thread ends after the current job */
DEFINE_OWNED(analysis)
/* Where the logs of hosts are; replaces what was given before. Copies. Any thread. */
MUST_CHECK bool analysis_set_hosts(struct analysis *analysis, const struct analysis_host *hosts,
                                   size_t n, struct err *err);
/* The lines of a guest's QEMU log on a node. ERR_NOT_FOUND: no log of that host is configured;
 * ERR_IO with the reason. Waits a bounded time (analysis_logs.h). Any thread. */
MUST_CHECK bool analysis_qemu_log(struct analysis *analysis, const char *node, const char *guest,
                                  struct buf *out, struct err *err);
MUST_CHECK bool analysis_start(struct analysis *analysis, struct err *err);
/* Without a thread: judges one job; false when there is none. */
bool analysis_step(struct analysis *analysis);

void analysis_on_finished(struct analysis *analysis, const struct snapshot_job *job);
/* The guest crashed after arrival: judged again with that observation. */
void analysis_on_crashed(struct analysis *analysis, const char *job_uid);
void analysis_on_judged(struct analysis *analysis,
                        const struct verdict_rows *verdict_rows); /* it is stored */
void analysis_on_host(struct analysis *analysis, const char *host, bool connected,
                      const struct err *err);

struct analysis_stats {
    uint64_t judged, failures; /* failures: no verdict, the store could not be read */
    int64_t last_ms,
        worst_ms; /* from a job's end to its verdict, of jobs that ended in this process */
    size_t queue;
};
void analysis_stats(struct analysis *analysis, struct analysis_stats *out_stats); /* any thread */

#endif
