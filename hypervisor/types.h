/* types.h - plain records that are exchanged with a hypervisor.
 *
 * Everything is copied by value; the few pointers are owned by the record that holds them and freed
 * by its _fini. No type of libvirt appears here: both implementations use these.
 */
#ifndef HYPERVISOR_TYPES_H
#define HYPERVISOR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "hypervisor/host.h"
#include "hypervisor/mark.h"
#include "hypervisor/migration_status.h"

enum { HV_GUESTS_MAX = 4096 }; /* guests on one host */

enum hv_state {
#define STATE(id, number, name) HV_STATE_##id = (number),
#include "hypervisor/state.def"
#undef STATE
};
enum hv_reason { /* meaning depends on the state */
#define REASON(state, id, number, name) HV_##state##_##id = (number),
#include "hypervisor/state.def"
#undef REASON
};
const char *hv_state_name(int state); /* "running"; "unknown-9" style for others: "unknown" */
const char *hv_reason_name(int state, int reason); /* "booted" */
/* The reverse; NONE and 0 for names that are not listed. */
void hv_state_from_names(const char *state, const char *reason, int *out_state, int *out_reason);
/* "running(booted)" into out (HV_TEXT_MAX). */
void hv_state_text(int state, int reason, char *out_text);

/* What one host answered about one guest. UNREACHABLE never means ABSENT: absent means that the
 * host answered and has no such guest. */
enum hv_presence { HV_UNKNOWN, HV_PRESENT, HV_ABSENT, HV_UNREACHABLE };
const char *hv_presence_name(enum hv_presence presence);  /* unknown present absent unreachable */
enum hv_presence hv_presence_from_name(const char *name); /* HV_UNKNOWN for other names */

enum hv_job_type { /* libvirt's virDomainJobType */
                   HV_JOB_NONE = 0,
                   HV_JOB_BOUNDED = 1,
                   HV_JOB_UNBOUNDED = 2,
                   HV_JOB_COMPLETED = 3,
                   HV_JOB_FAILED = 4,
                   HV_JOB_CANCELLED = 5,
};
enum hv_job_operation { /* libvirt's virDomainJobOperation, all of them */
                        HV_OPERATION_UNKNOWN = 0,
                        HV_OPERATION_START = 1,
                        HV_OPERATION_SAVE = 2,
                        HV_OPERATION_RESTORE = 3,
                        HV_OPERATION_MIGRATION_IN = 4,
                        HV_OPERATION_MIGRATION_OUT = 5,
                        HV_OPERATION_SNAPSHOT = 6,
                        HV_OPERATION_SNAPSHOT_REVERT = 7,
                        HV_OPERATION_DUMP = 8,
                        HV_OPERATION_BACKUP = 9,
                        HV_OPERATION_SNAPSHOT_DELETE = 10,
};

/* Result of a new connection from one host to another. REFUSED: the path works, the other end
 * answered. */
enum hv_path { HV_PATH_UNKNOWN, HV_PATH_OPEN, HV_PATH_REFUSED, HV_PATH_DEAD };
const char *hv_path_name(enum hv_path path); /* unknown open refused dead */

struct hv_observation {
    enum hv_presence presence;
    int state, reason; /* when present */
    bool persistent;   /* when present */
    bool autostart;    /* when present: started with its host; never of a transient guest */
    int job_type;      /* enum hv_job_type, -1 when it was not queried */
    int job_operation; /* enum hv_job_operation */
    int64_t at_ms;     /* monotonic, when the answer came */
};

/* Statistics of a job, as numbers; a field that the hypervisor does not report is 0. */
struct hv_job_stats {
    int type;                                        /* enum hv_job_type */
    int operation;                                   /* enum hv_job_operation */
    uint64_t time_elapsed_ms, downtime_ms, setup_ms; /* downtime: expected while it runs */
    uint64_t data_total, data_processed, data_remaining;
    uint64_t memory_total, memory_processed, memory_remaining;
    uint64_t memory_bps, memory_constant, memory_normal, memory_normal_bytes;
    uint64_t memory_dirty_rate; /* pages per second; 0 in the first iteration */
    uint64_t memory_page_size, memory_iteration, memory_postcopy_requests;
    uint64_t disk_total, disk_processed, disk_remaining, disk_bps;
    uint64_t auto_converge_throttle; /* percent */
};

