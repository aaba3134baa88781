/* fleet_guests.c - guests and where they were seen; see fleet.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/evacuation.h"
#include "engine/model/fleet_inside.h"
#include "engine/model/ledger.h"

bool place_is_up(const struct place *place)
{
    switch (place->state) {
    case HV_STATE_RUNNING:
    case HV_STATE_BLOCKED:
    case HV_STATE_PAUSED:
    case HV_STATE_SHUTDOWN:
    case HV_STATE_PMSUSPENDED: return true;
    default: return false;
    }
}

bool place_runs(const struct place *place)
{
    return (place->state == HV_STATE_RUNNING || place->state == HV_STATE_BLOCKED) &&
           place->reason != HV_RUNNING_POSTCOPY && place->reason != HV_RUNNING_POSTCOPY_FAILED;
}

/* A job of it may have waited for this. */
static void wake_guest(struct fleet *f, const struct guest *guest)
{
    struct job *job = fleet_active_job(f, guest->uuid);
    if (job != NULL && job->phase == PHASE_PENDING)
        fleet_queue_ready(f, job);
}

static void find_stay(struct fleet *f, struct guest *guest);

/* How strongly a state says "it lives here". An incoming copy waits in paused(migration). */
static int claim(const struct place *place)
{
    switch (place->state) {
    case HV_STATE_RUNNING:
    case HV_STATE_BLOCKED: return place->reason == HV_RUNNING_POSTCOPY_FAILED ? 4 : 5;
    case HV_STATE_PAUSED:
        if (place->reason == HV_PAUSED_MIGRATION || place->reason == HV_PAUSED_STARTING_UP)
            return 2;
        return place->reason == HV_PAUSED_POSTCOPY || place->reason == HV_PAUSED_POSTCOPY_FAILED
                   ? 3
                   : 4;
    case HV_STATE_SHUTDOWN:
    case HV_STATE_PMSUSPENDED: return 4;
    default: return 1;
    }
}

/* The strongest claim wins; equal claims leave the guest where it was. */
static void choose_owner(struct fleet *f, struct guest *guest)
{
    struct place *best = guest->owner;
    bool owner_left = true;
    for (struct place *place = guest->places; place != NULL; place = place->next_of)
        owner_left = owner_left && place != guest->owner;
    if (owner_left)
        best = NULL;
    for (struct place *place = guest->places; place != NULL; place = place->next_of)
        if (best == NULL || claim(place) > claim(best))
            best = place;
    if (best != guest->owner) {
        guest->owner = best;
        find_stay(f, guest);
        guest->version = f->guests_version = fleet_touch(f);
        wake_guest(f, guest);
    }
}

/* On two nodes, by what each said last: somebody must look again. */
static void note_twice(struct fleet *f, struct guest *guest)
{
    unsigned n = 0;
    for (const struct place *place = guest->places; place != NULL; place = place->next_of)
        n += place_runs(place);
    if (n >= 2 && guest->twice.timer.in == NULL && !guest->twice.told)
        heap_put(&f->twice, &guest->twice.timer, 0, (int64_t)fleet_touch(f), guest);
    if (n >= 2)
        return;
    if (guest->twice.told) { /* split.c closes what it opened */
        if (guest->twice.timer.in == NULL)
            heap_put(&f->twice, &guest->twice.timer, 0, (int64_t)fleet_touch(f), guest);
        return;
    }
    heap_leave(&guest->twice.timer);
    guest->twice = (struct guest_twice){.asked = 0};
}

static struct place *find_place(const struct guest *guest, const struct node *node)
{
    struct place *place = guest->places;
    while (place != NULL && place->node != node)
        place = place->next_of;
    return place;
}

static struct place *add_place(struct guest *guest, struct node *node)
{
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL)
        return NULL;
    place->guest = guest;
    place->node = node;
    place->next_of = guest->places;
    guest->places = place;
    place->next_here = node->places;
    if (node->places != NULL)
        node->places->prev_here = place;
    node->places = place;
    node->n_places++;
    return place;
}

