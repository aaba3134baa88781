/* placement.c - can this node take this guest: one check for each row of rejection.def, in its
 * order. See placement.h. */
#include "engine/control/placement.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement_scan.h"
#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/ledger.h"
#include "hypervisor/versions.h"

/* Formats the detail of a rejection if the caller wants it; returns false, for use in a return. */
__attribute__((format(printf, 2, 3))) static bool no(char *detail, const char *fmt, ...)
{
    if (detail == NULL)
        return false;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(detail, PLACEMENT_DETAIL_MAX, fmt, args);
    va_end(args);
    return false;
}

/* ---- checks of the node's own record ---- */

static bool is_not_source(struct placement_scan *scan, const struct node *node, char *detail)
{
    return node != scan->p->source || no(detail, "the guest runs here");
}

/* Its holder would not see the guest there. */
static bool is_in_cell(struct placement_scan *scan, const struct node *node, char *detail)
{
    const char *cell = node->host.cell;
    return scan->p->source == NULL || strcmp(scan->p->source->host.cell, cell) == 0 ||
           no(detail, "node is in cell %s", cell[0] != '\0' ? cell : "default");
}

static bool is_requested(struct placement_scan *scan, const struct node *node, char *detail)
{
    const char *wanted = scan->p->wanted;
    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, node->name) == 0)
        return true;
    if (detail != NULL && scan->only[0] == '\0')
        (void)snprintf(scan->only, sizeof scan->only, "the request names %s", wanted);
    if (detail != NULL)
        (void)text_copy(detail, PLACEMENT_DETAIL_MAX, scan->only);
    return false;
}

static bool rejected(const struct label *wanted, const struct node *node, char *detail)
{
    const char *has = labels_get(&node->labels, wanted->key);
    if (has == NULL)
        return no(detail, "label %s is missing, must be %s", wanted->key, wanted->value);
    return no(detail, "label %s is %s, must be %s", wanted->key, has, wanted->value);
}

/* The guest's own selector wins: the request can restrict it, never relax it. */
static bool meets_request(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct labels *added = scan->p->added;
    for (size_t i = 0; added != NULL && i < added->n; i++) {
        const struct label *wanted = &added->pairs[i];
        if (scan->p->settings != NULL &&
            labels_get(&scan->p->settings->node_selector, wanted->key) != NULL)
            continue;
        const char *has = labels_get(&node->labels, wanted->key);
        if (has == NULL || strcmp(has, wanted->value) != 0)
            return rejected(wanted, node, detail);
    }
    return true;
}

static bool meets_guest(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct label *missing = NULL;
    if (scan->p->settings == NULL || scan->p->settings->node_selector.n == 0 ||
        labels_cover(&node->labels, &scan->p->settings->node_selector,
                     detail != NULL ? &missing : NULL))
        return true;
    return detail != NULL && rejected(missing, node, detail);
}

static bool is_schedulable(struct placement_scan *scan, const struct node *node, char *detail)
{
    (void)scan;
    return !node->cordoned ||
           no(detail, "%s", node->cordoned_by_drain ? "node is being drained" : "node is cordoned");
}

static bool is_managed(struct placement_scan *scan, const struct node *node, char *detail)
{
    (void)scan;
    return !node->host.observe || no(detail, "node is in observe mode");
}

/* A node that did not list its guests since it connected may be full. */
static bool is_ready(struct placement_scan *scan, const struct node *node, char *detail)
{
    (void)scan;
    if (!node->connected)
        return no(detail, "%s", node->error[0] != '\0' ? node->error : "node is not connected");
    if (!node->listed)
        return no(detail, "guests are not listed yet");
    return node->has_facts || no(detail, "capacity is not known yet");
}

static bool is_tolerated(struct placement_scan *scan, const struct node *node, char *detail)
{
    static const struct settings nothing;
    const struct settings *settings = scan->p->settings != NULL ? scan->p->settings : &nothing;
    for (size_t i = 0; i < node->n_taints; i++) {
        const struct taint *taint = &node->taints[i];
        if (taint_repels(taint) && !settings_tolerate(settings, taint))
            return no(detail, "taint %s%s%s:%s is not tolerated", taint->key,
                      taint->value[0] != '\0' ? "=" : "", taint->value, taint->effect);
    }
    return true;
}

static bool can_encrypt(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct node *source = scan->p->source;
    if (!scan->p->encrypted)
        return true;
    if (source != NULL && !source->host.tls)
        return no(detail, "the source %s has no `tls: true` in the configuration", source->name);
    return node->host.tls || no(detail, "%s has no `tls: true` in the configuration", node->name);
}

