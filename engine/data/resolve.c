/* resolve.c - see resolve.h. */
#include "engine/data/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/carry.h"
#include "engine/data/ending.h"
#include "engine/data/final.h"
#include "engine/data/flags.h"
#include "engine/data/gone.h"
#include "engine/data/monitor.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/move.h"
#include "engine/data/observe.h"
#include "engine/data/ownership.h"
#include "engine/data/recovery.h"
#include "engine/data/stray.h"
#include "engine/data/userpause.h"
#include "engine/model/fleet/fleet_incidents.h"

enum {
    ROUND_FAST_MS = 200,  /* between rounds at first */
    ROUND_SLOW_MS = 1000, /* while the guest migrates, or after FAST_FOR_MS */
    FAST_FOR_MS = 10000,
    SETTLED_MS = 1000,  /* absence must be observed for this long */
    FOREIGN_MS = 10000, /* a migration that the target does not receive for so long is not ours */
    CALLS_AGAIN_MAX = 2,
};

void resolve_begin(struct job *job, struct moment now)
{
    if (phase_is_final(job->phase))
        return;
    job->resolving = true;
    job->changed = true;
    job->resolution.next_round_ms = job->queue.wake_ms = now.mono_ms;
    job->resolution.hv_job = JOB_SEEN_UNKNOWN;
    job->resolution.hv_job_question = 0; /* an answer to an older query proves nothing */
    job->resolution.hv_job_round = 0;
    job->resolution.decided_round = job->resolution.round;
    job->resolution.ownership_last = -1;
    job->resolution.ownership_since_ms = now.mono_ms;
    job->resolution.reported = false;
}

/* Why the migration did not complete, by the call's answer. */
static void reason_from_error(const struct job *job, bool stayed, char *out, size_t out_bytes)
{
    const struct job_error *error = &job->result.error;
    bool relayed =
        (job->call.flags & FLAGS_RELAYED) != 0 && job->adopted; /* by an earlier version */
    if (error->code == ERR_NONE && job->call.over)
        (void)snprintf(out, out_bytes, "the migrate call reported success");
    else if (error->code == ERR_NONE || error->code == ERR_UNREACHABLE)
        (void)snprintf(out, out_bytes, "the migration ended unobserved%s%s%s",
                       stayed ? " and the guest stayed on " : "", stayed ? job->source : "",
                       relayed ? ": its memory passed through Ferry, which was restarted" : "");
    else if (error->hv_code != 0)
        (void)snprintf(out, out_bytes, "virError(Code=%d, Domain=%d, Message='%.400s')",
                       error->hv_code, error->hv_domain, job_error_text(error));
    else
        (void)snprintf(out, out_bytes, "%s: %.450s", err_name(error->code), job_error_text(error));
}

/* The remedy for a stalled stream comes before the error that it caused. */
static void name_remedy(const struct job *job, char reason[static JOB_REASON_MAX])
{
    char error[JOB_REASON_MAX];
    if (job->stream.remedy[0] == '\0')
        return;
    TEXT_SET(error, reason);
    (void)snprintf(reason, JOB_REASON_MAX, "%s; %.300s", job->stream.remedy, error);
}

static void finish_on_source(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_SOURCE};
    bool stopped = job->abort.asked && (job->abort.accepted || job->call.withdrawn);
    if (stopped) {
        ending.outcome = OUTCOME_ABORTED;
        (void)snprintf(ending.reason, sizeof ending.reason, "aborted by %s: %.400s",
                       job->abort.requester, job->abort.why);
    } else if (job_is_observed(job)) { /* whoever started it got the error */
        ending_on_source(job, &ending);
    } else {
        reason_from_error(job, true, ending.reason, sizeof ending.reason);
        name_remedy(job, ending.reason);
    }
    if (job->abort.asked)
        job->abort.status = stopped ? ABORT_SUCCEEDED : ABORT_FAILED;
    final_finish(f, job, TRIGGER_ON_SOURCE, &ending, now, fx);
}

static void finish_on_target(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_SUCCEEDED, .guest_at = GUEST_AT_TARGET};
    bool observed = job_is_observed(job);
    if (!observed && (userpause_holds(f, job, now, fx) || carry_holds(f, job, now, fx)))
        return; /* to be paused there first, as on the source */
    if (!observed)
        carry_ended(job, now, fx);
    recovery_arrived(job, now, fx);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED; /* the migration completed before the abort */
    final_finish(f, job, TRIGGER_ON_TARGET, &ending, now, fx);
}

