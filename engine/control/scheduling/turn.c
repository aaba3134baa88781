/* turn.c - see turn.h. */
#include "engine/control/scheduling/turn.h"

#include <string.h>

#include "base/text.h"
#include "engine/control/scheduling/guest_free.h"
#include "engine/control/scheduling/prepare.h"
#include "engine/control/scheduling/room.h"
#include "engine/control/scheduling/wait.h"
#include "engine/control/scheduling/wake.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/job/backoff.h"

void turn_wait(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    f->store_waits = f->store_waits || !f->store_ok;
    if (!f->store_ok)
        step_wait(job, PENDING_STORE, now, "the store is not writable");
    else
        step_wait(job, PENDING_SLOT_FLEET, now, "all %u migration slots of the fleet are in use",
                  f->config.parallel_per_fleet);
    (void)wait_until_deadline(f, job, now, fx);
}

static bool backs_off(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!origin_is_automatic(job->request.origin))
        return false;
    struct backoff backoff;
    backoff_of(fleet_newest_finished(f, job->guest_uuid), &backoff);
    if (backoff.failures == 0 || backoff.until_ms <= now.mono_ms)
        return false;
    if (job->wait.pending != PENDING_BACKOFF)
        effects_note(fx, involved_guest(job->ns, job->guest_name, job->guest_uuid), now.wall_ms,
                     true, "MigrationBackoff", "backoff migrating vmi %s/%s", job->ns,
                     job->guest_name);
    step_wait(job, PENDING_BACKOFF, now, "%u migrations of the guest failed in a row",
              backoff.failures);
    if (job->wait.until_ms == 0)
        job->wait.until_ms = now.wall_ms + backoff.until_ms - now.mono_ms;
    job->queue.wake_ms = backoff.until_ms;
    wait_for_time(job);
    return true;
}

/* Slots and bandwidth of the source node. */
static bool source_has_room(struct fleet *f, struct node *source, struct job *job,
                            struct moment now, struct effects *fx)
{
    const struct fleet_config *config = &f->config;
    uint64_t budget = config->bandwidth_per_node;
    uint64_t wants = job->call.config.bandwidth > 0 ? (uint64_t)job->call.config.bandwidth : budget;
    if (config->parallel_outbound_per_node != 0 &&
        source->outbound >= config->parallel_outbound_per_node)
        step_wait(job, PENDING_SLOT_SOURCE, now, "%u migrations leave %s, its limit",
                  source->outbound, source->name);
    else if (budget != 0 && source->out_bandwidth > 0 && source->out_bandwidth + wants > budget)
        step_wait(job, PENDING_BANDWIDTH, now,
                  "migrations from %s use %llu of its %llu bytes per second", source->name,
                  (unsigned long long)source->out_bandwidth, (unsigned long long)budget);
    else
        return true;
    wait_in(&source->blocked.out, job);
    (void)wait_until_deadline(f, job, now, fx);
    return false;
}

/* Right after a start the usage of a namespace is known only when every node has listed its
 * guests. A node that is neither connected nor reported unreachable is waited for at most
 * FIRST_LISTS_MS. */
enum { FIRST_LISTS_MS = 30000, LISTS_AGAIN_MS = 1000 };

static const struct node *not_listed_yet(const struct fleet *f, struct moment now)
{
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        if (now.wall_ms - node->created_wall_ms >= FIRST_LISTS_MS)
            return NULL; /* all nodes have the same age */
        if (!node->asked || (node->connected && !node->listed))
            return node;
    }
    return NULL;
}

static bool usage_is_known(struct fleet *f, const struct guest *guest, struct job *job,
                           struct moment now, struct effects *fx)
{
    const struct node *node = not_listed_yet(f, now);
    if (node == NULL || guest->namespace == NULL || guest->namespace->quotas == NULL)
        return true;
    step_wait(job, PENDING_QUOTA, now, "usage of the namespace on node %s is not known yet",
              node->name);
    wait_for_time(job);
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + LISTS_AGAIN_MS)
        job->queue.wake_ms = now.mono_ms + LISTS_AGAIN_MS;
    return false;
}

static bool quota_has_room(struct fleet *f, const struct guest *guest, struct job *job,
                           struct moment now, struct effects *fx)
{
    struct resources more = ledger_resources(guest);
    char text[QUOTA_TEXT_MAX];
    if (!usage_is_known(f, guest, job, now, fx))
        return false;
    if (guest->namespace == NULL || room_in_quota(guest->namespace, &more, text))
        return true;
    step_wait(job, PENDING_QUOTA, now, "%s", text);
    wait_in(&guest->namespace->blocked, job);
    guest->namespace->seen = guest->namespace->used; /* usage below this is room */
    (void)wait_until_deadline(f, job, now, fx);
    return false;
}

