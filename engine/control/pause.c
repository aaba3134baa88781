/* pause.c - see pause.h. */
#include "engine/control/pause.h"

#include "engine/control/orphans.h"

static bool is_paused(const struct domain *domain)
{
    return domain->state == HV_STATE_PAUSED;
}

/* KubeVirt's texts where it has one. */
static bool fits(const struct domain *domain, bool is_pause, struct err *err)
{
    if (!domain_is_up(domain))
        return err_set(err, ERR_REFUSED, "VMI is not running");
    if (is_pause && is_paused(domain))
        return err_set(err, ERR_REFUSED, "VMI is already paused");
    if (is_pause)
        return domain_runs(domain) || err_set(err, ERR_REFUSED, "VMI is not running");
    if (!is_paused(domain))
        return err_set(err, ERR_REFUSED, "VMI is not paused");
    return domain->reason == HV_PAUSED_USER ||
           err_set(err, ERR_REFUSED,
                   "VMI is paused, but not by a user (%s): resuming it could harm it",
                   hv_reason_name(domain->state, domain->reason));
}

static bool may(struct fleet *f, const struct guest *guest, bool is_pause, struct err *err)
{
    const struct job *job = fleet_moving_job(f, guest->uuid);
    if (guest->owner == NULL)
        return err_set(err, ERR_REFUSED, "the node of the VMI is not known");
    if (!guest->owner->node->connected)
        return err_set(err, ERR_REFUSED, "node %s is unreachable", guest->owner->node->name);
    if (!fleet_may_act(guest->owner->node, err))
        return false;
    if (job != NULL)
        return err_set(err, ERR_REFUSED, "VMI is being migrated (%s): wait for its end%s",
                       job->name,
                       job_is_observed(job) ? "; somebody else started it" : ", or abort it first");
    return orphans_check(f, guest, err) && fits(guest->owner, is_pause, err);
}

bool pause_request(struct fleet *f, const struct resolve_request *request, struct moment now,
                   struct effects *fx, struct err *err)
{
    unsigned count = 0;
    bool is_pause = request->kind == RESOLVE_PAUSE;
    struct guest *guest = fleet_guest_named(f, request->ns, request->name, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", request->ns,
                       request->name);
    if (count > 1)
        return err_set(err, ERR_REFUSED, "%u guests have the name %s/%s: rename all but one", count,
                       request->ns, request->name);
    if (!may(f, guest, is_pause, err))
        return false;
    if (request->dry_run)
        return true;
    (void)effects_order(fx, is_pause ? EFFECT_DO_PAUSE : EFFECT_DO_UNPAUSE,
                        guest->owner->node->name, guest->uuid, now.wall_ms);
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, false,
                 is_pause ? "Pausing" : "Unpausing", "Requested by %s.", request->requester);
    return true;
}
