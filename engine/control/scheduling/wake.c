/* wake.c - see wake.h. */
#include "engine/control/scheduling/wake.h"

#include "engine/control/placement.h"
#include "engine/control/scheduling/room.h"
#include "engine/control/scheduling/wait.h"
#include "engine/model/fleet/ledger.h"

enum {
    WAKE_MAX = 256, /* jobs looked at for one node; the rest hears of its next change */
};

/* The best `n` of a heap are ready. */
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
        return false; /* as most of the time: the rows need not be searched */
    const struct rejection *said = rejections_find(r, node);
    return said != NULL && (ever ? !reject_is_for_ever(said->why) : is_slot_rejection(said->why));
}

/* Unschedulable jobs: would this node do? Those it rejects go back into the list. True: all of the
 * list were looked at. */
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

/* One that takes nobody any more is asked once after it closed: whoever still waits for one of its
 * places waits for something else now. */
static void wake_arriving(struct fleet *f, struct node *node)
{
    bool open = node->connected && !node->cordoned;
    if (!open && !node->was_open)
        return;
    bool all = wake_unplaced(f, &f->queue.unplaced, node);
    all = wake_unplaced(f, &f->queue.near, node) && all;
    node->was_open = open || !all;
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
            wake_best(f, &node->blocked.in, WAKE_MAX); /* one too big stands before nobody */
        wake_arriving(f, node);
    }
}

/* Who comes or goes on one node may decide about all nodes of its zone. */
static void wake_by_company(struct fleet *f)
{
    if (f->queue.company_changed)
        wake_best(f, &f->queue.near, WAKE_MAX);
    f->queue.company_changed = false;
}

/* Whoever is in `ready` and was told that it waits for the store waits for its turn again. */
void wake_by_store(struct fleet *f)
{
    for (size_t i = 0; f->store_ok && f->store_waits && i < f->queue.ready.n; i++)
        fleet_queue_ready(f,
                          f->queue.ready.list[i].link->of); /* its place in there stays the same */
    f->store_waits = f->store_waits && !f->store_ok;
}

static bool is_less(const struct resources *a, const struct resources *b)
{
    return a->launchers < b->launchers || a->memory_kib < b->memory_kib || a->vcpus < b->vcpus;
}

/* Room in a quota wakes those it kept back, best first, as many as fit. */
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
        if (room_in_quota(namespace, &promised, text)) {
            fleet_queue_ready(f, job);
            job->queue.woken_by_quota = true;
            continue;
        }
        passed[n_passed++] = job;
        promised.launchers -= more.launchers;
        promised.memory_kib -= more.memory_kib;
        promised.vcpus -= more.vcpus;
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
    wake_by_company(f);
    wake_by_nodes(f);
    wake_by_quota(f);
}
