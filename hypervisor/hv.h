/* hv.h - the port to hosts and guests. It has two full implementations: libvirt/ (the real one) and
 * sim/ (deterministic, virtual time). tests/contract/ tests both against the same contract.
 *
 * Every call is asynchronous: a request, later exactly one reply. Nothing here blocks the caller,
 * because any call to a hypervisor may block for minutes. The caller decides how long to wait for
 * an answer. Events come on their own.
 *
 * One implementation has three interfaces, passed to callers separately, so that code which only
 * reads cannot act: struct hv_observe, hv_probe, hv_act. A request through the wrong one is a bug
 * (assert).
 *
 * Threads: submit from any thread. Sinks are called on the implementation's threads (libvirt: the
 * lane's worker or the event loop; sim: inside sim_advance) and must be quick: copy, push to a
 * queue, return. A reply's owned parts go to the sink (hv_reply_fini when done).
 */
#ifndef HYPERVISOR_HV_H
#define HYPERVISOR_HV_H

#include "base/own.h"
#include "hypervisor/types.h"
#include "hypervisor/volume.h"

enum hv_call {
#define CALL(id, name, access, lane, help) HV_CALL_##id,
#include "hypervisor/call.def"
#undef CALL
    HV_CALL_COUNT
};
enum hv_access { HV_ACCESS_OBSERVE, HV_ACCESS_PROBE, HV_ACCESS_ACT, HV_ACCESS_COUNT };
enum hv_lane {
    HV_LANE_OBSERVE,
    HV_LANE_STATS,
    HV_LANE_CONTROL,
    HV_LANE_MIGRATE,
    HV_LANE_PROBE,
    HV_LANE_COUNT
};

const char *hv_call_name(enum hv_call call);
enum hv_access hv_call_access(enum hv_call call);
enum hv_lane hv_call_lane(enum hv_call call);
const char *hv_lane_name(enum hv_lane lane);

/* May a call that changes a guest be made now? False: err says why not. Any thread; quick. ok NULL:
 * always. */
struct hv_permit {
    void *ctx;
    bool (*ok)(void *ctx, struct err *err);
};

struct hv_reply;
struct hv_reply_sink {
    void (*on_reply)(void *ctx, struct hv_reply *take_reply); /* contents move to the sink */
    void *ctx;
};

struct hv_request {
    uint64_t id; /* chosen by the caller, returned in the reply */
    enum hv_call call;
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX]; /* uuid, for calls about a guest */
    struct hv_reply_sink reply_to;
    union {
        struct hv_migrate migrate; /* MIGRATE; RESUME_STREAM: target and port */
        struct {
            uint64_t value; /* SET_SPEED MiB/s, SET_DOWNTIME ms, MEASURE_DIRTY s,
                               SET_AUTOSTART 1 or 0 */
            bool postcopy;  /* SET_SPEED: the post-copy limit; ABORT: pause the stream */
        } tune;
        char disk[HV_DISK_NAME_MAX]; /* BLOCK_INFO */
        struct hv_location location; /* VOLUME_INFO */
        char peer[HV_HOST_MAX];      /* PROBE_PATH: name of the other host */
        const char *text; /* COMPARE_CPU: a whole live guest XML (a bare <cpu> would be compared
                             with KVM, whatever runs the guest); copied by submit */
    } with;
};

struct hv_reply {
    uint64_t id;
    enum hv_call call;
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX];
    /* code NONE: success. HYPERVISOR: the host refused, hv_* filled. UNREACHABLE: no connection, or
     * it broke during the call: then it is not known whether an order was carried out. NOT_FOUND:
     * no such guest there (DOMAIN_STATE does not fail with it but answers HV_ABSENT; DOMAIN_STATE
     * on an unreachable host answers HV_UNREACHABLE with err set as well). LIMIT: the lane's queue
     * is full, no call was made. */
    struct err err;
    int64_t queued_ms, began_ms, ended_ms; /* monotonic */
    int snapshots; /* GUEST_XML: snapshots that the host keeps, which are not in the XML; a guest
                      with any cannot be migrated. -1: not known */
    union {
        struct hv_observation observation;    /* DOMAIN_STATE */
        struct hv_job_stats stats;            /* JOB_STATS, COMPLETED_STATS */
        struct hv_facts facts;                /* HOST_FACTS */
        struct hv_guest_list *guests;         /* LIST_GUESTS; owned */
        struct hv_capabilities *capabilities; /* HOST_CAPABILITIES; owned */
        char *text;                    /* XML answers; owned. GUEST_XML_STORED of a guest that
                                          is not defined there but only runs: NOT_FOUND */
        struct hv_block_info block;    /* BLOCK_INFO */
        struct hv_volume_info volume;  /* VOLUME_INFO */
        enum hv_path path;             /* PROBE_PATH */
        struct hv_migration migration; /* QUERY_MIGRATE; no migration is the status NONE */
        int comparison;                /* COMPARE_CPU: libvirt's virCPUCompareResult */
        uint64_t dirty_bps;            /* MEASURE_DIRTY: bytes of distinct pages per second */
        char unmarked[HV_TEXT_MAX];    /* MIGRATE: why the guest could not be marked; else empty */
    } with;
};
void hv_reply_fini(struct hv_reply *reply);

