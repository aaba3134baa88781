/* snapshot.h - the whole fleet as it stood at one moment, for readers.
 *
 * Immutable and counted: the engine publishes one after each turn that changed something (after
 * the commit), readers hold a reference as long as they like. Everything the API and /metrics
 * show comes from here, so a scrape calls nobody and waits for nobody.
 */
#ifndef ENGINE_SNAPSHOT_H
#define ENGINE_SNAPSHOT_H

#include "collector/sample.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/job/incident.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/job/phase.h"
#include "engine/model/job/verdict_rows.h"
#include "engine/model/objects/drain_types.h"
#include "engine/model/objects/object_kind.h"
#include "engine/snapshot_guest.h"
#include "hypervisor/types.h"

struct snapshot_node {
    char name[HV_HOST_MAX];
    char uri[HV_URI_MAX], migration_host[HV_TEXT_MAX];
    bool connected, has_facts;
    bool settled; /* it was asked once, and its guests are known if it answered */
    struct hv_facts facts;
    char error[SNAPSHOT_REASON_MAX]; /* why it is not connected */
    int64_t since_ms;                /* wall: connected or lost since */
    int64_t created_ms;              /* wall: known since */
    unsigned guests;
    bool cordoned;
    const char *labels; /* JSON object text; all in effect; lives with the snapshot */
    const char *taints; /* JSON array text or NULL */
    unsigned outbound, inbound;
    uint64_t running_kib, reserved_kib; /* memory of guests that are up; promised to arrivals */
    unsigned running_vcpus, reserved_vcpus;
    char drain[SNAPSHOT_NAME_MAX]; /* that empties it, or empty */
    uint64_t resource_version;
};

struct snapshot_step {
    enum phase phase;
    int64_t at_ms; /* wall */
};
struct snapshot_observation { /* what was last seen of the guest on one side */
    enum hv_presence presence;
    int state, reason;
    int64_t at_ms; /* wall, 0: never looked */
};

struct snapshot_job {
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
    char guest_uuid[HV_UUID_MAX], guest_name[HV_NAME_MAX];
    char source[HV_HOST_MAX], target[HV_HOST_MAX], wanted[HV_HOST_MAX];
    char source_address[HV_TEXT_MAX], target_address[HV_TEXT_MAX]; /* for streams; "": libvirt's */
    unsigned port_min, port_max; /* where the target lets streams in */
    unsigned port;               /* where it listens, if Ferry chose that; 0: libvirt did */
    char requester[SNAPSHOT_WHO_MAX];
    enum phase phase;
    enum mode mode;
    enum abort_status abort_status;
    char abort_requester[SNAPSHOT_WHO_MAX], abort_why[SNAPSHOT_REASON_MAX];
    bool resolving, recovering, adopted, abort_asked;
    enum outcome outcome;
    enum guest_at guest_at;
    enum priority priority;
    enum pending pending;                     /* what it waits for */
    int64_t waits_since_ms, waits_until_ms;   /* wall; until 0: no end */
    int64_t waited_ms[PENDING_COUNT];         /* waits that are over */
    char pending_reason[SNAPSHOT_REASON_MAX]; /* the same for people, empty when it does not */
    char failure_reason[SNAPSHOT_REASON_MAX];
    struct err error; /* of the migrate call; code NONE when it gave none */
    int64_t created_ms, handed_off_ms, started_ms, ended_ms, delete_asked_ms; /* wall, 0: not yet */
    int64_t epoch;
    struct snapshot_step steps[PHASE_COUNT];
    unsigned n_steps;
    struct snapshot_observation source_observation, target_observation;
    bool has_sample;
    struct sample sample; /* newest */
    int64_t eta_ms;       /* until it is over, -1: cannot say */
    int64_t eta_low_ms, eta_high_ms;
    char eta_note[160]; /* why its end moved later, the newest; "" it did not */
    uint64_t resource_version;
    const char *metadata_json; /* {"labels":{..},"annotations":{..}}; lives with the snapshot */
    enum origin origin;
    const char *decision; /* the monitor's newest, a literal; "" none */
    char decision_text[SNAPSHOT_REASON_MAX];
    int64_t decision_ms;
    struct snapshot_mode {
        enum mode mode;
        int64_t at_ms; /* wall */
        char cause[48];
    } modes[8]; /* oldest first */
    unsigned n_modes;
    enum abort_cause abort_cause;
    enum recovery recovery;
    unsigned recovery_tries;
    const char *recovery_path; /* a literal: between the nodes, as last probed; "" it was not */
    int64_t recovery_since_ms, recovery_until_ms; /* wall */
    char remedy[160];                             /* done about a stalled stream; "" nothing */
    int64_t stopped_since_ms; /* wall: it stands still for the switch-over; 0: it does not */
    struct job_budget budget;
    const char *monitor; /* that watches, a literal */
    bool paused_by_user;
    int64_t ran_ms; /* how long it ran on the target although its user had paused it */
    bool final_known;
    const char *final_from; /* a literal: event, target */
    uint64_t final_total_ms, final_downtime_ms, final_setup_ms, final_bytes, final_iterations;
    uint64_t final_whole_bytes; /* of what had to move; 0: not known */
    bool forecast_made;
    int64_t forecast_total_ms, forecast_low_ms, forecast_high_ms, forecast_downtime_ms;
    int forecast_percent;
    char policy[SNAPSHOT_NAME_MAX]; /* applied at hand-off */
    uint32_t flags, left_out;       /* what the hypervisor is told: engine/data/flags.h */
    const char *config_json;        /* frozen configuration; NULL before hand-off */
    const char *selector_json;      /* addedNodeSelector or NULL */
    const char
        *volumes_json;      /* disks that move along: engine/model/definition/volumes.h; or NULL */
    enum launcher launcher; /* the target's */
    int64_t launcher_since_ms;
    char source_pod[SNAPSHOT_NAME_MAX], target_pod[SNAPSHOT_NAME_MAX];
    char target_pod_uid[SNAPSHOT_UID_MAX];
    const struct rejections *rejections; /* per node, or NULL; lives with the snapshot */
    const struct verdict_rows *verdict;  /* NULL: not judged yet; lives with the snapshot */
};

