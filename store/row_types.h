/* row_types.h - the rows of the store, as its users see them.
 *
 * Enums are text, so that rows are readable in a SQL shell and independent of other folders' types.
 * Text pointers in rows are borrowed: for a put until it returns, for a visitor until the visitor
 * returns. NULL text is stored as ''. Times are wall-clock milliseconds unless the name says mono.
 */
#ifndef STORE_ROW_TYPES_H
#define STORE_ROW_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/job_row.h" /* struct store_job: one migration job */

/* One step of a job's phase. Key: job, seq. */
struct store_transition {
    const char *job_uid, *from, *to, *why;
    int64_t seq, at_ms, spent_ms;
};
/* An order to a host, committed before it is given. Key: job, epoch, seq. */
struct store_intent {
    const char *job_uid;
    int64_t epoch, seq;
    const char *action, *node, *argument;
    const char *status;        /* open | done | lost */
    int64_t asked_ms, done_ms; /* of the last time it was given */
    const char *err;           /* err.def name of the result */
    int64_t hv_code, hv_domain;
    const char *text;
    int64_t times, first_ms; /* a repeated order is one row; when it was given first */
};
/* An observation of the guest on one host. unreachable is never stored as absent. */
struct store_observation {
    const char *job_uid, *node, *role;   /* source | target */
    const char *presence;                /* present | absent | unreachable | unknown */
    const char *state, *reason, *moment; /* moment: before | outcome | after | adoption */
    int64_t at_ms;
};
/* An error of a hypervisor call, unchanged. */
struct store_error {
    const char *job_uid, *node, *call;
    int64_t hv_code, hv_domain, at_ms;
    const char *text;
};
struct store_mode {
    const char *job_uid, *mode, *cause;
    int64_t at_ms;
};
/* A Kubernetes-style event on an object. One that repeats (same uid, reason and message) is
 * counted, not stored again: put with count 1 (or 0, which means that), read back with the sum,
 * with the time and type of the newest and first_ms of the first (0: its at_ms). */
struct store_event {
    const char *kind, *ns, *name, *uid;
    const char *type, *reason, *message; /* Normal | Warning */
    int64_t at_ms;                       /* the newest */
    int64_t first_ms, count;
};
/* What a monitor decided about a running migration, or would have (shadow). Key: job, seq. */
struct store_decision {
    const char *job_uid;
    int64_t seq, at_ms;
    const char *monitor; /* stall | legacy | remedy */
    bool shadow;
    const char *decision, *action, *text;
    int64_t downtime_ms, elapsed_ms, budget_ms, estimate_ms;
    int64_t remaining, low_water, bandwidth_bps, dirty_bps, iteration;
};
/* A stored object. Key: kind, ns, name; a second put replaces it. */
struct store_object {
    const char *kind, *ns, *name, *uid, *requester;
    const char *spec_json, *metadata_json, *status_json;
    int64_t created_ms, changed_ms, resource_version;
    bool removed; /* kept for history, not returned */
};
/* Why a node rejected a guest. The set of a job is replaced as a whole. */
struct store_rejection {
    const char *job_uid, *node, *reason, *detail;
    bool for_ever;
    int64_t at_ms;
};
/* The verdict on a migration. Key: job_uid; a new one replaces it. */
struct store_verdict {
    const char *job_uid;
    int64_t at_ms; /* end of the migration */
    const char *outcome, *plane, *cause, *failed_at, *recoverable, *guest_at;
    bool irrecoverable;
    int64_t confidence_percent;
    const char *rule, *rules_version; /* deciding rule; version of the rules */
    const char *action, *runbook;
    int64_t judged_ms;              /* when it was made */
    const char *family, *resembles; /* of an unknown cause: the nearest one, or empty */
    int64_t family_percent;         /* confidence of the family */
};
/* Evidence for or against a verdict. Key: job, seq. */
struct store_point {
    const char *job_uid;
    int64_t seq;
    const char *standing;             /* for | against | fallout */
    const char *rule, *side, *origin; /* matching rule and origin of the line */
    int64_t at_ms;
    const char *quote, *note; /* as it was found; what it proves */
};
/* A number in a verdict. Key: job, seq. */
struct store_number {
    const char *job_uid;
    int64_t seq;
    const char *name;
    double value;
    const char *unit;
};
/* A fact about a migration that is in no other row, for later analysis: lines of QEMU's logs, lost
 * connections, trends at the end. Key: job, seq. */
struct store_evidence {
    const char *job_uid;
    int64_t seq;
    const char *side, *origin;
    int64_t at_ms;
    const char *key, *text; /* key "": a message, else a fact and its value */
};
/* An incident. Key: job_uid. */
struct store_incident {
    const char *job_uid, *ns, *name, *node, *plane, *cause;
    const char *migration; /* the name of the job, which may be gone */
    const char *source_node, *target_node, *guest_at;
    const char *kind;             /* engine/model/job/incident.def */
    int64_t opened_ms, closed_ms; /* closed 0: still open */
    int64_t ended_ms;             /* the migration's end */
    const char *closed_by, *closed_why;
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
/* Input of a monitor besides the sample, for replay. In the samples lane. Key: job, seq. */
struct store_monitor_input {
    char job_uid[40];
    char kind[16]; /* begin | look | accepted | refused (an order of the acting monitor was) */
    int64_t seq, at_ms, elapsed_ms;
    int64_t sample_seq; /* -1: there was no sample */
    char mode[16];
    bool stopped, aborting; /* look: the source paused(migration); an abort in progress */
    /* begin: what is fixed; resumed: it continued from its state at the newest stored decision. */
    bool resumed, vfio, tuning, post_copy;
    int64_t memory_bytes, disk_bytes;
};

/* A change that somebody asked for, over the API. */
struct store_audit {
    int64_t at_ms;
    char identity[64]; /* "token:ci"; "": a sum of refusals that have no row of their own */
    char role[16], address[64];
    char verb[16], resource[64], ns[64], name[128];
    bool accepted;
    int64_t status; /* HTTP's */
    int64_t count;
};

#endif