static bool admits_arrival(struct placement_scan *scan, const struct node *node, char *detail)
{
    unsigned limit = scan->f->config.parallel_inbound_per_node, inbound = node->inbound;
    const struct job *job = scan->p->job;
    if (limit == 0 || inbound < limit)
        return true;
    if (job != NULL && job->queue.holds_slot && strcmp(job->target, node->name) == 0)
        inbound--; /* this job is one of them */
    return inbound < limit || no(detail, "%u migrations arrive, limit %u", inbound, limit);
}

static bool has_bandwidth(struct placement_scan *scan, const struct node *node, char *detail)
{
    enum { MIB = 1024 * 1024 };
    uint64_t budget = scan->f->config.bandwidth_per_node, need = scan->p->bandwidth;
    uint64_t used = node->in_bandwidth;
    const struct job *job = scan->p->job;
    if (budget == 0)
        return true;
    if (job != NULL && job->placement.reserved && strcmp(job->target, node->name) == 0)
        used -= job->placement.reserved_bandwidth;
    if (need == 0 || need > budget)
        need = budget; /* without a limit a migration takes the whole bandwidth */
    return (used <= budget && need <= budget - used) ||
           no(detail, "needs %llu MiB/s, %llu of %llu MiB/s are reserved",
              (unsigned long long)need / MIB, (unsigned long long)used / MIB,
              (unsigned long long)budget / MIB);
}

static bool has_memory(struct placement_scan *scan, const struct node *node, char *detail)
{
    uint64_t need = scan->resources.memory_kib,
             left = ledger_memory_left(scan->f, node, scan->p->job);
    return need <= left ||
           need > ledger_memory_whole(scan->f, node) || /* checked by the next row */
           no(detail, "needs %llu MiB, %llu MiB are free", (unsigned long long)need / 1024,
              (unsigned long long)left / 1024);
}

static bool is_big_enough(struct placement_scan *scan, const struct node *node, char *detail)
{
    uint64_t need = scan->resources.memory_kib, whole = ledger_memory_whole(scan->f, node);
    return need <= whole || no(detail, "needs %llu MiB, the node has %llu MiB in total",
                               (unsigned long long)need / 1024, (unsigned long long)whole / 1024);
}

static bool has_vcpus(struct placement_scan *scan, const struct node *node, char *detail)
{
    uint64_t need = scan->resources.vcpus, left = ledger_vcpus_left(scan->f, node, scan->p->job);
    return need <= left || no(detail, "needs %llu vCPUs, %llu are free", (unsigned long long)need,
                              (unsigned long long)left);
}

static bool has_not_failed(struct placement_scan *scan, const struct node *node, char *detail)
{
    for (size_t i = 0; i < scan->p->n_failed; i++)
        if (strcmp(scan->p->failed[i], node->name) == 0)
            return no(detail, "preparation failed a moment ago");
    return true;
}

static bool is_not_avoided(struct placement_scan *scan, const struct node *node, char *detail)
{
    for (size_t i = 0; i < scan->p->n_avoided; i++)
        if (strcmp(scan->p->avoided[i], node->name) == 0)
            return no(detail, "the last migration to it failed before data moved");
    return true;
}

/* By the versions of both hosts; what is not known does not stop it. */
static bool can_start(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct node *nodes[] = {scan->p->source, node};
    const enum hv_quirk_side sides[] = {HV_QUIRK_OF_SOURCE, HV_QUIRK_OF_TARGET};
    for (size_t i = 0; i < COUNT(nodes); i++) {
        enum hv_quirk quirk = nodes[i] != NULL
                                  ? hv_quirk_next(-1, &nodes[i]->facts, sides[i], HV_QUIRK_REFUSES)
                                  : HV_QUIRK_COUNT;
        if (quirk != HV_QUIRK_COUNT)
            return no(detail, "%s: %s", nodes[i]->name, hv_quirk_why(quirk));
    }
    return true;
}

static bool has_big_volumes(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct job *job = scan->p->job;
    const char *why = job != NULL ? volumes_small_at(job->request.volumes, node->name) : NULL;
    return why == NULL || no(detail, "%s", why);
}

/* ---- checks that search sorted lists (hv_capabilities_seal) ---- */

static int by_arch(const void *key, const void *machine)
{
    return strcmp(key, ((const struct hv_machine *)machine)->arch);
}

static int by_machine(const void *key, const void *machine)
{
    const struct host_requirements_facts *requirements = key;
    const struct hv_machine *m = machine;
    int order = strcmp(requirements->arch, m->arch);
    return order != 0 ? order : strcmp(requirements->machine, m->name);
}

