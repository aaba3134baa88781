/* requests.c - see requests.h. */
#include "engine/core/requests.h"

#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/advance.h"
#include "engine/control/configure.h"
#include "engine/control/objects.h"
#include "engine/control/orphans.h"
#include "engine/control/override.h"
#include "engine/control/pause.h"
#include "engine/core/reconcile.h"
#include "engine/model/turn/step.h"

enum { THAW_MS = 15000 }; /* an order waits at most 10 s in the queue of its host */

static void name_job(const struct job *job, struct migration_ref *out_ref)
{
    TEXT_SET(out_ref->uid, job->uid);
    TEXT_SET(out_ref->ns, job->ns);
    TEXT_SET(out_ref->name, job->name);
}

static bool on_create(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    OWNED(job) job = admission_admit(f, &input->of.create.request, now, err);
    if (job == NULL)
        return false;
    name_job(job, out_ref);
    if (input->of.create.request.dry_run)
        return true;
    admission_add(f, TAKE(job), now, fx);
    return true;
}

static bool on_cancel(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    struct job *job = fleet_job_named(f, input->of.cancel.ns, input->of.cancel.name);
    if (job == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "virtualmachineinstancemigrations.kubevirt.io \"%s\" not found",
                       input->of.cancel.name);
    name_job(job, out_ref);
    if (job->unreadable)
        return err_set(err, ERR_REFUSED, "migration %s: %.300s; `ferry resolve` ends it", job->name,
                       job->wait.reason);
    if (job->frozen)
        return err_set(
            err, ERR_REFUSED,
            "migration %s is frozen by an internal error (%.200s); `ferry recover` adopts "
            "it, `ferry resolve` ends it",
            job->name, job->wait.reason);
    if (job_is_observed(job) && !phase_is_final(job->phase))
        return err_set(err, ERR_REFUSED,
                       "migration %s was started by somebody else: Ferry only observes it, and "
                       "does not stop it",
                       job->name);
    if (phase_is_final(job->phase)) {
        if (!input->of.cancel.remove)
            return err_set(err, ERR_REFUSED, "migration %s has already ended (%s)", job->name,
                           phase_name(job->phase));
        job->request.remove_when_final = job->changed = true;
        fleet_settle_job(f, job);
        (void)effects_add(fx, EFFECT_DO_REMOVE, job, now.wall_ms);
        return true;
    }
    job->request.remove_when_final = job->request.remove_when_final || input->of.cancel.remove;
    advance_stop(f, job,
                 (struct stop){.who = input->of.cancel.requester,
                               .cause = ABORT_CAUSE_OPERATOR,
                               .why = "requested by an operator"},
                 now, fx);
    return true;
}

/* ---- operator overrides ---- */

/* Adopts the job as after a restart: the hosts' states decide how it continues. */
static void unfreeze(struct fleet *f, struct job *job, const char *who, struct moment now,
                     struct effects *fx)
{
    const struct incident *incident = incidents_find(&f->incidents, job->ns, job->name);
    job->frozen = false;
    fleet_take_slot(f, job);
    step_wait_over(job, now);
    if (incident != NULL && incident->kind == INCIDENT_INTERNAL)
        (void)incidents_close(&f->incidents, job->uid, INCIDENT_END_RESOLVED, who, now.wall_ms);
    effects_event(fx, job, now.wall_ms, false, "RecoveryRequested",
                  "%s asked to continue after an internal error; reading both nodes.", who);
    reconcile_restore(f, job, now, fx);
    if (job->phase == PHASE_PENDING)
        fleet_queue_ready(f, job);
    job->version = fleet_touch(f);
}

static bool on_resolve(struct fleet *f, const struct input *input, struct moment now,
                       struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    struct job *job = fleet_job_named(f, input->of.resolve.ns, input->of.resolve.name);
    bool recovers = input->of.resolve.kind == RESOLVE_RECOVER;
    if (job != NULL && job->unreadable && recovers)
        return err_set(
            err, ERR_REFUSED,
            "what the store holds of migration %s cannot be read, so it cannot be adopted: "
            "look at both hosts and use `ferry resolve`",
            job->name);
    if (job != NULL && job->frozen && recovers) {
        int64_t frozen_ms = now.mono_ms - job->entered_ms;
        if (frozen_ms < THAW_MS)
            return err_set(err, ERR_REFUSED,
                           "migration %s was frozen %lld s ago and an earlier order may still be "
                           "under way; try again in %lld s",
                           job->name, (long long)(frozen_ms / 1000),
                           (long long)((THAW_MS - frozen_ms) / 1000 + 1));
        name_job(job, out_ref);
        unfreeze(f, job, input->of.resolve.requester, now, fx);
        return true;
    }
    if (input->of.resolve.kind == RESOLVE_PAUSE || input->of.resolve.kind == RESOLVE_UNPAUSE)
        return pause_request(f, &input->of.resolve, now, fx, err);
    job = NULL;
    bool adopts = input->of.resolve.kind == RESOLVE_ADOPT;
    if (adopts ? !orphans_adopt(f, &input->of.resolve, now, fx, &job, err)
               : !override_apply(f, &input->of.resolve, now, fx, &job, err))
        return false;
    if (job == NULL)
        return true; /* the override was about an incident */
    name_job(job, out_ref);
    job->version = fleet_touch(f);
    advance_job(f, job, now, fx);
    return true;
}

bool core_request(struct fleet *f, struct input *input, struct moment now, struct effects *fx,
                  struct migration_ref *out_ref, struct err *err)
{
    switch (input->kind) {
    case INPUT_CREATE: return on_create(f, input, now, fx, out_ref, err);
    case INPUT_CANCEL: return on_cancel(f, input, now, fx, out_ref, err);
    case INPUT_PUT: return objects_put(f, &input->of.put, now, fx, out_ref, err);
    case INPUT_REMOVE: return objects_remove(f, &input->of.remove, now, fx, err);
    case INPUT_RESOLVE: return on_resolve(f, input, now, fx, out_ref, err);
    case INPUT_CONFIGURE: return configure_fleet(f, input->of.setup, now, err);
    case INPUT_EVICT: return objects_evict(f, &input->of.evict, now, fx, err);
    default: return true;
    }
}
