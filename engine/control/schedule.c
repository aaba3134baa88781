/* schedule.c - see schedule.h.
 *
 * Level-triggered: each function looks at the facts and either takes the next step, or says
 * what the job waits for and by when it gives up.
 */
#include "engine/control/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/move.h"
#include "engine/data/ownership.h"

/* Nothing was asked of any host yet, so the guest is where it was last seen running; if that is
 * not known, it is not claimed. */
static enum guest_at place_of_guest(struct fleet *f, const struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL || guest->owner == NULL || !guest->owner->node->connected)
        return GUEST_AT_UNKNOWN;
    struct hv_sight sight = {
        .presence = HV_PRESENT, .state = guest->owner->state, .reason = guest->owner->reason};
    bool elsewhere = job->source[0] != '\0' && strcmp(guest->owner->node->name, job->source) != 0;
    return ownership_side(&sight) == SIDE_OWNS && !elsewhere ? GUEST_AT_SOURCE : GUEST_AT_UNKNOWN;
}

static void fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
                 struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = place_of_guest(f, job)};
    TEXT_SET(ending.reason, text);
    step_finish(f, job, why, &ending, now, fx);
}

/* Waits, unless the deadline of this phase has passed. */
static void wait_or_fail(struct fleet *f, struct job *job, int64_t limit_ms, struct moment now,
                         struct effects *fx)
{
    int64_t deadline_ms = job->entered_ms + limit_ms;
    job->wake_ms = deadline_ms;
    job->waits_until_ms = now.wall_ms + deadline_ms - now.mono_ms;
    if (now.mono_ms < deadline_ms)
        return;
    char text[JOB_REASON_MAX];
    (void)snprintf(text, sizeof text, "gave up in phase %s after %lld s: %.400s",
                   phase_name(job->phase), (long long)(limit_ms / 1000), job->pending_reason);
    fail(f, job, TRIGGER_WAITED_TOO_LONG, text, now, fx);
}

static bool has_slot(const struct fleet *f, const struct node *source, struct job *job,
                     struct moment now)
{
    const struct fleet_config *config = &f->config;
    if (config->parallel_per_fleet != 0 && f->busy_jobs >= config->parallel_per_fleet) {
        step_wait(job, PENDING_SLOT_FLEET, now, "%u migrations run, the fleet's limit",
                  f->busy_jobs);
        return false;
    }
    if (config->parallel_outbound_per_node != 0 &&
        source->outbound >= config->parallel_outbound_per_node) {
        step_wait(job, PENDING_SLOT_SOURCE, now, "%u migrations leave %s, its limit",
                  source->outbound, source->name);
        return false;
    }
    return true;
}

static struct node *choose_target(struct fleet *f, const struct job *job, const char *source);

/* A place at the target too, so that a job does not hold one of the fleet's while it waits. */
static bool target_has_slot(struct fleet *f, const struct node *source, struct job *job,
                            struct moment now)
{
    const struct node *target = choose_target(f, job, source->name);
    unsigned limit = f->config.parallel_inbound_per_node;
    if (target == NULL || limit == 0 || target->inbound < limit)
        return true;
    step_wait(job, PENDING_SLOT_TARGET, now, "%u migrations arrive at %s, its limit",
              target->inbound, target->name);
    return false;
}

static void advance_pending(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL || guest->owner == NULL)
        step_wait(job, PENDING_GUEST_UNSEEN, now, "the guest has not been seen on any node");
    else if (!guest->owner->node->connected)
        step_wait(job, PENDING_SOURCE_UNREACHABLE, now,
                  "node %s, where the guest was last seen, cannot be reached",
                  guest->owner->node->name);
    else if (!f->store_ok)
        step_wait(job, PENDING_STORE, now, "the store cannot be written");
    else if (has_slot(f, guest->owner->node, job, now) &&
             target_has_slot(f, guest->owner->node, job, now)) {
        TEXT_SET(job->source, guest->owner->node->name);
        job->target_side = job->source_side = (struct job_side){0};
        step_take(f, job, TRIGGER_ADMITTED, now, fx);
        return;
    }
    wait_or_fail(f, job, f->config.pending_timeout_ms, now, fx);
}

/* The node that was named, or the only other one. Rules come with placement. */
static struct node *choose_target(struct fleet *f, const struct job *job, const char *source)
{
    if (job->wanted[0] != '\0')
        return fleet_node(f, job->wanted);
    struct node *found = NULL;
    for (struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        if (strcmp(node->name, source) == 0)
            continue;
        if (found != NULL)
            return NULL;
        found = node;
    }
    return found;
}

