/* offer.c - capabilities of a simulated host: the same for all, except what its script removes. A
 * guest that needs a removed one is refused on arrival, as on a real host.
 */
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

static const char *const machines[] = {SIM_MACHINE, "pc", "pc-q35-7.2", "q35"};
static const char *const networks[] = {"default", "prod", "storage"};
static const char *const bridges[] = {"br0", "br1"};
static const char *const pools[] = {"default", "shared"};

DEFINE_OWNED(hv_capabilities)

const char *sim_offer_pool(size_t i)
{
    return i < COUNT(pools) ? pools[i] : NULL;
}

static void offer_machines(const struct sim_host *host, struct hv_capabilities *out)
{
    out->machines_known = true;
    for (size_t i = 0; i < COUNT(machines); i++) {
        if (strcmp(machines[i], host->lacks_machine) == 0)
            continue;
        TEXT_SET(out->machines[out->n_machines].arch, "x86_64");
        TEXT_SET(out->machines[out->n_machines++].name, machines[i]);
    }
}

static void offer_links(const struct sim_host *host, struct hv_capabilities *out)
{
    out->networks_known = out->bridges_known = true;
    for (size_t i = 0; i < COUNT(networks); i++) {
        out->networks[out->n_networks].active = true;
        if (strcmp(networks[i], host->lacks_network) != 0)
            TEXT_SET(out->networks[out->n_networks++].name, networks[i]);
    }
    for (size_t i = 0; i < COUNT(bridges); i++)
        if (strcmp(bridges[i], host->lacks_bridge) != 0)
            TEXT_SET(out->bridges[out->n_bridges++].name, bridges[i]);
}

static void offer_pools(const struct sim_host *host, struct hv_capabilities *out)
{
    out->pools_known = true;
    for (size_t i = 0; i < COUNT(pools); i++) {
        struct hv_pool *pool = &out->pools[out->n_pools];
        if (strcmp(pools[i], host->lacks_pool) == 0)
            continue;
        TEXT_SET(pool->name, pools[i]);
        (void)snprintf(pool->path, sizeof pool->path, "/srv/%s", pools[i]);
        pool->active = true;
        out->n_pools++;
    }
}

static uint64_t pages_of(const struct sim_guest *guest, uint64_t size_kib)
{
    uint64_t wanted = guest->hugepage_kib == 1 ? SIM_HUGEPAGE_KIB : guest->hugepage_kib;
    uint64_t bytes = size_kib * 1024;
    return wanted == size_kib ? (guest->memory_bytes + bytes - 1) / bytes : 0;
}

static uint64_t free_pages(const struct host *host, uint64_t size_kib)
{
    uint64_t used = 0;
    const struct copy *copy;
    DL_FOREACH2(host->copies, copy, host_next)
    {
        if (sim_copy_is_live(copy))
            used += pages_of(&copy->guest->what, size_kib);
    }
    return used < host->what.hugepages ? host->what.hugepages - used : 0;
}

struct hv_capabilities *sim_offer(const struct host *host)
{
    OWNED(hv_capabilities) out = calloc(1, sizeof *out);
    if (out == NULL)
        return NULL;
    out->machines = calloc(COUNT(machines), sizeof *out->machines);
    out->networks = calloc(COUNT(networks) + 1, sizeof *out->networks);
    out->bridges = calloc(COUNT(bridges), sizeof *out->bridges);
    out->pools = calloc(COUNT(pools), sizeof *out->pools);
    if (out->machines == NULL || out->networks == NULL || out->bridges == NULL ||
        out->pools == NULL)
        return NULL;
    offer_machines(&host->what, out);
    offer_links(&host->what, out);
    offer_pools(&host->what, out);
    out->pages_known = true;
    out->n_pages = 1;
    out->pages[0] = (struct hv_pages){.size_kib = SIM_HUGEPAGE_KIB,
                                      .total = host->what.hugepages,
                                      .free = free_pages(host, SIM_HUGEPAGE_KIB)};
    hv_capabilities_seal(out);
    return TAKE(out);
}

static bool is_lacking(const char *lacks, const char *wanted)
{
    return wanted[0] != '\0' && strcmp(lacks, wanted) == 0;
}

enum sim_error sim_offer_refusal(const struct guest *guest, const struct host *host,
                                 const struct hv_migrate *how)
{
    const struct sim_guest *wants = &guest->what;
    bool as_defined = (how->flags & HV_MIGRATE_AS_DEFINED) != 0 && guest->stored != NULL;
    const struct sim_guest *plugs = as_defined ? guest->stored : wants;
    if (is_lacking(host->what.lacks_machine,
                   wants->machine[0] != '\0' ? wants->machine : SIM_MACHINE))
        return SIM_ERROR_NO_MACHINE;
    if (host->what.other_cpu)
        return SIM_ERROR_OTHER_CPU;
    if (wants->network[0] != '\0' && is_lacking(host->what.lacks_network, plugs->network))
        return SIM_ERROR_NO_NETWORK;
    if (wants->bridge[0] != '\0' && is_lacking(host->what.lacks_bridge, plugs->bridge))
        return SIM_ERROR_NO_BRIDGE;
    if (wants->hugepage_kib != 0 &&
        (pages_of(wants, SIM_HUGEPAGE_KIB) == 0 ||
         pages_of(wants, SIM_HUGEPAGE_KIB) > free_pages(host, SIM_HUGEPAGE_KIB)))
        return SIM_ERROR_NO_HUGEPAGES;
    return SIM_ERROR_NONE;
}
