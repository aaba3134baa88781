/* needs.h - what a guest needs of any host it runs on, taken from its live definition: machine,
 * CPU, networks, storage pools, huge pages. Many guests need the same, so the fleet keeps each set
 * once and counts who uses it. Pure. */
#ifndef ENGINE_MODEL_NEEDS_H
#define ENGINE_MODEL_NEEDS_H

#include <uthash.h>

#include "hypervisor/definition.h"

enum { NEEDS_LINKS_MAX = 16, NEEDS_POOLS_MAX = 8, NEEDS_LINK_MAX = 64 };

struct needs_facts { /* zeroed before it is filled: compared and hashed as bytes */
    char arch[HV_WORD_MAX], machine[HV_NAME_MAX];
    uint64_t cpu_hash;     /* of the whole CPU as the guest sees it; 0: not known */
    uint64_t hugepage_kib; /* size of its pages; 0: plain ones */
    unsigned n_networks, n_bridges, n_pools;
    char networks[NEEDS_LINKS_MAX][NEEDS_LINK_MAX]; /* libvirt networks */
    char bridges[NEEDS_LINKS_MAX][NEEDS_LINK_MAX];  /* bridges and devices of the host */
    char pools[NEEDS_POOLS_MAX][NEEDS_LINK_MAX];    /* storage pools its disks name */
};
struct needs { /* one set, shared */
    struct needs_facts facts;
    unsigned users;
    UT_hash_handle hh;
};

/* What does not fit is left out: libvirt has the last word. Interfaces that live in the guest's
 * own process (user, passt) need nothing. */
void needs_from(const struct hv_definition *definition, struct needs_facts *out_facts);
/* The shared set for these facts, one user more; NULL without memory. */
struct needs *needs_take(struct needs **all, const struct needs_facts *facts);
void needs_drop(struct needs **all, struct needs *needs); /* NULL is fine */

#endif
