/* placement.c - can this node take this guest: one check for each row of rejection.def, asked in
 * its order. See placement.h. */
#include "engine/control/placement.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement_look.h"
#include "engine/model/ledger.h"
#include "engine/model/volumes.h"

/* Says what is missing, if anybody reads it; false, so that a check can end with it. */
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

/* ---- what the node's own record tells ---- */

static bool is_not_source(struct look *look, const struct node *node, char *detail)
{
    return node != look->p->source || no(detail, "the guest runs here");
}

static bool is_wanted(struct look *look, const struct node *node, char *detail)
{
    const char *wanted = look->p->wanted;
    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, node->name) == 0)
        return true;
    if (detail != NULL && look->only[0] == '\0')
        (void)snprintf(look->only, sizeof look->only, "only %s will do", wanted);
    if (detail != NULL)
        (void)text_copy(detail, PLACEMENT_DETAIL_MAX, look->only);
    return false;
}

static bool lacks(const struct label *wanted, const struct node *node, char *detail)
{
    const char *has = labels_get(&node->labels, wanted->key);
    if (has == NULL)
        return no(detail, "has no label %s, needs %s", wanted->key, wanted->value);
    return no(detail, "label %s is %s, needs %s", wanted->key, has, wanted->value);
}

/* The guest's own selector wins over what the request adds: it can restrict, never relax. */
static bool meets_request(struct look *look, const struct node *node, char *detail)
{
    const struct labels *added = look->p->added;
    for (size_t i = 0; added != NULL && i < added->n; i++) {
        const struct label *wanted = &added->pairs[i];
        if (look->p->settings != NULL &&
            labels_get(&look->p->settings->node_selector, wanted->key) != NULL)
            continue;
        const char *has = labels_get(&node->labels, wanted->key);
        if (has == NULL || strcmp(has, wanted->value) != 0)
            return lacks(wanted, node, detail);
    }
    return true;
}

static bool meets_guest(struct look *look, const struct node *node, char *detail)
{
    const struct label *missing = NULL;
    if (look->p->settings == NULL || look->p->settings->node_selector.n == 0 ||
        labels_cover(&node->labels, &look->p->settings->node_selector,
                     detail != NULL ? &missing : NULL))
        return true;
    return detail != NULL && lacks(missing, node, detail);
}

static bool is_open(struct look *look, const struct node *node, char *detail)
{
    (void)look;
    return !node->cordoned ||
           no(detail, "%s", node->cordoned_by_drain ? "it is being drained" : "it is cordoned");
}

/* Whose guests were not listed since it connected may be full of them. */
static bool is_ready(struct look *look, const struct node *node, char *detail)
{
    (void)look;
    if (!node->connected)
        return no(detail, "%s", node->error[0] != '\0' ? node->error : "it is not connected");
    if (!node->listed)
        return no(detail, "its guests are not listed yet");
    return node->has_facts || no(detail, "its size is not known yet");
}

static bool is_tolerated(struct look *look, const struct node *node, char *detail)
{
    static const struct settings nothing;
    const struct settings *settings = look->p->settings != NULL ? look->p->settings : &nothing;
    for (size_t i = 0; i < node->n_taints; i++) {
        const struct taint *taint = &node->taints[i];
        if (taint_repels(taint) && !settings_tolerate(settings, taint))
            return no(detail, "taint %s%s%s:%s is not tolerated", taint->key,
                      taint->value[0] != '\0' ? "=" : "", taint->value, taint->effect);
    }
    return true;
}

static bool can_encrypt(struct look *look, const struct node *node, char *detail)
{
    const struct node *source = look->p->source;
    if (!look->p->encrypted)
        return true;
    if (source != NULL && !source->host.tls)
        return no(detail, "its source %s has no `tls: true` in the configuration", source->name);
    return node->host.tls || no(detail, "%s has no `tls: true` in the configuration", node->name);
}

static bool admits_arrival(struct look *look, const struct node *node, char *detail)
{
    unsigned limit = look->f->config.parallel_inbound_per_node, inbound = node->inbound;
    const struct job *job = look->p->job;
    if (limit == 0 || inbound < limit)
        return true;
    if (job != NULL && phase_is_busy(job->phase) && strcmp(job->target, node->name) == 0)
        inbound--; /* it is one of them itself */
    return inbound < limit || no(detail, "%u migrations arrive, it allows %u", inbound, limit);
}

