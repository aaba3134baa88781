/* wait.c - see wait.h. */
#include "engine/control/scheduling/wait.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/final.h"
#include "engine/data/ownership.h"
#include "engine/model/job/launcher.h"

enum { JOB_AGE_MAX_MS = 2 * 86400 * 1000 };

void wait_in(struct heap *where, struct job *job)
{
    heap_put(where, &job->queue.wait, (int64_t)job->request.priority, job->request.arrival, job);
}

void wait_for_time(struct job *job)
{
    heap_remove(&job->queue.wait);
}

/* No order was given to a host yet, so the guest is where it was last seen running; unknown if
 * that is not known. */
static enum guest_at guest_location(struct fleet *f, const struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL || guest->owner == NULL || !guest->owner->node->connected)
        return GUEST_AT_UNKNOWN;
    struct hv_observation observation = {
        .presence = HV_PRESENT, .state = guest->owner->state, .reason = guest->owner->reason};
    bool elsewhere = job->source[0] != '\0' && strcmp(guest->owner->node->name, job->source) != 0;
    return ownership_side(&observation) == SIDE_OWNS && !elsewhere ? GUEST_AT_SOURCE
                                                                   : GUEST_AT_UNKNOWN;
}

void wait_fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
               struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = guest_location(f, job)};
    TEXT_SET(ending.reason, text);
    final_finish(f, job, why, &ending, now, fx);
}

void wait_cancel(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_ABORTED, .guest_at = guest_location(f, job)};
    (void)snprintf(ending.reason, sizeof ending.reason, "cancelled by %s before the migrate call",
                   job->abort.requester);
    job->abort.status = ABORT_SUCCEEDED;
    final_finish(f, job, TRIGGER_CANCELLED, &ending, now, fx);
}

/* ---- deadlines ---- */

enum { TIMEOUT_UNSCHEDULABLE, TIMEOUT_PENDING, TIMEOUT_UTILITY };

/* An annotation of the job comes first, then the configuration, then pending.def. */
int64_t wait_limit_ms(const struct fleet *f, const struct job *job)
{
    const struct fleet_config *config = &f->config;
    int64_t annotated_s = 0, configured_ms = 0;
    switch (job->wait.pending) {
    case PENDING_UNSCHEDULABLE:
        annotated_s = job->request.timeouts_s[TIMEOUT_UNSCHEDULABLE];
        configured_ms = config->unschedulable_timeout_ms;
        break;
    case PENDING_UTILITY_VOLUMES:
        annotated_s = job->request.timeouts_s[TIMEOUT_UTILITY];
        configured_ms = config->migration.utility_volumes_timeout * 1000;
        break;
    case PENDING_GUEST_UNSEEN:
    case PENDING_SOURCE_UNREACHABLE:
    case PENDING_GUEST_BUSY:
    case PENDING_STORAGE:
    case PENDING_STORE:
        annotated_s = job->request.timeouts_s[TIMEOUT_PENDING];
        configured_ms = config->pending_timeout_ms;
        break;
    case PENDING_TARGET_SILENT:
    case PENDING_PREPARING: configured_ms = config->prepare_timeout_ms; break;
    default: break;
    }
    if (annotated_s > 0)
        return annotated_s * 1000;
    return configured_ms > 0 ? configured_ms : pending_limit_ms(job->wait.pending);
}

static void fail_late(struct fleet *f, struct job *job, int64_t waited_ms, struct moment now,
                      struct effects *fx)
{
    char text[JOB_REASON_MAX];
    const char *what = job->wait.pending == PENDING_UNSCHEDULABLE ? "unschedulable" : "pending";
    if (job->wait.pending == PENDING_UTILITY_VOLUMES)
        (void)snprintf(text, sizeof text,
                       "Migration timeout waiting for utility volumes to detach from VMI [%s/%s]. "
                       "Utility volumes still present after %lld seconds.",
                       job->ns, job->guest_name, (long long)(waited_ms / 1000));
    else
        (void)snprintf(text, sizeof text, "timed out in phase %s after %lld s: %.400s",
                       phase_name(job->phase), (long long)(waited_ms / 1000), job->wait.reason);
    if (job->placement.launcher != LAUNCHER_NONE) {
        char pod[LAUNCHER_POD_MAX];
        launcher_pod(job->guest_name, job->guest_uuid, job->target, job->uid, pod);
        effects_event(fx, job, now.wall_ms, false, "SuccessfulDelete",
                      "%s pod %s/%s timeout period exceeded", what, job->ns, pod);
    }
    wait_fail(f, job, TRIGGER_WAITED_TOO_LONG, text, now, fx);
}

bool wait_until_deadline(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    int64_t limit = wait_limit_ms(f, job);
    int64_t waited_ms = job->wait.waited_ms[job->wait.pending] + now.mono_ms - job->wait.mono_ms;
    int64_t left_ms = limit - waited_ms;
    int64_t age_left_ms =
        job->wait.born_ms + JOB_AGE_MAX_MS - now.mono_ms; /* over all waits of the job */
    if (job->phase == PHASE_PENDING && age_left_ms < left_ms)
        left_ms = age_left_ms;
    if (limit > 0 && left_ms <= 0) {
        fail_late(f, job, waited_ms, now, fx);
        return false;
    }
    if (limit > 0) {
        int64_t until_ms = now.wall_ms + left_ms;
        if (until_ms != job->wait.until_ms && job->wait.until_ms == 0)
            job->changed = true;
        if (job->wait.until_ms == 0)
            job->wait.until_ms = until_ms;
        job->queue.wake_ms = now.mono_ms + left_ms;
    }
    return true;
}

bool wait_unconfirmed(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!job->unconfirmed || job->abort.asked)
        return false;
    step_wait(job, PENDING_UNCONFIRMED, now,
              "restored from a backup; its guest's definition has not been read yet");
    wait_for_time(job);
    (void)wait_until_deadline(f, job, now, fx);
    return true;
}