/* An earlier process recorded the intent and died: with proof that the call was never made, or
 * ended before data moved, it is made again, in a new epoch. */
static void repeat_call(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->abort.asked) {
        struct step_ending ending = {.outcome = OUTCOME_ABORTED, .guest_at = GUEST_AT_SOURCE};
        (void)snprintf(ending.reason, sizeof ending.reason, "cancelled by %s before data moved",
                       job->abort.requester);
        job->abort.status = ABORT_SUCCEEDED;
        final_finish(f, job, TRIGGER_CANCELLED, &ending, now, fx);
        return;
    }
    job->call.retries++;
    job->epoch++;
    job->intent_seq = 0;
    job->resolving = false;
    job->changed = true;
    job->entered_ms = now.mono_ms;
    effects_event(fx, job, now.wall_ms, false, "CallRepeated", "%s; calling again, epoch %lld.",
                  job->call.over ? "The target could not be prepared with the chosen port"
                                 : "No trace of the recorded call on either node",
                  (long long)job->epoch);
    move_call(f, job, now, fx);
}

static const struct {
    int64_t after_ms; /* how long the state must last before it is reported */
    const char *reason, *text;
} reports[] = {
    [OWNERSHIP_WAIT] = {OBSERVE_LEFTOVER_MS, "Unfinished", NULL /* depends */},
    [OWNERSHIP_SPLIT] = {SETTLED_MS, "Split", "The guest is active on both nodes; touch neither"},
    [OWNERSHIP_BROKEN] = {SETTLED_MS, "PostCopyBroken",
                          "Broken in post-copy; nothing is changed on the hosts"},
    /* Not at once: after a restart connections are still being opened. */
    [OWNERSHIP_BLIND] = {3 * SETTLED_MS, "OutcomeUnknown", "A node is unreachable; waiting for it"},
};

static const char *text_of_wait(enum ownership_side source, enum ownership_side target)
{
    if (source == SIDE_MOVING && ownership_is_gone(target))
        return "The guest is paused on the source and not on the target; it may have run "
               "there, so it is not resumed";
    if (source == SIDE_MOVING && target == SIDE_BLIND)
        return "The guest is paused on the source and the target is unreachable";
    if (source == SIDE_MOVING && target != SIDE_MOVING)
        return "The target has the guest and the source still has a paused copy: destroy that one, "
               "or `ferry resolve --guest-on target`";
    if (target == SIDE_STUCK)
        return "The target has the guest, paused by a problem of the guest";
    if (source == SIDE_OWNS)
        return "The target still has its copy; the guest is resumed when that is gone";
    return "Neither node has taken over the guest";
}

/* A state that lasts too long without an outcome is reported once, becomes the pending reason,
 * and releases its slot. text: NULL: that of the table. */
static void report(struct fleet *f, struct job *job, enum ownership ownership, const char *text,
                   struct moment now, struct effects *fx)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    if (text == NULL)
        text = reports[ownership].text != NULL ? reports[ownership].text
                                               : text_of_wait(source, target);
    if (ownership == OWNERSHIP_BLIND && monitor_driver_must_resume(job))
        text = "Ferry paused the guest on the source; it is resumed when the target answers, or by "
               "`ferry resolve`";
    const struct node *other = observe_other_machine(f, job);
    char machine[JOB_REASON_MAX];
    if (other != NULL) {
        (void)snprintf(machine, sizeof machine,
                       "%.64s is another machine than at the migrate call (host UUID %s): what it "
                       "reports proves nothing; name the right one in the configuration, or `ferry "
                       "resolve`",
                       other->name, other->facts.uuid);
        text = machine;
    }
    bool over = job->call.over || job->resolution.hv_job == JOB_SEEN_NONE;
    bool stalls = job->wait.pending == PENDING_STALLED && ownership == OWNERSHIP_WAIT && !over;
    if (!stalls) /* the stall's reason has more detail while a call is open */
        step_wait(job, PENDING_UNPROVEN, now, "%s (%s on %s, %s on %s)", text,
                  ownership_side_name(source), job->source, ownership_side_name(target),
                  job->target);
    job->resolving = true;
    if (!job->resolution.reported)
        effects_event(fx, job, now.wall_ms, true, reports[ownership].reason, "%s",
                      job->wait.reason);
    job->resolution.reported = true;
    if (now.mono_ms - job->resolution.ownership_since_ms >= FLEET_SLOT_KEPT_MS &&
        fleet_release_slot(f, job) && ownership != OWNERSHIP_SPLIT)
        incidents_unproven(f, job, now.wall_ms);
}

