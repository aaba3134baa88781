/* cpus.c - see cpus.h. */
#include "engine/model/fleet/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { CPUS_MAX = 65536 }; /* when full the cache is cleared: results are asked again */

struct cpu_key { /* zeroed before it is filled: hashed as bytes */
    uint64_t cpu_hash;
    char node[HV_HOST_MAX];
};
struct cpu_known {
    struct cpu_key key;
    enum cpu_fit fit;
    UT_hash_handle hh;
};

static struct cpu_known *find(const struct cpus *cpus, uint64_t cpu_hash, const char *node)
{
    struct cpu_key key;
    struct cpu_known *known = NULL;
    memset(&key, 0, sizeof key);
    key.cpu_hash = cpu_hash;
    TEXT_SET(key.node, node);
    HASH_FIND(hh, cpus->list, &key, sizeof key, known);
    return known;
}

static void forget(struct cpus *cpus, struct cpu_known *known)
{
    HASH_DEL(cpus->list, known);
    free(known);
    cpus->n--;
}

enum cpu_fit cpus_find(const struct cpus *cpus, uint64_t cpu_hash, const char *node)
{
    if (cpus->list == NULL || cpu_hash == 0)
        return CPU_FIT_UNKNOWN;
    const struct cpu_known *known = find(cpus, cpu_hash, node);
    return known != NULL ? known->fit : CPU_FIT_UNKNOWN;
}

void cpus_learn(struct cpus *cpus, uint64_t cpu_hash, const char *node, enum cpu_fit fit)
{
    if (cpu_hash == 0)
        return; /* hash 0: shared by different CPUs */
    struct cpu_known *known = find(cpus, cpu_hash, node);
    if (fit == CPU_FIT_UNKNOWN) {
        if (known != NULL)
            forget(cpus, known);
        return;
    }
    if (known == NULL) {
        if (cpus->n >= CPUS_MAX)
            cpus_fini(cpus);
        known = calloc(1, sizeof *known);
        if (known == NULL)
            return; /* not cached: asked again */
        known->key.cpu_hash = cpu_hash;
        TEXT_SET(known->key.node, node);
        HASH_ADD(hh, cpus->list, key, sizeof known->key, known);
        cpus->n++;
    }
    known->fit = fit;
}

void cpus_forget_node(struct cpus *cpus, const char *node)
{
    struct cpu_known *known, *next;
    HASH_ITER(hh, cpus->list, known, next)
    {
        if (strcmp(known->key.node, node) == 0)
            forget(cpus, known);
    }
}

void cpus_fini(struct cpus *cpus)
{
    struct cpu_known *known, *next;
    HASH_ITER(hh, cpus->list, known, next)
    {
        forget(cpus, known);
    }
}
