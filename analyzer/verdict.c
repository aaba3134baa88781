/* verdict.c - what a finished job's own record tells, without any text. See verdict.h.
 *
 * Rules are tried from the top; the first that holds names the cause. A rule holds only when no
 * other cause would have left the same facts.
 */
#include "analyzer/verdict.h"

#include <string.h>

#include "base/own.h"
#include "engine/data/ownership.h"

enum { /* libvirt's numbers of errors and of the part that raised them; they never change */
       HV_CODE_INTERNAL = 1,
       HV_CODE_SYSTEM = 38,
       HV_CODE_ABORTED = 78,
       HV_DOMAIN_RPC = 7,
};

/* ---- facts ---- */

static bool went_through(const struct snapshot_job *job, enum phase phase)
{
    for (unsigned i = 0; i < job->n_steps; i++)
        if (job->steps[i].phase == phase)
            return true;
    return false;
}

static bool ended_from(const struct snapshot_job *job, enum phase phase)
{
    return job->n_steps >= 2 && job->steps[job->n_steps - 2].phase == phase;
}

static bool was_called(const struct snapshot_job *job)
{
    return went_through(job, PHASE_TARGET_READY) || went_through(job, PHASE_RUNNING);
}

/* Never looked is as blind as a host that does not answer, but it proves nothing about it. */
static bool was_seen(const struct snapshot_sight *sight)
{
    return sight->at_ms != 0 && (sight->presence == HV_PRESENT || sight->presence == HV_ABSENT);
}

static bool was_unreachable(const struct snapshot_sight *sight)
{
    return sight->at_ms != 0 && sight->presence == HV_UNREACHABLE;
}

static bool was_off(const struct snapshot_sight *sight)
{
    return sight->at_ms != 0 && sight->presence == HV_PRESENT && sight->state == HV_STATE_SHUTOFF;
}

static enum ownership_side side_of(const struct snapshot_sight *seen)
{
    struct hv_sight sight = {
        .presence = seen->presence, .state = seen->state, .reason = seen->reason};
    return ownership_side(&sight);
}

/* The source answered the call itself, with this error. An adopted job has no such answer: it
 * went to a process that is gone. */
static bool call_said(const struct snapshot_job *job, int hv_code, int hv_domain)
{
    return was_called(job) && !job->adopted && job->error.code == ERR_HYPERVISOR &&
           job->error.hv_code == hv_code && job->error.hv_domain == hv_domain;
}

/* Ferry gives up by itself only between the call and the first sign of movement, and signs with
 * its own name. A person of that name counts as Ferry there: unknown rather than wrong. */
static bool somebody_asked_to_stop(const struct snapshot_job *job)
{
    bool had_moved = job->started_ms != 0 && job->started_ms <= job->delete_asked_ms;
    bool maybe_ferry = was_called(job) && !had_moved && strcmp(job->abort_requester, "ferry") == 0;
    return job->abort_asked && !maybe_ferry;
}

/* ---- rules ---- */

static bool is_user_cancelled(const struct snapshot_job *job)
{
    bool call_aborted = job->error.code == ERR_HYPERVISOR && job->error.hv_code == HV_CODE_ABORTED;
    return somebody_asked_to_stop(job) &&
           (job->outcome == OUTCOME_ABORTED || (job->outcome == OUTCOME_FAILED && call_aborted));
}

/* A transient guest leaves no trace of why it stopped; a defined one does. After a switch to
 * post-copy the source's own state tells nothing. */
static bool is_guest_stopped(const struct snapshot_job *job)
{
    return was_off(&job->source_sight) && job->mode != MODE_POSTCOPY &&
           (job->source_sight.reason == HV_SHUTOFF_SHUTDOWN ||
            job->source_sight.reason == HV_SHUTOFF_DESTROYED);
}

static bool is_source_vmm_crashed(const struct snapshot_job *job)
{
    return was_off(&job->source_sight) && job->mode != MODE_POSTCOPY && was_called(job) &&
           job->source_sight.reason == HV_SHUTOFF_CRASHED;
}

