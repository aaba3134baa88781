/* row_types.h - the rows of the store, as its users see them.
 *
 * Text for enums and numbers for numbers, so that a person with a SQL shell can read them and no
 * folder's types leak in. Text pointers in rows are borrowed: for a put until it returns, for a
 * visitor until the visitor returns. NULL text is stored as ''.
 * Times are wall-clock milliseconds unless the name says mono.
 */
#ifndef STORE_ROW_TYPES_H
#define STORE_ROW_TYPES_H

#include <stdbool.h>
#include <stdint.h>

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
    const char *evacuates;                                  /* the node it leaves, if that is why */
    const char *pending, *pending_reason; /* what it waits for; waits_since_ms: since when */
    const char *launcher;
    const char *monitor_json; /* the monitor's state, to go on from */
    int64_t arrival;     /* number of its arrival: who came first, within one millisecond too */
    int64_t requirement; /* hash of what a definition asked for, if that is why */
    int64_t streak;      /* automatic ones that failed in a row, with this one */
    int64_t waited_before_ms; /* for the same, in waits that were over */
    int64_t waits_since_ms, launcher_since_ms;
    int64_t reserved_memory_kib, reserved_vcpus, reserved_huge_kib, reserved_bandwidth;
    bool resolving, recovering, adopted;
    bool paused_by_user;           /* while it moved */
    bool removed;                  /* its owner deleted it: not shown any more once final */
    int64_t bandwidth_mibs, flags; /* as handed off */
    int64_t epoch, resource_version;
    int64_t created_ms, handed_off_ms, started_ms, ended_ms, delete_asked_ms;
    int64_t error_hv_code, error_hv_domain; /* of the migrate call; 0 0 when it gave none */
    const char *error_text;
    const char *abort_cause;
    const char *recovery; /* state of the post-copy recovery */
    int64_t recovery_tries, recovery_since_ms, recovery_until_ms;
    const char *recovery_unsafe; /* ways (recovery_way.def) after which a daemon ended, by spaces */
    int64_t stream_port;         /* where the target listens for its memory; 0: not known */
    const char *remedy_text;     /* what was done about a stalled stream */
    int64_t ran_ms;         /* paused by its user, how long it ran on the target all the same */
    const char *final_from; /* event | target; empty: the numbers below are not known */
    int64_t final_total_ms, final_downtime_ms, final_setup_ms, final_bytes, final_iterations;
    /* What was expected at hand-off; percent: the chance that it converges, -1: not said. */
    int64_t forecast_total_ms, forecast_low_ms, forecast_high_ms, forecast_downtime_ms;
    int64_t forecast_percent;
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
struct store_observation {
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
    const char *monitor; /* stall | legacy */
    bool shadow;
    const char *decision, *action, *text;
    int64_t downtime_ms, elapsed_ms, budget_ms, estimate_ms;
    int64_t remaining, low_water, bandwidth_bps, dirty_bps, iteration;
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
/* Why a migration ended as it did. Key: job_uid; judged again it is replaced. */
struct store_verdict {
    const char *job_uid;
    int64_t at_ms; /* the end that it explains */
    const char *outcome, *plane, *cause, *failed_at, *recoverable, *guest_at;
    bool irrecoverable;
    int64_t confidence_percent;
    const char *rule, *rules_version; /* the one that decided; of which set of rules */
    const char *action, *runbook;
    int64_t judged_ms; /* when it was found */
};
/* What speaks for a verdict and what against it. Key: job, seq. */
struct store_point {
    const char *job_uid;
    int64_t seq;
    const char *standing;             /* for | against | fallout */
    const char *rule, *side, *origin; /* which rule saw it, and where it came from */
    int64_t at_ms;
    const char *quote, *note; /* as it was found; what it proves */
};
/* A number that a verdict rests on. Key: job, seq. */
struct store_number {
    const char *job_uid;
    int64_t seq;
    const char *name;
    double value;
    const char *unit;
};
/* A fact about a migration that no other row holds, kept so that it can be judged again: lines
 * of QEMU's logs, lost connections, trends at the end. Key: job, seq. */
struct store_evidence {
    const char *job_uid;
    int64_t seq;
    const char *side, *origin;
    int64_t at_ms;
    const char *key, *text; /* key "": a message, else a fact and its value */
};
/* A migration somebody must look at. Key: job_uid. */
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
/* What a monitor was given to look at beside the sample, so that its decisions can be computed
 * again. In the samples lane. Key: job, seq. */
struct store_monitor_input {
    char job_uid[40];
    char kind[16]; /* begin | look | accepted | refused (an order of the acting monitor was) */
    int64_t seq, at_ms, elapsed_ms;
    int64_t sample_seq; /* -1: there was no sample */
    char mode[16];
    bool stopped, aborting; /* look: the source paused(migration); an abort under way */
    /* begin: what is fixed; resumed: it went on from its state at the newest decision stored. */
    bool resumed, vfio, tuning, post_copy;
    int64_t memory_bytes, disk_bytes;
};

#endif
