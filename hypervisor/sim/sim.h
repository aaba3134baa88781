/* sim.h - a deterministic simulation of hosts, links and guests behind the same port as libvirt.
 *
 * Virtual time, one thread, one seed: the same script gives the same events in the same order,
 * always. Migrations share their hosts' link bandwidth; guests dirty memory at a rate inside a
 * working set; iterations, convergence, switch-over and downtime follow from that. Faults are those
 * of fault.def, by script.
 *
 * It is not a mock: it implements hv.h fully (tests/contract/ runs on both) and checks its own law,
 * that no guest ever has two running copies.
 *
 * Threads: one, the caller's. Sinks are called inside sim_advance() and submit never calls a sink
 * itself.
 */
#ifndef HYPERVISOR_SIM_SIM_H
#define HYPERVISOR_SIM_SIM_H

#include "base/clock.h"
#include "hypervisor/hv.h"

struct sim;

enum sim_fault_kind {
#define SIM_FAULT(id, name, help) SIM_FAULT_##id,
#include "hypervisor/sim/fault.def"
#undef SIM_FAULT
    SIM_FAULT_COUNT
};
const char *sim_fault_name(enum sim_fault_kind kind);
bool sim_fault_from_name(const char *name, enum sim_fault_kind *out_kind);

#define SIM_MACHINE "pc-i440fx-7.2"

struct sim_host {
    char name[HV_HOST_MAX];
    uint64_t memory_kib; /* a guest that does not fit is refused; 0: no limit */
    unsigned cpus;
    uint64_t link_bps;    /* bytes per second, each direction, shared by its migrations */
    int64_t keepalive_ms; /* silence after which a connection is closed; 0: 30000 */
    /* All hosts have the same capabilities (offer.c), except these. A guest that needs one is
     * refused. */
    char lacks_machine[64], lacks_network[64], lacks_bridge[64], lacks_pool[64];
    bool other_cpu;     /* COMPARE_CPU says incompatible */
    uint64_t hugepages; /* of 2 MiB */
    bool helper;        /* a `ferry hostd` answers there, also when its libvirtd does not */
    uint64_t pool_free; /* bytes left in each of its pools; 0: plenty */
    unsigned long libvirt_version; /* 0: 9.0.0; its quirks: hypervisor/versions.def */
    unsigned long qemu_version;    /* 0: 7.2.22 */
};
struct sim_guest {
    char name[HV_NAME_MAX], uuid[HV_UUID_MAX], ns[HV_HOST_MAX];
    uint64_t memory_bytes, working_set_bytes;
    uint64_t dirty_bps; /* bytes of distinct pages written per second, within the set */
    unsigned vcpus;
    bool persistent, paused, autostart;
    bool local_disk, host_device;    /* in its definition: these prevent migration */
    char labels[160], settings[448]; /* JSON, as in struct hv_guest; empty: none */
    char machine[64];                /* empty: SIM_MACHINE */
    char network[64], bridge[64];    /* an interface on it; empty: none */
    uint64_t hugepage_kib;           /* as in struct hv_definition */
    bool shared_disk, utility_disk;  /* on the pool "shared"; hot-plugged for a short time */
    bool block_job;                  /* of its shared or local disk */
    bool snapshot;                   /* the host keeps one, which prevents migration */
    uint64_t disk_bytes;             /* of its local disk, vda; 0: 1 GiB */
    struct hv_location disk;         /* location of that disk; empty: some file */
};
struct sim_fault {
    enum sim_fault_kind kind;
    int64_t at_ms;              /* virtual time; or, when after_iteration_ms >= 0 ... */
    int64_t after_iteration_ms; /* ... this long after iteration 1 of guest's next migration; -1:
                                   not used */
    char host[HV_HOST_MAX];     /* for faults of a host */
    char guest[HV_UUID_MAX];    /* for faults of a migration or guest */
    int64_t duration_ms;        /* 0: for ever, where that makes sense */
};

struct sim *sim_new(uint64_t seed, int64_t epoch_wall_ms, const struct hv_event_sink *events,
                    struct err *err);
void sim_free(struct sim *sim);
DEFINE_OWNED(sim)

struct hv *sim_hv(struct sim *sim);             /* borrowed; hv_free on it does nothing */
const struct clock *sim_clock(struct sim *sim); /* virtual time */
MUST_CHECK bool sim_add_host(struct sim *sim, const struct sim_host *host, struct err *err);
/* A uuid that is active on another host must be persistent: it is only defined here. */
MUST_CHECK bool sim_add_guest(struct sim *sim, const char *host, const struct sim_guest *guest,
                              struct err *err);
/* Its host and guest must exist. A fault of a migration hits the one in flight, or nothing;
 * PORT_REFUSED, PORT_DROPPED and NO_MEMORY take a target host (while it lasts) or a guest (its next
 * migration). ERR_INVALID, ERR_NOT_FOUND. */
MUST_CHECK bool sim_add_fault(struct sim *sim, const struct sim_fault *fault, struct err *err);

enum sim_which { SIM_LIVE, SIM_STORED, SIM_BOTH };
/* Edits the guest of this uuid: replaces everything but names, size and state in its live
 * definition, its persistent one (if any) or both; the event is sent when time advances. Labels and
 * settings in effect are those of the live one. ERR_NOT_FOUND. */
MUST_CHECK bool sim_set_guest(struct sim *sim, const struct sim_guest *guest, enum sim_which which,
                              struct err *err);
/* Replaces memory, CPUs and capabilities of the host of this name; its link stays. No event is
 * sent. ERR_NOT_FOUND. */
MUST_CHECK bool sim_set_host(struct sim *sim, const struct sim_host *host, struct err *err);

/* Creates a raw file of that size; 0: removes it. ERR_NOT_FOUND. */
MUST_CHECK bool sim_set_volume(struct sim *sim, const char *host, const char *path, uint64_t bytes,
                               struct err *err);

/* Runs everything due up to and including until_ms; then the time is until_ms. */
void sim_advance(struct sim *sim, int64_t until_ms);
/* When the next thing is due; INT64_MAX when nothing is. */
int64_t sim_next_ms(const struct sim *sim);

/* Copies of a guest running right now, over all hosts; the law is <= 1. */
unsigned sim_running_copies(const struct sim *sim, const char *uuid);
/* Host on which it runs or is paused, NULL when none. */
const char *sim_guest_host(const struct sim *sim, const char *uuid);
/* Is it defined on that host? */
bool sim_guest_persistent(const struct sim *sim, const char *uuid);
/* How long a guest's vCPUs were stopped, up to now, although its state was running: libvirt cancels
 * the mirror of a disk over a dead path. */
int64_t sim_frozen_ms(const struct sim *sim, const char *uuid);
size_t sim_guest_count(const struct sim *sim);  /* that run or are paused somewhere */
uint64_t sim_violations(const struct sim *sim); /* times the law was broken; must stay 0 */
/* Times an order crashed a host's daemon: hypervisor/versions.def. */
uint64_t sim_daemons_ended(const struct sim *sim);
/* A hash over the whole state: same seed and script, same hash. */
uint64_t sim_hash(const struct sim *sim);

#endif
