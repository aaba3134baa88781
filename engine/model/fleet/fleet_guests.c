/* fleet_guests.c - guests and their domains; see fleet.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/evacuation.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/fleet_inside.h"
#include "engine/model/fleet/ledger.h"

bool domain_is_up(const struct domain *domain)
{
    switch (domain->state) {
    case HV_STATE_RUNNING:
    case HV_STATE_BLOCKED:
    case HV_STATE_PAUSED:
    case HV_STATE_SHUTDOWN:
    case HV_STATE_PMSUSPENDED: return true;
    default: return false;
    }
}

bool domain_runs(const struct domain *domain)
{
    return (domain->state == HV_STATE_RUNNING || domain->state == HV_STATE_BLOCKED) &&
           domain->reason != HV_RUNNING_POSTCOPY && domain->reason != HV_RUNNING_POSTCOPY_FAILED;
}

/* A job of it may have waited for this. */
static void wake_guest(struct fleet *f, const struct guest *guest)
{
    struct job *job = fleet_active_job(f, guest->uuid);
    if (job != NULL && job->phase == PHASE_PENDING)
        fleet_queue_ready(f, job);
}

static void find_stay(struct fleet *f, struct guest *guest);

/* How strongly a domain's state proves that the guest lives there. An incoming copy is
 * paused(migration). */
static int claim(const struct domain *domain)
{
    switch (domain->state) {
    case HV_STATE_RUNNING:
    case HV_STATE_BLOCKED: return domain->reason == HV_RUNNING_POSTCOPY_FAILED ? 4 : 5;
    case HV_STATE_PAUSED:
        if (domain->reason == HV_PAUSED_MIGRATION || domain->reason == HV_PAUSED_STARTING_UP)
            return 2;
        return domain->reason == HV_PAUSED_POSTCOPY || domain->reason == HV_PAUSED_POSTCOPY_FAILED
                   ? 3
                   : 4;
    case HV_STATE_SHUTDOWN:
    case HV_STATE_PMSUSPENDED: return 4;
    default: return 1;
    }
}

