/* override.c - see override.h. */
#include "engine/control/override.h"

#include <stdio.h>

#include "engine/data/carry.h"
#include "engine/data/final.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/recovery.h"
#include "engine/data/stray.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/turn/step.h"

static void end_by_override(struct fleet *f, struct job *job, const struct resolve_request *request,
                            struct moment now, struct effects *fx)
{
    static const struct {
        enum trigger trigger;
        struct step_ending ending;
        const char *text;
    } overrides[] = {
        [RESOLVE_ON_SOURCE] = {TRIGGER_OVERRIDE_OTHERWISE,
                               {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_SOURCE},
                               "guest is on source"},
        [RESOLVE_ON_TARGET] = {TRIGGER_OVERRIDE_ON_TARGET,
                               {.outcome = OUTCOME_SUCCEEDED, .guest_at = GUEST_AT_TARGET},
                               "guest is on target"},
        [RESOLVE_GONE] = {TRIGGER_OVERRIDE_OTHERWISE,
                          {.outcome = OUTCOME_LOST, .guest_at = GUEST_AT_LOST},
                          "guest is gone"},
    };
    struct step_ending ending = overrides[request->kind].ending;
    enum trigger trigger = overrides[request->kind].trigger;
    if (phase_next(job->phase, trigger) == PHASE_NONE)
        trigger = TRIGGER_CANCELLED; /* a frozen job that was never handed off */
    job->frozen = job->unreadable = false;
    (void)snprintf(ending.reason, sizeof ending.reason, "override by %s: %s: %.300s",
                   request->requester, overrides[request->kind].text, request->why);
    effects_event(fx, job, now.wall_ms, true, "ResolvedByOperator", "%s", ending.reason);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED;
    (void)incidents_close(&f->incidents, job->uid, INCIDENT_END_RESOLVED, request->requester,
                          now.wall_ms);
    if (request->kind == RESOLVE_ON_SOURCE)
        monitor_driver_resume_by_override(f, job, now,
                                          fx); /* resumes a guest that Ferry suspended */
    stray_left(job, request->kind != RESOLVE_ON_TARGET, now, fx);
    if (request->kind == RESOLVE_ON_TARGET)
        carry_by_override(f, job, now, fx);
    final_finish(f, job, trigger, &ending, now, fx);
}

/* The operator states where the guest is. For a finished job it closes the open incident. */
static bool override_location(struct fleet *f, struct job *job,
                              const struct resolve_request *request, struct moment now,
                              struct effects *fx, struct err *err)
{
    struct err none = {0};
    if (phase_is_final(job->phase) && incidents_override(f, request, now.wall_ms, &none))
        return true;
    if (phase_is_final(job->phase))
        return err_set(err, ERR_REFUSED, "migration %s has already ended (%s)", job->name,
                       phase_name(job->phase));
    bool never_moved = phase_next(job->phase, TRIGGER_OVERRIDE_OTHERWISE) == PHASE_NONE;
    if (job->frozen && never_moved && request->kind != RESOLVE_ON_SOURCE)
        return err_set(err, ERR_REFUSED,
                       "migration %s is %s: no order was given to a host, so the guest can only be "
                       "on the source: `--guest-on source`",
                       job->name, phase_name(job->phase));
    if (!job->frozen && (!job->resolving || order_is_out(job, ORDER_MIGRATE)))
        return err_set(err, ERR_REFUSED,
                       "migration %s is %s: its outcome is not in doubt, no override is needed; "
                       "`ferry abort` stops it",
                       job->name, phase_name(job->phase));
    end_by_override(f, job, request, now, fx);
    return true;
}

bool override_apply(struct fleet *f, const struct resolve_request *request, struct moment now,
                    struct effects *fx, struct job **out_job, struct err *err)
{
    struct job *about = fleet_job_named(f, request->ns, request->name);
    if (request->kind == RESOLVE_ACKNOWLEDGE && about != NULL && about->frozen)
        return err_set(err, ERR_REFUSED,
                       "migration %s is frozen (%.200s): `ferry recover` adopts it again, `ferry "
                       "resolve` ends it",
                       about->name, about->wait.reason);
    if (request->kind == RESOLVE_ACKNOWLEDGE)
        return incidents_override(f, request, now.wall_ms, err);
    struct job *job = fleet_job_named(f, request->ns, request->name);
    if (job == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "virtualmachineinstancemigrations.kubevirt.io \"%s\" not found",
                       request->name);
    if (request->kind == RESOLVE_RECOVER && job_is_observed(job))
        return err_set(err, ERR_REFUSED,
                       "migration %s was started by somebody else: Ferry only observes it",
                       job->name);
    if (request->kind == RESOLVE_RECOVER)
        job->unconfirmed = false; /* the operator has looked */
    bool accepted = request->kind == RESOLVE_RECOVER
                        ? recovery_request(job, request->requester, now, fx, err)
                        : override_location(f, job, request, now, fx, err);
    if (accepted)
        *out_job = job;
    return accepted;
}
