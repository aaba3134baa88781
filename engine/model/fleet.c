/* fleet.c - see fleet.h. */
#include "engine/model/fleet.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct fleet *fleet_new(const struct fleet_config *config, uint64_t seed, struct err *err)
{
    struct fleet *f = calloc(1, sizeof *f);
    if (f == NULL) {
        err_set(err, ERR_NOMEM, "the fleet");
        return NULL;
    }
    f->config = *config;
    f->random = seed;
    f->store_ok = true;
    f->version = 1;
    return f;
}

static void guest_free(struct guest *guest)
{
    free(guest->labels);
    free(guest);
}

void fleet_free(struct fleet *f)
{
    if (f == NULL)
        return;
    struct job *job, *next_job;
    HASH_CLEAR(hh_guest, f->active);
    HASH_CLEAR(hh_name, f->named);
    HASH_CLEAR(hh_newest, f->newest);
    HASH_ITER(hh, f->jobs, job, next_job)
    {
        HASH_DEL(f->jobs, job);
        job_free(job);
    }
    struct guest *guest, *next_guest;
    HASH_ITER(hh, f->guests, guest, next_guest)
    {
        HASH_DEL(f->guests, guest);
        for (struct place *place = guest->places, *next; place != NULL; place = next) {
            next = place->next_of;
            free(place);
        }
        guest_free(guest);
    }
    struct node *node, *next_node;
    HASH_ITER(hh, f->nodes, node, next_node)
    {
        HASH_DEL(f->nodes, node);
        free(node);
    }
    free(f);
}

uint64_t fleet_touch(struct fleet *f)
{
    return ++f->version;
}

/* splitmix64: tiny, and equal seeds give equal uids. */
uint64_t fleet_random(struct fleet *f)
{
    uint64_t z = (f->random += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

void fleet_make_uid(struct fleet *f, char out_uid[static JOB_UID_MAX])
{
    uint64_t a = fleet_random(f), b = fleet_random(f);
    (void)snprintf(out_uid, JOB_UID_MAX, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xfffU,
                   ((unsigned)(b >> 48) & 0x3fffU) | 0x8000U,
                   (unsigned long long)(b & 0xffffffffffffULL));
}

bool fleet_add_node(struct fleet *f, const struct hv_host *host, int64_t wall_ms, struct err *err)
{
    if (fleet_node(f, host->name) != NULL)
        return err_set(err, ERR_EXISTS, "node '%s' is configured twice", host->name);
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return err_set(err, ERR_NOMEM, "node '%s'", host->name);
    TEXT_SET(node->name, host->name);
    node->host = *host;
    node->created_wall_ms = wall_ms;
    node->since_wall_ms = wall_ms;
    TEXT_SET(node->error, "not connected yet");
    node->version = fleet_touch(f);
    HASH_ADD_STR(f->nodes, name, node);
    return true;
}

struct node *fleet_node(struct fleet *f, const char *name)
{
    struct node *node = NULL;
    HASH_FIND_STR(f->nodes, name, node);
    return node;
}

struct guest *fleet_guest(struct fleet *f, const char *uuid)
{
    struct guest *guest = NULL;
    HASH_FIND_STR(f->guests, uuid, guest);
    return guest;
}

/* A scan: it runs once per request, and requests are rare beside samples. */
struct guest *fleet_guest_named(struct fleet *f, const char *ns, const char *name,
                                unsigned *out_count)
{
    struct guest *found = NULL, *guest, *next;
    *out_count = 0;
    HASH_ITER(hh, f->guests, guest, next)
    {
        if (strcmp(guest->name, name) != 0 || strcmp(guest->ns, ns) != 0)
            continue;
        (*out_count)++;
        if (found == NULL || (found->owner == NULL && guest->owner != NULL))
            found = guest;
    }
    return found;
}

const struct guest *fleet_namesake(const struct node *node, const char *name, const char *uuid)
{
    for (const struct place *place = node->places; place != NULL; place = place->next_here)
        if (strcmp(place->guest->name, name) == 0 && strcmp(place->guest->uuid, uuid) != 0)
            return place->guest;
    return NULL;
}

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
        guest->version = f->guests_version = fleet_touch(f);
    }
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
    free(place);
    if (owned) {
        guest->owner = NULL;
        choose_owner(f, guest);
    }
    if (guest->places == NULL && fleet_active_job(f, guest->uuid) == NULL) {
        HASH_DEL(f->guests, guest);
        guest_free(guest);
    }
}