/* The end of a job whose source and target do not run the guest. */
static void end_gone(struct fleet *f, struct job *job, enum gone gone, const char *node,
                     struct moment now, struct effects *fx)
{
    static const struct {
        enum trigger trigger;
        enum outcome outcome;
        enum guest_at guest_at;
    } ends[] = {
        [GONE_ELSEWHERE] = {TRIGGER_ELSEWHERE, OUTCOME_FAILED, GUEST_AT_ELSEWHERE},
        [GONE_MOVED_ON] = {TRIGGER_ON_TARGET, OUTCOME_SUCCEEDED, GUEST_AT_ELSEWHERE},
        [GONE_ARRIVED] = {TRIGGER_ON_TARGET, OUTCOME_SUCCEEDED, GUEST_AT_CRASHED},
        [GONE_STOPPED] = {TRIGGER_LOST, OUTCOME_FAILED, GUEST_AT_STOPPED},
        [GONE_LEFT] = {TRIGGER_ELSEWHERE, OUTCOME_FAILED, GUEST_AT_ELSEWHERE},
        [GONE_UNSEEN] = {TRIGGER_LOST, OUTCOME_FAILED, GUEST_AT_UNKNOWN},
        [GONE_LOST] = {TRIGGER_LOST, OUTCOME_LOST, GUEST_AT_LOST},
    };
    struct step_ending ending = {.outcome = ends[gone].outcome, .guest_at = ends[gone].guest_at};
    const struct job_resolution *seen = &job->resolution;
    char cause[JOB_REASON_MAX];
    reason_from_error(job, false, cause, sizeof cause);
    if (ending.outcome != OUTCOME_SUCCEEDED)
        (void)snprintf(ending.reason, sizeof ending.reason,
                       "the guest runs on %s%s: %s on %s, %s on %s; %.300s",
                       gone == GONE_ELSEWHERE ? node : "neither node",
                       gone == GONE_ELSEWHERE ? ", where this migration did not take it" : "",
                       ownership_side_name(ownership_side(&seen->source_side.observation)),
                       job->source,
                       ownership_side_name(ownership_side(&seen->target_side.observation)),
                       job->target, cause);
    else
        recovery_arrived(job, now, fx);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED;
    final_finish(f, job, ends[gone].trigger, &ending, now, fx);
}

static void settle_gone(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const char *node = "";
    enum gone gone = gone_decide(f, job, &node);
    if (gone != GONE_UNKNOWN) {
        end_gone(f, job, gone, node, now, fx);
        return;
    }
    char text[JOB_NOTE_MAX];
    (void)snprintf(text, sizeof text, "Neither node runs the guest; %.64s may have it: %s", node,
                   gone_elsewhere(f, job) != NULL
                       ? "it is being moved there, or was last seen there"
                       : "that node's guests are not known");
    job->resolution.guest_at = GUEST_AT_UNKNOWN;
    if (now.mono_ms - job->resolution.ownership_since_ms >= reports[OWNERSHIP_BLIND].after_ms)
        report(f, job, OWNERSHIP_BLIND, text, now, fx);
}

/* The source runs the guest and the target is unreachable. When the target's last answer is
 * lost, libvirt resumes the guest on the source, although it may run on the target by then: once
 * the switch-over was reached only the target can prove it. A stop that nobody observed shows in
 * the source's running reason: a guest that stopped and resumed has another one. */
static bool may_run_there(const struct job *job)
{
    const struct job_stream *stream = &job->stream;
    const struct hv_observation *observation = &job->resolution.source_side.observation;
    bool went_on =
        observation->state != HV_STATE_RUNNING ||
        (observation->reason != HV_RUNNING_BOOTED && observation->reason != HV_RUNNING_MIGRATED &&
         observation->reason != HV_RUNNING_RESTORED);
    return ownership_side(&job->resolution.target_side.observation) == SIDE_BLIND &&
           (stream->switched || stream->target_resumed || stream->postcopy_ordered ||
            (stream->unseen && went_on));
}

/* The target was not started, and the port was Ferry's choice: another program may use it. All
 * errors of QEMU have this number, so it is sometimes tried once more than needed; not where the
 * target was disconnected meanwhile. */
static bool may_be_port(struct fleet *f, const struct job *job)
{
    enum { INTERNAL_ERROR = 1, FROM_QEMU = 10 }; /* libvirt's */
    return job->stream.port != 0 && job->result.error.code == ERR_HYPERVISOR &&
           job->result.error.hv_code == INTERNAL_ERROR &&
           job->result.error.hv_domain == FROM_QEMU && !job->abort.asked && move_saw_target(f, job);
}