static bool has_bandwidth(struct look *look, const struct node *node, char *detail)
{
    enum { MIB = 1024 * 1024 };
    uint64_t budget = look->f->config.bandwidth_per_node, need = look->p->bandwidth;
    uint64_t used = node->in_bandwidth;
    const struct job *job = look->p->job;
    if (budget == 0)
        return true;
    if (job != NULL && job->placement.reserved && strcmp(job->target, node->name) == 0)
        used -= job->placement.reserved_bandwidth;
    if (need == 0 || need > budget)
        need = budget; /* without a limit of its own it takes all there is */
    return (used <= budget && need <= budget - used) ||
           no(detail, "needs %llu MiB/s, %llu of %llu MiB/s are promised",
              (unsigned long long)need / MIB, (unsigned long long)used / MIB,
              (unsigned long long)budget / MIB);
}

static bool has_memory(struct look *look, const struct node *node, char *detail)
{
    uint64_t need = look->demand.memory_kib, left = ledger_memory_left(look->f, node, look->p->job);
    return need <= left || need > ledger_memory_whole(look->f, node) || /* that is the next row */
           no(detail, "needs %llu MiB, %llu MiB are left", (unsigned long long)need / 1024,
              (unsigned long long)left / 1024);
}

static bool is_big_enough(struct look *look, const struct node *node, char *detail)
{
    uint64_t need = look->demand.memory_kib, whole = ledger_memory_whole(look->f, node);
    return need <= whole || no(detail, "needs %llu MiB, the whole node has %llu MiB",
                               (unsigned long long)need / 1024, (unsigned long long)whole / 1024);
}

static bool has_vcpus(struct look *look, const struct node *node, char *detail)
{
    uint64_t need = look->demand.vcpus, left = ledger_vcpus_left(look->f, node, look->p->job);
    return need <= left || no(detail, "needs %llu vCPUs, %llu are left", (unsigned long long)need,
                              (unsigned long long)left);
}

static bool was_not_failing(struct look *look, const struct node *node, char *detail)
{
    for (size_t i = 0; i < look->p->n_failed; i++)
        if (strcmp(look->p->failed[i], node->name) == 0)
            return no(detail, "preparing it failed a moment ago");
    return true;
}

static bool has_big_volumes(struct look *look, const struct node *node, char *detail)
{
    const struct job *job = look->p->job;
    const char *why = job != NULL ? volumes_small_at(job->request.volumes, node->name) : NULL;
    return why == NULL || no(detail, "%s", why);
}

/* ---- what has to be searched: lists are in order (hv_abilities_seal) ---- */

static int by_arch(const void *key, const void *machine)
{
    return strcmp(key, ((const struct hv_machine *)machine)->arch);
}

static int by_machine(const void *key, const void *machine)
{
    const struct needs_facts *needs = key;
    const struct hv_machine *m = machine;
    int order = strcmp(needs->arch, m->arch);
    return order != 0 ? order : strcmp(needs->machine, m->name);
}

/* Networks, bridges and pools all begin with their name. */
_Static_assert(offsetof(struct hv_network, name) == 0 && offsetof(struct hv_bridge, name) == 0 &&
                   offsetof(struct hv_pool, name) == 0,
               "by_name compares with the start of a record");
static int by_name(const void *key, const void *record)
{
    return strcmp(key, record);
}

static const struct needs_facts *needs_of(const struct look *look)
{
    return look->p->needs != NULL ? &look->p->needs->facts : NULL;
}

/* Hosts are often alike: what one of them has, the next one of the same hash has too. */
static bool suits(const struct look *look, const struct node *node)
{
    return look->p->needs == NULL || node->abilities == NULL ||
           (look->suits != 0 && look->suits == node->abilities->hash);
}

static bool knows_machines(const struct needs_facts *needs, const struct node *node)
{
    return needs->arch[0] != '\0' && node->abilities->machines_known;
}

static bool has_arch(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    const struct hv_abilities *a = node->abilities;
    if (suits(look, node) || !knows_machines(needs, node) ||
        (a->n_machines > 0 &&
         bsearch(needs->arch, a->machines, a->n_machines, sizeof *a->machines, by_arch) != NULL))
        return true;
    return no(detail, "has no emulator for %s", needs->arch);
}

static bool has_machine(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    const struct hv_abilities *a = node->abilities;
    if (suits(look, node) || !knows_machines(needs, node) || needs->machine[0] == '\0' ||
        (a->n_machines > 0 &&
         bsearch(needs, a->machines, a->n_machines, sizeof *a->machines, by_machine) != NULL))
        return true;
    return no(detail, "does not offer machine type %s", needs->machine);
}

/* Names are by namespace here, but one name is one guest on a node. */
static void look_for_names(struct look *look)
{
    const struct guest *self = look->p->guest;
    for (const struct space *space = look->f->spaces; space != NULL; space = space->hh.next) {
        char key[sizeof self->key];
        const struct guest *guest = NULL;
        (void)snprintf(key, sizeof key, "%s/%s", space->name, self->name);
        HASH_FIND(hh_name, look->f->guests_named, key, strlen(key), guest);
        for (; guest != NULL; guest = guest->next_namesake)
            for (const struct place *place = guest->places; guest != self && place != NULL;
                 place = place->next_of) {
                if (look->n_names == NEAR_NAMES_MAX) {
                    look->names_wanted = false; /* too many: each node is asked */
                    return;
                }
                look->names[look->n_names++] = place;
            }
    }
    look->names_filled = true;
}