static void set_place(struct fleet *f, struct place *place, int state, int reason)
{
    if (place->state == state && place->reason == reason && place->guest->owner != NULL)
        return;
    place->state = state;
    place->reason = reason;
    place->guest->version = f->guests_version = fleet_touch(f);
    choose_owner(f, place->guest);
}

static struct job *newest_finished(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(hh_newest, f->newest, guest_uuid, strlen(guest_uuid), job);
    return job;
}

static struct guest *learn_guest(struct fleet *f, const struct hv_guest *seen)
{
    struct guest *guest = fleet_guest(f, seen->uuid);
    if (guest == NULL) {
        guest = calloc(1, sizeof *guest);
        if (guest == NULL)
            return NULL;
        TEXT_SET(guest->uuid, seen->uuid);
        HASH_ADD_STR(f->guests, uuid, guest);
        guest->version = f->guests_version = fleet_touch(f);
        const struct job *job = fleet_active_job(f, seen->uuid); /* jobs outlive a restart */
        if (job == NULL)
            job = newest_finished(f, seen->uuid);
        if (job != NULL)
            TEXT_SET(guest->newest_job, job->uid);
    }
    const char *labels = seen->labels != NULL ? seen->labels : "";
    bool same = strcmp(guest->name, seen->name) == 0 && strcmp(guest->ns, seen->ns) == 0 &&
                guest->memory_kib == seen->memory_kib && guest->vcpus == seen->vcpus &&
                guest->persistent == seen->persistent &&
                strcmp(guest->labels != NULL ? guest->labels : "", labels) == 0;
    if (same)
        return guest;
    TEXT_SET(guest->name, seen->name);
    TEXT_SET(guest->ns, seen->ns);
    guest->memory_kib = seen->memory_kib;
    guest->vcpus = seen->vcpus;
    guest->persistent = seen->persistent;
    free(guest->labels);
    guest->labels = seen->labels != NULL ? strdup(seen->labels) : NULL;
    guest->version = f->guests_version = fleet_touch(f);
    return guest;
}

void fleet_apply_list(struct fleet *f, struct node *node, const struct hv_guest_list *list,
                      int64_t wall_ms)
{
    node->list_round++;
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
        guest->seen_wall_ms = wall_ms;
        set_place(f, place, list->guests[i].state, list->guests[i].reason);
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
        set_place(f, place, sight->state, sight->reason);
    }
}

void fleet_apply_definition(struct fleet *f, struct node *node, const char *uuid,
                            const struct migratable *migratable)
{
    struct guest *guest = fleet_guest(f, uuid);
    struct place *place = guest != NULL ? find_place(guest, node) : NULL;
    if (place == NULL)
        return; /* it left meanwhile */
    bool same = place->migratable.known == migratable->known &&
                place->migratable.rows == migratable->rows &&
                strcmp(place->migratable.disk, migratable->disk) == 0;
    if (same)
        return;
    place->migratable = *migratable;
    guest->version = f->guests_version = fleet_touch(f);
}

struct job *fleet_job(struct fleet *f, const char *uid)
{
    struct job *job = NULL;
    HASH_FIND_STR(f->jobs, uid, job);
    return job;
}

static void make_key(const char *ns, const char *name, char *out_key)
{
    (void)snprintf(out_key, HV_HOST_MAX + JOB_NAME_MAX, "%s/%s", ns, name);
}

struct job *fleet_job_named(struct fleet *f, const char *ns, const char *name)
{
    char key[HV_HOST_MAX + JOB_NAME_MAX];
    make_key(ns, name, key);
    struct job *job = NULL;
    HASH_FIND(hh_name, f->named, key, strlen(key), job);
    return job;
}

struct job *fleet_active_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(hh_guest, f->active, guest_uuid, strlen(guest_uuid), job);
    return job;
}

/* Node counters stay true as long as the job is busy; the fleet's slot can be given up earlier. */
static void count_busy(struct fleet *f, struct job *job, bool more)
{
    struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    unsigned step = more ? 1U : UINT32_MAX; /* adds or takes one */
    if (job->holds_slot != more) {
        f->busy_jobs += step;
        job->holds_slot = more;
    }
    if (source != NULL)
        source->outbound += step;
    if (target != NULL)
        target->inbound += step;
}

void fleet_release_slot(struct fleet *f, struct job *job)
{
    if (!job->holds_slot)
        return;
    job->holds_slot = false;
    f->busy_jobs--;
    f->reschedule = true;
}

static void set_newest(struct fleet *f, struct job *before, struct job *now)
{
    if (before != NULL)
        HASH_DELETE(hh_newest, f->newest, before);
    if (now != NULL)
        HASH_ADD_KEYPTR(hh_newest, f->newest, now->guest_uuid, strlen(now->guest_uuid), now);
}

