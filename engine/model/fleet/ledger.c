/* ledger.c - the one account of used and reserved resources; see ledger.h. Sums are updated with
 * each change, so that a check for room is O(1) for any number of guests; ledger_check()
 * recounts. */
#include "engine/model/fleet/ledger.h"

#include <assert.h>
#include <string.h>

static void more(struct resources *sum, const struct resources *by)
{
    sum->launchers += by->launchers;
    sum->memory_kib += by->memory_kib;
    sum->vcpus += by->vcpus;
}

static void less(struct resources *sum, const struct resources *by)
{
    assert(sum->launchers >= by->launchers && sum->memory_kib >= by->memory_kib &&
           sum->vcpus >= by->vcpus);
    sum->launchers -= by->launchers;
    sum->memory_kib -= by->memory_kib;
    sum->vcpus -= by->vcpus;
}

static uint64_t left(uint64_t whole, uint64_t used)
{
    return whole > used ? whole - used : 0;
}

static struct node *node_named(const struct fleet *f, const char *name)
{
    struct node *node = NULL;
    HASH_FIND_STR(f->nodes, name, node);
    return node;
}

struct resources ledger_resources(const struct guest *guest)
{
    return (
        struct resources){.launchers = 1, .memory_kib = guest->memory_kib, .vcpus = guest->vcpus};
}

static bool holds(const struct job *job, const struct node *node)
{
    return job != NULL && job->placement.reserved && strcmp(job->target, node->name) == 0;
}

/* ---- room ---- */

uint64_t ledger_memory_whole(const struct fleet *f, const struct node *node)
{
    uint64_t percent = f->config.memory_overcommit_percent;
    if (!node->has_facts || node->facts.memory_kib == 0)
        return UINT64_MAX;
    if (percent == 0)
        percent = 100;
    uint64_t kib = node->facts.memory_kib;
    return kib / 100 * percent + kib % 100 * percent / 100; /* cannot overflow */
}

uint64_t ledger_memory_left(const struct fleet *f, const struct node *node, const struct job *job)
{
    uint64_t whole = ledger_memory_whole(f, node);
    if (whole == UINT64_MAX)
        return whole;
    uint64_t used = node->running.memory_kib + node->reserved.memory_kib;
    return left(whole, used - (holds(job, node) ? job->placement.reserved_memory_kib : 0));
}

uint64_t ledger_vcpus_left(const struct fleet *f, const struct node *node, const struct job *job)
{
    uint64_t each = f->config.vcpus_per_cpu;
    if (!node->has_facts || node->facts.cpus == 0)
        return UINT64_MAX;
    if (each == 0)
        each = 10;
    uint64_t used = node->running.vcpus + node->reserved.vcpus;
    return left(node->facts.cpus * each,
                used - (holds(job, node) ? job->placement.reserved_vcpus : 0));
}

enum { PLAIN_PAGE_KIB = 4, DEFAULT_PAGE = 1 };

static const struct hv_pages *find_pages(const struct node *node, uint64_t page_kib)
{
    const struct hv_pages *found = NULL;
    for (size_t i = 0; node->capabilities != NULL && i < node->capabilities->n_pages; i++) {
        const struct hv_pages *pages = &node->capabilities->pages[i];
        bool fits = page_kib == DEFAULT_PAGE ? pages->size_kib > PLAIN_PAGE_KIB
                                             : pages->size_kib == page_kib;
        if (fits && (found == NULL || pages->size_kib < found->size_kib))
            found = pages;
    }
    return found;
}

uint64_t ledger_huge_need(const struct node *node, uint64_t page_kib, uint64_t memory_kib)
{
    const struct hv_pages *pages = find_pages(node, page_kib);
    uint64_t size = pages != NULL ? pages->size_kib : page_kib;
    if (page_kib == 0)
        return 0;
    return (memory_kib / size + (memory_kib % size != 0)) * size;
}

uint64_t ledger_huge_left(const struct node *node, uint64_t page_kib, const struct job *job)
{
    if (node->capabilities == NULL || !node->capabilities->pages_known)
        return UINT64_MAX;
    const struct hv_pages *pages = find_pages(node, page_kib);
    uint64_t used =
        node->reserved_huge_kib - (holds(job, node) ? job->placement.reserved_huge_kib : 0);
    return pages != NULL ? left(pages->free * pages->size_kib, used) : 0;
}

uint64_t ledger_bandwidth(const struct fleet *f, const struct job *job)
{
    uint64_t budget = f->config.bandwidth_per_node;
    uint64_t limit = job->request.bandwidth_mibs != 0 ? job->request.bandwidth_mibs * 1024 * 1024
                                                      : (uint64_t)job->call.config.bandwidth;
    if (budget == 0)
        return limit;
    return limit == 0 || limit > budget ? budget : limit;
}

bool ledger_in_quota(const struct namespace *namespace, const struct resources *more,
                     char out_text[static QUOTA_TEXT_MAX])
{
    const struct object *quotas = namespace != NULL ? namespace->quotas : NULL;
    for (const struct object *o = quotas; o != NULL; o = o->next_here)
        if (o->quota != NULL && !quota_allows(o->quota, o->name, &namespace->used, more, out_text))
            return false;
    return true;
}

/* ---- guests that are up ---- */

/* The guest arrived under a reservation that still counts for it. */
static bool has_arrived(const struct fleet *f, const struct domain *domain)
{
    const struct job *job = NULL;
    const char *uuid = domain->guest->uuid;
    HASH_FIND(links.hh_guest, f->active, uuid, strlen(uuid), job);
    return holds(job, domain->node);
}

