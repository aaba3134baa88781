/* jobend.c - how a migration ends: success, an error, or a fault.
 *
 * What each fault leaves behind depends on the phase it hits; the endings here are those of real
 * hosts (see error.def). Three principles: before the switch-over ends the source always keeps the
 * guest; after it nothing may resume the source; a stream without answers leaves both sides as they
 * are.
 */
#include <assert.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum {
    STOPPED_SHUTDOWN = 0, /* libvirt's details of lifecycle events */
    STOPPED_DESTROYED = 1,
    STOPPED_MIGRATED = 3,
    STOPPED_FAILED = 5,
    RESUMED_MIGRATED = 1,
};

static void answer(struct sim *sim, struct job *job, enum sim_error why, uint64_t min_ms,
                   uint64_t max_ms)
{
    struct call *call = job->call;
    if (call == NULL)
        return;
    const struct copy *copy = job->source != NULL ? job->source : job->target;
    int64_t delay_ms = (int64_t)sim_random(&job->chance, min_ms, max_ms);
    sim_call_answer(sim, call, why, copy, job->to, delay_ms);
}

void sim_job_answer(struct sim *sim, struct job *job, enum sim_error why)
{
    answer(sim, job, why, 50, 250);
}

void sim_job_free(struct sim *sim, struct job *job)
{
    sim_guest_freeze(sim, job->guest, false);
    sim_stream_close(sim, job);
    timer_clear(&sim->timers, &job->peer);
    timers_release(&sim->timers, 2);
    sim_fault_detach_job(sim, job);
    if (job->call != NULL)
        sim_call_leave_job(job->call);
    if (job->source != NULL)
        job->source->out = NULL;
    if (job->target != NULL)
        job->target->in = NULL;
    job->guest->job = NULL;
    sim_calls_monitor_free(sim, job);
    DL_DELETE2(job->from->out, job, out_prev, out_next);
    DL_DELETE2(job->to->in, job, in_prev, in_next);
    free(job->volumes);
    free(job);
}

void sim_job_drop_target(struct sim *sim, struct job *job, int detail)
{
    struct copy *target = job->target;
    if (target == NULL)
        return;
    job->target = NULL;
    target->in = NULL;
    if (job->started) {
        sim_copy_stop(sim, target, HV_SHUTOFF_FAILED, detail);
        return;
    }
    sim_copy_state(sim, target, HV_STATE_SHUTOFF, HV_SHUTOFF_FAILED);
    if (!target->persistent)
        sim_copy_free(sim, target);
}

/* The source's QEMU resumes; if its libvirtd is down, when that is back. reason: libvirt's, if it
 * has one. */
static void resume_source_as(struct sim *sim, struct job *job, enum hv_reason reason)
{
    struct copy *source = job->source;
    if (source == NULL || source->state != HV_STATE_PAUSED || source->reason != HV_PAUSED_MIGRATION)
        return;
    if (sim_host_is_dead(job->from)) {
        source->resumes_with_daemon = true;
        return;
    }
    sim_copy_state(sim, source, HV_STATE_RUNNING, reason);
    sim_emit_lifecycle(sim, source, HV_LIFECYCLE_RESUMED, RESUMED_MIGRATED);
}

static void resume_source(struct sim *sim, struct job *job)
{
    resume_source_as(sim, job, HV_RUNNING_UNPAUSED);
}

void sim_job_fail(struct sim *sim, struct job *job, enum sim_error why, int target_detail)
{
    assert(!sim_job_in_postcopy(job) && job->phase != JOB_FINISH);
    sim_job_answer(sim, job, why);
    sim_job_drop_target(sim, job, target_detail);
    resume_source(sim, job);
    sim_job_free(sim, job);
}

void sim_job_lose_finish(struct sim *sim, struct job *job)
{
    sim_job_answer(sim, job, SIM_ERROR_PEER_LOST);
    resume_source(sim, job); /* the target keeps its copy */
    sim_job_free(sim, job);
}

