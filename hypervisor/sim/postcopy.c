/* postcopy.c - post-copy whose stream breaks, and its recovery.
 *
 * Each side notices a broken stream by itself, and a side that has not noticed refuses to resume:
 * QEMU still runs its migration, or libvirt still monitors it. With a working path both notice at
 * once. Without, the side that broke it knows, and the other notices when the path is back, when
 * TCP times out, or when its socket is closed too. Only then is RESUME accepted.
 *
 * libvirt's state may differ: when only the libvirtds lose each other the source shows
 * postcopy-failed, while QEMU goes on and finishes by itself.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"
#include "hypervisor/versions.h"

enum {
    TCP_GIVES_UP_MS = 60000, /* a dead path, on the side that gets no error */
    PATH_NOTICED_MS = 8000,  /* latest, after the path is back */
    SETTLE_MS = 4000,        /* recorded after both sides showed postcopy-failed */
    RECONNECT_MIN_MS = 150,
    RECONNECT_MAX_MS = 400,
    PORT_REFUSED_MS = 800,
    PORT_DROPPED_MS = 135400,
    NO_ROUTE_MS = 3100,
    DAEMON_BACK_MS = 1500, /* a service manager restarts a daemon that died */
    RESUMED_POSTCOPY = 3,  /* libvirt's details of lifecycle events */
    RESUMED_POSTCOPY_FAILED = 4,
    SUSPENDED_POSTCOPY = 7,
    SUSPENDED_POSTCOPY_FAILED = 8,
};

/* A dead libvirtd sends no event and keeps the last state. */
static void show_source_failed(struct sim *sim, struct job *job)
{
    struct copy *source = job->source;
    if (source == NULL || source->reason == HV_PAUSED_POSTCOPY_FAILED ||
        sim_host_is_dead(job->from))
        return;
    sim_copy_state(sim, source, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED);
    sim_emit_lifecycle(sim, source, HV_LIFECYCLE_SUSPENDED, SUSPENDED_POSTCOPY_FAILED);
}

static void show_target_failed(struct sim *sim, struct job *job)
{
    struct copy *target = job->target;
    if (target == NULL || target->state != HV_STATE_RUNNING ||
        target->reason == HV_RUNNING_POSTCOPY_FAILED)
        return;
    sim_copy_state(sim, target, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED);
    sim_emit_lifecycle(sim, target, HV_LIFECYCLE_RESUMED, RESUMED_POSTCOPY_FAILED);
}

bool sim_job_in_postcopy(const struct job *job)
{
    return job->phase == JOB_POSTCOPY || job->phase == JOB_BROKEN || job->phase == JOB_RECOVER;
}

/* Only libvirt's own connection is gone. */
void sim_postcopy_lose_peer(struct sim *sim, struct job *job)
{
    show_source_failed(sim, job);
    if (job->phase == JOB_RECOVER)
        job->phase = JOB_BROKEN;
    if (job->phase == JOB_BROKEN && job->source_knows && job->target_knows)
        timer_clear(&sim->timers, &job->timer);
    sim_job_answer(sim, job, SIM_ERROR_PEER_LOST);
}

/* The call ends when the target has failed and its libvirtd can answer. */
static void learn(struct sim *sim, struct job *job, bool source, bool target, enum sim_error why)
{
    job->source_knows = job->source_knows || source;
    job->target_knows = job->target_knows || target;
    job->phase = JOB_BROKEN;
    sim_stream_close(sim, job);
    if (job->source_knows)
        show_source_failed(sim, job);
    if (!job->target_knows)
        return;
    show_target_failed(sim, job);
    bool slow = sim_random(&job->chance, 0, 2) == 0;
    job->settled_ms = sim->now_ms + (slow ? (int64_t)sim_random(&job->chance, 100, SETTLE_MS) : 0);
    if (why != SIM_ERROR_NONE && sim_job_peers_connected(job)) {
        show_source_failed(sim, job);
        sim_job_answer(sim, job, why);
    }
}