/* The biggest of its domains that count; they differ only while the size changes. */
static struct resources charge_of(const struct guest *guest)
{
    struct resources most = {0};
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of) {
        if (!domain->counted)
            continue;
        most.launchers = 1;
        if (domain->resources.memory_kib > most.memory_kib)
            most.memory_kib = domain->resources.memory_kib;
        if (domain->resources.vcpus > most.vcpus)
            most.vcpus = domain->resources.vcpus;
    }
    return most;
}

static void charge(struct fleet *f, struct guest *guest)
{
    if (guest->namespace == NULL)
        return; /* and nothing was charged */
    less(&guest->namespace->used, &guest->charged);
    guest->charged = charge_of(guest);
    more(&guest->namespace->used, &guest->charged);
    fleet_quota_changed(f, guest->namespace);
}

void ledger_domain(struct fleet *f, struct domain *domain, bool remove)
{
    if (domain->counted)
        less(&domain->node->running, &domain->resources);
    domain->counted = !remove && domain_is_up(domain) && !has_arrived(f, domain);
    domain->resources = domain->counted ? ledger_resources(domain->guest) : (struct resources){0};
    more(&domain->node->running, &domain->resources);
    charge(f, domain->guest);
}

/* ---- target launchers ---- */

static struct domain *place_at(const struct fleet *f, const struct job *job,
                               const struct node *node)
{
    struct guest *guest = NULL;
    HASH_FIND_STR(f->guests, job->guest_uuid, guest);
    struct domain *domain = guest != NULL ? guest->domains : NULL;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    return domain;
}

static uint64_t huge_kib(const struct fleet *f, const struct job *job, const struct node *node,
                         uint64_t memory_kib)
{
    const struct guest *guest = NULL;
    HASH_FIND_STR(f->guests, job->guest_uuid, guest);
    if (guest == NULL || guest->owner == NULL || guest->owner->requirements == NULL)
        return 0;
    return ledger_huge_need(node, guest->owner->requirements->facts.hugepage_kib, memory_kib);
}

static struct resources reserved_by(const struct job *job)
{
    return (struct resources){.launchers = 1,
                              .memory_kib = job->placement.reserved_memory_kib,
                              .vcpus = job->placement.reserved_vcpus};
}

static void enter(struct fleet *f, struct job *job, struct node *source, struct node *target,
                  struct namespace *namespace)
{
    job->placement.reserved = true;
    struct resources reserved = reserved_by(job);
    more(&target->reserved, &reserved);
    more(&namespace->used, &reserved);
    fleet_quota_changed(f, namespace);
    target->reserved_huge_kib += job->placement.reserved_huge_kib;
    target->in_bandwidth += job->placement.reserved_bandwidth;
    if (source != NULL)
        source->out_bandwidth += job->placement.reserved_bandwidth;
    struct domain *domain =
        place_at(f, job, target); /* a restored job: the guest is already there */
    if (domain != NULL)
        ledger_domain(f, domain, false);
}

void ledger_reserve(struct fleet *f, struct job *job, const struct resources *resources)
{
    struct node *target = node_named(f, job->target), *source = node_named(f, job->source);
    struct namespace *namespace = fleet_namespace(f, job->ns);
    if (job->placement.reserved || target == NULL || namespace == NULL)
        return;
    job->placement.reserved_memory_kib = resources->memory_kib;
    job->placement.reserved_vcpus = resources->vcpus;
    job->placement.reserved_huge_kib = huge_kib(f, job, target, resources->memory_kib);
    job->placement.reserved_bandwidth = ledger_bandwidth(f, job);
    enter(f, job, source, target, namespace);
}

void ledger_restore(struct fleet *f, struct job *job)
{
    struct node *target = node_named(f, job->target), *source = node_named(f, job->source);
    struct namespace *namespace = fleet_namespace(f, job->ns);
    if (!job->placement.reserved && target != NULL && namespace != NULL)
        enter(f, job, source, target, namespace);
}

static void give_bandwidth_back(struct node *source, struct node *target, uint64_t bandwidth)
{
    assert(target->in_bandwidth >= bandwidth);
    target->in_bandwidth -= bandwidth;
    if (source == NULL)
        return;
    assert(source->out_bandwidth >= bandwidth);
    source->out_bandwidth -= bandwidth;
}

void ledger_release_bandwidth(struct fleet *f, struct job *job)
{
    if (!job->placement.reserved)
        return;
    give_bandwidth_back(node_named(f, job->source), node_named(f, job->target),
                        job->placement.reserved_bandwidth);
    job->placement.reserved_bandwidth = 0;
}

void ledger_release(struct fleet *f, struct job *job)
{
    if (!job->placement.reserved)
        return;
    struct node *target = node_named(f, job->target), *source = node_named(f, job->source);
    struct namespace *namespace = fleet_namespace(f, job->ns); /* the guest itself may be gone */
    assert(target != NULL && namespace != NULL);
    struct resources reserved = reserved_by(job);
    less(&target->reserved, &reserved);
    less(&namespace->used, &reserved);
    fleet_quota_changed(f, namespace);
    assert(target->reserved_huge_kib >= job->placement.reserved_huge_kib);
    target->reserved_huge_kib -= job->placement.reserved_huge_kib;
    give_bandwidth_back(source, target, job->placement.reserved_bandwidth);
    job->placement.reserved = false;
    job->placement.reserved_memory_kib = job->placement.reserved_vcpus = 0;
    job->placement.reserved_huge_kib = job->placement.reserved_bandwidth = 0;
    struct domain *domain = place_at(f, job, target);
    if (domain != NULL)
        ledger_domain(f, domain, false); /* from now on it counts as a running guest */
    fleet_node_improved(f, target);
}