/* The request waits in the target's socket: sim_host_changed() starts the copy. */
static void leave_finish(struct sim *sim, struct job *job)
{
    job->guest->planned_faults[SIM_FAULT_FINISH_LATE] = false;
    job->target->starts_with_daemon = true;
    job->target->stopped_ms = job->paused_ms;
    sim_job_answer(sim, job, SIM_ERROR_PEER_LOST);
    resume_source_as(sim, job, HV_RUNNING_MIGRATION_CANCELED);
    sim_job_free(sim, job);
}

static void stop_source(struct sim *sim, struct job *job, const struct hv_job_stats *stats)
{
    struct copy *source = job->source;
    bool undefines = source->persistent && (job->how.flags & HV_MIGRATE_PERSIST) != 0;
    source->completed = *stats;
    sim_copy_state(sim, source, HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED);
    sim_emit_lifecycle(sim, source, HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    if (undefines)
        sim_emit_lifecycle(sim, source, HV_LIFECYCLE_UNDEFINED, 0);
    if (!job->peer_lost) /* else libvirt had ended the job before QEMU finished it */
        sim_emit_completed(sim, source, stats);
    if (undefines || !source->persistent)
        sim_copy_free(sim, source);
}

/* Existing interfaces get another network; none is added or removed. */
static void replug(char present[static 64], const char *wanted)
{
    if (present[0] != '\0' && wanted[0] != '\0')
        (void)text_copy(present, sizeof((struct sim_guest *)NULL)->network, wanted);
}

void sim_job_succeed(struct sim *sim, struct job *job)
{
    struct hv_job_stats stats;
    sim_stream_stats(sim, job, &stats);
    stats.type = HV_JOB_COMPLETED;
    stats.downtime_ms = job->stream.downtime_ms;
    if (job->guest->stored != NULL) /* an edit made since is undefined with the source */
        *job->guest->stored = job->stored;
    for (size_t i = 0; i < job->how.n_volumes; i++)
        sim_volume_moved(job->guest, job->to, &job->how.volumes[i]);
    if ((job->how.flags & HV_MIGRATE_AS_DEFINED) != 0 && job->guest->stored != NULL) {
        replug(job->guest->what.network, job->guest->stored->network);
        replug(job->guest->what.bridge, job->guest->stored->bridge);
    }
    answer(sim, job, SIM_ERROR_NONE, 120, 180);
    stop_source(sim, job, &stats);
    stats.operation = HV_OPERATION_MIGRATION_IN;
    job->target->completed = stats;
    sim_job_free(sim, job);
}

/* QEMU hangs on a dead socket and does not answer: in the switch-over, in write(); with disks in
 * sync, because libvirt cancels their mirrors, and then the guest's vCPUs stop although its state
 * is running; with disks still being copied, only the job hangs. */
void sim_job_hang(struct sim *sim, struct job *job, bool drops_target)
{
    if (job->phase == JOB_COPY)
        sim_guest_freeze(sim, job->guest, true);
    job->bulk = job->phase == JOB_DISKS;
    job->phase = JOB_STUCK;
    job->held = false;
    sim_stream_close(sim, job);
    if (drops_target)
        sim_job_drop_target(sim, job, STOPPED_DESTROYED);
}

/* The threads of parallel streams wait for a dead path; the guest and the monitor do not. */
void sim_job_hang_cancelling(struct sim *sim, struct job *job)
{
    job->bulk = true;
    job->phase = JOB_STUCK;
    job->held = false;
    sim_stream_close(sim, job);
}

void sim_job_lose_peer(struct sim *sim, struct job *job)
{
    timer_clear(&sim->timers, &job->peer);
    if (job->phase == JOB_FINISH) {
        if (sim_host_is_dead(job->from))
            sim_job_free(sim, job); /* no libvirtd cleans up: the source stays paused */
        return;
    }
    job->peer_lost = true;
    if (job->phase == JOB_SWITCHOVER && job->held && sim_host_is_stopped(job->to) &&
        job->guest->planned_faults[SIM_FAULT_FINISH_LATE]) {
        leave_finish(sim, job);
        return;
    }
    switch (job->phase) {
    case JOB_PREPARE:
    case JOB_CONNECT: sim_job_fail(sim, job, SIM_ERROR_PEER_LOST, STOPPED_DESTROYED); break;
    case JOB_DISKS:
    case JOB_COPY:
    case JOB_SWITCHOVER: {
        bool tunnelled = (job->how.flags & HV_MIGRATE_TUNNELLED) != 0;
        bool hangs = (job->disk_bytes > 0 || job->phase == JOB_SWITCHOVER) && !tunnelled &&
                     !job->stream.flows && !sim_host_is_dead(job->from);
        if (hangs)
            sim_job_hang(sim, job, true);
        else
            sim_job_fail(sim, job, SIM_ERROR_PEER_LOST, STOPPED_DESTROYED);
        break;
    }
    case JOB_POSTCOPY:
    case JOB_BROKEN:
    case JOB_RECOVER: sim_postcopy_lose_peer(sim, job); break;
    case JOB_STUCK: sim_job_drop_target(sim, job, STOPPED_DESTROYED); break;
    case JOB_FINISH: break;
    }
}

/* Frees a broken post-copy that has no copy left. */
static void free_if_no_copy_left(struct sim *sim, struct job *job)
{
    if (job->source == NULL && job->target == NULL)
        sim_job_free(sim, job);
}

static void kill_target(struct sim *sim, struct job *job, int detail)
{
    if (sim_job_in_postcopy(job)) {
        sim_job_drop_target(sim, job, detail);
        sim_postcopy_gone(sim, job, SIM_ERROR_SOURCE_GONE);
        free_if_no_copy_left(sim, job);
        return;
    }
    if (job->phase == JOB_STUCK) { /* the source does not notice */
        sim_job_drop_target(sim, job, detail);
        return;
    }
    enum sim_error why = SIM_ERROR_MONITOR_CLOSED; /* 7 of 9 times on real hosts */
    uint64_t dice = job->phase == JOB_COPY ? sim_random(&job->chance, 1, 9) : 9;
    if (dice == 1)
        why = SIM_ERROR_BAD_DESCRIPTOR;
    else if (dice == 2)
        why = SIM_ERROR_CONNECTION_RESET;
    sim_job_fail(sim, job, why, detail);
}

static void end_source(struct sim *sim, struct job *job, enum hv_reason reason, int detail)
{
    bool postcopy = sim_job_in_postcopy(job), early = job->phase < JOB_COPY;
    enum sim_error why = early ? SIM_ERROR_SOURCE_GONE_EARLY : SIM_ERROR_SOURCE_GONE;
    if (postcopy)
        why = sim_random(&job->chance, 0, 1) == 0 ? SIM_ERROR_SOURCE_GONE_EARLY
                                                  : SIM_ERROR_POSTCOPY_BROKEN;
    sim_job_answer(sim, job, why);
    struct copy *source = job->source;
    if (source != NULL) {
        job->source = NULL;
        source->out = NULL;
        sim_copy_stop(sim, source, reason, detail);
    }
    if (postcopy) {
        sim_postcopy_gone(sim, job, SIM_ERROR_NONE);
        free_if_no_copy_left(sim, job);
    } else {
        sim_job_fail(sim, job, why, STOPPED_FAILED);
    }
}

static bool abort_waits(const struct job *job)
{
    const struct call *call;
    DL_FOREACH2(job->waiting, call, wait_next)
    {
        if (call->request.call == HV_CALL_ABORT)
            return true;
    }
    return false;
}

static bool notices_close(const struct job *job, bool at_source)
{
    return at_source || job->stream.flows ||
           (sim_stream_has_return_path(job) && job->how.parallel_connections == 0);
}

bool sim_job_close_sockets(struct sim *sim, struct job *job, bool at_source)
{
    switch (job->phase) {
    case JOB_DISKS:
    case JOB_COPY: {
        bool load = sim_random(&job->chance, 1, 3) <= 2;
        sim_job_fail(sim, job, load ? SIM_ERROR_LOAD_FAILED : SIM_ERROR_BAD_DESCRIPTOR,
                     STOPPED_FAILED);
        return true;
    }
    case JOB_SWITCHOVER:
    case JOB_STUCK:
        if (notices_close(job, at_source)) {
            bool cancelled = job->cancelled || abort_waits(job);
            sim_job_fail(sim, job, cancelled ? SIM_ERROR_CANCELLED : SIM_ERROR_LOAD_FAILED,
                         STOPPED_FAILED);
            return true;
        }
        if (job->target == NULL)
            return false;
        sim_job_hang(sim, job, true); /* the target's QEMU ends, the source's does not notice */
        return true;
    case JOB_POSTCOPY:
    case JOB_RECOVER: sim_postcopy_break(sim, job, at_source); return true;
    case JOB_BROKEN:
        if (at_source ? job->source_knows : job->target_knows)
            return false;
        sim_postcopy_break(sim, job, at_source);
        return true;
    case JOB_PREPARE:
    case JOB_CONNECT:
    case JOB_FINISH: break; /* no stream */
    }
    return false;
}

bool sim_job_yank(struct sim *sim, struct job *job)
{
    bool before = job->phase == JOB_DISKS || job->phase == JOB_COPY || job->phase == JOB_STUCK;
    if (!before)
        return sim_job_in_postcopy(job) && sim_job_close_sockets(sim, job, true);
    sim_job_fail(sim, job, job->cancelled ? SIM_ERROR_CANCELLED : SIM_ERROR_BROKEN_PIPE,
                 STOPPED_FAILED);
    return true;
}

/* Measured: with one stream a FIN of the target is enough, if it arrives. */
void sim_job_drop_copy(struct sim *sim, struct job *job)
{
    if (job->phase == JOB_SWITCHOVER && !notices_close(job, false))
        sim_job_hang(sim, job, true);
    else
        kill_target(sim, job, STOPPED_DESTROYED);
}

void sim_job_hit(struct sim *sim, struct job *job, enum sim_fault_kind kind)
{
    if (job->phase == JOB_FINISH)
        return; /* only the clean-up remains */
    if (kind == SIM_FAULT_KILL_TARGET_QEMU)
        kill_target(sim, job, STOPPED_FAILED);
    else if (kind == SIM_FAULT_KILL_SOURCE_QEMU)
        end_source(sim, job, HV_SHUTOFF_CRASHED, STOPPED_FAILED);
    else if (kind == SIM_FAULT_STREAM_RESET)
        (void)sim_job_close_sockets(sim, job, true);
    else if (kind == SIM_FAULT_STREAM_HALF_RESET && job->phase == JOB_POSTCOPY)
        sim_postcopy_half_reset(sim, job);
    else if (kind == SIM_FAULT_STREAM_HALF_RESET)
        (void)sim_job_close_sockets(sim, job, true);
    else if (kind == SIM_FAULT_GUEST_POWEROFF && sim_job_in_postcopy(job))
        kill_target(sim, job, STOPPED_FAILED); /* it runs, and ends, on the target */
    else if (kind == SIM_FAULT_GUEST_POWEROFF && job->source->state == HV_STATE_RUNNING &&
             job->guest->frozen_since_ms < 0) {
        sim_emit_lifecycle(sim, job->source, HV_LIFECYCLE_SHUTDOWN, 0);
        end_source(sim, job, HV_SHUTOFF_SHUTDOWN, STOPPED_SHUTDOWN);
    }
}