void sim_postcopy_gone(struct sim *sim, struct job *job, enum sim_error why)
{
    learn(sim, job, true, true, why);
    if (why != SIM_ERROR_NONE)
        sim_job_answer(sim, job, why);
}

static void wait_for_other_side(struct sim *sim, struct job *job)
{
    if (job->source_knows && job->target_knows)
        return;
    bool path = sim_stream_has_path(job);
    int64_t ms = path ? (int64_t)sim_random(&job->chance, 0, PATH_NOTICED_MS) : TCP_GIVES_UP_MS;
    timer_set(&sim->timers, &job->timer, sim->now_ms + ms);
}

void sim_postcopy_break(struct sim *sim, struct job *job, bool at_source)
{
    bool both = job->stream.flows || job->phase == JOB_RECOVER;
    learn(sim, job, both || at_source, both || !at_source, SIM_ERROR_POSTCOPY_BROKEN);
    wait_for_other_side(sim, job);
}

void sim_postcopy_half_reset(struct sim *sim, struct job *job)
{
    learn(sim, job, true, false, SIM_ERROR_POSTCOPY_BROKEN);
    if (!job->target_knows)
        timer_set(&sim->timers, &job->timer, sim->now_ms + TCP_GIVES_UP_MS);
}

/* JOB_BROKEN: the side that had not noticed does so now. */
void sim_postcopy_step_broken(struct sim *sim, struct job *job)
{
    learn(sim, job, true, true, SIM_ERROR_POSTCOPY_BROKEN);
}

void sim_postcopy_path_changed(struct sim *sim, struct job *job)
{
    if (!sim_stream_has_path(job))
        return;
    if (job->phase == JOB_BROKEN)
        wait_for_other_side(sim, job);
    else if (job->phase == JOB_RECOVER)
        timer_set(&sim->timers, &job->timer, sim->now_ms + RECONNECT_MIN_MS);
}

/* Why a RESUME is refused, in the order of the two libvirtds' checks. */
static enum sim_error resume_refusal(const struct sim *sim, struct job *job, const struct host *to,
                                     int64_t *delay_ms)
{
    if (job == NULL || job->phase == JOB_FINISH || job->to != to)
        return SIM_ERROR_RESUME_NO_JOB;
    if (job->call != NULL || !sim_job_in_postcopy(job))
        return SIM_ERROR_RESUME_WATCHED;
    if (!job->source_knows || (job->target_knows && sim->now_ms < job->settled_ms))
        return SIM_ERROR_RESUME_RUNS;
    if (!sim_host_is_linked(job->from) || !sim_host_is_linked(to)) {
        *delay_ms = NO_ROUTE_MS;
        return SIM_ERROR_NO_ROUTE;
    }
    if (sim_host_is_dead(to))
        return SIM_ERROR_DAEMON_REFUSED;
    if (sim_host_is_stopped(to)) {
        *delay_ms = sim_host_keepalive_ms(to);
        return SIM_ERROR_PEER_LOST;
    }
    if (job->target == NULL)
        return SIM_ERROR_MONITOR_CLOSED;
    if (!job->target_knows)
        return sim_random(&job->chance, 0, 2) > 0 ? SIM_ERROR_RESUME_WATCHED
                                                  : SIM_ERROR_RESUME_RUNS;
    if (to->faults[SIM_FAULT_PORT_REFUSED] > 0) {
        *delay_ms = PORT_REFUSED_MS;
        return SIM_ERROR_PORT_REFUSED;
    }
    return SIM_ERROR_NONE;
}

static bool kills_target(const struct host *to)
{
    return hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, to->what.libvirt_version);
}

/* Without memory for the fault the daemon survives. */
static void crash_daemon(struct sim *sim, const struct host *host)
{
    struct err err = {0};
    struct sim_fault death = {.kind = SIM_FAULT_KILL_LIBVIRTD,
                              .at_ms = sim->now_ms + 1,
                              .after_iteration_ms = -1,
                              .duration_ms = DAEMON_BACK_MS};
    TEXT_SET(death.host, host->what.name);
    sim->daemons_ended++;
    if (!sim_add_fault(sim, &death, &err))
        return;
}