/* Networks, bridges and pools all begin with their name. */
_Static_assert(offsetof(struct hv_network, name) == 0 && offsetof(struct hv_bridge, name) == 0 &&
                   offsetof(struct hv_pool, name) == 0,
               "by_name compares with the start of a record");
static int by_name(const void *key, const void *record)
{
    return strcmp(key, record);
}

static const struct host_requirements_facts *requirements_of(const struct placement_scan *scan)
{
    return scan->p->requirements != NULL ? &scan->p->requirements->facts : NULL;
}

/* Hosts are often alike: hosts with equal hashes have equal capabilities. */
static bool capabilities_match(const struct placement_scan *scan, const struct node *node)
{
    return scan->p->requirements == NULL || node->capabilities == NULL ||
           (scan->matched_hash != 0 && scan->matched_hash == node->capabilities->hash);
}

static bool knows_machines(const struct host_requirements_facts *requirements,
                           const struct node *node)
{
    return requirements->arch[0] != '\0' && node->capabilities->machines_known;
}

static bool has_arch(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    const struct hv_capabilities *a = node->capabilities;
    if (capabilities_match(scan, node) || !knows_machines(requirements, node) ||
        (a->n_machines > 0 && bsearch(requirements->arch, a->machines, a->n_machines,
                                      sizeof *a->machines, by_arch) != NULL))
        return true;
    return no(detail, "no emulator for %s", requirements->arch);
}

static bool has_machine(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    const struct hv_capabilities *a = node->capabilities;
    if (capabilities_match(scan, node) || !knows_machines(requirements, node) ||
        requirements->machine[0] == '\0' ||
        (a->n_machines > 0 && bsearch(requirements, a->machines, a->n_machines, sizeof *a->machines,
                                      by_machine) != NULL))
        return true;
    return no(detail, "machine type %s is not supported", requirements->machine);
}

/* Guests of different namespaces may share a name, but a host has one domain per name. */
static void find_same_names(struct placement_scan *scan)
{
    const struct guest *self = scan->p->guest;
    for (const struct namespace *namespace = scan->f->namespaces; namespace != NULL;
         namespace = namespace->hh.next) {
        char key[sizeof self->key];
        const struct guest *guest = NULL;
        (void)snprintf(key, sizeof key, "%s/%s", namespace->name, self->name);
        HASH_FIND(hh_name, scan->f->guests_named, key, strlen(key), guest);
        for (; guest != NULL; guest = guest->next_namesake)
            for (const struct domain *domain = guest->domains; guest != self && domain != NULL;
                 domain = domain->next_of) {
                if (scan->n_names == NEAR_NAMES_MAX) {
                    scan->names_wanted = false; /* too many to keep: each node is searched */
                    return;
                }
                scan->names[scan->n_names++] = domain;
            }
    }
    scan->names_filled = true;
}

void placement_scan_names(struct placement_scan *scan)
{
    scan->names_wanted = true;
}

static const struct guest *find_namesake(struct placement_scan *scan, const struct node *node)
{
    if (scan->names_wanted && !scan->names_filled)
        find_same_names(scan);
    if (!scan->names_filled)
        return fleet_namesake(node, scan->p->guest->name, scan->p->guest->uuid);
    for (size_t i = 0; i < scan->n_names; i++)
        if (scan->names[i]->node == node)
            return scan->names[i]->guest;
    return NULL;
}

static bool name_is_free(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct guest *other = find_namesake(scan, node);
    return other == NULL || no(detail, "name %s is used by guest %s", other->name, other->uuid);
}

static bool uuid_is_free(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct domain *domain = scan->p->guest->domains;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    if (domain == NULL || !domain_is_up(domain))
        return true; /* the next row checks one that is not */
    return no(detail, "UUID %s is on the node, %s", domain->guest->uuid,
              hv_state_name(domain->state));
}

/* Left by a migration or a start that libvirt did not clean up. */
static bool has_no_stale_domain(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct domain *domain = scan->p->guest->domains;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    if (domain == NULL || domain->persistent || domain_is_up(domain))
        return true;
    return no(detail, "%s is left there, %s and without a definition: restart libvirtd there",
              domain->guest->uuid, hv_state_name(domain->state));
}

