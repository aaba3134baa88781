/* wake.c - see wake.h. */
#include "engine/control/scheduling/wake.h"

#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"
#include "engine/control/scheduling/room.h"
#include "engine/control/scheduling/wait.h"
#include "engine/model/fleet/ledger.h"

enum {
    WAKE_MAX = 256, /* jobs checked for one node; the others wait for its next change */
};

/* Makes the best `n` of a heap ready. */
static void wake_best(struct fleet *f, struct heap *heap, size_t n)
{
    for (; n > 0 && heap->n > 0; n--)
        fleet_queue_ready(f, heap_top(heap));
}

static size_t free_slots(unsigned limit, unsigned used)
{
    if (limit == 0)
        return WAKE_MAX;
    return used < limit ? limit - used : 0;
}

static bool is_slot_rejection(enum reject why)
{
    return why == REJECT_INBOUND || why == REJECT_BANDWIDTH;
}

/* A job waits on the rejections it got. It is woken early in two cases: the node now rejects it
 * permanently (then no node may be left), or the rejection is no longer about slots (then another
 * deadline applies). */
static bool rejection_changed(const struct job *job, const struct node *node, enum reject why)
{
    const struct rejections *r = job->placement.rejections;
    if (r == NULL || why == REJECT_SOURCE || is_slot_rejection(why))
        return false;
    bool ever = reject_is_for_ever(why);
    if (!ever && r->counts[REJECT_INBOUND] + r->counts[REJECT_BANDWIDTH] == 0)
        return false; /* the usual case: no search */
    const struct rejection *before = rejections_find(r, node);
    return before != NULL &&
           (ever ? !reject_is_for_ever(before->why) : is_slot_rejection(before->why));
}

/* Unschedulable jobs: can this node take them? Jobs that it rejects return to the list. True:
 * the whole list was checked. */
static bool wake_unplaced(struct fleet *f, struct heap *heap, struct node *node)
{
    struct job *passed[WAKE_MAX];
    size_t n_passed = 0;
    size_t room = free_slots(f->config.parallel_inbound_per_node, node->inbound);
    while (room > 0 && n_passed < WAKE_MAX && heap->n > 0) {
        struct job *job = heap_take(heap);
        const struct guest *guest = fleet_guest(f, job->guest_uuid);
        struct placement placement;
        enum reject why = REJECT_NONE;
        if (guest != NULL && guest->owner != NULL) {
            placement_of(f, guest, job, &placement);
            why = placement_check(f, &placement, node, NULL);
        }
        if (why == REJECT_NONE || rejection_changed(job, node, why)) {
            fleet_queue_ready(f, job);
            job->queue.woken_for = why == REJECT_NONE ? node : NULL;
            room -= why == REJECT_NONE;
        } else {
            passed[n_passed++] = job;
        }
    }
    bool all = heap->n == 0;
    for (size_t i = 0; i < n_passed; i++)
        wait_in(heap, passed[i]);
    return all;
}

/* A node that became unschedulable is checked once more: jobs that wait for one of its slots
 * need another pending reason. */
static void wake_arriving(struct fleet *f, struct node *node)
{
    bool open = node->connected && !node->cordoned;
    if (!open && !node->was_schedulable)
        return;
    bool all = wake_unplaced(f, &f->queue.unplaced, node);
    all = wake_unplaced(f, &f->queue.near, node) && all;
    node->was_schedulable = open || !all;
}

static void wake_leaving(struct fleet *f, struct node *node, size_t most)
{
    size_t n = free_slots(f->config.parallel_outbound_per_node, node->outbound);
    for (n = n < most ? n : most; n > 0 && node->blocked.out.n > 0; n--) {
        struct job *job = heap_top(&node->blocked.out);
        fleet_queue_ready(f, job);
        job->queue.woken_out = node;
    }
}

void wake_next_leaving(struct fleet *f, struct node *node)
{
    if (node->connected)
        wake_leaving(f, node, 1);
}