void sim_postcopy_resume(struct sim *sim, struct call *call, struct copy *source, struct host *to)
{
    const struct hv_migrate *how = &call->request.with.migrate;
    int64_t delay_ms = 0;
    struct job *job = source == NULL ? NULL : source->out;
    enum sim_error why =
        source == NULL ? SIM_ERROR_NO_DOMAIN : resume_refusal(sim, job, to, &delay_ms);
    if (why == SIM_ERROR_NONE && kills_target(to)) {
        sim_call_answer(sim, call, SIM_ERROR_PEER_LOST, source, to, 0);
        crash_daemon(sim, to);
        return;
    }
    if (why != SIM_ERROR_NONE) {
        sim_call_answer(sim, call, why, source, to, delay_ms);
        return;
    }
    job->call = call;
    call->job = job;
    call->stage = CALL_JOB;
    job->phase = JOB_RECOVER;
    job->peer_lost = false;
    if (how->postcopy_bandwidth_mibs > 0) /* else the old limit persists */
        job->stream.postcopy_limit_bps = how->postcopy_bandwidth_mibs << 20;
    bool reached = sim_stream_has_path(job) && to->faults[SIM_FAULT_PORT_DROPPED] == 0;
    int64_t ms = (int64_t)sim_random(&job->chance, RECONNECT_MIN_MS, RECONNECT_MAX_MS);
    timer_set(&sim->timers, &job->timer, sim->now_ms + (reached ? ms : PORT_DROPPED_MS));
}

/* The source's QEMU reconnects to the port on which the target still listens, without the target's
 * daemon; accepted does not mean connected. A target that has not noticed that the stream is dead,
 * or another port, refuses: the source stays as it was. */
enum sim_error sim_postcopy_connect(struct sim *sim, struct job *job, unsigned port)
{
    if (job == NULL || job->phase != JOB_BROKEN || !job->source_knows ||
        (job->target_knows && sim->now_ms < job->settled_ms))
        return SIM_ERROR_NOT_BROKEN;
    bool listens = job->target != NULL && job->target_knows && port != 0 && port == job->how.port &&
                   job->to->faults[SIM_FAULT_PORT_REFUSED] == 0;
    if (!listens)
        return SIM_ERROR_NONE;
    job->phase = JOB_RECOVER;
    job->peer_lost = false;
    bool reached = sim_stream_has_path(job) && job->to->faults[SIM_FAULT_PORT_DROPPED] == 0;
    int64_t ms = (int64_t)sim_random(&job->chance, RECONNECT_MIN_MS, RECONNECT_MAX_MS);
    timer_set(&sim->timers, &job->timer, sim->now_ms + (reached ? ms : PORT_DROPPED_MS));
    return SIM_ERROR_NONE;
}

/* JOB_RECOVER: the new stream is connected, or its port never answered. */
void sim_postcopy_step_recover(struct sim *sim, struct job *job)
{
    struct copy *source = job->source, *target = job->target;
    if (!sim_stream_has_path(job) || job->to->faults[SIM_FAULT_PORT_DROPPED] > 0) {
        job->phase = JOB_BROKEN;
        sim_job_answer(sim, job, SIM_ERROR_PORT_TIMEOUT);
        return;
    }
    job->phase = JOB_POSTCOPY;
    job->source_knows = job->target_knows = false;
    if (target->state == HV_STATE_RUNNING) {
        sim_copy_state(sim, target, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY);
        sim_emit_lifecycle(sim, target, HV_LIFECYCLE_RESUMED, RESUMED_POSTCOPY);
    }
    sim_copy_state(sim, source, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY);
    sim_emit_lifecycle(sim, source, HV_LIFECYCLE_SUSPENDED, SUSPENDED_POSTCOPY);
    sim_stream_begin(sim, job, job->stream.left);
}
