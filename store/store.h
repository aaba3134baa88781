/* store.h - durable memory: one port, SQLite behind it (store/sqlite.h).
 *
 * Plain rows with text for enums and numbers for numbers, so that a person with a SQL shell can
 * read them and no folder's types leak in. Text pointers in rows are borrowed: for a put until
 * it returns, for a visitor until the visitor returns. NULL text is stored as ''.
 * Times are wall-clock milliseconds unless the name says mono.
 *
 * Two lanes. Objects (begin/put/commit) are one writer, the engine: everything it decided in one
 * turn, for all migrations, is ONE transaction with synchronous=FULL: that is the group commit,
 * and nothing is acted on or acknowledged before it. Samples have a file and a writer thread of
 * their own (synchronous=NORMAL, batches), so that a flood of samples never delays an intent;
 * what does not fit its queue is dropped and counted, never waited for.
 * Readers use connections of their own and are never blocked.
 *
 * Threads: begin..commit from one thread; samples_append, stats and the each_* readers from any.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum { STORE_SAMPLE_QUEUE_MAX = 16384, STORE_SAMPLE_BATCH_MAX = 512, STORE_SAMPLE_BATCH_MS = 500 };

/* One migration job. Key: uid. */
struct store_job {
    const char *uid, *ns, *name;
    const char *guest_uuid, *guest_name;
    const char *source_node, *target_node, *wanted_node; /* wanted: what the request named */
    const char *phase, *mode;
    const char *requester, *priority, *trigger;
    const char *abort_status, *abort_requester, *abort_why;
    const char *failure_reason, *outcome, *guest_at;
    const char *metadata_json, *config_json; /* labels and annotations; frozen configuration */
    const char *policy_name, *selector_json, *volumes_json; /* "": none */
    const char *evacuates; /* the node it leaves, if that is why */
    const char *pending, *pending_reason; /* what it waits for; waits_since_ms: since when */
    const char *launcher;
    int64_t waits_since_ms, launcher_since_ms;
    bool resolving, recovering, adopted;
    bool removed;                  /* its owner deleted it: not shown any more once final */
    int64_t bandwidth_mibs, flags; /* as handed off */
    int64_t epoch, resource_version;
    int64_t created_ms, handed_off_ms, started_ms, ended_ms, delete_asked_ms;
    int64_t error_hv_code, error_hv_domain; /* of the migrate call; 0 0 when it gave none */
    const char *error_text;
};
/* One step of a job's phase. Key: job, seq. */
struct store_transition {
    const char *job_uid, *from, *to, *why;
    int64_t seq, at_ms, spent_ms;
};
/* An action asked for, committed before it is done. Key: job, epoch, seq. */
struct store_intent {
    const char *job_uid;
    int64_t epoch, seq;
    const char *action, *node, *argument;
    const char *status; /* open | done | lost */
    int64_t asked_ms, done_ms;
    const char *err; /* err.def name of the result */
    int64_t hv_code, hv_domain;
    const char *text;
};
/* What was seen of the guest on one host. unreachable is never stored as absent. */
struct store_sighting {
    const char *job_uid, *node, *role;   /* source | target */
    const char *presence;                /* present | absent | unreachable | unknown */
    const char *state, *reason, *moment; /* moment: before | outcome | after | adoption */
    int64_t at_ms;
};
/* An error of a hypervisor call, as it came. */
struct store_error {
    const char *job_uid, *node, *call;
    int64_t hv_code, hv_domain, at_ms;
    const char *text;
};
struct store_mode {
    const char *job_uid, *mode, *cause;
    int64_t at_ms;
};
/* A Kubernetes-style event on an object. One that repeats (same object, reason and message) is
 * counted, not stored again: put with count 1, read back with the sum. */
struct store_event {
    const char *kind, *ns, *name, *uid;
    const char *type, *reason, *message; /* Normal | Warning */
    int64_t at_ms;                       /* the newest */
    int64_t first_ms, count;
};
/* A document people wrote. Key: kind, ns, name; put again it is replaced. */
struct store_object {
    const char *kind, *ns, *name, *uid, *requester;
    const char *spec_json, *metadata_json, *status_json;
    int64_t created_ms, changed_ms, resource_version;
    bool removed; /* kept for the record, not handed out */
};
/* Why a node could not take a guest. The set of a job is replaced as a whole. */
struct store_rejection {
    const char *job_uid, *node, *reason, *detail;
    bool for_ever;
    int64_t at_ms;
};
/* One sample of a running migration, in the samples lane. Key: job, seq; a second one of the
 * same key replaces the first. */