static bool has_networks(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    const struct hv_capabilities *a = node->capabilities;
    if (capabilities_match(scan, node))
        return true;
    for (unsigned i = 0; a->networks_known && i < requirements->n_networks; i++) {
        const char *name = requirements->networks[i];
        const struct hv_network *found =
            a->n_networks == 0
                ? NULL
                : bsearch(name, a->networks, a->n_networks, sizeof *a->networks, by_name);
        if (found == NULL || !found->active)
            return no(detail, "network %s is %s", name, found == NULL ? "missing" : "not active");
    }
    for (unsigned i = 0; a->bridges_known && i < requirements->n_bridges; i++)
        if (a->n_bridges == 0 || bsearch(requirements->bridges[i], a->bridges, a->n_bridges,
                                         sizeof *a->bridges, by_name) == NULL)
            return no(detail, "bridge %s is missing", requirements->bridges[i]);
    return true;
}

static bool has_pools(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    const struct hv_capabilities *a = node->capabilities;
    bool moves_disks = scan->p->job != NULL && scan->p->job->request.volumes_json != NULL;
    if (capabilities_match(scan, node) ||
        moves_disks) /* disks that go to other pools; preparation checks those */
        return true;
    for (unsigned i = 0; a->pools_known && i < requirements->n_pools; i++) {
        const char *name = requirements->pools[i];
        const struct hv_pool *found =
            a->n_pools == 0 ? NULL : bsearch(name, a->pools, a->n_pools, sizeof *a->pools, by_name);
        if (found == NULL || !found->active)
            return no(detail, "pool %s is %s", name, found == NULL ? "missing" : "not active");
    }
    scan->matched_hash = a->hash; /* the last row of the searches */
    return true;
}

static bool has_huge_pages(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    if (requirements == NULL || requirements->hugepage_kib == 0)
        return true;
    uint64_t need = ledger_huge_need(node, requirements->hugepage_kib, scan->resources.memory_kib);
    uint64_t left = ledger_huge_left(node, requirements->hugepage_kib, scan->p->job);
    return need <= left || no(detail, "needs %llu MiB in huge pages, %llu MiB are free",
                              (unsigned long long)need / 1024, (unsigned long long)left / 1024);
}

static void describe_label(const struct labels *labels, char *out_text, size_t bytes)
{
    size_t at = 0;
    out_text[0] = '\0';
    for (size_t i = 0; i < labels->n && at < bytes; i++) {
        int n = snprintf(out_text + at, bytes - at, "%s%s=%s", i > 0 ? "," : "",
                         labels->pairs[i].key, labels->pairs[i].value);
        at += n > 0 ? (size_t)n : 0;
    }
}

static bool is_near(struct placement_scan *scan, const struct node *node, bool anti, char *detail)
{
    const struct settings *settings = scan->p->settings;
    for (size_t i = 0; settings != NULL && i < settings->n_affinities; i++) {
        const struct affinity *term = &settings->affinities[i];
        if (term->anti != anti || near_has(scan, i, node) != anti ||
            (!anti && near_is_first(scan, i, node)))
            continue;
        char match[PLACEMENT_DETAIL_MAX / 2];
        if (detail == NULL)
            return false;
        describe_label(&term->match, match, sizeof match);
        return no(detail,
                  anti ? "a guest with %s runs in its %s" : "no guest with %s runs in its %s",
                  match, term->topology_key);
    }
    return true;
}

static bool meets_affinity(struct placement_scan *scan, const struct node *node, char *detail)
{
    return is_near(scan, node, false, detail);
}

static bool meets_anti_affinity(struct placement_scan *scan, const struct node *node, char *detail)
{
    return is_near(scan, node, true, detail);
}

static bool has_cpu(struct placement_scan *scan, const struct node *node, char *detail)
{
    const struct host_requirements_facts *requirements = requirements_of(scan);
    return requirements == NULL || requirements->cpu_hash == 0 ||
           cpus_find(&scan->f->cpus, requirements->cpu_hash, node->name) != CPU_FIT_NO ||
           no(detail, "CPU (%s) is incompatible with the guest's",
              node->facts.cpu_model[0] != '\0' ? node->facts.cpu_model : "model not known");
}

/* ---- all rows ---- */

