/* state.h - the simulator's internal state: hosts, guests, their copies, jobs, calls. Only
 * hypervisor/sim/ includes it.
 *
 * A guest is the virtual machine; a copy is that guest on one host (libvirt's domain). A migration
 * makes a second copy; sim_copy_state() is the only place where a copy's state changes and where
 * the law of one running copy is checked. A job is one migration; a call is one request of Ferry in
 * flight. Anything that takes time is a timer of its owner.
 *
 * Random numbers come from the seed and the number of the object that needs them, so that more
 * queries do not change how a migration goes.
 */
#ifndef HYPERVISOR_SIM_STATE_H
#define HYPERVISOR_SIM_STATE_H

#include <uthash.h>

#include "hypervisor/sim/sim.h"
#include "hypervisor/sim/timer.h"

enum sim_error {
    SIM_ERROR_NONE,
#define SIM_ERROR(id, code, hv_code, hv_domain, text) SIM_ERROR_##id,
#include "hypervisor/sim/error.def"
#undef SIM_ERROR
    SIM_ERROR_COUNT
};

enum {
    SIM_LANE_MAX = 1024,         /* requests in flight on one lane of one host */
    SIM_HELD_EVENTS_MAX = 256,   /* events that a stopped libvirtd sends later */
    SIM_KEEPALIVE_MS = 30000,    /* 5 s, 6 times: libvirt's default */
    SIM_MONITOR_LOCK_MS = 30000, /* how long libvirt waits for a busy monitor */
    SIM_DOWNTIME_MS = 300,       /* QEMU's default */
    SIM_PAGE_BYTES = 4096,
    SIM_HUGEPAGE_KIB = 2048,
    SIM_GUEST_TIMERS = 2,
    SIM_PATH_MAX = 384,
};

enum job_phase {
    JOB_PREPARE,    /* the target is being set up */
    JOB_CONNECT,    /* the target listens, the stream is being opened */
    JOB_DISKS,      /* named disks are copied; from then on they are kept in sync */
    JOB_COPY,       /* pre-copy iterations; the guest runs on the source */
    JOB_SWITCHOVER, /* stop-and-copy: runs nowhere, the source's monitor does not answer */
    JOB_STUCK,      /* libvirt ended it, but the source's QEMU hangs on a dead socket */
    JOB_POSTCOPY,   /* runs on the target, which fetches the rest */
    JOB_BROKEN,     /* post-copy whose stream is broken; one side or both have noticed */
    JOB_RECOVER,    /* a new stream for it is being opened */
    JOB_FINISH      /* runs on the target, the source is being cleaned up */
};

struct copy {
    struct guest *guest;
    struct host *host;
    char name[HV_NAME_MAX];
    int state, reason;
    bool persistent, autostart;
    struct hv_mark mark;
    bool resumes_with_daemon; /* left paused by a dead libvirtd, which resumes it at its start */
    bool starts_with_daemon;  /* a stopped libvirtd starts it when it goes on ... */
    int64_t stopped_ms;       /* ... and the source stopped it for that then */
    struct job *out, *in;
    struct hv_job_stats completed;
    struct copy *host_prev, *host_next, *guest_prev, *guest_next;
};

struct guest {
    struct sim_guest what;
    struct sim_guest *stored; /* owned; NULL: the persistent definition is as the live one */
    bool live_changed, stored_changed;
    struct timer changed, off;
    struct copy *copies;
    unsigned running;
    int64_t frozen_ms,
        frozen_since_ms; /* vCPUs stopped while its state is running; -1: they are not */
    struct job *job;
    struct fault *armed;                  /* wait for iteration 1 of its next migration */
    bool planned_faults[SIM_FAULT_COUNT]; /* for its next migration, then cleared */
    UT_hash_handle hh;
};

struct held_event {
    struct hv_event event;
    struct held_event *prev, *next;
};

struct volume {
    char path[SIM_PATH_MAX];
    uint64_t bytes;
    struct volume *prev, *next;
};