/* A migration runs on the source: whose? Ferry's is only what the target receives. A target that
 * has no copy for FOREIGN_MS receives nothing: then somebody else started it, and it is left
 * alone. True: it is Ferry's, or nothing is proven yet. */
static bool may_be_ours(struct fleet *f, struct job *job, enum ownership_side target,
                        struct moment now, struct effects *fx)
{
    struct job_resolution *seen = &job->resolution;
    if (seen->hv_job != JOB_SEEN_ACTIVE || !ownership_is_gone(target)) {
        seen->not_received_ms = 0;
        if (seen->hv_job == JOB_SEEN_ACTIVE && target == SIDE_BLIND && !job->stream.received)
            report(f, job, OWNERSHIP_BLIND,
                   "A migration runs on the source; whether it is this one is known when the "
                   "target answers",
                   now, fx);
        return true;
    }
    if (seen->not_received_ms == 0)
        seen->not_received_ms = now.mono_ms;
    return now.mono_ms - seen->not_received_ms < FOREIGN_MS;
}

static void finish_foreign(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_SOURCE};
    char cause[JOB_REASON_MAX];
    reason_from_error(job, false, cause, sizeof cause);
    job->resolution.foreign = true;
    (void)snprintf(ending.reason, sizeof ending.reason,
                   "somebody else migrates the guest from %s: %s does not receive that migration, "
                   "so Ferry leaves it alone; %.200s",
                   job->source, job->target, cause);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED;
    final_finish(f, job, TRIGGER_ON_SOURCE, &ending, now, fx);
}

/* The source runs the guest. That is the end only if its own job is over too: a call that was
 * refused because another one runs must not count as a failed migration. */
static void settle_on_source(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    bool over = job->resolution.hv_job == JOB_SEEN_NONE ||
                job->resolution.hv_job == JOB_SEEN_OTHER || gone_from_target(job);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    if (job->resolution.guest_at == GUEST_AT_SPLIT && target == SIDE_BLIND) {
        report(f, job, OWNERSHIP_BLIND, NULL, now, fx);
        return; /* it ran on both: an unreachable host ends nothing */
    }
    job->resolution.guest_at = GUEST_AT_SOURCE;
    bool observed = job_is_observed(job);
    if (!observed && !may_be_ours(f, job, target, now, fx)) {
        finish_foreign(f, job, now, fx);
        return;
    }
    if (!over)
        job->resolution.ownership_since_ms = now.mono_ms; /* "no job" must last by itself */
    if (job->resolution.hv_job == JOB_SEEN_ACTIVE && !job->call.over &&
        (observed || move_is_ours(job))) {
        job->changed = job->changed || job->resolving;
        job->resolving =
            false; /* the migration simply runs, without a call of this process; it is observed */
        incidents_settled(f, job->uid, INCIDENT_UNKNOWN, now.wall_ms);
        fleet_take_slot(f, job);
        move_seen(f, job, now, fx);
    }
    if (!over)
        return;

    int64_t stable_ms = now.mono_ms - job->resolution.ownership_since_ms;
    if (target == SIDE_MOVING && stable_ms < OBSERVE_LEFTOVER_MS)
        return; /* the target is still removing its copy */
    if (!job->call.over && stable_ms < SETTLED_MS)
        return;
    if (may_run_there(job) || (monitor_driver_must_resume(job) && !ownership_is_gone(target))) {
        job->resolution.guest_at = GUEST_AT_UNKNOWN;
        report(f, job, target == SIDE_BLIND ? OWNERSHIP_BLIND : OWNERSHIP_WAIT, NULL, now, fx);
        return; /* not resumed while the target may run it */
    }
    if (!observed && monitor_driver_resume_guest(f, job, now, fx))
        return; /* Ferry paused it: resumed before the final step */
    if (!observed && userpause_holds_source(f, job, now, fx))
        return; /* its user paused it: paused again before the final step */
    bool never_moved = job->phase == PHASE_TARGET_READY && !job->call.moved;
    if ((!job->call.over || may_be_port(f, job)) && never_moved &&
        job->call.retries < CALLS_AGAIN_MAX)
        repeat_call(f, job, now, fx);
    else
        finish_on_source(f, job, now, fx);
}

