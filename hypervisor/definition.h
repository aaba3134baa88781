/* definition.h - the parts of a guest's live definition that decide where it can run.
 *
 * Only what a decision needs: disks, interfaces, host devices, filesystems, shared memory, launch
 * security, CPU, machine. Unknown elements are skipped. Everything is bounded; what does not fit is
 * counted in `cut`. The text is not trusted: no network, no entities, at most
 * HV_DEFINITION_BYTES_MAX.
 */
#ifndef HYPERVISOR_DEFINITION_H
#define HYPERVISOR_DEFINITION_H

#include "base/own.h"
#include "hypervisor/manager.h"
#include "hypervisor/types.h"

enum {
    HV_DEFINITION_BYTES_MAX = 4 * 1024 * 1024,
    HV_DISKS_MAX = 64,
    HV_INTERFACES_MAX = 32,
    HV_FILESYSTEMS_MAX = 8, /* whose names are kept */
    HV_SOURCE_MAX = 256,    /* a path, a volume, a bridge */
    HV_TOKEN_MAX = 32,
};

enum hv_disk_kind {
    HV_DISK_OTHER, /* another type: whether the target can reach it is not known */
    HV_DISK_FILE,
    HV_DISK_BLOCK,
    HV_DISK_NETWORK,
    HV_DISK_VOLUME,
};
struct hv_disk {
    enum hv_disk_kind kind;
    char target[HV_TOKEN_MAX];  /* vda */
    char source[HV_SOURCE_MAX]; /* path, or name of the volume or image; empty: no medium */
    char pool[HV_NAME_MAX];     /* VOLUME */
    char cache[HV_TOKEN_MAX];   /* none, writeback...; empty: not given */
    char format[HV_TOKEN_MAX];  /* raw, qcow2...; empty: not given */
    bool readonly, shareable, removable; /* removable: a CD-ROM or floppy drive */
    bool lun;                            /* the guest has direct access to the device */
    bool reservations;                   /* SCSI persistent reservations through a helper */
    bool cut;                            /* its path or pool is longer than fits here */
    bool block_job;                      /* a copy, commit or mirror of it is running */
    bool utility;                        /* hot-plugged for a short time: alias ua-utility-* */
    bool plugged;                        /* set by the caller: the persistent definition lacks it */
};
struct hv_interface {
    char type[HV_TOKEN_MAX];    /* bridge network direct user hostdev vdpa... */
    char source[HV_SOURCE_MAX]; /* bridge, network or device; empty: none given */
    bool transient;             /* unplugged for a migration: the device of a failover pair */
    char mac[18];               /* lower case; empty: none given */
};

struct hv_definition {
    char arch[HV_TOKEN_MAX], machine[HV_NAME_MAX];
    char cpu_mode[HV_TOKEN_MAX], cpu_model[HV_NAME_MAX];
    uint64_t cpu_hash; /* of arch, virt type, machine and <cpu> without its topology and NUMA cells,
                          independent of element order; 0: no <cpu> */
    uint64_t
        hugepage_kib; /* size of its pages; 0: plain; 1: huge ones of the host's default size */
    bool cpu_fixed;   /* migratable='off': the guest has features that cannot be migrated */
    bool invtsc, tsc_frequency, reenlightenment, hyperv_passthrough;
    char launch_security[HV_TOKEN_MAX]; /* sev, sev-snp, tdx, s390-pv; empty: none */
    size_t n_disks, n_interfaces;
    struct hv_disk disks[HV_DISKS_MAX];
    struct hv_interface interfaces[HV_INTERFACES_MAX];
    unsigned host_devices;    /* passed through, apart from interfaces */
    unsigned virtiofs, plan9; /* shared folders */
    size_t n_filesystems;     /* names under which the guest mounts the first of them */
    char filesystems[HV_FILESYSTEMS_MAX][HV_TOKEN_MAX];
    unsigned shared_memory_peers; /* ivshmem whose content is not migrated */
    unsigned cut;                 /* disks and interfaces that did not fit */
    unsigned snapshots;           /* set by the caller: snapshots that the host keeps */
    enum hv_manager manager;      /* whose mark the guest has */
};

/* False with ERR_INVALID when the text is no domain definition; then nothing is set. */
MUST_CHECK bool hv_definition_parse(const char *xml, struct hv_definition *out_definition,
                                    struct err *err);

#endif