struct snapshot_object { /* a document; texts live with the snapshot */
    enum object_kind kind;
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
    const char *spec_json, *metadata_json, *status_json; /* the last two may be NULL */
    int64_t created_ms;
    uint64_t resource_version;
};
struct snapshot_drain { /* of a node: the one that goes on, else the newest */
    char node[HV_HOST_MAX];
    enum drain_state state;
    int64_t deadline_ms;                                      /* wall; 0: none */
    unsigned guests[DRAIN_GUEST_COUNT], blocked[BLOCK_COUNT]; /* by state; that stay, by reason */
};
struct snapshot_namespace { /* a namespace that is in use */
    char name[HV_HOST_MAX];
    const char *labels;                    /* JSON object text or NULL */
    uint64_t launchers, memory_kib, vcpus; /* used */
};

struct snapshot {
    uint64_t generation; /* grows with each publication; also the API's resourceVersion */
    int64_t wall_ms;
    size_t n_nodes, n_guests, n_jobs;
    const struct snapshot_node *nodes;      /* by name */
    const struct snapshot_guest *guests;    /* by namespace, name */
    const struct snapshot_job *const *jobs; /* by creation; one that did not change is shared */
    size_t n_objects, n_namespaces, n_drains, n_incidents, n_incidents_closed;
    const struct snapshot_object *const *objects; /* by kind, namespace, name; shared likewise */
    const struct snapshot_namespace *namespaces;  /* by name */
    const struct snapshot_drain *drains;          /* by node, one each */
    const struct incident *incidents;             /* open ones, by opening; then closed ones */
    struct incident_totals incident_totals;
    unsigned drain_states[DRAIN_COUNT];                              /* all of them, by state */
    unsigned slots_used, slots_fleet, slots_outbound, slots_inbound; /* limits; 0: none */
};

/* Takes or drops a reference; drop frees with the last. NULL is fine. Any thread. */
const struct snapshot *snapshot_ref(const struct snapshot *snapshot);
void snapshot_unref(const struct snapshot *snapshot);

const struct snapshot_job *snapshot_find_job(const struct snapshot *s, const char *ns,
                                             const char *name);
const struct snapshot_guest *snapshot_find_guest(const struct snapshot *s, const char *ns,
                                                 const char *name);

#endif
