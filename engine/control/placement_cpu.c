/* placement_cpu.c - which node can provide which CPU, as preparation learned it: asked once for
 * each kind of CPU and node, not once for each guest. See placement.h. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"

enum { CPUS_MAX = 65536 }; /* when full all is forgotten: it is only asked again */

struct cpu_key { /* zeroed before it is filled: hashed as bytes */
    uint64_t cpu_hash;
    char node[HV_HOST_MAX];
};
struct cpu_known {
    struct cpu_key key;
    enum cpu_fit fit;
    UT_hash_handle hh;
};

static struct cpu_known *find(const struct fleet *f, uint64_t cpu_hash, const char *node)
{
    struct cpu_key key;
    struct cpu_known *known = NULL;
    memset(&key, 0, sizeof key);
    key.cpu_hash = cpu_hash;
    TEXT_SET(key.node, node);
    HASH_FIND(hh, f->cpus, &key, sizeof key, known);
    return known;
}

static void forget(struct fleet *f, struct cpu_known *known)
{
    HASH_DEL(f->cpus, known);
    free(known);
    f->n_cpus--;
}

enum cpu_fit placement_cpu(const struct fleet *f, uint64_t cpu_hash, const char *node)
{
    if (f->cpus == NULL || cpu_hash == 0)
        return CPU_FIT_UNKNOWN;
    const struct cpu_known *known = find(f, cpu_hash, node);
    return known != NULL ? known->fit : CPU_FIT_UNKNOWN;
}

void placement_learn_cpu(struct fleet *f, uint64_t cpu_hash, const char *node, enum cpu_fit fit)
{
    if (cpu_hash == 0)
        return; /* many different ones would share it */
    struct cpu_known *known = find(f, cpu_hash, node);
    if (fit == CPU_FIT_UNKNOWN) {
        if (known != NULL)
            forget(f, known);
        return;
    }
    if (known == NULL) {
        if (f->n_cpus >= CPUS_MAX)
            placement_free_cpus(f);
        known = calloc(1, sizeof *known);
        if (known == NULL)
            return; /* it is asked again */
        known->key.cpu_hash = cpu_hash;
        TEXT_SET(known->key.node, node);
        HASH_ADD(hh, f->cpus, key, sizeof known->key, known);
        f->n_cpus++;
    }
    known->fit = fit;
}

void placement_forget_cpu(struct fleet *f, const char *node)
{
    struct cpu_known *known, *next;
    HASH_ITER(hh, f->cpus, known, next)
    {
        if (strcmp(known->key.node, node) == 0)
            forget(f, known);
    }
}

void placement_free_cpus(struct fleet *f)
{
    struct cpu_known *known, *next;
    HASH_ITER(hh, f->cpus, known, next)
    {
        forget(f, known);
    }
}