struct host {
    struct sim_host what;
    unsigned number;
    unsigned faults[SIM_FAULT_COUNT]; /* how many of each act now */
    bool connected;                   /* as Ferry sees it */
    struct timer keepalive, reconnect;
    struct copy *copies;
    struct job *out, *in;
    unsigned streams_out, streams_in; /* those that flow */
    uint64_t used_kib;
    struct call *calls[HV_LANE_COUNT]; /* oldest first */
    unsigned in_flight[HV_LANE_COUNT];
    struct hv_lane_status lanes[HV_LANE_COUNT];
    struct held_event *held;
    unsigned held_n;
    struct volume *volumes; /* files of the script, or copied with a guest */
    UT_hash_handle hh;
};

enum call_stage {
    CALL_EXECUTE, /* in flight to the host */
    CALL_MONITOR, /* waits for the source's monitor; the timer is libvirt's lock timeout */
    CALL_JOB,     /* a migrate call whose job runs */
    CALL_MEASURE, /* waits for the end of its window */
    CALL_ANSWER   /* the answer is known and in flight */
};

struct call {
    struct hv_request request;
    char *text;                /* owned copy of request.with.text */
    struct hv_volume *volumes; /* owned copy of request.with.migrate.volumes */
    struct host *host;
    uint64_t number;
    enum call_stage stage;
    bool hung; /* the host does not answer now */
    struct err err;
    enum hv_path path; /* PROBE_PATH: the answer */
    int64_t queued_ms;
    struct timer timer;
    struct job *job; /* CALL_JOB: its own; CALL_MONITOR: the one it waits for */
    struct call *prev, *next, *wait_prev, *wait_next;
};

struct stream { /* `left` and `dirtied` are values at the job's moved_ms */
    bool flows;
    uint64_t rate_bps, shown_bps, limit_bps, postcopy_limit_bps;
    uint64_t iteration, iteration_bytes, left, dirtied, processed, dirty_pages;
    uint64_t downtime_limit_ms, downtime_ms, setup_ms, overhead_ms, throttle, hot_iterations;
};

struct job {
    uint64_t number, chance;
    struct guest *guest;
    struct copy *source, *target; /* target NULL once given up */
    struct host *from, *to;
    struct hv_migrate how;
    struct hv_volume *volumes; /* owned; how.volumes */
    struct sim_guest stored;   /* its persistent definition when the call began */
    uint64_t disk_bytes;       /* of the disks that are migrated */
    struct call *call;         /* NULL when Ferry's call has ended */
    struct call *waiting;      /* calls that wait for the monitor */
    enum job_phase phase;
    struct timer timer, peer;
    bool held; /* the timer is due, but a libvirtd that must act does not answer */
    bool peer_lost, starts_paused, started, wants_postcopy;
    bool source_knows, target_knows;   /* that the post-copy stream is broken */
    bool cancelled, bulk;              /* JOB_STUCK: by an abort; while disks were copied */
    enum sim_fault_kind planned_fault; /* stops it before iteration 1; SIM_FAULT_COUNT: none */
    unsigned stalls, stalls_out;       /* both ways; only towards the target */
    int64_t began_ms, iteration_began_ms, moved_ms, paused_ms;
    int64_t settled_ms; /* a broken post-copy: from then on QEMU's state is libvirt's */
    struct stream stream;
    struct job *out_prev, *out_next, *in_prev, *in_next;
};

struct fault {
    struct sim_fault what;
    struct host *host;
    struct guest *guest;
    struct job *job; /* a stall: the job whose stream stalls; NULL once that has ended */
    bool acts;
    struct timer timer;
    struct fault *prev, *next, *armed_prev, *armed_next;
};

struct sim {
    uint64_t seed;
    int64_t now_ms, epoch_ms;
    struct hv hv;
    struct clock clock;
    struct hv_event_sink events;
    struct timers timers;
    struct host *hosts;   /* hash by name */
    struct guest *guests; /* hash by uuid */
    struct fault *faults;
    uint64_t jobs, calls, violations, daemons_ended, trace;
    bool advances;
};

#endif
