/* room.c - see room.h. */
#include "engine/control/scheduling/room.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"
#include "engine/control/policy_choose.h"
#include "engine/control/scheduling/wait.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/job/launcher.h"
#include "engine/model/objects/policy.h"

void room_configure(struct fleet *f, struct job *job, const struct guest *guest)
{
    const struct object *policy =
        f->of_kind[OBJECT_POLICY] != NULL ? policy_choose(f, guest) : NULL;
    TEXT_SET(job->request.policy, policy != NULL ? policy->name : "");
    policy_merge(&f->config.migration, policy != NULL ? policy->policy : NULL, &job->call.config);
    if (job->request.bandwidth_mibs != 0)
        job->call.config.bandwidth = (int64_t)(job->request.bandwidth_mibs << 20);
}

/* ---- a node ---- */

static bool same_reasons(const struct rejections *a, const struct rejections *b)
{
    if (a->n != b->n || memcmp(a->counts, b->counts, sizeof a->counts) != 0)
        return false;
    for (size_t i = 0; i < a->n; i++) /* equal counts, but of other nodes? */
        if (a->list[i].why != b->list[i].why || strcmp(a->list[i].node, b->list[i].node) != 0)
            return false;
    return true;
}

static void keep_rejections(struct fleet *f, struct job *job, struct moment now)
{
    struct rejections *found = f->queue.scratch;
    size_t bytes = offsetof(struct rejections, list) + found->n * sizeof found->list[0];
    if (job->placement.rejections != NULL && same_reasons(job->placement.rejections, found))
        return; /* unchanged: the first time stays */
    struct rejections *kept = malloc(bytes);
    if (kept == NULL)
        return;
    memcpy(kept, found, bytes);
    kept->at_ms = now.wall_ms;
    free(job->placement.rejections);
    job->placement.rejections = kept;
    job->placement.rejections_changed = job->changed = true;
}

/* Where the guest's last migrations failed before data moved (libvirt still has a stale object of
 * it, a port is taken): the next one goes elsewhere, if it can. */
static void avoid_refused(struct fleet *f, const struct job *job, struct placement *out_placement)
{
    size_t n = 0;
    for (const struct job *last = fleet_newest_finished(f, job->guest_uuid);
         last != NULL && last->result.outcome == OUTCOME_FAILED && n < PLACEMENT_AVOIDED_MAX;
         last = last->links.older)
        if (last->epoch > 0 && !last->call.moved && last->result.error.code == ERR_HYPERVISOR)
            out_placement->avoided[n++] = last->target;
    out_placement->n_avoided = n;
}

bool room_reserve(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                  struct effects *fx)
{
    struct placement placement;
    placement_of(f, guest, job, &placement);
    placement.failed = job->placement.failed;
    placement.n_failed = job->placement.n_failed;
    avoid_refused(f, job, &placement);
    const struct node *node = placement_choose(f, &placement, f->queue.scratch);
    if (node == NULL) {
        keep_rejections(f, job, now);
        return false;
    }
    struct resources resources = ledger_resources(guest);
    TEXT_SET(job->target, node->name);
    if (placement.n_avoided > 0 && strcmp(placement.avoided[0], node->name) != 0)
        effects_event(fx, job, now.wall_ms, false, "TargetAvoided",
                      "%s is left out (%s): the guest's last migration to it failed before data "
                      "moved.",
                      placement.avoided[0], reject_name(REJECT_REFUSED_BEFORE));
    ledger_reserve(f, job, &resources);
    step_launcher(job, LAUNCHER_SCHEDULED, now);
    char pod[LAUNCHER_POD_MAX];
    launcher_pod(job->guest_name, job->guest_uuid, job->target, job->uid, pod);
    effects_event(fx, job, now.wall_ms, false, "SuccessfulCreate",
                  "Created migration target pod %s on %s", pod, job->target);
    return true;
}

/* If every node that could take the guest lacks only a slot or bandwidth, the job waits for
 * that. */
static enum pending pending_for(const struct rejections *r)
{
    unsigned slots = r->counts[REJECT_INBOUND], bandwidth = r->counts[REJECT_BANDWIDTH], other = 0;
    for (enum reject why = 0; why < REJECT_COUNT; why++)
        if (!reject_is_for_ever(why) && why != REJECT_INBOUND && why != REJECT_BANDWIDTH)
            other += r->counts[why];
    if (slots > 0)
        return PENDING_SLOT_TARGET;
    return bandwidth > 0 && other == 0 ? PENDING_BANDWIDTH : PENDING_UNSCHEDULABLE;
}

void room_none(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    char text[JOB_REASON_MAX];
    rejections_text(f->queue.scratch, text, sizeof text);
    if (rejections_all_for_ever(f->queue.scratch)) {
        char reason[JOB_REASON_MAX];
        (void)snprintf(reason, sizeof reason, "no node can ever take the guest: %.400s", text);
        wait_fail(f, job, TRIGGER_IMPOSSIBLE, reason, now, fx);
        return;
    }
    enum pending pending = pending_for(f->queue.scratch);
    if (pending == PENDING_UNSCHEDULABLE && job->wait.pending != PENDING_UNSCHEDULABLE)
        effects_event(fx, job, now.wall_ms, true, "migrationTargetPodUnschedulable",
                      "Migration target pod for VMI [%s/%s] is currently unschedulable. %.300s",
                      job->ns, job->guest_name, text);
    step_wait(job, pending, now, "%s", text);
    (void)wait_until_deadline(f, job, now, fx);
}