static bool is_target_same_as_source(const struct snapshot_job *job)
{
    return ended_from(job, PHASE_SCHEDULING) && job->source[0] != '\0' &&
           strcmp(job->wanted, job->source) == 0;
}

/* Only a copy that does not run may be called left over. */
static bool is_stale_migration_state(const struct snapshot_job *job)
{
    return ended_from(job, PHASE_PREPARING_TARGET) && was_seen(&job->source_sight) &&
           was_seen(&job->target_sight) && side_of(&job->source_sight) == SIDE_OWNS &&
           side_of(&job->target_sight) == SIDE_MOVING;
}

/* Ferry's own way to the target is shut as well, and the source never got to moving anything. */
static bool is_libvirt_connect_failed(const struct snapshot_job *job)
{
    bool source_could_not =
        call_said(job, HV_CODE_SYSTEM, HV_DOMAIN_RPC) && !went_through(job, PHASE_RUNNING);
    return was_unreachable(&job->target_sight) && was_seen(&job->source_sight) &&
           (ended_from(job, PHASE_PREPARING_TARGET) || source_could_not);
}

/* libvirt's RPC layer fails in a migrate call, over a connection that lives, only towards the
 * other libvirtd. */
static bool is_control_connection_lost(const struct snapshot_job *job)
{
    return call_said(job, HV_CODE_INTERNAL, HV_DOMAIN_RPC) && job->target_sight.at_ms != 0;
}

/* The same number as for the target's libvirtd. But that one answers, and before the stream only
 * a target that has started its copy makes a job Running: the two libvirtds had met. */
static bool is_data_connect_failed(const struct snapshot_job *job)
{
    return call_said(job, HV_CODE_SYSTEM, HV_DOMAIN_RPC) && went_through(job, PHASE_RUNNING) &&
           was_seen(&job->target_sight);
}

static const struct {
    enum cause cause;
    bool (*holds)(const struct snapshot_job *job);
} rules[] = {
    {CAUSE_USER_CANCELLED, is_user_cancelled},
    {CAUSE_GUEST_STOPPED, is_guest_stopped},
    {CAUSE_SOURCE_VMM_CRASHED, is_source_vmm_crashed},
    {CAUSE_TARGET_SAME_AS_SOURCE, is_target_same_as_source},
    {CAUSE_STALE_MIGRATION_STATE, is_stale_migration_state},
    {CAUSE_LIBVIRT_CONNECT_FAILED, is_libvirt_connect_failed},
    {CAUSE_CONTROL_CONNECTION_LOST, is_control_connection_lost},
    {CAUSE_DATA_CONNECT_FAILED, is_data_connect_failed},
};

static enum cause cause_of(const struct snapshot_job *job)
{
    for (size_t i = 0; i < COUNT(rules); i++)
        if (rules[i].holds(job))
            return rules[i].cause;
    return CAUSE_UNKNOWN;
}

/* The lists are not cleared: they are long, and their counts say that they are empty. */
static void clear(struct verdict *verdict)
{
    memset(verdict, 0, offsetof(struct verdict, points));
    verdict->action = "";
}

void verdict_of(const struct snapshot_job *job, struct verdict *out_verdict)
{
    clear(out_verdict);
    out_verdict->outcome = job->outcome;
    out_verdict->guest = job->guest_at;
    if (job->outcome == OUTCOME_NONE || job->outcome == OUTCOME_SUCCEEDED)
        return;
    enum cause cause = cause_of(job);
    const struct cause_row *row = cause_row(cause);
    out_verdict->cause = cause;
    out_verdict->plane = row->plane;
    if (row->plane == PLANE_OPEN)
        out_verdict->plane = was_called(job) ? PLANE_DATA : PLANE_CONTROL;
    out_verdict->failed_at = job->handed_off_ms != 0 ? FAILED_AT_AFTER : FAILED_AT_BEFORE;
    out_verdict->irrecoverable = job->guest_at == GUEST_AT_LOST || job->guest_at == GUEST_AT_BROKEN;
    out_verdict->recoverable = out_verdict->irrecoverable ? RECOVERABLE_NO : row->recoverable;
    out_verdict->confidence = cause == CAUSE_UNKNOWN ? 0 : 1;
    out_verdict->action = row->action;
}