void placement_look_names(struct look *look)
{
    look->names_wanted = true;
}

static const struct guest *find_namesake(struct look *look, const struct node *node)
{
    if (look->names_wanted && !look->names_filled)
        look_for_names(look);
    if (!look->names_filled)
        return fleet_namesake(node, look->p->guest->name, look->p->guest->uuid);
    for (size_t i = 0; i < look->n_names; i++)
        if (look->names[i]->node == node)
            return look->names[i]->guest;
    return NULL;
}

static bool name_is_free(struct look *look, const struct node *node, char *detail)
{
    const struct guest *other = find_namesake(look, node);
    return other == NULL || no(detail, "%s is there as %s", other->name, other->uuid);
}

static bool uuid_is_free(struct look *look, const struct node *node, char *detail)
{
    const struct place *place = look->p->guest->places;
    while (place != NULL && place->node != node)
        place = place->next_of;
    if (place == NULL || !place_is_up(place))
        return true;
    return no(detail, "%s is there, %s", place->guest->uuid, hv_state_name(place->state));
}

static bool has_networks(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    const struct hv_abilities *a = node->abilities;
    if (suits(look, node))
        return true;
    for (unsigned i = 0; a->networks_known && i < needs->n_networks; i++) {
        const char *name = needs->networks[i];
        const struct hv_network *found =
            a->n_networks == 0
                ? NULL
                : bsearch(name, a->networks, a->n_networks, sizeof *a->networks, by_name);
        if (found == NULL || !found->active)
            return no(detail, "network %s is %s", name, found == NULL ? "missing" : "not active");
    }
    for (unsigned i = 0; a->bridges_known && i < needs->n_bridges; i++)
        if (a->n_bridges == 0 || bsearch(needs->bridges[i], a->bridges, a->n_bridges,
                                         sizeof *a->bridges, by_name) == NULL)
            return no(detail, "bridge %s is missing", needs->bridges[i]);
    return true;
}

static bool has_pools(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    const struct hv_abilities *a = node->abilities;
    bool moves_disks = look->p->job != NULL && look->p->job->request.volumes_json != NULL;
    if (suits(look, node) || moves_disks) /* to other pools, which preparation asks for */
        return true;
    for (unsigned i = 0; a->pools_known && i < needs->n_pools; i++) {
        const char *name = needs->pools[i];
        const struct hv_pool *found =
            a->n_pools == 0 ? NULL : bsearch(name, a->pools, a->n_pools, sizeof *a->pools, by_name);
        if (found == NULL || !found->active)
            return no(detail, "pool %s is %s", name, found == NULL ? "missing" : "not active");
    }
    look->suits = a->hash; /* this is the last of those rows */
    return true;
}

static bool has_huge_pages(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    if (needs == NULL || needs->hugepage_kib == 0)
        return true;
    uint64_t need = ledger_huge_need(node, needs->hugepage_kib, look->demand.memory_kib);
    uint64_t left = ledger_huge_left(node, needs->hugepage_kib, look->p->job);
    return need <= left || no(detail, "needs %llu MiB in huge pages, %llu MiB are free",
                              (unsigned long long)need / 1024, (unsigned long long)left / 1024);
}

static void say_labels(const struct labels *labels, char *out_text, size_t bytes)
{
    size_t at = 0;
    out_text[0] = '\0';
    for (size_t i = 0; i < labels->n && at < bytes; i++) {
        int n = snprintf(out_text + at, bytes - at, "%s%s=%s", i > 0 ? "," : "",
                         labels->pairs[i].key, labels->pairs[i].value);
        at += n > 0 ? (size_t)n : 0;
    }
}

static bool is_near(struct look *look, const struct node *node, bool anti, char *detail)
{
    const struct settings *settings = look->p->settings;
    for (size_t i = 0; settings != NULL && i < settings->n_affinities; i++) {
        const struct affinity *term = &settings->affinities[i];
        if (term->anti != anti || near_has(look, i, node) != anti ||
            (!anti && near_is_first(look, i, node)))
            continue;
        char match[PLACEMENT_DETAIL_MAX / 2];
        if (detail == NULL)
            return false;
        say_labels(&term->match, match, sizeof match);
        return no(detail, anti ? "a guest with %s is in its %s" : "no guest with %s in its %s",
                  match, term->topology_key);
    }
    return true;
}