/* Takes the place away, and the guest with its last place unless a job still speaks of it. */
static void remove_place(struct fleet *f, struct place *place)
{
    struct guest *guest = place->guest;
    struct node *node = place->node;
    if (place->prev_here != NULL)
        place->prev_here->next_here = place->next_here;
    else
        node->places = place->next_here;
    if (place->next_here != NULL)
        place->next_here->prev_here = place->prev_here;
    struct place **link = &guest->places;
    while (*link != place)
        link = &(*link)->next_of;
    *link = place->next_of;
    node->n_places--;
    f->guests_version = guest->version = fleet_touch(f);
    bool owned = guest->owner == place;
    ledger_place(f, place, true);
    needs_drop(&f->needs, place->needs);
    free(place);
    if (owned) {
        guest->owner = NULL;
        choose_owner(f, guest);
        guest->persistent = guest->owner != NULL && guest->owner->persistent;
    }
    note_twice(f, guest);
    if (guest->places == NULL && fleet_active_job(f, guest->uuid) == NULL) {
        fleet_forget_guest(f, guest);
    }
    fleet_node_improved(f, node);
    f->drains_due = f->queue.company_changed = true;
}

static void set_place(struct fleet *f, struct place *place, int state, int reason, bool persistent)
{
    if (place->state == state && place->reason == reason && place->persistent == persistent &&
        place->guest->owner != NULL)
        return;
    bool was_up = place_is_up(place);
    place->state = state;
    place->reason = reason;
    place->persistent = persistent;
    f->queue.company_changed = f->queue.company_changed || was_up != place_is_up(place);
    place->guest->version = f->guests_version = fleet_touch(f);
    choose_owner(f, place->guest);
    place->guest->persistent = place->guest->owner->persistent;
    note_twice(f, place->guest);
    ledger_place(f, place, false);
    if (!place_is_up(place))
        fleet_node_improved(f, place->node);
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
    for (; first != NULL; first = first->next_namesake)
        if (first->next_namesake == NULL) {
            first->next_namesake = guest;
            break;
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
    evacuation_unset(f, guest); /* the same guest started again later was not asked to leave */
    leave_name(f, guest);
    heap_leave(&guest->required_timer);
    heap_leave(&guest->twice.timer);
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
    return guest;
}

/* The job that brought it here, so that its launcher keeps its name over a restart. */
static void find_stay(struct fleet *f, struct guest *guest)
{
    guest->stay_job[0] = '\0';
    if (guest->owner == NULL)
        return;
    const struct job *job = fleet_newest_finished(f, guest->uuid);
    for (; job != NULL; job = job->links.older)
        if (job->result.outcome == OUTCOME_SUCCEEDED) {
            if (strcmp(job->target, guest->owner->node->name) == 0)
                TEXT_SET(guest->stay_job, job->uid);
            return;
        }
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Its namespace follows its name; what is charged there moves along. */
static void enter_space(struct fleet *f, struct guest *guest)
{
    struct space *space = fleet_space(f, guest->ns);
    if (space == guest->space)
        return;
    for (struct place *place = guest->places; place != NULL; place = place->next_of)
        ledger_place(f, place, true);
    guest->space = space;
    for (struct place *place = guest->places; place != NULL; place = place->next_of)
        ledger_place(f, place, false);
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
    bool same_wishes = same_text(guest->metadata_labels, seen->labels) &&
                       same_text(guest->metadata_settings, seen->settings);
    bool same_name = strcmp(guest->name, seen->name) == 0 && strcmp(guest->ns, seen->ns) == 0;
    if (!fresh && same_size && same_wishes && same_name)
        return guest;
    take_name(f, guest, seen);
    enter_space(f, guest);
    guest->memory_kib = seen->memory_kib;
    guest->vcpus = seen->vcpus;
    if (!same_wishes) {
        free(guest->metadata_labels);
        free(guest->metadata_settings);
        guest->metadata_labels = seen->labels != NULL ? strdup(seen->labels) : NULL;
        guest->metadata_settings = seen->settings != NULL ? strdup(seen->settings) : NULL;
    }
    if (fresh || !same_wishes || !same_name)
        fleet_refresh_guest(f, guest);
    if (fresh)
        evacuation_restore(f, guest);
    for (struct place *place = guest->places; !same_size && place != NULL; place = place->next_of) {
        ledger_place(f, place, false);
        fleet_node_improved(f, place->node);
    }
    guest->version = f->guests_version = fleet_touch(f);
    wake_guest(f, guest);
    return guest;
}

void fleet_apply_list(struct fleet *f, struct node *node, const struct hv_guest_list *list,
                      int64_t wall_ms)
{
    node->list_round++;
    if (!node->listed)
        fleet_node_improved(f, node); /* what is there is known: it can be judged */
    node->listed = true;
    for (size_t i = 0; i < list->n; i++) {
        struct guest *guest = learn_guest(f, &list->guests[i]);
        if (guest == NULL)
            continue; /* out of memory: it is seen again with the next list */
        struct place *place = find_place(guest, node);
        if (place == NULL)
            place = add_place(guest, node);
        if (place == NULL)
            continue;
        place->list_round = node->list_round;
        place->seen = f->next_call_id;
        guest->seen_wall_ms = wall_ms;
        const struct hv_guest *seen = &list->guests[i];
        set_place(f, place, seen->state, seen->reason, seen->persistent);
    }
    for (struct place *place = node->places, *next; place != NULL; place = next) {
        next = place->next_here;
        if (place->list_round != node->list_round)
            remove_place(f, place);
    }
    node->version = fleet_touch(f);
}

void fleet_apply_sight(struct fleet *f, struct node *node, const char *uuid,
                       const struct hv_sight *sight)
{
    struct guest *guest = fleet_guest(f, uuid);
    if (guest == NULL)
        return;
    struct place *place = find_place(guest, node);
    if (sight->presence == HV_ABSENT && place != NULL)
        remove_place(f, place);
    if (sight->presence != HV_PRESENT)
        return;
    if (place == NULL)
        place = add_place(guest, node);
    if (place != NULL) {
        place->list_round = node->list_round;
        place->seen = f->next_call_id;
        set_place(f, place, sight->state, sight->reason, sight->persistent);
    }
}

static bool same_migratable(const struct migratable *a, const struct migratable *b)
{
    return a->known == b->known && a->rows == b->rows && a->snapshots == b->snapshots &&
           strcmp(a->disk, b->disk) == 0 && strcmp(a->plugged, b->plugged) == 0;
}

void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct guest_facts *facts, int64_t wall_ms)
{
    struct guest *guest = fleet_guest(f, uuid);
    struct place *place = guest != NULL ? find_place(guest, node) : NULL;
    if (place == NULL)
        return; /* it left meanwhile */
    bool same_needs = place->needs != NULL &&
                      memcmp(&place->needs->facts, &facts->needs, sizeof facts->needs) == 0;
    bool same_required = place->required.is == facts->required.is &&
                         place->required.hash == facts->required.hash &&
                         place->required.cures == facts->required.cures &&
                         strcmp(place->required.detail, facts->required.detail) == 0;
    bool same =
        same_needs && same_required && same_migratable(&place->migratable, &facts->migratable) &&
        place->block_jobs == facts->block_jobs && place->utility_disks == facts->utility_disks;
    if (same)
        return;
    place->migratable = facts->migratable;
    place->block_jobs = facts->block_jobs;
    place->utility_disks = facts->utility_disks;
    if (!same_needs) {
        needs_drop(&f->needs, place->needs);
        place->needs = needs_take(&f->needs, &facts->needs);
        ledger_place(f, place, false);
    }
    if (!same_required) {
        place->required = facts->required;
        guest->required_since_ms = wall_ms;
    }
    guest->version = f->guests_version = fleet_touch(f);
    f->drains_due = true;
    wake_guest(f, guest);
}