static void wake_by_nodes(struct fleet *f)
{
    while (f->queue.improved != NULL) {
        struct node *node = f->queue.improved;
        f->queue.improved = node->next_improved;
        node->improved = false;
        const struct fleet_config *config = &f->config;
        if (node->connected)
            wake_leaving(f, node, WAKE_MAX);
        if (free_slots(config->parallel_inbound_per_node, node->inbound) > 0)
            wake_best(f, &node->blocked.in, WAKE_MAX); /* a big job does not block the others */
        wake_arriving(f, node);
    }
}

/* A guest that comes or goes on one node may change the affinity of all nodes of its zone. */
static void wake_by_affinity(struct fleet *f)
{
    if (f->queue.affinity_changed)
        wake_best(f, &f->queue.near, WAKE_MAX);
    f->queue.affinity_changed = false;
}

/* Jobs in `ready` that waited for the store wait for their turn again. */
void wake_by_store(struct fleet *f)
{
    for (size_t i = 0; f->store_ok && f->store_waits && i < f->queue.ready.n; i++)
        fleet_queue_ready(f, f->queue.ready.list[i].link->of); /* keeps its position */
    f->store_waits = f->store_waits && !f->store_ok;
}

static bool is_less(const struct resources *a, const struct resources *b)
{
    return a->launchers < b->launchers || a->memory_kib < b->memory_kib || a->vcpus < b->vcpus;
}

/* A job that goes on waiting shows the quota and the usage of now. Not stored: a restart checks
 * the quota anyway. */
static void refresh_text(struct fleet *f, const struct namespace *namespace, struct job *job,
                         const struct resources *more)
{
    char text[QUOTA_TEXT_MAX];
    if (job->wait.pending != PENDING_QUOTA || ledger_in_quota(namespace, more, text) ||
        strcmp(job->wait.reason, text) == 0)
        return;
    TEXT_SET(job->wait.reason, text);
    job->version = fleet_touch(f);
}

/* Room in a quota wakes the jobs that wait for it, best first, as many as fit. */
static void wake_namespace(struct fleet *f, struct namespace *namespace)
{
    struct job *passed[WAKE_MAX];
    size_t n_passed = 0;
    struct resources promised = {0};
    while (n_passed<WAKE_MAX &&namespace->blocked.n> 0) {
        struct job *job = heap_take(&namespace->blocked);
        const struct guest *guest = fleet_guest(f, job->guest_uuid);
        struct resources more = guest != NULL ? ledger_resources(guest) : (struct resources){0};
        promised.launchers += more.launchers;
        promised.memory_kib += more.memory_kib;
        promised.vcpus += more.vcpus;
        char text[QUOTA_TEXT_MAX];
        if (ledger_in_quota(namespace, &promised, text)) {
            fleet_queue_ready(f, job);
            job->queue.woken_by_quota = true;
            continue;
        }
        passed[n_passed++] = job;
        promised.launchers -= more.launchers;
        promised.memory_kib -= more.memory_kib;
        promised.vcpus -= more.vcpus;
        refresh_text(f, namespace, job, &more);
    }
    for (size_t i = 0; i < n_passed; i++)
        wait_in(&namespace->blocked, passed[i]);
}

static void wake_by_quota(struct fleet *f)
{
    while (f->queue.stirred != NULL) {
        struct namespace *namespace = f->queue.stirred;
        f->queue.stirred = namespace->next_stirred;
        namespace->stirred = false;
        if (namespace->blocked.n > 0 &&
            (is_less(&namespace->used, &namespace->seen) || namespace->quota_changed))
            wake_namespace(f, namespace);
        namespace->seen = namespace->used;
        namespace->quota_changed = false;
    }
}

bool wake_any(const struct fleet *f)
{
    return f->queue.improved != NULL || f->queue.stirred != NULL;
}

void wake_changed(struct fleet *f)
{
    wake_by_affinity(f);
    wake_by_nodes(f);
    wake_by_quota(f);
}
