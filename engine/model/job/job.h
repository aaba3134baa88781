/* job.h - one migration job, from accepted request to known outcome.
 *
 * Its phase changes only in job_step(). Every other field is written by the part of the engine
 * that obtains it. No I/O, no clock.
 *
 * Invariants (job_flaw): a final job has an outcome and an end; a busy one has a source; from
 * PreparingTarget on it has a target and an epoch >= 1; it resolves only while unfinished. */
#ifndef ENGINE_MODEL_JOB_JOB_H
#define ENGINE_MODEL_JOB_JOB_H

#include <uthash.h>

#include "base/own.h"
#include "engine/model/job/advice.h"
#include "engine/model/job/job_control.h"
#include "engine/model/job/job_data.h"
#include "engine/model/job/phase.h"
#include "engine/model/job/verdict_rows.h"
#include "hypervisor/types.h"

/* The fleet's lists and indexes of jobs. */
struct job_links {
    struct job *next_broken;                  /* in the fleet's list of jobs frozen in this turn */
    struct job_view *view;                    /* as last published; see engine/publish.h */
    void (*drop_view)(struct job_view *view); /* set by its creator */
    bool listed;                              /* in the fleet's list of changed jobs */
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
    struct job_userpause userpause; /* during the migration */
    struct job_carry carry;
    struct job_result result;
    struct job_final final;
    struct job_forecast forecast; /* at hand-off */
    struct job_advice advice;     /* about somebody else's */
    struct job_history history;

    bool frozen;     /* by an internal error: no decision and no order */
    bool unreadable; /* frozen because its stored rows cannot be read: a stand-in */
    bool changed;    /* must be stored */
    struct job_links links;
    UT_hash_handle hh;
};

struct job *job_new(struct err *err);
void job_free(struct job *job);
DEFINE_OWNED(job)

/* Follows one row of phase.def. False: no such row, or more steps than any path has; no change. */
MUST_CHECK bool job_step(struct job *job, enum trigger why, struct moment now);
/* The violated invariant as text; NULL: all hold. */
const char *job_flaw(const struct job *job);

/* Was it given by this process, and is its answer awaited? */
static inline bool order_is_out(const struct job *job, enum order order)
{
    return job->orders[order].id != 0;
}
/* The open order with that number; ORDER_COUNT: none. */
enum order order_with_id(const struct job *job, uint64_t id);

/* Somebody else's migration: no order is ever given about it. */
static inline bool job_is_observed(const struct job *job)
{
    return job->request.origin == ORIGIN_OBSERVED;
}

/* Updates the expected end from the newest sample. */
void job_note_eta(struct job *job);

#endif