/* Why a host was lost, in hv_code of the event's error: libvirt's own numbers. */
enum hv_lost {
    HV_LOST_SILENT = 1,  /* keepalives were not answered: the path, or a daemon that hangs */
    HV_LOST_CLOSED = 38, /* the connection was closed or reset: the daemon ended */
};

enum hv_event_kind {
    HV_EVENT_CONNECTED,     /* connected to a host; sent again after each loss */
    HV_EVENT_DISCONNECTED,  /* a host is unreachable; err has the reason */
    HV_EVENT_LIFECYCLE,     /* a = enum hv_lifecycle, b = libvirt's detail */
    HV_EVENT_CHANGED,       /* its definition: a device, metadata or a block job changed */
    HV_EVENT_ITERATION,     /* a = number of the iteration that begins */
    HV_EVENT_JOB_COMPLETED, /* stats: final numbers of a successful outgoing migration */
    HV_EVENT_JOB_ENDED      /* made by the collector: statistics show that an outgoing migration has
                               failed or was cancelled; a = enum hv_job_type */
};
enum hv_lifecycle { /* libvirt's virDomainEventType */
                    HV_LIFECYCLE_DEFINED,
                    HV_LIFECYCLE_UNDEFINED,
                    HV_LIFECYCLE_STARTED,
                    HV_LIFECYCLE_SUSPENDED,
                    HV_LIFECYCLE_RESUMED,
                    HV_LIFECYCLE_STOPPED,
                    HV_LIFECYCLE_SHUTDOWN,
                    HV_LIFECYCLE_PMSUSPENDED,
                    HV_LIFECYCLE_CRASHED,
};
const char *hv_lifecycle_name(int lifecycle);
struct hv_event {
    enum hv_event_kind kind;
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX], guest_name[HV_NAME_MAX];
    int a, b;
    struct hv_job_stats stats; /* JOB_COMPLETED */
    struct err err;            /* DISCONNECTED */
    int64_t at_ms;             /* monotonic */
};
struct hv_event_sink {
    void (*on_event)(void *ctx, const struct hv_event *event); /* borrowed */
    void *ctx;
};

/* One lane of one host, for self-metrics. */
struct hv_lane_status {
    unsigned workers, in_flight;
    int64_t oldest_ms; /* age of the oldest call in flight, 0 when none */
    uint64_t calls, failures;
    uint64_t total_ms; /* time spent in calls that ended */
    /* Connections that were asked for and given up: that have not come back, and all of them. */
    unsigned openings_hanging;
    uint64_t openings_abandoned;
};

struct hv_ops {
    /* False with ERR_NOT_FOUND (no such host), ERR_LIMIT (lane full), ERR_NOMEM: then there
     * will be no reply. */
    bool (*submit)(void *impl, const struct hv_request *request, struct err *err);
    bool (*lane_status)(void *impl, const char *host, enum hv_lane lane,
                        struct hv_lane_status *out_status);
    void (*free)(void *impl);
};
/* What an implementation's constructor returns. */
struct hv {
    const struct hv_ops *ops;
    void *impl;
};
void hv_free(struct hv *hv); /* NULL is fine; blocked calls are abandoned, not waited for */
DEFINE_OWNED(hv)
bool hv_lane_status(const struct hv *hv, const char *host, enum hv_lane lane,
                    struct hv_lane_status *out_status);

#endif