static void advance_scheduling(struct fleet *f, struct job *job, struct moment now,
                               struct effects *fx)
{
    struct node *target = choose_target(f, job, job->source);
    if (target == NULL || strcmp(target->name, job->source) == 0) {
        fail(f, job, TRIGGER_IMPOSSIBLE,
             "no node to migrate to: none is named, or it is the source", now, fx);
        return;
    }
    if (!target->connected) {
        step_wait(job, PENDING_UNSCHEDULABLE, now, "node %s cannot be reached: %.300s",
                  target->name, target->error);
    } else if (!f->store_ok) {
        step_wait(job, PENDING_STORE, now, "the store cannot be written");
    } else if (target_has_slot(f, fleet_node(f, job->source), job, now)) {
        target->inbound++; /* counted with the job from now on; see fleet_job_moved */
        TEXT_SET(job->target, target->name);
        step_take(f, job, TRIGGER_PLACED, now, fx);
        return;
    }
    wait_or_fail(f, job, f->config.unschedulable_timeout_ms, now, fx);
}

/* Configuration is frozen here; later edits do not reach a job that was handed off. */
static void advance_scheduled(struct fleet *f, struct job *job, struct moment now,
                              struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    job->flags = f->config.migrate_flags;
    if (guest != NULL && guest->persistent)
        job->flags |= HV_MIGRATE_PERSIST;
    if (job->bandwidth_mibs == 0)
        job->bandwidth_mibs = f->config.bandwidth_mibs;
    job->epoch++;
    job->intent_seq = 0;
    job->handed_off_ms = now.wall_ms;
    job->next_round_ms = now.mono_ms;
    step_take(f, job, TRIGGER_HANDED_OFF, now, fx);
    effects_event(fx, job, now.wall_ms, false, "SuccessfulHandOver",
                  "Handed off: %s to %s, epoch %lld.", job->source, job->target,
                  (long long)job->epoch);
}

static void judge_target(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum ownership_side source = ownership_side(&job->source_side.sight);
    enum ownership_side target = ownership_side(&job->target_side.sight);
    const struct node *node = fleet_node(f, job->target);
    const struct guest *twin =
        node != NULL ? fleet_namesake(node, job->guest_name, job->guest_uuid) : NULL;
    char text[JOB_REASON_MAX];

    if (source == SIDE_BLIND || target == SIDE_BLIND) {
        step_wait(job, PENDING_TARGET_SILENT, now, "node %s cannot be asked about the guest",
                  source == SIDE_BLIND ? job->source : job->target);
        job->next_round_ms = now.mono_ms + 1000;
    } else if (source != SIDE_OWNS) {
        (void)snprintf(text, sizeof text, "the guest does not run on %s any more (%s)", job->source,
                       ownership_side_name(source));
        fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else if (target != SIDE_ABSENT && target != SIDE_OFF && target != SIDE_LEFT) {
        (void)snprintf(text, sizeof text, "node %s has an active guest with this UUID already (%s)",
                       job->target, ownership_side_name(target));
        fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else if (twin != NULL) {
        (void)snprintf(text, sizeof text, "node %s has another guest called %s (%s)", job->target,
                       twin->name, twin->uuid);
        fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else {
        move_begin(f, job, now, fx);
    }
}

static void advance_preparing(struct fleet *f, struct job *job, struct moment now,
                              struct effects *fx)
{
    if (step_looked(f, job, now, fx) && now.mono_ms < job->next_round_ms) {
        wait_or_fail(f, job, f->config.prepare_timeout_ms, now, fx);
        if (job->phase == PHASE_PREPARING_TARGET && job->wake_ms > job->next_round_ms)
            job->wake_ms = job->next_round_ms;
        return;
    }
    step_look(f, job, now, fx);
    wait_or_fail(f, job, f->config.prepare_timeout_ms, now, fx);
}

static void cancel(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_ABORTED, .guest_at = place_of_guest(f, job)};
    (void)snprintf(ending.reason, sizeof ending.reason, "cancelled by %s before anything moved",
                   job->abort_requester);
    job->abort_status = ABORT_SUCCEEDED;
    step_finish(f, job, TRIGGER_CANCELLED, &ending, now, fx);
}

void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->abort_asked) {
        cancel(f, job, now, fx);
        return;
    }
    switch (job->phase) {
    case PHASE_PENDING: advance_pending(f, job, now, fx); break;
    case PHASE_SCHEDULING: advance_scheduling(f, job, now, fx); break;
    case PHASE_SCHEDULED: advance_scheduled(f, job, now, fx); break;
    case PHASE_PREPARING_TARGET:
        if (!f->store_ok)
            step_wait(job, PENDING_STORE, now, "the store cannot be written");
        else if (job->judged_round != job->round && step_looked(f, job, now, fx)) {
            job->judged_round = job->round;
            judge_target(f, job, now, fx);
        }
        if (job->phase == PHASE_PREPARING_TARGET)
            advance_preparing(f, job, now, fx);
        break;
    default: break;
    }
}
