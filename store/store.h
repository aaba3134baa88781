/* store.h - durable storage: the port; implemented on SQLite (store/sqlite/) and PostgreSQL
 * (store/postgres/).
 *
 * Row types: store/row_types.h.
 *
 * Two lanes. Objects (begin/put/commit) are one writer, the engine: everything it decided in one
 * turn, for all migrations, is ONE transaction with synchronous=FULL: that is the group commit, and
 * nothing is acted on or acknowledged before it. Samples have a file and a writer thread of their
 * own (synchronous=NORMAL, batches), so that a flood of samples never delays an intent; samples
 * that do not fit its queue are dropped and counted. Readers use connections of their own and are
 * never blocked.
 *
 * Threads: begin..commit from one thread at a time (in memory: the same one); samples_append, stats
 * and the each_* readers from any.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "store/leases.h"
#include "store/retention.h"
#include "store/row_types.h"

enum { STORE_SAMPLE_QUEUE_MAX = 16384, STORE_SAMPLE_BATCH_MAX = 512, STORE_SAMPLE_BATCH_MS = 500 };
/* Limits of events: the oldest are deleted. */
enum { STORE_EVENTS_MAX = 50000, STORE_OBJECT_EVENTS_MAX = 200 };

struct store_stats {
    uint64_t commits, commit_failures, commit_ms_total;
    uint64_t samples_written, samples_dropped, sample_batches;
    uint64_t samples_queued;                /* now */
    uint64_t samples_retired, jobs_dropped; /* by retention */
    /* Acknowledged, and no longer in the database that answers now; at most. */
    uint64_t commits_lost;
};

/* Who writes to this store: part of every mark in a guest (hypervisor/mark.h). The id is made with
 * the store; the epoch grows with each restore from a backup, so that a process on the lost store
 * is recognised. */
enum { STORE_ID_MAX = 33 };
struct store_identity {
    char id[STORE_ID_MAX];
    int64_t epoch, restored_ms; /* restored_ms 0: never */
    int64_t seen_ms;            /* how late retain() was last told that it is, about; 0: never */
};

/* Visitors return false to stop early. */
typedef bool store_job_fn(void *ctx, const struct store_job *row);
typedef bool store_transition_fn(void *ctx, const struct store_transition *row);
typedef bool store_intent_fn(void *ctx, const struct store_intent *row);
typedef bool store_observation_fn(void *ctx, const struct store_observation *row);
typedef bool store_error_fn(void *ctx, const struct store_error *row);
typedef bool store_mode_fn(void *ctx, const struct store_mode *row);
typedef bool store_decision_fn(void *ctx, const struct store_decision *row);
typedef bool store_event_fn(void *ctx, const struct store_event *row);
typedef bool store_object_fn(void *ctx, const struct store_object *row);
typedef bool store_rejection_fn(void *ctx, const struct store_rejection *row);
typedef bool store_verdict_fn(void *ctx, const struct store_verdict *row);
typedef bool store_point_fn(void *ctx, const struct store_point *row);
typedef bool store_number_fn(void *ctx, const struct store_number *row);
typedef bool store_evidence_fn(void *ctx, const struct store_evidence *row);
typedef bool store_incident_fn(void *ctx, const struct store_incident *row);
typedef bool store_sample_fn(void *ctx, const struct store_sample *row);
typedef bool store_monitor_input_fn(void *ctx, const struct store_monitor_input *row);
typedef bool store_audit_fn(void *ctx, const struct store_audit *row);

struct store;
struct store_ops {
    /* Objects lane. A failed put is kept; commit then rolls back and reports the first failure.
     * begin while a transaction is open is a bug. */
    void (*begin)(struct store *s);
    void (*put_job)(struct store *s, const struct store_job *row); /* insert or replace */
    void (*put_transition)(struct store *s, const struct store_transition *row);
    void (*put_intent)(struct store *s, const struct store_intent *row); /* insert or replace */
    void (*put_observation)(struct store *s, const struct store_observation *row);
    void (*put_error)(struct store *s, const struct store_error *row);
    void (*put_mode)(struct store *s, const struct store_mode *row);
    void (*put_decision)(struct store *s, const struct store_decision *row);
    void (*put_event)(struct store *s, const struct store_event *row);   /* insert or count */
    void (*put_object)(struct store *s, const struct store_object *row); /* insert or replace */
    void (*clear_rejections)(struct store *s, const char *job_uid);
    void (*put_rejection)(struct store *s, const struct store_rejection *row);
    void (*clear_verdict)(struct store *s, const char *job_uid); /* with its points and numbers */
    void (*put_verdict)(struct store *s, const struct store_verdict *row); /* insert or replace */
    void (*put_point)(struct store *s, const struct store_point *row);
    void (*put_number)(struct store *s, const struct store_number *row);
    void (*put_evidence)(struct store *s, const struct store_evidence *row); /* or replace */
    void (*put_incident)(struct store *s, const struct store_incident *row); /* or replace */
    bool (*commit)(struct store *s, struct err *err);
    void (*rollback)(struct store *s);

