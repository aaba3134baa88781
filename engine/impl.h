/* impl.h - internals of the engine's shell, shared by engine.c, dispatch.c and intake.c. */
#ifndef ENGINE_IMPL_H
#define ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/queue.h"
#include "engine/committer.h"
#include "engine/core/reconcile.h"
#include "engine/engine.h"
#include "engine/publish.h"

/* A requester that waits for its answer. Two hold it: the requester, which may time out, and the
 * engine, which may be late; the last one frees it. */
struct slot {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    unsigned holders;
    bool done;
    struct err err;
    struct migration_ref ref;
    char *text; /* owned */
};

struct answer { /* computed, to be given after the commit */
    struct slot *slot;
    struct err err;
    struct migration_ref ref;
    char *text; /* the slot's, once given */
};

struct engine {
    struct engine_parts parts;
    struct queue *inbox; /* of struct input *, owned by the queue */
    struct fleet *fleet;
    struct migratable_config storage; /* fixed: read by any thread */
    struct effects fx;                /* of the turn, or of the turns since the last good commit */
    struct publisher *publisher;
    uint64_t published; /* fleet version of the last snapshot */
    int64_t published_ms;
    uint64_t missed; /* total number of dropped messages of hosts */
    int64_t aged_ms; /* monotonic: incidents were last checked */
    struct answer answers[ENGINE_TURN_MAX];
    size_t n_answers;
    struct verdict_rows *judged[ENGINE_TURN_MAX]; /* to be stored with the next commit */
    size_t n_judged;
    struct clock_follower retention_clock;
    int64_t stored_ms;                 /* how late it was in the earlier process, about */
    int64_t retain_at_ms, retry_at_ms; /* after a failed commit */
    struct committer *committer;       /* NULL: commits on the engine's own thread */
    bool commit_hangs;                 /* one is out and has not returned */
    int64_t commit_began_ms;
    uint64_t commits_lost; /* of the store's, those that were made good */
    pthread_mutex_t probes_lock;
    struct probe *probes;               /* open CPU queries; see probe.c */
    struct volume_probe *volume_probes; /* the same about volumes; see probe_volumes.c */
    struct dirty_probe *dirty_probes;   /* measurements of guests; see probe_dirty.c */

    /* Read by other threads. */
    atomic_uint_fast64_t turns, events, posts_dropped, commit_failures, internal_errors;
    atomic_uint_fast64_t messages_dropped; /* of them: messages of hosts, which are not repeated */
    atomic_size_t active_jobs;
    atomic_size_t judging; /* verdicts accepted and not stored yet */
    atomic_bool store_ok, is_fenced;
    atomic_int_fast64_t commit_ms_last, commit_ms_max;
    atomic_int_fast64_t turn_ended_ms; /* the last that did not leave a commit behind */
};

/* engine.c: NULL: no memory. */
struct input *engine_configure_input(const struct engine_config *config);

/* commit.c: stores the records of the turn. False: the commit failed, or has not returned yet. */
MUST_CHECK bool commit_turn(struct engine *e, struct err *err);
bool commit_has_records(struct engine *e);

/* rollback.c: jobs with an internal error return to their stored state, frozen. Called after
 * each input, before any of it is stored or ordered. */
void rollback_broken_jobs(struct engine *e, struct moment now);

/* requests.c */
void intake_answer(const struct answer *answer);
/* While commits fail: gives refusals, and drops answers without a requester. False: keep it. */
bool intake_answer_uncommitted(const struct answer *answer);
/* intake.c */
bool intake_post(struct engine *e, struct input *take_input); /* false: dropped and counted */
struct input *intake_new(enum input_kind kind, const char *host, const char *guest);
struct hv_reply_sink intake_reply_sink(struct engine *e);

/* probe.c: asks a node whether it has the CPU that a guest sees on another; the answer is an
 * INPUT_CPU. */
void probe_cpu(struct engine *e, const struct effect *effect);
void probe_free_all(struct engine *e); /* frees it without an answer */

/* probe_volumes.c: asks for the disks of a job and their destinations; the answer is one
 * INPUT_VOLUMES. */
void probe_volumes(struct engine *e, const struct effect *effect);
void probe_volumes_free_all(struct engine *e);

/* probe_dirty.c: starts to measure the dirty rate of the guest of a CHECK; the answer is an
 * INPUT_DIRTY. A refusal is kept with the guest. */
void probe_dirty(struct engine *e, const struct question *question);
void probe_dirty_free_all(struct engine *e);

/* dispatch.c: carries out one effect; skips records. */
void dispatch(struct engine *e, const struct effect *effect);
/* Does the turn's list contain a migrate order of that job, not yet given? */
bool dispatch_holds_call(const struct engine *e, const char *job_uid);

#endif