/* Parks the job in the list that the relevant change wakes: affinity, the named node, any node. */
static void park_unschedulable(struct fleet *f, struct job *job, const struct guest *guest)
{
    const unsigned *counts = f->queue.scratch->counts;
    bool own = guest->settings != NULL && guest->settings->node_selector.n > 0;
    const char *named = job->request.wanted;
    if (named[0] == '\0' && !own) /* the guest's own selector wins over the added one */
        named = labels_get(&job->request.added_selector, "kubernetes.io/hostname");
    struct node *node = named != NULL ? fleet_node(f, named) : NULL;
    if (counts[REJECT_AFFINITY] + counts[REJECT_ANTI_AFFINITY] > 0)
        wait_in(&f->queue.near, job);
    else
        wait_in(node != NULL ? &node->blocked.in : &f->queue.unplaced, job);
}

static void start(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                  struct effects *fx)
{
    TEXT_SET(job->source, guest->owner->node->name);
    if (room_reserve(f, job, guest, now, fx)) {
        job->resolution.target_side = job->resolution.source_side = (struct job_side){0};
        job->resolution.asked_job = false; /* asked again before the hand-off */
        job->resolution.hv_job = JOB_SEEN_UNKNOWN;
        step_take(f, job, TRIGGER_ADMITTED, now, fx);
        prepare_advance(f, job, now, fx);
        return;
    }
    room_none(f, job, now, fx);
    if (job->phase == PHASE_PENDING)
        park_unschedulable(f, job, guest);
}

/* Is the guest on a connected node? */
static bool guest_is_there(struct fleet *f, struct job *job, const struct guest *guest,
                           struct moment now, struct effects *fx)
{
    if (guest == NULL || guest->owner == NULL) {
        step_wait(job, PENDING_GUEST_UNSEEN, now, "the guest has not been seen on any node");
        wait_for_time(job);
    } else if (!guest->owner->node->connected) {
        step_wait(job, PENDING_SOURCE_UNREACHABLE, now,
                  "node %s, where the guest was last seen, is unreachable",
                  guest->owner->node->name);
        wait_in(&guest->owner->node->blocked.out, job);
    } else {
        return true;
    }
    (void)wait_until_deadline(f, job, now, fx);
    return false;
}

static void try_start(struct fleet *f, struct job *job, const struct guest *guest,
                      struct moment now, struct effects *fx)
{
    if (wait_unconfirmed(f, job, now, fx) || !guest_is_there(f, job, guest, now, fx) ||
        backs_off(f, job, now, fx))
        return;
    room_configure(f, job, guest);
    if (source_has_room(f, guest->owner->node, job, now, fx) &&
        quota_has_room(f, guest, job, now, fx) && guest_is_free(f, job, guest, now, fx))
        start(f, job, guest, now, fx);
}

/* Wakes the next job for room that this job was woken for and did not take. */
static void wake_next(struct fleet *f, struct job *job, struct node *source,
                      struct namespace *namespace)
{
    bool waits = job->phase == PHASE_PENDING;
    if (waits && source != NULL && job->queue.wait.in != &source->blocked.out)
        wake_next_leaving(f, source); /* at once: before a job that waits for less */
    if (job->queue.woken_for != NULL && strcmp(job->queue.woken_for->name, job->target) != 0)
        fleet_node_improved(f, job->queue.woken_for);
    if (waits && job->queue.woken_out != NULL && job->queue.woken_out != source)
        wake_next_leaving(f, job->queue.woken_out);
    if (waits && job->queue.woken_by_quota && namespace != NULL &&
        job->queue.wait.in != &namespace->blocked) {
        namespace->quota_changed = true;
        fleet_quota_changed(f, namespace);
    }
    job->queue.woken_for = job->queue.woken_out = NULL;
    job->queue.woken_by_quota = false;
}

void turn_try(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct node *source = guest != NULL && guest->owner != NULL ? guest->owner->node : NULL;
    struct namespace *namespace = guest != NULL ? guest->namespace : NULL;
    try_start(f, job, guest, now, fx); /* frees the guest if it is gone */
    wake_next(f, job, source, namespace);
}