struct store_sample {
    char job_uid[40];
    char source[16]; /* poll | iteration | completed */
    int64_t seq, at_ms, mono_ms;
    int64_t time_elapsed_ms, downtime_ms, setup_ms;
    int64_t data_total, data_processed, data_remaining;
    int64_t memory_total, memory_processed, memory_remaining;
    int64_t memory_bps, memory_dirty_rate, memory_page_size, memory_iteration;
    int64_t memory_postcopy_requests, memory_constant, memory_normal_bytes;
    int64_t disk_total, disk_processed, disk_remaining, disk_bps;
    int64_t throttle_percent, bandwidth_bps; /* bandwidth: from differences of data_processed */
};

struct store_stats {
    uint64_t commits, commit_failures, commit_ms_total;
    uint64_t samples_written, samples_dropped, sample_batches;
    uint64_t samples_queued; /* now */
};

/* Visitors return false to stop early. */
typedef bool store_job_fn(void *ctx, const struct store_job *row);
typedef bool store_transition_fn(void *ctx, const struct store_transition *row);
typedef bool store_intent_fn(void *ctx, const struct store_intent *row);
typedef bool store_sighting_fn(void *ctx, const struct store_sighting *row);
typedef bool store_error_fn(void *ctx, const struct store_error *row);
typedef bool store_mode_fn(void *ctx, const struct store_mode *row);
typedef bool store_event_fn(void *ctx, const struct store_event *row);
typedef bool store_object_fn(void *ctx, const struct store_object *row);
typedef bool store_rejection_fn(void *ctx, const struct store_rejection *row);
typedef bool store_sample_fn(void *ctx, const struct store_sample *row);

struct store;
struct store_ops {
    /* Objects lane. A put that fails is remembered; commit then rolls back and reports the
     * first failure. begin while a transaction is open is a bug. */
    void (*begin)(struct store *s);
    void (*put_job)(struct store *s, const struct store_job *row); /* insert or replace */
    void (*put_transition)(struct store *s, const struct store_transition *row);
    void (*put_intent)(struct store *s, const struct store_intent *row); /* insert or replace */
    void (*put_sighting)(struct store *s, const struct store_sighting *row);
    void (*put_error)(struct store *s, const struct store_error *row);
    void (*put_mode)(struct store *s, const struct store_mode *row);
    void (*put_event)(struct store *s, const struct store_event *row);
    void (*put_object)(struct store *s, const struct store_object *row); /* insert or replace */
    void (*clear_rejections)(struct store *s, const char *job_uid);
    void (*put_rejection)(struct store *s, const struct store_rejection *row);
    bool (*commit)(struct store *s, struct err *err);
    void (*rollback)(struct store *s);

    /* Samples lane. Copies; false when the queue was full for some (they are counted). */
    bool (*append_samples)(struct store *s, const struct store_sample *rows, size_t n);
    /* Waits until everything appended so far is on disk, at most timeout_ms. */
    bool (*flush_samples)(struct store *s, int64_t timeout_ms, struct err *err);

    /* Readers see what is committed (in memory also the caller's own open transaction); a
     * visitor may call back into the store. Order: jobs by created_ms, then uid; the rest of one
     * job as it happened: by seq where there is one, else by time. unfinished: only jobs whose
     * outcome is empty. */
    bool (*each_job)(struct store *s, bool unfinished, store_job_fn *fn, void *ctx,
                     struct err *err);
    bool (*each_transition)(struct store *s, const char *job_uid, store_transition_fn *fn,
                            void *ctx, struct err *err);
    bool (*each_intent)(struct store *s, const char *job_uid, store_intent_fn *fn, void *ctx,
                        struct err *err);
    bool (*each_sighting)(struct store *s, const char *job_uid, store_sighting_fn *fn, void *ctx,
                          struct err *err);
    bool (*each_error)(struct store *s, const char *job_uid, store_error_fn *fn, void *ctx,
                       struct err *err);
    bool (*each_mode)(struct store *s, const char *job_uid, store_mode_fn *fn, void *ctx,
                      struct err *err);
    /* The newest `limit`, oldest of them first. uid NULL: of all objects. */
    bool (*each_event)(struct store *s, const char *uid, size_t limit, store_event_fn *fn,
                       void *ctx, struct err *err);
    /* Documents that are not removed, by creation. */
    bool (*each_object)(struct store *s, store_object_fn *fn, void *ctx, struct err *err);
    bool (*each_rejection)(struct store *s, const char *job_uid, store_rejection_fn *fn, void *ctx,
                           struct err *err);
    bool (*each_sample)(struct store *s, const char *job_uid, store_sample_fn *fn, void *ctx,
                        struct err *err);

    void (*stats)(struct store *s, struct store_stats *out_stats);
    void (*free)(struct store *s);
};
struct store {
    const struct store_ops *ops; /* first member of every implementation */
};
static inline void store_free(struct store *s) /* NULL is fine; writes what is queued first */
{
    if (s != NULL)
        s->ops->free(s);
}
DEFINE_OWNED(store)

#endif