static bool has_company(struct look *look, const struct node *node, char *detail)
{
    return is_near(look, node, false, detail);
}

static bool has_no_rival(struct look *look, const struct node *node, char *detail)
{
    return is_near(look, node, true, detail);
}

static bool has_cpu(struct look *look, const struct node *node, char *detail)
{
    const struct needs_facts *needs = needs_of(look);
    return needs == NULL || needs->cpu_hash == 0 ||
           cpus_find(&look->f->cpus, needs->cpu_hash, node->name) != CPU_FIT_NO ||
           no(detail, "its CPU (%s) cannot be the guest's",
              node->facts.cpu_model[0] != '\0' ? node->facts.cpu_model : "model not known");
}

/* ---- all of it ---- */

static const struct {
    enum look_part part;
    bool (*passes)(struct look *look, const struct node *node, char *detail);
} checks[REJECT_COUNT] = {
    [REJECT_SOURCE] = {LOOK_CHEAP, is_not_source},
    [REJECT_NOT_WANTED] = {LOOK_CHEAP, is_wanted},
    [REJECT_SELECTOR] = {LOOK_CHEAP, meets_request},
    [REJECT_GUEST_SELECTOR] = {LOOK_CHEAP, meets_guest},
    [REJECT_CORDONED] = {LOOK_CHEAP, is_open},
    [REJECT_NOT_READY] = {LOOK_CHEAP, is_ready},
    [REJECT_TAINT] = {LOOK_CHEAP, is_tolerated},
    [REJECT_TLS] = {LOOK_CHEAP, can_encrypt},
    [REJECT_ARCH] = {LOOK_COSTLY, has_arch},
    [REJECT_MACHINE] = {LOOK_COSTLY, has_machine},
    [REJECT_NAME_TAKEN] = {LOOK_COSTLY, name_is_free},
    [REJECT_UUID_TAKEN] = {LOOK_COSTLY, uuid_is_free},
    [REJECT_NETWORK] = {LOOK_COSTLY, has_networks},
    [REJECT_VOLUME] = {LOOK_COSTLY, has_pools},
    [REJECT_INBOUND] = {LOOK_CHEAP, admits_arrival},
    [REJECT_BANDWIDTH] = {LOOK_CHEAP, has_bandwidth},
    [REJECT_MEMORY] = {LOOK_CHEAP, has_memory},
    [REJECT_MEMORY_EVER] = {LOOK_CHEAP, is_big_enough},
    [REJECT_VCPU] = {LOOK_CHEAP, has_vcpus},
    [REJECT_HUGE_PAGES] = {LOOK_COSTLY, has_huge_pages},
    [REJECT_AFFINITY] = {LOOK_COSTLY, has_company},
    [REJECT_ANTI_AFFINITY] = {LOOK_COSTLY, has_no_rival},
    [REJECT_CPU] = {LOOK_COSTLY, has_cpu},
    [REJECT_VOLUME_SIZE] = {LOOK_CHEAP, has_big_volumes},
    [REJECT_PREPARATION] = {LOOK_CHEAP, was_not_failing},
};

void placement_look_begin(struct look *look, const struct fleet *f, const struct placement *p)
{
    look->f = f;
    look->p = p;
    look->demand = ledger_demand(p->guest);
    look->suits = 0;
    look->only[0] = '\0';
    look->names_wanted = look->names_filled = false;
    look->n_names = 0;
    look->arrivals_filled = look->arrivals_cut = false;
    look->n_arrivals = 0;
    size_t terms = p->settings != NULL ? p->settings->n_affinities : 0;
    for (size_t i = 0; i < terms; i++) { /* the rest is never read */
        look->near[i].filled = look->near[i].any = look->near[i].cut = false;
        look->near[i].n = 0;
    }
}

enum reject look_at(struct look *look, const struct node *node, enum look_part part, char *detail)
{
    for (unsigned i = REJECT_NONE + 1; i < REJECT_COUNT; i++)
        if ((checks[i].part & part) != 0 && !checks[i].passes(look, node, detail))
            return (enum reject)i;
    return REJECT_NONE;
}

enum reject placement_check(const struct fleet *f, const struct placement *p,
                            const struct node *node, char *out_detail)
{
    struct look look;
    placement_look_begin(&look, f, p);
    if (out_detail != NULL)
        out_detail[0] = '\0';
    return look_at(&look, node, LOOK_ALL, out_detail);
}

void placement_of(const struct fleet *f, const struct guest *guest, const struct job *job,
                  struct placement *out_placement)
{
    struct placement p = {.guest = guest,
                          .source = guest->owner != NULL ? guest->owner->node : NULL,
                          .needs = guest->owner != NULL ? guest->owner->needs : NULL,
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
