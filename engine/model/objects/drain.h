/* drain.h - a Drain object as data: its spec, its status, and the guests of its plan. What is done
 * about it is in engine/control/drain.h. Pure.
 *
 * spec:   {"nodeName": "n1", "deadlineSeconds": 3600, "retryBudget": 3, "shutdown": false}
 * status: {"state", "since", "message", "deadline", "total", and how many are "waiting", "moving",
 *          "moved", "blocked", "failed", "stopping", "lastMoved", "etaSeconds" (from lastMoved on;
 *          null: not known), "guests": [{"namespace","name","uuid","memoryKiB","expectedMs",
 *          "state","attempts","migration","migrationUID","target","reason","message","unblock",
 *          "condition"}]}
 */
#ifndef ENGINE_MODEL_OBJECTS_DRAIN_H
#define ENGINE_MODEL_OBJECTS_DRAIN_H

#include "base/own.h"
#include "engine/model/definition/migratable.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/objects/drain_types.h"

enum {
    DRAIN_TRIES_DEFAULT = 3,
    DRAIN_TRIES_MAX = 100,
    DRAIN_DEADLINE_MAX_S = 366 * 86400,
    DRAIN_GUESTS_MAX = 2 * HV_GUESTS_MAX, /* above this, guests that left are forgotten */
};

struct drain_guest {
    char uuid[HV_UUID_MAX], ns[HV_HOST_MAX], name[HV_NAME_MAX];
    char job_uid[JOB_UID_MAX]; /* its unfinished job, or a finished one that is not counted yet */
    char job_name[JOB_NAME_MAX], target[HV_HOST_MAX]; /* of its newest job */
    uint64_t memory_kib;
    int64_t expected_ms; /* expected duration of its migration; 0: dirty rate not known */
    enum drain_guest_state state;
    enum block block;
    enum unmovable unmovable; /* NOT_MIGRATABLE: the first row; else UNMOVABLE_COUNT */
    char message[JOB_REASON_MAX];
    unsigned attempts;     /* attempts used */
    int64_t stop_asked_ms; /* monotonic; not stored */
};
enum { DRAIN_SHUT_OFF_MAX = 50 }; /* names that are listed */
struct drain_shut_off {
    char ns[HV_HOST_MAX], name[HV_NAME_MAX];
};
struct drain {
    char node[HV_HOST_MAX];
    int64_t deadline_ms; /* wall; 0: none */
    int64_t ends_ms;     /* the same, monotonic, once this process looked at it; not stored */
    unsigned retry_budget;
    bool shutdown;
    enum drain_state state;
    char message[JOB_REASON_MAX];
    int64_t began_ms, since_ms; /* wall, whole seconds: start of this state */
    int64_t last_moved_ms;      /* wall, whole seconds; 0: no guest left yet */
    int64_t next_ms;            /* monotonic: time of the next check; not stored */
    size_t n, n_indexed, capacity;
    struct drain_guest *guests; /* in the order of the plan; owned */
    unsigned *by_uuid;          /* the same sorted by uuid, as indexes; owned */
    size_t n_unset;    /* guests that move though no eviction strategy is set; not stored */
    size_t n_shut_off; /* guests that are defined on the node only, and off */
    struct drain_shut_off shut_off[DRAIN_SHUT_OFF_MAX]; /* the first of them; not stored */
};

/* Parses spec and, after a restart, status. ERR_UNPROCESSABLE with the field. */
struct drain *drain_parse(const char *spec_json, const char *status_json, int64_t created_ms,
                          struct err *err);
void drain_free(struct drain *drain);
DEFINE_OWNED(drain)
/* Its status as a new JSON text; NULL: no memory. */
char *drain_status(const struct drain *drain);
void drain_count(const struct drain *drain, unsigned out_counts[static DRAIN_GUEST_COUNT]);
/* Counts guests that cannot leave now (blocked, or failed too often), by reason. */
void drain_count_blocks(const struct drain *drain, unsigned out_counts[static BLOCK_COUNT]);
/* From last_moved_ms on, at the present rate; -1: not known. */
int64_t drain_eta_s(const struct drain *drain);
struct drain_guest *drain_find(const struct drain *drain, const char *uuid); /* or NULL */
/* Adds a copy of the guest at the end; drain_find() finds it after drain_order(). False when
 * there is no memory, or no room even without the guests that left. */
bool drain_add_guest(struct drain *drain, const struct drain_guest *guest);
void drain_order(struct drain *drain);

#endif