static void add_finished(struct fleet *f, struct job *job)
{
    job->older = newest_finished(f, job->guest_uuid);
    set_newest(f, job->older, job);
    f->finished_jobs++;
}

static void drop_finished(struct fleet *f, struct job *job)
{
    struct job *newest = newest_finished(f, job->guest_uuid);
    f->finished_jobs--;
    if (newest == job) {
        set_newest(f, job, job->older);
        return;
    }
    while (newest != NULL && newest->older != job)
        newest = newest->older;
    if (newest != NULL)
        newest->older = job->older;
}

static bool waits(enum phase phase)
{
    return phase == PHASE_PENDING || phase == PHASE_SCHEDULING;
}

void fleet_add_job(struct fleet *f, struct job *take_job)
{
    struct job *job = take_job;
    make_key(job->ns, job->name, job->key);
    HASH_ADD_STR(f->jobs, uid, job);
    HASH_ADD_KEYPTR(hh_name, f->named, job->key, strlen(job->key), job);
    if (phase_is_final(job->phase)) {
        add_finished(f, job);
    } else {
        assert(fleet_active_job(f, job->guest_uuid) == NULL);
        HASH_ADD_KEYPTR(hh_guest, f->active, job->guest_uuid, strlen(job->guest_uuid), job);
        if (phase_is_busy(job->phase))
            count_busy(f, job, true);
        if (waits(job->phase))
            DL_APPEND(f->waiting[job->priority], job);
    }
    job->version = fleet_touch(f);
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL) {
        TEXT_SET(guest->newest_job, job->uid);
        guest->version = f->guests_version = fleet_touch(f);
    }
}

void fleet_remove_job(struct fleet *f, struct job *job)
{
    assert(phase_is_final(job->phase));
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL && strcmp(guest->newest_job, job->uid) == 0) {
        guest->newest_job[0] = '\0';
        guest->version = f->guests_version = fleet_touch(f);
    }
    drop_finished(f, job);
    HASH_DEL(f->jobs, job);
    HASH_DELETE(hh_name, f->named, job);
    job_free(job);
    (void)fleet_touch(f);
}

void fleet_job_moved(struct fleet *f, struct job *job, enum phase from)
{
    if (waits(from) && !waits(job->phase))
        DL_DELETE(f->waiting[job->priority], job);
    if (!phase_is_busy(from) && phase_is_busy(job->phase))
        count_busy(f, job, true);
    if (phase_is_busy(from) && !phase_is_busy(job->phase))
        count_busy(f, job, false);
    if (phase_is_final(job->phase) && !phase_is_final(from)) {
        HASH_DELETE(hh_guest, f->active, job);
        add_finished(f, job);
        f->reschedule = true;
        struct guest *guest = fleet_guest(f, job->guest_uuid);
        if (guest != NULL && guest->places == NULL) {
            HASH_DEL(f->guests, guest);
            guest_free(guest);
            f->guests_version = fleet_touch(f);
        }
    }
    job->version = fleet_touch(f);
    job_check(job);
}

void fleet_prune_jobs(struct fleet *f, const char *guest_uuid)
{
    struct job *job = newest_finished(f, guest_uuid);
    for (unsigned kept = 1; job != NULL && kept < f->config.jobs_kept_per_guest; kept++)
        job = job->older;
    while (job != NULL && job->older != NULL)
        fleet_remove_job(f, job->older);

    struct job *oldest = f->jobs; /* guests come and go: there is a bound over all of them too */
    while (oldest != NULL && f->finished_jobs > f->config.jobs_kept) {
        struct job *next = oldest->hh.next;
        if (phase_is_final(oldest->phase))
            fleet_remove_job(f, oldest);
        oldest = next;
    }
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3ULL;
    return (hash ^ 0xff) * 0x100000001B3ULL;
}

uint64_t fleet_hash(const struct fleet *f)
{
    uint64_t hash = 0xCBF29CE484222325ULL;
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        hash = mix(mix(mix(mix(hash, job->uid), job->guest_uuid), job->source), job->target);
        hash = mix(mix(hash, phase_name(job->phase)), outcome_name(job->outcome));
        for (unsigned i = 0; i < job->n_steps; i++)
            hash = (hash ^ (uint64_t)job->steps[i].wall_ms) * 0x100000001B3ULL;
    }
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next)
        hash = mix(mix(hash, guest->uuid), guest->owner != NULL ? guest->owner->node->name : "");
    return hash;
}
