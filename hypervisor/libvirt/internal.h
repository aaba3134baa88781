/* internal.h - what the files of libvirt/ share; no other file includes this.
 *
 * One struct libvirt holds the hosts; a host has five lanes and a keeper. Threads are detached and
 * hold a reference each, because any libvirt call may block for minutes: hv_free() shuts the gate,
 * wakes all threads and returns; a thread whose call returns later finds the gate shut, frees what
 * it holds and drops its reference.
 *
 * A removed host leaves the list, answers what was queued, and is freed after its threads.
 * Locks, in the order they may nest: hosts_lock, keeper.lock, then gate; hosts_lock, lane.lock,
 * then libvirt.lock; openings.lock by itself. No libvirt call is made under any of them, and no
 * sink under a lane's.
 */
#ifndef HYPERVISOR_LIBVIRT_INTERNAL_H
#define HYPERVISOR_LIBVIRT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "hypervisor/libvirt/decode.h"
#include "hypervisor/libvirt/hosts.h"
#include "hypervisor/libvirt/libvirt.h"
#include "hypervisor/libvirt/opening.h"

enum {
    OBSERVE_WORKERS_MAX = 4, /* one, more only while that one hangs */
    PROBE_WORKERS_MAX = 8,
    HELPER_CALLS_MAX = 8,     /* to one host's helper at a time */
    LANE_IDLE_MS = 30000,     /* idle workers end after this time */
    LANE_WAIT_MAX_MS = 10000, /* a request not started by then is answered UNREACHABLE */
    LANE_SLOW_MS = 1000,      /* a call or opening this old counts as hanging */
    TICK_MS = 250,            /* housekeeping */
    FREE_WAIT_MS = 2000,      /* how long hv_free() waits for threads that do not hang */
    CLOCK_CHECK_MS = 50,      /* a wait looks at the caller's clock this often */
};

struct host;
struct libvirt;

struct job { /* a request; owned by the queue, then by the worker */
    struct job *next;
    struct hv_request request;
    char *text;                /* copy of request.with.text */
    struct hv_volume *volumes; /* copy of request.with.migrate.volumes */
    struct host *host;
    struct hv_host *target; /* MIGRATE, RESUME_STREAM, PROBE_PATH: a copy; else NULL */
    int64_t queued_ms;
};

struct worker { /* linked into its lane; fields under the lane's lock unless noted */
    struct worker *next;
    struct lane *lane;
    virConnectPtr conn; /* only its own thread touches it */
    bool opens_early;   /* connects before there is work */
    int64_t began_ms;   /* of the call in flight, 0: none */
    int64_t opening_ms; /* start of opening its connection, 0: not opening */
};

struct lane {
    struct host *host;
    enum hv_lane id;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct job *first, **last;
    struct worker *workers;
    unsigned n_queued, n_workers, busy;
    unsigned measuring;           /* MEASURE_DIRTY calls, queued or running */
    unsigned peak, last_peak;     /* most workers busy at once, in this window and the last */
    int64_t window_ms;            /* when this window began */
    int64_t retry_ms, backoff_ms; /* no connection attempt before retry_ms ... */
    struct err open_err;          /* ... because of this error */
    uint64_t calls, failures, total_ms;
};

enum keeper_reported { REPORTED_NOTHING, REPORTED_CONNECTED, REPORTED_DISCONNECTED };
/* Holds the connection for events and reports whether the host is reachable. */
struct keeper {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool nudged;     /* retry now: a worker could connect */
    bool lost;       /* libvirt closed the connection */
    int lost_reason; /* virConnectCloseReason */
    enum keeper_reported reported;
};

struct host {
    struct libvirt *libvirt;
    struct hv_host config;
    struct lane lanes[HV_LANE_COUNT];
    struct keeper keeper;
    struct openings openings;
    atomic_uint helper_calls;
    atomic_bool removed;       /* its threads end; no event of it is sent any more */
    unsigned threads;          /* under libvirt.lock: of this host */
    int64_t removed_ms;        /* real time */
    struct host *next_removed; /* in libvirt.removed */
};

struct libvirt {
    struct hv hv;
    const struct clock *clock;
    struct hv_event_sink events;
    struct hv_permit permit; /* for calls of ACT */
    pthread_rwlock_t gate;   /* read: around each call of a sink; write: shutting */
    bool shut;               /* under gate: no sink is called any more */
    atomic_bool closing;
    atomic_uint refs;
    pthread_mutex_t lock; /* threads */
    pthread_cond_t changed;
    unsigned threads;
    struct host *removed;        /* under lock: waiting until their threads have ended */
    pthread_rwlock_t hosts_lock; /* read: while a host of the list is used; write: changing it */
    size_t n;
    struct host **hosts; /* sorted by name */
};

