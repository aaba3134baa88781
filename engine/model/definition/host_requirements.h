/* host_requirements.h - what any host must have for a guest, from its live definition: machine,
 * CPU, networks, storage pools, huge pages; and the kinds of its disks, by name. Many guests
 * have equal requirements, so the fleet keeps each set once with a reference count. Pure. */
#ifndef ENGINE_MODEL_DEFINITION_HOST_REQUIREMENTS_H
#define ENGINE_MODEL_DEFINITION_HOST_REQUIREMENTS_H

#include <uthash.h>

#include "engine/model/definition/migratable.h"

enum { REQUIREMENTS_LINKS_MAX = 16, REQUIREMENTS_POOLS_MAX = 8, REQUIREMENTS_LINK_MAX = 64 };
enum { REQUIREMENTS_DISKS_MAX = 24, REQUIREMENTS_DISK_MAX = 15 };

enum {                                    /* of a disk; combined with | */
       REQUIREMENTS_DISK_SHARED = 1 << 0, /* every host sees it under the same name */
       REQUIREMENTS_DISK_SHAREABLE = 1 << 1,
       REQUIREMENTS_DISK_LUN = 1 << 2,
       REQUIREMENTS_DISK_READONLY = 1 << 3,
       REQUIREMENTS_DISK_REMOVABLE = 1 << 4,
       REQUIREMENTS_DISK_BY_NAME = 1
                                   << 6, /* a file, device or volume, which each host has by name */
       REQUIREMENTS_DISK_FILESYSTEM = 1 << 5, /* not a disk: a shared folder, by its mount name */
};
struct host_requirements_disk {
    char target[REQUIREMENTS_DISK_MAX];
    unsigned char flags;
};

struct host_requirements_facts { /* zeroed before it is filled: compared and hashed as bytes */
    char arch[HV_TOKEN_MAX], machine[HV_NAME_MAX];
    uint64_t cpu_hash;     /* of the whole CPU that the guest sees; 0: not known */
    uint64_t hugepage_kib; /* page size; 0: default pages */
    unsigned n_networks, n_bridges, n_pools, n_disks;
    bool disks_cut; /* there are more disks, or longer names, than fit */
    char networks[REQUIREMENTS_LINKS_MAX][REQUIREMENTS_LINK_MAX]; /* libvirt networks */
    char bridges[REQUIREMENTS_LINKS_MAX]
                [REQUIREMENTS_LINK_MAX];                       /* bridges and devices of the host */
    char pools[REQUIREMENTS_POOLS_MAX][REQUIREMENTS_LINK_MAX]; /* storage pools of its disks */
    struct host_requirements_disk
        disks[REQUIREMENTS_DISKS_MAX]; /* by host_requirements_add_disks() */
};
struct host_requirements { /* one set, shared */
    struct host_requirements_facts facts;
    unsigned users;
    UT_hash_handle hh;
};

/* What does not fit is left out: libvirt checks it at the migration. Interfaces inside the
 * guest's own process (user, passt) need nothing. */
void host_requirements_from(const struct hv_definition *definition,
                            struct host_requirements_facts *out_facts);
/* Adds its disks; the configuration tells which are shared. */
void host_requirements_add_disks(const struct hv_definition *definition,
                                 const struct migratable_config *config,
                                 struct host_requirements_facts *facts);
/* The shared set for these facts, with one more reference; NULL without memory. */
struct host_requirements *host_requirements_take(struct host_requirements **all,
                                                 const struct host_requirements_facts *facts);
void host_requirements_drop(struct host_requirements **all,
                            struct host_requirements *requirements); /* NULL is fine */

#endif
