/* needs.h - what a guest needs of any host it runs on, taken from its live definition: machine,
 * CPU, networks, storage pools, huge pages; and what kind of disks it has, by name. Many guests
 * need the same, so the fleet keeps each set once and counts who uses it. Pure. */
#ifndef ENGINE_MODEL_NEEDS_H
#define ENGINE_MODEL_NEEDS_H

#include <uthash.h>

#include "engine/model/migratable.h"

enum { NEEDS_LINKS_MAX = 16, NEEDS_POOLS_MAX = 8, NEEDS_LINK_MAX = 64 };
enum { NEEDS_DISKS_MAX = 24, NEEDS_DISK_MAX = 15 };

enum {                             /* of a disk; combined with | */
       NEEDS_DISK_SHARED = 1 << 0, /* every host sees it under the same name */
       NEEDS_DISK_SHAREABLE = 1 << 1,
       NEEDS_DISK_LUN = 1 << 2,
       NEEDS_DISK_READONLY = 1 << 3,
       NEEDS_DISK_REMOVABLE = 1 << 4,
       NEEDS_DISK_FILESYSTEM = 1 << 5, /* no disk at all: a shared folder, by its mount name */
};
struct needs_disk {
    char target[NEEDS_DISK_MAX];
    unsigned char flags;
};

struct needs_facts { /* zeroed before it is filled: compared and hashed as bytes */
    char arch[HV_WORD_MAX], machine[HV_NAME_MAX];
    uint64_t cpu_hash;     /* of the whole CPU as the guest sees it; 0: not known */
    uint64_t hugepage_kib; /* size of its pages; 0: plain ones */
    unsigned n_networks, n_bridges, n_pools, n_disks;
    bool disks_cut; /* there are more disks, or longer names, than fit */
    char networks[NEEDS_LINKS_MAX][NEEDS_LINK_MAX]; /* libvirt networks */
    char bridges[NEEDS_LINKS_MAX][NEEDS_LINK_MAX];  /* bridges and devices of the host */
    char pools[NEEDS_POOLS_MAX][NEEDS_LINK_MAX];    /* storage pools its disks name */
    struct needs_disk disks[NEEDS_DISKS_MAX];       /* by needs_add_disks() */
};
struct needs { /* one set, shared */
    struct needs_facts facts;
    unsigned users;
    UT_hash_handle hh;
};

/* What does not fit is left out: libvirt has the last word. Interfaces that live in the guest's
 * own process (user, passt) need nothing. */
void needs_from(const struct hv_definition *definition, struct needs_facts *out_facts);
/* Adds its disks; the configuration says which are shared. */
void needs_add_disks(const struct hv_definition *definition, const struct migratable_config *config,
                     struct needs_facts *facts);
/* The shared set for these facts, one user more; NULL without memory. */
struct needs *needs_take(struct needs **all, const struct needs_facts *facts);
void needs_drop(struct needs **all, struct needs *needs); /* NULL is fine */

#endif