/* How long both hosts' states are equal, not only the ownership. */
static void note_sides(struct job *job, enum ownership_side source, enum ownership_side target,
                       struct moment now)
{
    int both = (int)source * SIDE_COUNT + (int)target;
    if (job->resolution.ownership_last == both)
        return;
    job->resolution.ownership_last = both;
    job->resolution.ownership_since_ms = now.mono_ms;
    job->resolution.reported = false;
    if (job->wait.pending != PENDING_RECOVERY) { /* recovery lasts over several states */
        job->wait.reason[0] = '\0';
        job->wait.pending = PENDING_NONE;
    }
    job->changed = true;
}

/* The event of post-copy may have been missed. */
static void note_mode(struct fleet *f, struct job *job, enum ownership_side source,
                      enum ownership_side target, struct moment now, struct effects *fx)
{
    bool postcopy = source == SIDE_POSTCOPY || source == SIDE_POSTCOPY_FAILED ||
                    target == SIDE_POSTCOPY || target == SIDE_POSTCOPY_FAILED;
    if (!postcopy)
        return;
    move_seen(f, job, now, fx);
    move_mode(job, MODE_POSTCOPY, "observed in post-copy", now, fx);
}

/* Paused for a migration that is over: libvirt leaves the guest so when it does not know whether
 * the target got it. It is known where the target was connected all the time, never ran the
 * guest, and has just reported no such guest, as the source has reported no job. */
static bool resume_leftover(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                            struct effects *fx)
{
    const struct job_stream *stream = &job->stream;
    const struct job_side *source = &job->resolution.source_side,
                          *target = &job->resolution.target_side;
    char why[MONITOR_TEXT_MAX];
    bool left = ownership_side(&source->observation) == SIDE_MOVING &&
                ownership_is_gone(ownership_side(&target->observation)) &&
                stable_ms >= OBSERVE_LEFTOVER_MS && job->resolution.hv_job == JOB_SEEN_NONE &&
                job->resolution.hv_job_round == job->resolution.round;
    bool fresh =
        now.mono_ms - source->seen_ms <= SETTLED_MS && now.mono_ms - target->seen_ms <= SETTLED_MS;
    bool may_have_run = stream->target_resumed || !move_saw_target(f, job) ||
                        stream->postcopy_ordered || job->mode == MODE_POSTCOPY ||
                        gone_elsewhere(f, job) != NULL;
    bool stays_paused = job->userpause.requested || (job->call.flags & HV_MIGRATE_PAUSED) != 0;
    if (!left || may_have_run || stays_paused || job_is_observed(job))
        return false;
    if (!fresh || !f->store_ok)
        return true; /* the next round will be */
    (void)snprintf(why, sizeof why,
                   "Paused on %.32s for %d s after the migration; %.32s never ran the guest and no "
                   "longer has it: "
                   "resuming it.",
                   job->source, (int)(stable_ms / 1000), job->target);
    return monitor_driver_resume_leftover(f, job, why, now, fx);
}

/* The source is in a switch-over or in post-copy, the target has nothing, and a third node has the
 * guest: the migration between those two is somebody else's. */
static bool is_moved_by_others(struct fleet *f, struct job *job, enum ownership_side source,
                               enum ownership_side target, struct moment now, struct effects *fx)
{
    bool leaves =
        source == SIDE_MOVING || source == SIDE_POSTCOPY || source == SIDE_POSTCOPY_FAILED;
    const struct domain *elsewhere =
        leaves && ownership_is_gone(target) ? gone_elsewhere(f, job) : NULL;
    if (elsewhere == NULL || order_is_out(job, ORDER_MIGRATE) || job_is_observed(job))
        return false;
    char text[JOB_NOTE_MAX];
    (void)snprintf(text, sizeof text, "Somebody else migrates the guest to %.64s; left alone",
                   elsewhere->node->name);
    job->resolution.foreign = true;
    job->resolution.guest_at = GUEST_AT_UNKNOWN;
    report(f, job, OWNERSHIP_WAIT, text, now, fx);
    return true;
}

void resolve_event(struct job *job, bool at_target, const struct hv_event *event)
{
    enum { BY_SHUTDOWN = 0 }; /* libvirt's detail of STOPPED */
    if (at_target && event->a == HV_LIFECYCLE_STOPPED)
        job->stream.shut_down_there = event->b == BY_SHUTDOWN;
}

/* In post-copy the guest runs on the target: when it shuts itself down there, the source's part
 * is of no use to anybody, and nothing is to be recovered. */