struct hv_guest {
    char uuid[HV_UUID_MAX];
    char name[HV_NAME_MAX];
    char ns[HV_HOST_MAX]; /* from its metadata, else "default" */
    char *labels;         /* JSON object text, NULL when none; owned */
    char *settings; /* scheduling settings of the guest: JSON object text, NULL when none; owned */
    int state, reason;
    bool persistent;
    uint64_t memory_kib;
    unsigned vcpus;
};
struct hv_guest_list {
    size_t n;
    struct hv_guest *guests; /* owned */
};
void hv_guest_list_free(struct hv_guest_list *list); /* NULL is fine */

struct hv_facts {
    char hostname[HV_TEXT_MAX];
    char uuid[HV_UUID_MAX];
    char cpu_model[HV_TEXT_MAX], arch[32];
    unsigned long libvirt_version, hypervisor_version; /* major*1000000+minor*1000+micro */
    unsigned cpus;
    uint64_t memory_kib, free_memory_kib;
};

/* What a host offers to arriving guests. A part that could not be read is not known; an empty list
 * that is known means none. */
enum { HV_MACHINES_MAX = 4096, HV_LINKS_MAX = 1024, HV_POOLS_MAX = 256, HV_PAGES_MAX = 8 };
struct hv_machine {
    char arch[32], name[64];
};
struct hv_network {
    char name[64];
    bool active;
};
struct hv_bridge { /* any link of the host that an interface can use */
    char name[64];
};
struct hv_pool {
    char name[64], path[256];
    bool active;
};
struct hv_pages {
    uint64_t size_kib, total, free;
};
struct hv_capabilities {
    bool machines_known, networks_known, bridges_known, pools_known, pages_known;
    size_t n_machines, n_networks, n_bridges, n_pools, n_pages;
    struct hv_machine *machines; /* these are owned */
    struct hv_network *networks;
    struct hv_bridge *bridges;
    struct hv_pool *pools;
    struct hv_pages pages[HV_PAGES_MAX];
    uint64_t hash; /* of everything but the free pages: has it changed? */
};
void hv_capabilities_free(struct hv_capabilities *capabilities); /* NULL is fine */
/* Sorts the lists, drops duplicates and fills the hash, which so does not depend on the host's
 * order. */
void hv_capabilities_seal(struct hv_capabilities *capabilities);

enum {                               /* flags of a migration; combined with | */
       HV_MIGRATE_POSTCOPY = 1 << 0, /* allowed, not started */
       HV_MIGRATE_AUTO_CONVERGE = 1 << 1,
       HV_MIGRATE_UNSAFE = 1 << 2,
       HV_MIGRATE_PAUSED = 1 << 3, /* stays paused on the target */
       HV_MIGRATE_TLS = 1 << 4,
       HV_MIGRATE_NON_SHARED_INC = 1 << 5,
       HV_MIGRATE_PERSIST = 1 << 6,         /* define on the target and undefine on the source */
       HV_MIGRATE_NON_SHARED_DISK = 1 << 7, /* disks are copied with their backing files */
       HV_MIGRATE_AS_DEFINED = 1 << 8, /* interfaces are plugged as in the persistent definition */
       HV_MIGRATE_TUNNELLED = 1 << 9,  /* the stream goes through libvirt's own connection */
       HV_MIGRATE_RESUME = 1 << 10,    /* resumes a post-copy whose stream broke */
       HV_MIGRATE_XBZRLE = 1 << 11,    /* only the changed parts of pages are sent */
       HV_MIGRATE_MT = 1 << 12,        /* pages are compressed by several threads */
       HV_MIGRATE_ZSTD = 1 << 13,      /* compressed parallel streams */
       /* 1 << 14 was a flag of earlier versions and is stored: engine/data/flags.h */
};
struct hv_volume; /* volume.h */
struct hv_migrate {
    char target[HV_HOST_MAX]; /* name of a configured host */
    unsigned flags;
    unsigned port;           /* port of the stream on the target; 0: libvirt chooses */
    uint64_t bandwidth_mibs; /* MiB/s, 0 = no limit */
    uint64_t postcopy_bandwidth_mibs;
    int auto_converge_initial, auto_converge_increment; /* 0 = hypervisor's default */
    int parallel_connections;                           /* 0 = one stream */
    const struct hv_volume *volumes; /* disks that are copied, no others; copied by submit */
    size_t n_volumes;                /* up to HV_VOLUMES_MAX; 0: none, all are shared */
    struct hv_mark mark; /* written before the migration begins; without a job: none. A guest that
                            cannot be marked is migrated all the same: reply.with.unmarked */
};

#endif
