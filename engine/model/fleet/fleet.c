/* fleet.c - see fleet.h. */
#include "engine/model/fleet/fleet.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/fleet_inside.h"
#include "engine/model/fleet/rejection.h"

struct fleet *fleet_new(const struct fleet_config *config, uint64_t seed, struct err *err)
{
    struct fleet *f = calloc(1, sizeof *f);
    if (f == NULL) {
        err_set(err, ERR_NOMEM, "out of memory: fleet");
        return NULL;
    }
    f->config = *config;
    f->queue.scratch = calloc(1, sizeof *f->queue.scratch);
    if (f->queue.scratch == NULL) {
        free(f);
        err_set(err, ERR_NOMEM, "out of memory: fleet");
        return NULL;
    }
    f->random = seed;
    f->store_ok = true;
    f->version = 1;
    return f;
}

static void free_jobs(struct fleet *f)
{
    struct job *job, *next;
    HASH_CLEAR(links.hh_guest, f->active);
    HASH_CLEAR(links.hh_guest, f->observed.jobs);
    HASH_CLEAR(links.hh_name, f->named);
    HASH_CLEAR(links.hh_newest, f->newest);
    heap_fini(&f->queue.ready);
    heap_fini(&f->queue.unplaced);
    heap_fini(&f->queue.near);
    heap_fini(&f->timers);
    heap_fini(&f->pending_change);
    heap_fini(&f->split);
    heap_fini(&f->stranded);
    heap_fini(&f->observed.passing);
    heap_fini(&f->finished);
    free(f->queue.scratch);
    HASH_ITER(hh, f->jobs, job, next)
    {
        HASH_DEL(f->jobs, job);
        job_free(job);
    }
}

static void free_guests(struct fleet *f)
{
    struct guest *guest, *next_guest;
    HASH_CLEAR(hh_name, f->guests_named);
    HASH_ITER(hh, f->guests, guest, next_guest)
    {
        HASH_DEL(f->guests, guest);
        for (struct domain *domain = guest->domains, *next; domain != NULL; domain = next) {
            next = domain->next_of;
            host_requirements_drop(&f->requirements, domain->requirements);
            free(domain->mark);
            free(domain);
        }
        guest_free(guest);
    }
}

static void free_node(struct fleet *f, struct node *node)
{
    HASH_DEL(f->nodes, node);
    heap_fini(&node->blocked.in);
    heap_fini(&node->blocked.out);
    hv_capabilities_free(node->capabilities);
    labels_fini(&node->labels);
    free(node->config.labels);
    free(node->config.taints);
    free(node->shown.labels);
    free(node->shown.taints);
    free(node);
}

static void free_nodes(struct fleet *f)
{
    struct node *node, *next;
    HASH_ITER(hh, f->nodes, node, next)
    free_node(f, node);
}

void fleet_free(struct fleet *f)
{
    if (f == NULL)
        return;
    struct namespace *namespace, *next_namespace;
    HASH_ITER(hh, f->namespaces, namespace, next_namespace)
    {
        HASH_DEL(f->namespaces, namespace);
        heap_fini(&namespace->blocked);
        labels_fini(&namespace->labels);
        free(namespace);
    }
    for (struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        heap_fini(&node->blocked.in);
        heap_fini(&node->blocked.out);
    }
    free_jobs(f);
    free_guests(f);
    free_nodes(f);
    fleet_free_objects(f);
    cpus_fini(&f->cpus);
    incidents_fini(&f->incidents);
    paths_fini(&f->paths);
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
        return err_set(err, ERR_NOMEM, "out of memory: node '%s'", host->name);
    TEXT_SET(node->name, host->name);
    node->host = *host;
    node->created_wall_ms = wall_ms;
    node->since_wall_ms = wall_ms;
    TEXT_SET(node->error, "not connected yet");
    (void)fleet_touch(f);
    HASH_ADD_STR(f->nodes, name, node);
    DL_APPEND2(f->by_inbound[0], node, prev_inbound, next_inbound);
    fleet_refresh_node(f, node);
    return true;
}

bool fleet_has_cell(const struct fleet *f, const char *cell)
{
    for (size_t i = 0; i < f->marks.cells.n; i++)
        if (strcmp(f->marks.cells.list[i], cell) == 0)
            return true;
    return !f->marks.cells.is_shared;
}

bool fleet_is_standby(const struct fleet *f)
{
    return f->marks.cells.is_shared && f->marks.cells.n == 0;
}

bool fleet_is_about(struct fleet *f, const char *node)
{
    return !f->marks.cells.is_shared || fleet_node(f, node) != NULL;
}

struct node *fleet_node(struct fleet *f, const char *name)
{
    struct node *node = NULL;
    HASH_FIND_STR(f->nodes, name, node);
    return node;
}

