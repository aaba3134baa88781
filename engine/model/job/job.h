/* job.h - one migration job, from accepted request to known outcome.
 *
 * Its phase changes only in job_step(). Everything else about it is written by the part of the
 * engine that learned it. No I/O, no clock.
 *
 * Invariants (job_flaw): a final job has an outcome and an end; a busy one has a source; from
 * PreparingTarget on it has a target and an epoch >= 1; it resolves only while unfinished.
 */
#ifndef ENGINE_MODEL_JOB_JOB_H
#define ENGINE_MODEL_JOB_JOB_H

#include <uthash.h>

#include "base/own.h"
#include "engine/model/job/job_control.h"
#include "engine/model/job/job_data.h"
#include "engine/model/job/phase.h"
#include "engine/model/job/verdict_rows.h"
#include "hypervisor/types.h"

/* What the fleet keeps a job in. */
struct job_links {
    struct job *next_broken; /* in the fleet's list of those that this turn froze */
    struct job_view *view;   /* as readers saw it last; see engine/publish.h */
    void (*drop_view)(struct job_view *view); /* set with it by who made it */
    bool listed;                              /* in the fleet's list of changed ones */
    struct job *next_changed;
    char key[HV_HOST_MAX + JOB_NAME_MAX]; /* namespace/name */
    struct job *older;                    /* finished job of the same guest before this one */
    struct heap_link finished;            /* by age, once it is final */
    UT_hash_handle hh_guest, hh_name, hh_newest;
};

struct job {
#define IDENTITY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    uint64_t version;
    int64_t entered_ms; /* monotonic: when this phase began in this process */
    int64_t intent_seq; /* last one used in this epoch */
    struct job_order orders[ORDER_COUNT];

    struct job_request request;
    struct job_times times;
    struct job_wait wait;
    struct job_queue queue;
    struct job_placement placement;
    struct job_call call;
    struct job_abort abort;
    struct job_resolution resolution;
    struct job_monitor monitor;
    struct job_stream stream;
    struct job_progress progress;
    struct job_recovery recovery;
    struct job_userpause userpause; /* while it moved */
    struct job_result result;
    struct job_final final;
    struct job_forecast forecast; /* at hand-off */
    struct job_history history;

    bool frozen;     /* by an internal error: nothing is decided or ordered for it */
    bool unreadable; /* frozen because the store's rows of it cannot be read: a stand-in */
    bool changed;    /* must be stored */
    struct job_links links;
    UT_hash_handle hh;
};

struct job *job_new(struct err *err);
void job_free(struct job *job);
DEFINE_OWNED(job)

/* Follows one row of phase.def. False: no such row, or more steps than any path has; no change. */
MUST_CHECK bool job_step(struct job *job, enum trigger why, struct moment now);
/* The invariant above that does not hold, in words; NULL: all hold. */
const char *job_flaw(const struct job *job);

/* Was it given by this process, and is its answer awaited? */
static inline bool order_is_out(const struct job *job, enum order order)
{
    return job->orders[order].id != 0;
}
/* The one that is out with that number; ORDER_COUNT: none is. */
enum order order_with_id(const struct job *job, uint64_t id);

/* What its newest sample tells about its end. */
void job_note_eta(struct job *job);

#endif