/* The strongest claim wins; with equal claims the owner stays. */
static void choose_owner(struct fleet *f, struct guest *guest)
{
    struct domain *best = guest->owner;
    bool owner_left = true;
    for (struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        owner_left = owner_left && domain != guest->owner;
    if (owner_left)
        best = NULL;
    for (struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (best == NULL || claim(domain) > claim(best))
            best = domain;
    if (best != guest->owner) {
        guest->owner = best;
        find_stay(f, guest);
        f->guests_version = fleet_touch(f);
        wake_guest(f, guest);
    }
}

/* Running on two nodes by their last observations: to be checked by split.c. */
static void note_split(struct fleet *f, struct guest *guest)
{
    unsigned n = 0;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        n += domain_runs(domain);
    if (n >= 2 && guest->split.timer.in == NULL && !guest->split.reported)
        heap_put(&f->split, &guest->split.timer, 0, (int64_t)fleet_touch(f), guest);
    if (n >= 2)
        return;
    if (guest->split.reported) { /* split.c closes its incident */
        if (guest->split.timer.in == NULL)
            heap_put(&f->split, &guest->split.timer, 0, (int64_t)fleet_touch(f), guest);
        return;
    }
    heap_remove(&guest->split.timer);
    guest->split = (struct guest_split){.asked = 0};
}

static bool is_broken(const struct domain *domain)
{
    return (domain->state == HV_STATE_RUNNING && domain->reason == HV_RUNNING_POSTCOPY_FAILED) ||
           (domain->state == HV_STATE_PAUSED && domain->reason == HV_PAUSED_POSTCOPY_FAILED);
}

bool guest_is_stranded(const struct guest *guest)
{
    const struct domain *owner = guest->owner;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (is_broken(domain))
            return true;
    return owner != NULL && owner->state == HV_STATE_PAUSED &&
           owner->reason == HV_PAUSED_MIGRATION && (owner->persistent || guest->has_run);
}

/* stranded.c waits, observes again, and opens or closes the incident. */
static void note_stranded(struct fleet *f, struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        guest->has_run = guest->has_run || claim(domain) >= 4;
    bool is_stranded = guest_is_stranded(guest), is_news = is_stranded != guest->stranded.reported;
    if (!is_stranded && !guest->stranded.reported) { /* the next time is another one */
        heap_remove(&guest->stranded.timer);
        guest->stranded.since_ms = 0;
        guest->stranded.asked = 0;
    }
    if (is_news && guest->stranded.timer.in == NULL)
        heap_put(&f->stranded, &guest->stranded.timer, 0, (int64_t)fleet_touch(f), guest);
}

static struct domain *find_domain(const struct guest *guest, const struct node *node)
{
    struct domain *domain = guest->domains;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    return domain;
}

static struct domain *add_domain(struct guest *guest, struct node *node)
{
    struct domain *domain = calloc(1, sizeof *domain);
    if (domain == NULL)
        return NULL;
    domain->guest = guest;
    domain->node = node;
    domain->next_of = guest->domains;
    guest->domains = domain;
    domain->next_here = node->domains;
    if (node->domains != NULL)
        node->domains->prev_here = domain;
    node->domains = domain;
    node->n_positions++;
    return domain;
}

/* An incident of a guest that is gone is closed first. */
void fleet_forget_if_gone(struct fleet *f, struct guest *guest)
{
    if (guest->domains == NULL && fleet_active_job(f, guest->uuid) == NULL &&
        fleet_observed_job(f, guest->uuid) == NULL && guest->split.timer.in == NULL &&
        guest->stranded.timer.in == NULL && guest->passage.timer.in == NULL)
        fleet_forget_guest(f, guest);
}

/* NULL, or one without a job: none. */
static void set_mark(struct fleet *f, struct domain *domain, const struct hv_mark *mark,
                     int64_t wall_ms)
{
    bool marked = mark != NULL && mark->job[0] != '\0';
    if (domain->mark != NULL && marked && memcmp(&domain->mark->is, mark, sizeof *mark) == 0)
        return;
    if (domain->mark != NULL) {
        DL_DELETE2(f->marks.list, domain, prev_marked, next_marked);
        free(domain->mark);
        domain->mark = NULL;
        f->guests_version = fleet_touch(f);
    }
    struct domain_mark *kept = marked ? calloc(1, sizeof *kept) : NULL;
    if (kept == NULL)
        return;
    kept->is = *mark;
    kept->seen_wall_ms = wall_ms;
    domain->mark = kept;
    DL_APPEND2(f->marks.list, domain, prev_marked, next_marked);
}

/* Removes the domain, and the guest with its last domain unless a job refers to it. */
static void remove_domain(struct fleet *f, struct domain *domain)
{
    struct guest *guest = domain->guest;
    struct node *node = domain->node;
    if (domain->prev_here != NULL)
        domain->prev_here->next_here = domain->next_here;
    else
        node->domains = domain->next_here;
    if (domain->next_here != NULL)
        domain->next_here->prev_here = domain->prev_here;
    struct domain **link = &guest->domains;
    while (*link != domain)
        link = &(*link)->next_of;
    *link = domain->next_of;
    node->n_positions--;
    f->guests_version = fleet_touch(f);
    bool owned = guest->owner == domain;
    ledger_domain(f, domain, true);
    host_requirements_drop(&f->requirements, domain->requirements);
    set_mark(f, domain, NULL, 0);
    free(domain);
    if (owned) {
        guest->owner = NULL;
        choose_owner(f, guest);
        guest->persistent = guest->owner != NULL && guest->owner->persistent;
    }
    note_split(f, guest);
    note_stranded(f, guest);
    if (guest->domains == NULL)
        wake_guest(f, guest);
    fleet_forget_if_gone(f, guest);
    fleet_node_improved(f, node);
    f->drains_due = f->queue.affinity_changed = true;
}

void fleet_forget_domains(struct fleet *f, struct node *node)
{
    while (node->domains != NULL)
        remove_domain(f, node->domains);
}

static void set_domain(struct fleet *f, struct domain *domain, int state, int reason,
                       bool persistent)
{
    if (domain->state == state && domain->reason == reason && domain->persistent == persistent &&
        domain->guest->owner != NULL)
        return;
    bool was_up = domain_is_up(domain);
    domain->state = state;
    domain->reason = reason;
    domain->persistent = persistent;
    f->queue.affinity_changed = f->queue.affinity_changed || was_up != domain_is_up(domain);
    f->guests_version = fleet_touch(f);
    choose_owner(f, domain->guest);
    domain->guest->persistent = domain->guest->owner->persistent;
    note_split(f, domain->guest);
    note_stranded(f, domain->guest);
    ledger_domain(f, domain, false);
    if (!domain_is_up(domain))
        fleet_node_improved(f, domain->node);
    f->drains_due = true;
}

static void leave_name(struct fleet *f, struct guest *guest)
{
    struct guest *first = NULL;
    if (guest->key[0] == '\0')
        return;
    HASH_FIND(hh_name, f->guests_named, guest->key, strlen(guest->key), first);
    if (first == guest) {
        HASH_DELETE(hh_name, f->guests_named, guest);
        struct guest *next = guest->next_namesake;
        if (next != NULL)
            HASH_ADD_KEYPTR(hh_name, f->guests_named, next->key, strlen(next->key), next);
    } else {
        while (first->next_namesake != guest)
            first = first->next_namesake;
        first->next_namesake = guest->next_namesake;
    }
    guest->next_namesake = NULL;
    guest->key[0] = '\0';
}

static void take_name(struct fleet *f, struct guest *guest, const struct hv_guest *seen)
{
    if (strcmp(guest->name, seen->name) == 0 && strcmp(guest->ns, seen->ns) == 0)
        return;
    leave_name(f, guest);
    TEXT_SET(guest->name, seen->name);
    TEXT_SET(guest->ns, seen->ns);
    (void)snprintf(guest->key, sizeof guest->key, "%s/%s", guest->ns, guest->name);
    struct guest *first = NULL;
    HASH_FIND(hh_name, f->guests_named, guest->key, strlen(guest->key), first);
    if (first == NULL)
        HASH_ADD_KEYPTR(hh_name, f->guests_named, guest->key, strlen(guest->key), guest);
    for (; first != NULL; first = first->next_namesake) {
        wake_guest(f, first); /* perhaps it was recreated under this name */
        if (first->next_namesake == NULL) {
            first->next_namesake = guest;
            break;
        }
    }
}

void guest_free(struct guest *guest)
{
    free(guest->metadata_labels);
    free(guest->metadata_settings);
    free(guest->labels_json);
    free(guest->settings_json);
    labels_fini(&guest->labels);
    if (guest->settings != NULL)
        settings_fini(guest->settings);
    free(guest->settings);
    free(guest->dirty);
    free(guest);
}

void fleet_forget_guest(struct fleet *f, struct guest *guest)
{
    evacuation_unset(f, guest); /* the mark does not apply to a later start of the same guest */
    leave_name(f, guest);
    heap_remove(&guest->change_timer);
    heap_remove(&guest->split.timer);
    heap_remove(&guest->stranded.timer);
    heap_remove(&guest->passage.timer);
    HASH_DEL(f->guests, guest);
    guest_free(guest);
    f->guests_version = fleet_touch(f);
}

static struct guest *new_guest(struct fleet *f, const char *uuid)
{
    struct guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL)
        return NULL;
    TEXT_SET(guest->uuid, uuid);
    HASH_ADD_STR(f->guests, uuid, guest);
    const struct job *newest = fleet_active_job(f, uuid); /* jobs outlive a restart */
    if (newest == NULL)
        newest = fleet_newest_finished(f, uuid);
    if (newest != NULL)
        TEXT_SET(guest->newest_job, newest->uid);
    incidents_adopt_guest(f, guest);
    return guest;
}

/* The job that brought the guest here, so that its launcher keeps its name over a restart. */
static void find_stay(struct fleet *f, struct guest *guest)
{
    guest->stay_job[0] = '\0';
    guest->stay_wall_ms = 0;
    if (guest->owner == NULL)
        return;
    const struct job *job = fleet_newest_finished(f, guest->uuid);
    for (; job != NULL; job = job->links.older)
        if (job->result.outcome == OUTCOME_SUCCEEDED) {
            if (strcmp(job->target, guest->owner->node->name) == 0) {
                TEXT_SET(guest->stay_job, job->uid);
                guest->stay_wall_ms = job->times.ended_ms;
            }
            return;
        }
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* The namespace follows the guest's name; its charge moves along. */
static void enter_namespace(struct fleet *f, struct guest *guest)
{
    struct namespace *namespace = fleet_namespace(f, guest->ns);
    if (namespace == guest->namespace)
        return;
    for (struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        ledger_domain(f, domain, true);
    guest->namespace = namespace;
    for (struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        ledger_domain(f, domain, false);
}

static struct guest *learn_guest(struct fleet *f, const struct hv_guest *seen)
{
    struct guest *guest = fleet_guest(f, seen->uuid);
    bool fresh = guest == NULL;
    if (fresh)
        guest = new_guest(f, seen->uuid);
    if (guest == NULL)
        return NULL;
    bool same_size = guest->memory_kib == seen->memory_kib && guest->vcpus == seen->vcpus;
    bool same_requests = same_text(guest->metadata_labels, seen->labels) &&
                         same_text(guest->metadata_settings, seen->settings);
    bool same_name = strcmp(guest->name, seen->name) == 0 && strcmp(guest->ns, seen->ns) == 0;
    if (!fresh && same_size && same_requests && same_name)
        return guest;
    take_name(f, guest, seen);
    enter_namespace(f, guest);
    guest->memory_kib = seen->memory_kib;
    guest->vcpus = seen->vcpus;
    if (!same_requests) {
        free(guest->metadata_labels);
        free(guest->metadata_settings);
        guest->metadata_labels = seen->labels != NULL ? strdup(seen->labels) : NULL;
        guest->metadata_settings = seen->settings != NULL ? strdup(seen->settings) : NULL;
    }
    if (fresh || !same_requests || !same_name)
        fleet_refresh_guest(f, guest);
    if (fresh)
        evacuation_restore(f, guest);
    for (struct domain *domain = guest->domains; !same_size && domain != NULL;
         domain = domain->next_of) {
        ledger_domain(f, domain, false);
        fleet_node_improved(f, domain->node);
    }
    f->guests_version = fleet_touch(f);
    wake_guest(f, guest);
    return guest;
}

void fleet_apply_list(struct fleet *f, struct node *node, const struct hv_guest_list *list,
                      int64_t wall_ms)
{
    node->list_round++;
    if (!node->listed)
        fleet_node_improved(f, node); /* the capabilities are known: it can be checked */
    node->listed = true;
    for (size_t i = 0; i < list->n; i++) {
        struct guest *guest = learn_guest(f, &list->guests[i]);
        if (guest == NULL)
            continue; /* out of memory: the next list has it again */
        struct domain *domain = find_domain(guest, node);
        if (domain == NULL)
            domain = add_domain(guest, node);
        if (domain == NULL)
            continue;
        domain->list_round = node->list_round;
        domain->seen = f->next_call_id;
        guest->seen_wall_ms = wall_ms;
        if (guest->first_seen_wall_ms == 0)
            guest->first_seen_wall_ms = wall_ms;
        const struct hv_guest *seen = &list->guests[i];
        set_domain(f, domain, seen->state, seen->reason, seen->persistent);
    }
    for (struct domain *domain = node->domains, *next; domain != NULL; domain = next) {
        next = domain->next_here;
        if (domain->list_round != node->list_round)
            remove_domain(f, domain);
    }
    (void)fleet_touch(f);
}

void fleet_apply_observation(struct fleet *f, struct node *node, const char *uuid,
                             const struct hv_observation *observation)
{
    struct guest *guest = fleet_guest(f, uuid);
    if (guest == NULL)
        return;
    struct domain *domain = find_domain(guest, node);
    if (observation->presence == HV_ABSENT && domain != NULL)
        remove_domain(f, domain);
    if (observation->presence != HV_PRESENT)
        return;
    if (domain == NULL)
        domain = add_domain(guest, node);
    if (domain != NULL) {
        domain->list_round = node->list_round;
        domain->seen = f->next_call_id;
        set_domain(f, domain, observation->state, observation->reason, observation->persistent);
    }
}

static bool same_migratable(const struct migratable *a, const struct migratable *b)
{
    return a->known == b->known && a->rows == b->rows && a->snapshots == b->snapshots &&
           a->manager == b->manager && strcmp(a->disk, b->disk) == 0 &&
           strcmp(a->plugged, b->plugged) == 0;
}

void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct guest_facts *facts, int64_t wall_ms)
{
    struct guest *guest = fleet_guest(f, uuid);
    struct domain *domain = guest != NULL ? find_domain(guest, node) : NULL;
    if (domain == NULL)
        return; /* the guest left meanwhile */
    set_mark(f, domain, &facts->mark, wall_ms);
    bool same_requirements =
        domain->requirements != NULL &&
        memcmp(&domain->requirements->facts, &facts->requirements, sizeof facts->requirements) == 0;
    bool same_change = domain->pending_change.is == facts->pending_change.is &&
                       domain->pending_change.hash == facts->pending_change.hash &&
                       domain->pending_change.cures == facts->pending_change.cures &&
                       strcmp(domain->pending_change.detail, facts->pending_change.detail) == 0;
    bool same = same_requirements && same_change &&
                same_migratable(&domain->migratable, &facts->migratable) &&
                domain->block_jobs == facts->block_jobs &&
                domain->utility_disks == facts->utility_disks;
    if (same)
        return;
    domain->migratable = facts->migratable;
    domain->block_jobs = facts->block_jobs;
    domain->utility_disks = facts->utility_disks;
    if (!same_requirements) {
        host_requirements_drop(&f->requirements, domain->requirements);
        domain->requirements = host_requirements_take(&f->requirements, &facts->requirements);
        ledger_domain(f, domain, false);
    }
    if (!same_change) {
        domain->pending_change = facts->pending_change;
        guest->change_since_ms = wall_ms;
    }
    f->guests_version = fleet_touch(f);
    f->drains_due = true;
    wake_guest(f, guest);
}
