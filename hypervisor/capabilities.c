/* capabilities.c - capabilities of a host: sorted and hashed; see types.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "hypervisor/types.h"

void hv_capabilities_free(struct hv_capabilities *capabilities)
{
    if (capabilities == NULL)
        return;
    free(capabilities->machines);
    free(capabilities->networks);
    free(capabilities->bridges);
    free(capabilities->pools);
    free(capabilities);
}

static int compare_machines(const void *a, const void *b)
{
    const struct hv_machine *one = a, *other = b;
    int order = strcmp(one->arch, other->arch);
    return order != 0 ? order : strcmp(one->name, other->name);
}

static int compare_networks(const void *a, const void *b)
{
    return strcmp(((const struct hv_network *)a)->name, ((const struct hv_network *)b)->name);
}

static int compare_bridges(const void *a, const void *b)
{
    return strcmp(((const struct hv_bridge *)a)->name, ((const struct hv_bridge *)b)->name);
}

static int compare_pools(const void *a, const void *b)
{
    return strcmp(((const struct hv_pool *)a)->name, ((const struct hv_pool *)b)->name);
}

static int compare_pages(const void *a, const void *b)
{
    const struct hv_pages *one = a, *other = b;
    return (one->size_kib > other->size_kib) - (one->size_kib < other->size_kib);
}

typedef int compare_function(const void *a, const void *b);

static void put_in_order(void *items, size_t *n, size_t bytes, compare_function *compare)
{
    if (*n == 0)
        return;
    qsort(items, *n, bytes, compare);
    char *at = items;
    size_t kept = 1;
    for (size_t i = 1; i < *n; i++)
        if (compare(at + (kept - 1) * bytes, at + i * bytes) != 0)
            memmove(at + kept++ * bytes, at + i * bytes, bytes);
    *n = kept;
}

/* A list begins with whether it is known and how long it is. */
static uint64_t mix_list(uint64_t hash, bool known, size_t n)
{
    return hash_number(hash_number(hash, known), n);
}

static uint64_t hash_lists(const struct hv_capabilities *a)
{
    uint64_t hash = mix_list(HASH_START, a->machines_known, a->n_machines);
    for (size_t i = 0; i < a->n_machines; i++)
        hash = hash_word(hash_word(hash, a->machines[i].arch), a->machines[i].name);
    hash = mix_list(hash, a->networks_known, a->n_networks);
    for (size_t i = 0; i < a->n_networks; i++)
        hash = hash_number(hash_word(hash, a->networks[i].name), a->networks[i].active);
    hash = mix_list(hash, a->bridges_known, a->n_bridges);
    for (size_t i = 0; i < a->n_bridges; i++)
        hash = hash_word(hash, a->bridges[i].name);
    hash = mix_list(hash, a->pools_known, a->n_pools);
    for (size_t i = 0; i < a->n_pools; i++) {
        hash = hash_word(hash_word(hash, a->pools[i].name), a->pools[i].path);
        hash = hash_number(hash, a->pools[i].active);
    }
    return hash;
}

void hv_capabilities_seal(struct hv_capabilities *a)
{
    put_in_order(a->machines, &a->n_machines, sizeof *a->machines, compare_machines);
    put_in_order(a->networks, &a->n_networks, sizeof *a->networks, compare_networks);
    put_in_order(a->bridges, &a->n_bridges, sizeof *a->bridges, compare_bridges);
    put_in_order(a->pools, &a->n_pools, sizeof *a->pools, compare_pools);
    put_in_order(a->pages, &a->n_pages, sizeof *a->pages, compare_pages);
    uint64_t hash = mix_list(hash_lists(a), a->pages_known, a->n_pages);
    for (size_t i = 0; i < a->n_pages; i++)
        hash = hash_number(hash_number(hash, a->pages[i].size_kib), a->pages[i].total);
    a->hash = hash != 0 ? hash : 1;
}
