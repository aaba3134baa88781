/* snapshot.h - the whole fleet at one moment, for readers.
 *
 * Immutable and reference counted: the engine publishes one after each turn with a change (after
 * the commit), readers hold a reference as long as they like. Everything in the API and /metrics
 * comes from here, so a scrape calls nothing and waits for nothing. */
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
#include "engine/snapshot_job.h"
#include "hypervisor/types.h"

struct snapshot_node {
    char name[HV_HOST_MAX];
    char uri[HV_URI_MAX], migration_host[HV_TEXT_MAX];
    bool connected, has_facts;
    bool settled; /* it was tried once, and its guests are known if it is connected */
    struct hv_facts facts;
    char error[SNAPSHOT_REASON_MAX]; /* why it is not connected */
    int64_t since_ms;                /* wall: connected or disconnected since */
    int64_t created_ms;              /* wall: known since */
    unsigned guests;
    bool cordoned;
    const char *labels; /* JSON object text; all effective; lives with the snapshot */
    const char *taints; /* JSON array text or NULL */
    unsigned outbound, inbound;
    uint64_t running_kib, reserved_kib; /* memory of running guests; reserved for arrivals */
    unsigned running_vcpus, reserved_vcpus;
    char drain[SNAPSHOT_NAME_MAX]; /* the drain, or empty */
};

struct snapshot_object { /* an object; texts live with the snapshot */
    enum object_kind kind;
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
    const char *spec_json, *metadata_json, *status_json; /* the last two may be NULL */
    int64_t created_ms;
    uint64_t resource_version;
};
struct snapshot_drain { /* of a node: the active one, else the newest */
    char node[HV_HOST_MAX];
    enum drain_state state;
    int64_t deadline_ms; /* wall; 0: none */
    unsigned guests[DRAIN_GUEST_COUNT],
        blocked[BLOCK_COUNT]; /* by state; guests that cannot leave, by reason */
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
    const struct snapshot_node *nodes;        /* by name */
    const struct snapshot_guest *guests;      /* by namespace, name */
    const struct snapshot_job *const *newest; /* the newest job of each guest, or NULL */
    const struct snapshot_job *const *jobs;   /* by creation; an unchanged one is shared */
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
