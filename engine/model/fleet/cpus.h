/* cpus.h - cache of CPU comparisons: which node can provide which CPU. One comparison per kind
 * of CPU and node, not per guest. Bounded: cleared when full. Pure. */
#ifndef ENGINE_MODEL_FLEET_CPUS_H
#define ENGINE_MODEL_FLEET_CPUS_H

#include <uthash.h>

#include "hypervisor/types.h"

enum cpu_fit { CPU_FIT_UNKNOWN, CPU_FIT_YES, CPU_FIT_NO };

struct cpus {
    struct cpu_known *list; /* hash by CPU and node */
    size_t n;
};

void cpus_fini(struct cpus *cpus); /* forgets everything */
enum cpu_fit cpus_find(const struct cpus *cpus, uint64_t cpu_hash, const char *node);
void cpus_learn(struct cpus *cpus, uint64_t cpu_hash, const char *node, enum cpu_fit fit);
/* The node's capabilities changed: drops its results. */
void cpus_forget_node(struct cpus *cpus, const char *node);

#endif
