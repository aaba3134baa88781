/* word.c - see word.h. */
#include "engine/control/word.h"

#include <stdio.h>

#include "engine/data/final.h"
#include "engine/data/recovery.h"
#include "engine/data/steer.h"
#include "engine/model/fleet_incidents.h"
#include "engine/model/step.h"

static void end_by_word(struct fleet *f, struct job *job, const struct resolve_request *said,
                        struct moment now, struct effects *fx)
{
    static const struct {
        enum trigger trigger;
        struct step_ending ending;
        const char *text;
    } words[] = {
        [RESOLVE_ON_SOURCE] = {TRIGGER_SAID_OTHERWISE,
                               {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_SOURCE},
                               "the source has the guest"},
        [RESOLVE_ON_TARGET] = {TRIGGER_SAID_ON_TARGET,
                               {.outcome = OUTCOME_SUCCEEDED, .guest_at = GUEST_AT_TARGET},
                               "the target has the guest"},
        [RESOLVE_GONE] = {TRIGGER_SAID_OTHERWISE,
                          {.outcome = OUTCOME_LOST, .guest_at = GUEST_AT_LOST},
                          "the guest is gone"},
    };
    struct step_ending ending = words[said->word].ending;
    enum trigger trigger = words[said->word].trigger;
    if (phase_next(job->phase, trigger) == PHASE_NONE)
        trigger = TRIGGER_CANCELLED; /* a frozen one that was never handed off */
    job->frozen = false;
    (void)snprintf(ending.reason, sizeof ending.reason, "by the word of %s, %s: %.300s",
                   said->requester, words[said->word].text, said->why);
    effects_event(fx, job, now.wall_ms, true, "ResolvedByOperator", "%s", ending.reason);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED;
    (void)incidents_close(&f->incidents, job->uid, INCIDENT_END_RESOLVED, said->requester,
                          now.wall_ms);
    if (said->word == RESOLVE_ON_SOURCE)
        steer_gives_back_by_word(f, job, now, fx); /* what Ferry paused is not left so */
    final_finish(f, job, trigger, &ending, now, fx);
}

/* Where the guest is. Of a job that is over it closes what is still open about it. */
static bool take_place(struct fleet *f, struct job *job, const struct resolve_request *said,
                       struct moment now, struct effects *fx, struct err *err)
{
    struct err none = {0};
    if (phase_is_final(job->phase) && incidents_said(f, said, now.wall_ms, &none))
        return true;
    if (phase_is_final(job->phase))
        return err_set(err, ERR_REFUSED, "migration %s has ended already (%s)", job->name,
                       phase_name(job->phase));
    bool never_moved = phase_next(job->phase, TRIGGER_SAID_OTHERWISE) == PHASE_NONE;
    if (job->frozen && never_moved && said->word != RESOLVE_ON_SOURCE)
        return err_set(err, ERR_REFUSED,
                       "migration %s is %s: nothing was asked of a host, so the guest can only be "
                       "where it was: `--guest-on source`",
                       job->name, phase_name(job->phase));
    if (!job->frozen && (!job->resolving || order_is_out(job, ORDER_MIGRATE)))
        return err_set(err, ERR_REFUSED,
                       "migration %s is %s: its outcome is not in doubt, so nobody's word is "
                       "needed; `ferry abort` stops it",
                       job->name, phase_name(job->phase));
    end_by_word(f, job, said, now, fx);
    return true;
}

bool word_taken(struct fleet *f, const struct resolve_request *said, struct moment now,
                struct effects *fx, struct job **out_job, struct err *err)
{
    struct job *about = fleet_job_named(f, said->ns, said->name);
    if (said->word == RESOLVE_ACKNOWLEDGE && about != NULL && about->frozen)
        return err_set(
            err, ERR_REFUSED,
            "migration %s is frozen by an internal error: `ferry recover` adopts it again, "
            "`ferry resolve` ends it",
            about->name);
    if (said->word == RESOLVE_ACKNOWLEDGE)
        return incidents_said(f, said, now.wall_ms, err);
    struct job *job = fleet_job_named(f, said->ns, said->name);
    if (job == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "virtualmachineinstancemigrations.kubevirt.io \"%s\" not found", said->name);
    bool taken = said->word == RESOLVE_RECOVER ? recovery_again(job, said->requester, now, fx, err)
                                               : take_place(f, job, said, now, fx, err);
    if (taken)
        *out_job = job;
    return taken;
}