bool fleet_may_act(const struct node *node, struct err *err)
{
    return !node->host.observe ||
           err_set(err, ERR_REFUSED,
                   "node %s is in observe mode: Ferry only watches there; `mode: manage` in the "
                   "configuration lets it migrate guests",
                   node->name);
}

/* Waiting jobs that it woke forget it. */
static void leave_queues(struct fleet *f, struct node *node)
{
    for (struct job *job = f->active; job != NULL; job = job->links.hh_guest.next) {
        if (job->queue.woken_for == node)
            job->queue.woken_for = NULL;
        if (job->queue.woken_out == node)
            job->queue.woken_out = NULL;
    }
    struct node **link = &f->queue.improved;
    while (*link != NULL && *link != node)
        link = &(*link)->next_improved;
    if (*link == node)
        *link = node->next_improved;
}

void fleet_remove_node(struct fleet *f, struct node *node)
{
    assert(node->blocked.in.n == 0 && node->blocked.out.n == 0);
    assert(node->outbound == 0 && node->inbound == 0);
    fleet_forget_domains(f, node);
    leave_queues(f, node); /* after it: a domain that goes improves its node */
    DL_DELETE2(f->by_inbound[0], node, prev_inbound, next_inbound);
    cpus_forget_node(&f->cpus, node->name);
    free_node(f, node);
    (void)fleet_touch(f);
}

bool fleet_has_helper(struct fleet *f, const char *name)
{
    const struct node *node = fleet_node(f, name);
    return node != NULL && node->host.helper[0] != '\0';
}

struct guest *fleet_guest(struct fleet *f, const char *uuid)
{
    struct guest *guest = NULL;
    HASH_FIND_STR(f->guests, uuid, guest);
    return guest;
}

struct guest *fleet_guest_named(struct fleet *f, const char *ns, const char *name,
                                unsigned *out_count)
{
    char key[HV_HOST_MAX + HV_NAME_MAX];
    (void)snprintf(key, sizeof key, "%s/%s", ns, name);
    struct guest *first = NULL, *found = NULL;
    HASH_FIND(hh_name, f->guests_named, key, strlen(key), first);
    *out_count = 0;
    for (struct guest *guest = first; guest != NULL; guest = guest->next_namesake) {
        *out_count += guest->domains != NULL; /* not one that is gone and that a job refers to */
        if (found == NULL || (found->owner == NULL && guest->owner != NULL))
            found = guest;
    }
    if (found != NULL && *out_count == 0)
        *out_count = 1;
    return found;
}

struct namespace *fleet_namespace(struct fleet *f, const char *name)
{
    struct namespace *namespace = NULL;
    HASH_FIND_STR(f->namespaces, name, namespace);
    if (namespace != NULL)
        return namespace;
    namespace = calloc(1, sizeof *namespace);
    if (namespace == NULL)
        return NULL;
    TEXT_SET(namespace->name, name);
    HASH_ADD_STR(f->namespaces, name, namespace);
    return namespace;
}

void fleet_node_improved(struct fleet *f, struct node *node)
{
    if (node->improved)
        return;
    node->improved = true;
    node->next_improved = f->queue.improved;
    f->queue.improved = node;
}

void fleet_quota_changed(struct fleet *f, struct namespace *namespace)
{
    if (namespace->stirred)
        return;
    namespace->stirred = true;
    namespace->next_stirred = f->queue.stirred;
    f->queue.stirred = namespace;
}

void fleet_count_inbound(struct fleet *f, struct node *node, int by)
{
    unsigned last = FLEET_INBOUND_LISTS - 1;
    unsigned before = node->inbound < last ? node->inbound : last;
    assert(by >= 0 || node->inbound >= (unsigned)-by);
    node->inbound = (unsigned)((int)node->inbound + by);
    unsigned after = node->inbound < last ? node->inbound : last;
    if (before == after)
        return;
    DL_DELETE2(f->by_inbound[before], node, prev_inbound, next_inbound);
    DL_APPEND2(f->by_inbound[after], node, prev_inbound, next_inbound);
}

const struct guest *fleet_namesake(const struct node *node, const char *name, const char *uuid)
{
    for (const struct domain *domain = node->domains; domain != NULL; domain = domain->next_here)
        if (strcmp(domain->guest->name, name) == 0 && strcmp(domain->guest->uuid, uuid) != 0)
            return domain->guest;
    return NULL;
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
        hash = mix(mix(hash, phase_name(job->phase)), outcome_name(job->result.outcome));
        for (unsigned i = 0; i < job->history.n_steps; i++)
            hash = (hash ^ (uint64_t)job->history.steps[i].wall_ms) * 0x100000001B3ULL;
    }
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next)
        hash = mix(mix(hash, guest->uuid), guest->owner != NULL ? guest->owner->node->name : "");
    return hash;
}