static const struct {
    enum scan_part part;
    bool (*passes)(struct placement_scan *scan, const struct node *node, char *detail);
} checks[REJECT_COUNT] = {
    [REJECT_SOURCE] = {SCAN_CHEAP, is_not_source},
    [REJECT_OTHER_CELL] = {SCAN_CHEAP, is_in_cell},
    [REJECT_NOT_WANTED] = {SCAN_CHEAP, is_requested},
    [REJECT_SELECTOR] = {SCAN_CHEAP, meets_request},
    [REJECT_GUEST_SELECTOR] = {SCAN_CHEAP, meets_guest},
    [REJECT_OBSERVED_ONLY] = {SCAN_CHEAP, is_managed},
    [REJECT_CORDONED] = {SCAN_CHEAP, is_schedulable},
    [REJECT_NOT_READY] = {SCAN_CHEAP, is_ready},
    [REJECT_VERSIONS] = {SCAN_CHEAP, can_start},
    [REJECT_TAINT] = {SCAN_CHEAP, is_tolerated},
    [REJECT_TLS] = {SCAN_CHEAP, can_encrypt},
    [REJECT_ARCH] = {SCAN_COSTLY, has_arch},
    [REJECT_MACHINE] = {SCAN_COSTLY, has_machine},
    [REJECT_NAME_TAKEN] = {SCAN_COSTLY, name_is_free},
    [REJECT_UUID_TAKEN] = {SCAN_COSTLY, uuid_is_free},
    [REJECT_STALE_DOMAIN] = {SCAN_COSTLY, has_no_stale_domain},
    [REJECT_NETWORK] = {SCAN_COSTLY, has_networks},
    [REJECT_VOLUME] = {SCAN_COSTLY, has_pools},
    [REJECT_INBOUND] = {SCAN_CHEAP, admits_arrival},
    [REJECT_BANDWIDTH] = {SCAN_CHEAP, has_bandwidth},
    [REJECT_MEMORY] = {SCAN_CHEAP, has_memory},
    [REJECT_MEMORY_EVER] = {SCAN_CHEAP, is_big_enough},
    [REJECT_VCPU] = {SCAN_CHEAP, has_vcpus},
    [REJECT_HUGE_PAGES] = {SCAN_COSTLY, has_huge_pages},
    [REJECT_AFFINITY] = {SCAN_COSTLY, meets_affinity},
    [REJECT_ANTI_AFFINITY] = {SCAN_COSTLY, meets_anti_affinity},
    [REJECT_CPU] = {SCAN_COSTLY, has_cpu},
    [REJECT_VOLUME_SIZE] = {SCAN_CHEAP, has_big_volumes},
    [REJECT_PREPARATION] = {SCAN_CHEAP, has_not_failed},
    [REJECT_REFUSED_BEFORE] = {SCAN_CHEAP, is_not_avoided},
};

void placement_scan_begin(struct placement_scan *scan, const struct fleet *f,
                          const struct placement *p)
{
    scan->f = f;
    scan->p = p;
    scan->resources = ledger_resources(p->guest);
    scan->matched_hash = 0;
    scan->only[0] = '\0';
    scan->names_wanted = scan->names_filled = false;
    scan->n_names = 0;
    scan->arrivals_filled = scan->arrivals_cut = false;
    scan->n_arrivals = 0;
    size_t terms = p->settings != NULL ? p->settings->n_affinities : 0;
    for (size_t i = 0; i < terms; i++) { /* further details are never read */
        scan->near[i].filled = scan->near[i].any = scan->near[i].cut = false;
        scan->near[i].n = 0;
    }
}

enum reject scan_node(struct placement_scan *scan, const struct node *node, enum scan_part part,
                      char *detail)
{
    for (unsigned i = REJECT_NONE + 1; i < REJECT_COUNT; i++)
        if ((checks[i].part & part) != 0 && !checks[i].passes(scan, node, detail))
            return (enum reject)i;
    return REJECT_NONE;
}

enum reject placement_check(const struct fleet *f, const struct placement *p,
                            const struct node *node, char *out_detail)
{
    struct placement_scan scan;
    placement_scan_begin(&scan, f, p);
    if (out_detail != NULL)
        out_detail[0] = '\0';
    return scan_node(&scan, node, SCAN_ALL, out_detail);
}

void placement_of(const struct fleet *f, const struct guest *guest, const struct job *job,
                  struct placement *out_placement)
{
    struct placement p = {.guest = guest,
                          .source = guest->owner != NULL ? guest->owner->node : NULL,
                          .requirements = guest->owner != NULL ? guest->owner->requirements : NULL,
                          .settings = guest->settings,
                          .wanted = "",
                          .job = job,
                          .encrypted = f->config.migration.require_tls,
                          .bandwidth = (uint64_t)f->config.migration.bandwidth};
    if (job != NULL) {
        if (job->source[0] != '\0')
            HASH_FIND_STR(f->nodes, job->source, p.source);
        p.added = &job->request.added_selector;
        p.wanted = job->request.wanted;
        p.encrypted = job->call.config.require_tls;
        p.bandwidth = ledger_bandwidth(f, job);
    }
    *out_placement = p;
}