    /* Samples lane. Copies; false when the queue was full for some (they are counted). */
    bool (*append_samples)(struct store *s, const struct store_sample *rows, size_t n);
    bool (*append_monitor_input)(struct store *s,
                                 const struct store_monitor_input *row);  /* likewise */
    bool (*append_audit)(struct store *s, const struct store_audit *row); /* likewise */
    /* Waits until everything appended so far is on disk, at most timeout_ms. */
    bool (*flush_samples)(struct store *s, int64_t timeout_ms, struct err *err);

    /* How long things are kept; once, before anything runs. Without it: for ever. */
    void (*set_retention)(struct store *s, const struct store_retention *retention);
    /* One bounded step of dropping what is too old from the objects lane, in a transaction of its
     * own: from its thread, when none is open. Samples follow with this time, on their own
     * thread. out_did: there may be more. */
    bool (*retain)(struct store *s, int64_t now_ms, bool *out_did, struct err *err);

    /* Readers see what is committed (in memory also the caller's own open transaction); a
     * visitor may call back into the store. Order: jobs by created_ms, then uid; the rest of one
     * job as it happened: by seq where there is one, else by time. unfinished: only jobs whose
     * outcome is empty. */
    bool (*each_job)(struct store *s, bool unfinished, store_job_fn *fn, void *ctx,
                     struct err *err);
    /* All unfinished and the newest `limit` of the others, in the same order. */
    bool (*each_recent_job)(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                            struct err *err);
    /* The newest job of that name, or the one with that uid: called once or not at all. */
    bool (*find_job)(struct store *s, const char *ns, const char *name, store_job_fn *fn, void *ctx,
                     struct err *err);
    bool (*each_transition)(struct store *s, const char *job_uid, store_transition_fn *fn,
                            void *ctx, struct err *err);
    bool (*each_intent)(struct store *s, const char *job_uid, store_intent_fn *fn, void *ctx,
                        struct err *err);
    bool (*each_observation)(struct store *s, const char *job_uid, store_observation_fn *fn,
                             void *ctx, struct err *err);
    bool (*each_error)(struct store *s, const char *job_uid, store_error_fn *fn, void *ctx,
                       struct err *err);
    bool (*each_mode)(struct store *s, const char *job_uid, store_mode_fn *fn, void *ctx,
                      struct err *err);
    bool (*each_decision)(struct store *s, const char *job_uid, store_decision_fn *fn, void *ctx,
                          struct err *err);
    /* The newest `limit`, oldest of them first. uid NULL: of all objects. */
    bool (*each_event)(struct store *s, const char *uid, size_t limit, store_event_fn *fn,
                       void *ctx, struct err *err);
    /* Objects that are not removed, by creation, then kind, ns and name. */
    bool (*each_object)(struct store *s, store_object_fn *fn, void *ctx, struct err *err);
    bool (*each_rejection)(struct store *s, const char *job_uid, store_rejection_fn *fn, void *ctx,
                           struct err *err);
    /* Jobs with an outcome and no verdict. */
    bool (*each_unjudged)(struct store *s, store_job_fn *fn, void *ctx, struct err *err);
    /* By the time of the end. job_uid NULL: of all jobs. */
    bool (*each_verdict)(struct store *s, const char *job_uid, store_verdict_fn *fn, void *ctx,
                         struct err *err);
    bool (*each_point)(struct store *s, const char *job_uid, store_point_fn *fn, void *ctx,
                       struct err *err);
    bool (*each_number)(struct store *s, const char *job_uid, store_number_fn *fn, void *ctx,
                        struct err *err);
    bool (*each_evidence)(struct store *s, const char *job_uid, store_evidence_fn *fn, void *ctx,
                          struct err *err);
    /* By the time they were opened. only_open: those not closed. */
    bool (*each_incident)(struct store *s, bool only_open, store_incident_fn *fn, void *ctx,
                          struct err *err);
    bool (*each_sample)(struct store *s, const char *job_uid, store_sample_fn *fn, void *ctx,
                        struct err *err);
    bool (*each_monitor_input)(struct store *s, const char *job_uid, store_monitor_input_fn *fn,
                               void *ctx, struct err *err);
    bool (*each_audit)(struct store *s, store_audit_fn *fn, void *ctx, struct err *err);

    bool (*identity)(struct store *s, struct store_identity *out_identity, struct err *err);
    void (*stats)(struct store *s, struct store_stats *out_stats);
    void (*free)(struct store *s);
};
struct store {
    const struct store_ops *ops;          /* first member of every implementation */
    const struct store_lease_ops *leases; /* NULL for a reader */
};
static inline void store_free(struct store *s) /* NULL is fine; writes what is queued first */
{
    if (s != NULL)
        s->ops->free(s);
}
DEFINE_OWNED(store)

#endif