/* libvirt.c */
void libvirt_ref(struct libvirt *libvirt);
void libvirt_unref(struct libvirt *libvirt);
int64_t libvirt_now(const struct libvirt *libvirt);
/* A detached thread, all signals blocked, until libvirt_thread_end(). host: not freed before. */
MUST_CHECK bool libvirt_thread(struct libvirt *libvirt, struct host *host, void *(*run)(void *),
                               void *arg);
void *libvirt_thread_end(struct libvirt *libvirt, struct host *host);
void libvirt_reply(struct libvirt *libvirt, const struct job *job, struct hv_reply *take_reply);
void libvirt_emit(struct libvirt *libvirt, const struct hv_event *event);

/* loop.c: libvirt's process-wide set-up and event loop, once. */
MUST_CHECK bool libvirt_loop_start(struct err *err);

/* wait.c: condition variables on the monotonic clock. */
void libvirt_wait_cond_init(pthread_cond_t *cond);
void libvirt_wait_cond(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ms);

/* connection.c */
virConnectPtr libvirt_connection_open(const struct hv_host *host, bool read_only, struct err *err);
void libvirt_connection_close(virConnectPtr conn); /* NULL is fine; may block on a hanging host */
bool libvirt_connection_is_alive(virConnectPtr conn);
/* Copies libvirt's last error; false. conn NULL: it could not be opened. */
bool libvirt_connection_fail(virConnectPtr conn, struct err *err);

/* lane.c */
void libvirt_lane_init(struct lane *lane, struct host *host, enum hv_lane id);
void libvirt_lane_fini(struct lane *lane);
MUST_CHECK bool libvirt_lane_submit(struct lane *lane, struct job *take_job, struct err *err);
void libvirt_lane_warm(
    struct lane *lane); /* starts a connected worker in advance, for urgent orders */
void libvirt_lane_tick(
    struct lane *lane); /* expires old requests, adds workers past a hanging call */
void libvirt_lane_retry_now(struct lane *lane); /* the host answers again: reset the backoff */
void libvirt_lane_wake(struct lane *lane);
void libvirt_lane_close(struct lane *lane); /* its host was removed: answers what is queued */
void libvirt_lane_status(struct lane *lane, struct hv_lane_status *out_status);
void libvirt_lane_count(struct lane *lane,
                        const struct hv_reply *reply); /* counts a call of helper.c */
void libvirt_job_free(struct job *job);

/* keeper.c, events.c */
void libvirt_keeper_init(struct keeper *keeper);
void libvirt_keeper_fini(struct keeper *keeper);
void *libvirt_keeper_main(void *host);
void libvirt_keeper_nudge(struct keeper *keeper);
void libvirt_keeper_lost(struct keeper *keeper, int reason);
enum { EVENTS_CALLBACKS = 7 };
struct events {
    int ids[EVENTS_CALLBACKS]; /* -1: not registered */
    bool watches_close;
};
MUST_CHECK bool libvirt_events_register(struct host *host, virConnectPtr conn,
                                        struct events *out_events, struct err *err);
void libvirt_events_deregister(struct events *events, virConnectPtr conn);

/* calls.c, host_capabilities.c, volume.c, act.c: each runs one call on a connection and fills
 * reply->with or reply->err. */
typedef bool call_function(virConnectPtr conn, const struct job *job, struct hv_reply *reply);
call_function libvirt_capabilities, libvirt_volume_info;
bool libvirt_block_info(virDomainPtr domain, const char *disk, struct hv_block_info *out_info);
void libvirt_call_run(virConnectPtr conn, const struct job *job, struct hv_reply *reply);
bool libvirt_act_migrate(virDomainPtr domain, const struct job *job, char *out_unmarked,
                         struct err *err);
bool libvirt_act_control(virDomainPtr domain, const struct hv_request *request);

/* rescue.c */
bool libvirt_rescue_yank(virDomainPtr domain, struct err *err);
/* Enters QEMU's monitor: it waits while that is blocked. */
bool libvirt_rescue_query(virDomainPtr domain, struct hv_migration *out, struct err *err);
bool libvirt_rescue_drop_copy(virDomainPtr domain, struct err *err);
/* Only a source that is paused(postcopy-failed). Success means accepted, not connected: watch the
 * states. */
bool libvirt_rescue_resume_stream(virDomainPtr domain, const struct job *job, struct err *err);
/* QEMU's command for that; the caller frees. */
char *libvirt_resume_order(const char *host, unsigned port);

/* dirty.c */
bool libvirt_dirty_measure(virDomainPtr domain, const struct job *job, uint64_t *out_bps,
                           struct err *err);

/* helper.c */
MUST_CHECK bool libvirt_helper_submit(struct host *host, struct job *take_job, struct err *err);

#endif