static bool finish_shut_down(struct fleet *f, struct job *job, enum ownership_side target,
                             struct moment now, struct effects *fx)
{
    const struct hv_observation *there = &job->resolution.target_side.observation;
    bool by_itself = (target == SIDE_OFF && there->state == HV_STATE_SHUTOFF &&
                      there->reason == HV_SHUTOFF_SHUTDOWN) ||
                     (ownership_is_gone(target) && job->stream.shut_down_there);
    if (job->mode != MODE_POSTCOPY || !by_itself || order_is_out(job, ORDER_MIGRATE))
        return false;
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_CRASHED};
    (void)snprintf(ending.reason, sizeof ending.reason,
                   "the guest shut itself down on %s, where it ran in post-copy", job->target);
    effects_event(
        fx, job, now.wall_ms, true, "PartLeft",
        "A part of the guest, which has ended, may be left paused on %s: destroy it there.",
        job->source);
    final_finish(f, job, TRIGGER_LOST, &ending, now, fx);
    return true;
}

static void decide(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    enum ownership ownership = ownership_from_sides(source, target);
    note_sides(job, source, target, now);
    note_mode(f, job, source, target, now, fx);
    int64_t stable_ms = now.mono_ms - job->resolution.ownership_since_ms;
    bool settled = stable_ms >= SETTLED_MS;
    if (settled) /* the two observations of one round may straddle the switch-over */
        stray_note_split(f, job, ownership, now);
    if (!job_is_observed(job)) {
        stray_seen(f, job, stable_ms, now, fx);
        userpause_seen(job, now, fx);
    }
    bool holds_part =
        source == SIDE_POSTCOPY || source == SIDE_POSTCOPY_FAILED || source == SIDE_MOVING;
    if (is_moved_by_others(f, job, source, target, now, fx) ||
        (settled && holds_part && finish_shut_down(f, job, target, now, fx)))
        return;
    if (!order_is_out(job, ORDER_MIGRATE) && !job->unconfirmed &&
        recovery_advance(f, job, stable_ms, now, fx)) {
        bool given_up =
            job->recovery.state == RECOVERY_BLIND || job->recovery.state == RECOVERY_EXHAUSTED;
        if (given_up && now.mono_ms - job->wait.mono_ms >= FLEET_SLOT_KEPT_MS)
            (void)fleet_release_slot(f, job);
        else if (!given_up)
            fleet_take_slot(f, job);
        return;
    }
    char stray[JOB_REASON_MAX];
    bool has_stray = stray_is_suspended(job);
    if (has_stray)
        stray_describe(job, stray);
    if (ownership == OWNERSHIP_ON_TARGET && has_stray) {
        report(f, job, OWNERSHIP_WAIT, stray, now, fx); /* Ferry paused it: no success */
    } else if (ownership == OWNERSHIP_ON_TARGET) {
        finish_on_target(f, job, now, fx);
    } else if (ownership == OWNERSHIP_ON_SOURCE) {
        settle_on_source(f, job, now, fx);
    } else if (ownership == OWNERSHIP_GONE) {
        if (settled)
            settle_gone(f, job, now, fx);
    } else {
        bool was_split = job->resolution.guest_at == GUEST_AT_SPLIT && ownership == OWNERSHIP_BLIND;
        if (settled && !was_split)
            job->resolution.guest_at = ownership_guest_at(ownership);
        if (!resume_leftover(f, job, stable_ms, now, fx) &&
            stable_ms >= reports[ownership].after_ms)
            report(f, job, ownership, ownership == OWNERSHIP_SPLIT && has_stray ? stray : NULL, now,
                   fx);
    }
}

void resolve_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->resolution.decided_round != job->resolution.round &&
        observe_answered(f, job, now, fx)) {
        if (!observe_knows_job(f, job, now, fx))
            return;
        job->resolution.decided_round = job->resolution.round;
        int64_t stable_ms = now.mono_ms - job->resolution.ownership_since_ms;
        bool calm = !job->resolving || stable_ms > FAST_FOR_MS;
        job->resolution.next_round_ms = now.mono_ms + (calm ? ROUND_SLOW_MS : ROUND_FAST_MS);
        decide(f, job, now, fx);
    }
    if (phase_is_final(job->phase) || order_is_out(job, ORDER_MIGRATE))
        return;
    if (now.mono_ms < job->resolution.next_round_ms) {
        if (job->queue.wake_ms > job->resolution.next_round_ms)
            job->queue.wake_ms = job->resolution.next_round_ms;
    } else if (job->resolution.decided_round == job->resolution.round) {
        observe_begin(f, job, now, fx);
    }
}
