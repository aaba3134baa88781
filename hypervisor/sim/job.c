/* job.c - one migration, from the call to its end on the target.
 *
 *   PREPARE -> CONNECT -> (DISKS ->) COPY -> SWITCHOVER -> FINISH
 *                          |  \       `-> STUCK      (path dead, target given up)
 *                          |   `-> (failed: jobend.c)
 *                          `-> POSTCOPY -> FINISH
 *                                  `-> BROKEN <-> RECOVER -> POSTCOPY   (postcopy.c)
 *
 * Order of events and lengths of phases are those recorded on libvirt 9.0: the target starts, the
 * source counts iterations, the source is suspended, one more iteration is counted, the target is
 * resumed, the source is stopped and reports its final statistics, and the call returns.
 */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "hypervisor/sim/inside.h"
#include "hypervisor/versions.h"

enum {
    PREPARE_MIN_MS = 400,
    PREPARE_MAX_MS = 1000,
    NO_MEMORY_MS = 200,
    PORT_REFUSED_MS = 800,
    PORT_DROPPED_MS = 135400,
    NO_ROUTE_MS = 3100,
    RELEASE_MS = 5,
    UNSTUCK_MS = 3000,
    TUNNEL_TLS_MS = 1800,
    THROTTLE_FIRST = 20,
    THROTTLE_STEP = 10,
    THROTTLE_MAX = 99,
    EVENT_MIGRATED = 1, /* libvirt's details of STARTED, SUSPENDED, RESUMED */
    EVENT_RESUMED_POSTCOPY = 3,
    EVENT_SUSPENDED_POSTCOPY = 7,
};

static void job_fires(struct sim *sim, void *owner);

static void peer_fires(struct sim *sim, void *owner)
{
    sim_job_lose_peer(sim, owner);
}

/* Flags that cannot be combined with a tunnelled stream. */
static enum sim_error tunnel_refusal(const struct hv_migrate *how, int64_t *delay_ms)
{
    if ((how->flags & HV_MIGRATE_TUNNELLED) == 0)
        return SIM_ERROR_NONE;
    if ((how->flags & HV_MIGRATE_POSTCOPY) != 0)
        return SIM_ERROR_TUNNEL_POSTCOPY;
    if (how->n_volumes > 0)
        return SIM_ERROR_TUNNEL_DISKS;
    if ((how->flags & HV_MIGRATE_TLS) == 0)
        return SIM_ERROR_NONE;
    *delay_ms = TUNNEL_TLS_MS;
    return SIM_ERROR_TUNNEL_TLS;
}

/* Why the source's libvirtd refuses, in the order of its checks; about_copy is the copy that the
 * error names. */
static enum sim_error refusal(const struct copy *copy, const struct host *to,
                              const struct hv_migrate *how, const struct copy **about_copy,
                              int64_t *delay_ms)
{
    *about_copy = copy;
    if ((how->flags & HV_MIGRATE_TUNNELLED) != 0 && how->parallel_connections > 0)
        return SIM_ERROR_TUNNEL_PARALLEL;
    if (copy == NULL)
        return SIM_ERROR_NO_DOMAIN;
    if (copy->out != NULL || copy->in != NULL)
        return SIM_ERROR_SECOND_MIGRATION;
    if (!sim_copy_is_live(copy))
        return SIM_ERROR_NOT_RUNNING;
    if (to == copy->host)
        return SIM_ERROR_SAME_HOST;
    if (!sim_host_is_linked(to) || !sim_host_is_linked(copy->host)) {
        *delay_ms = NO_ROUTE_MS;
        return SIM_ERROR_NO_ROUTE;
    }
    if (sim_host_is_dead(to))
        return SIM_ERROR_DAEMON_REFUSED;
    if (sim_host_is_stopped(to)) {
        *delay_ms = sim_host_keepalive_ms(to);
        return SIM_ERROR_PEER_LOST;
    }
    const struct copy *other = sim_copy_named(to, copy->name);
    if (other != NULL && other->guest != copy->guest) {
        *about_copy = other;
        return SIM_ERROR_NAME_TAKEN;
    }
    other = sim_copy_find(copy->guest, to);
    if (other != NULL && strcmp(other->name, copy->name) != 0) {
        *about_copy = other;
        return SIM_ERROR_UUID_TAKEN;
    }
    if (other != NULL && sim_copy_is_live(other))
        return SIM_ERROR_ALREADY_ACTIVE;
    if (copy->guest->what.snapshot)
        return SIM_ERROR_SNAPSHOTS;
    if (hv_quirk_of(HV_QUIRK_CANNOT_START, sim_host_libvirt(copy->host), sim_host_qemu(copy->host)))
        return SIM_ERROR_DETACH_UNKNOWN;
    enum sim_error why = tunnel_refusal(how, delay_ms);
    if (why != SIM_ERROR_NONE)
        return why;
    why = sim_volume_refusal(copy->guest, to, how);
    if (why != SIM_ERROR_NONE)
        return why;
    *delay_ms = NO_MEMORY_MS;
    return sim_offer_refusal(copy->guest, to, how);
}

static void attach(struct job *job, struct call *call)
{
    job->call = call;
    call->job = job;
    call->stage = CALL_JOB;
    if (call->request.with.migrate.mark.job[0] != '\0') /* travels with the guest */
        job->source->mark = job->target->mark = call->request.with.migrate.mark;
    job->source->out = job;
    job->target->in = job;
    job->guest->job = job;
    DL_APPEND2(job->from->out, job, out_prev, out_next);
    DL_APPEND2(job->to->in, job, in_prev, in_next);
}

/* NULL when memory is short. */
static struct job *job_new(struct sim *sim, struct copy *source, struct host *to)
{
    if (!timers_reserve(&sim->timers, 2))
        return NULL;
    struct copy *there = sim_copy_find(source->guest, to);
    struct copy *target = there != NULL ? there : sim_copy_new(source->guest, to, source->name);
    struct job *job = target != NULL ? calloc(1, sizeof *job) : NULL;
    if (job == NULL) {
        if (target != NULL && there == NULL)
            sim_copy_free(sim, target);
        timers_release(&sim->timers, 2);
        return NULL;
    }
    job->number = ++sim->jobs;
    job->chance = sim->seed ^ (job->number << 40);
    job->guest = source->guest;
    job->source = source;
    job->target = target;
    job->from = source->host;
    job->to = to;
    job->planned_fault = SIM_FAULT_COUNT;
    job->stored = source->guest->stored != NULL ? *source->guest->stored : source->guest->what;
    job->stream.downtime_limit_ms = SIM_DOWNTIME_MS;
    job->began_ms = job->moved_ms = sim->now_ms;
    job->starts_paused = source->state == HV_STATE_PAUSED;
    job->timer = (struct timer){.fire = job_fires, .owner = job};
    job->peer = (struct timer){.fire = peer_fires, .owner = job};
    return job;
}

/* Whether the script, or too little memory, stops the job before its first iteration. */
static bool has_planned_fault(struct job *job, enum sim_fault_kind kind)
{
    bool doomed = job->guest->planned_faults[kind] || job->to->faults[kind] > 0;
    job->guest->planned_faults[kind] = false;
    if (doomed)
        job->planned_fault = kind;
    return doomed;
}

static bool has_no_memory(struct job *job)
{
    const struct host *to = job->to;
    uint64_t need_kib = job->guest->what.memory_bytes / 1024;
    if (to->what.memory_kib != 0 && to->used_kib + need_kib > to->what.memory_kib)
        job->planned_fault = SIM_FAULT_NO_MEMORY;
    return has_planned_fault(job, SIM_FAULT_NO_MEMORY) || job->planned_fault == SIM_FAULT_NO_MEMORY;
}

void sim_job_start(struct sim *sim, struct call *call)
{
    struct guest *guest;
    struct host *to;
    HASH_FIND_STR(sim->guests, call->request.guest, guest);
    HASH_FIND_STR(sim->hosts, call->request.with.migrate.target, to);
    struct copy *source = guest == NULL ? NULL : sim_copy_find(guest, call->host);

    if ((call->request.with.migrate.flags & HV_MIGRATE_RESUME) != 0) {
        sim_postcopy_resume(sim, call, source, to);
        return;
    }
    const struct copy *about = NULL;
    int64_t delay_ms = 0;
    enum sim_error why = refusal(source, to, &call->request.with.migrate, &about, &delay_ms);
    if (why != SIM_ERROR_NONE) {
        sim_call_answer(sim, call, why, about, to, delay_ms);
        return;
    }
    struct job *job = job_new(sim, source, to);
    if (job == NULL) {
        struct hv_reply reply = {0};
        (void)err_set(&reply.err, ERR_NOMEM, "no memory for a migration");
        sim_call_reply(sim, call, &reply);
        return;
    }
    job->how = call->request.with.migrate;
    job->volumes = TAKE(call->volumes);
    job->disk_bytes = job->how.n_volumes > 0 ? sim_disk_bytes(&guest->what) : 0;
    job->stream.limit_bps = job->how.bandwidth_mibs << 20;
    job->stream.postcopy_limit_bps = job->how.postcopy_bandwidth_mibs << 20;
    attach(job, call);
    bool no_memory = has_no_memory(job);
    sim_copy_state(sim, job->target, HV_STATE_PAUSED, HV_PAUSED_STARTING_UP);
    uint64_t prepare_ms = sim_random(&job->chance, PREPARE_MIN_MS, PREPARE_MAX_MS);
    job->stream.setup_ms = sim_random(&job->chance, 1, 30);
    job->stream.overhead_ms = sim_random(&job->chance, 10, 60);
    timer_set(&sim->timers, &job->timer,
              sim->now_ms + (no_memory ? NO_MEMORY_MS : (int64_t)(prepare_ms * 3 / 4)));
}

static void step_prepare(struct sim *sim, struct job *job)
{
    if (job->planned_fault == SIM_FAULT_NO_MEMORY) {
        sim_job_fail(sim, job, SIM_ERROR_NO_MEMORY, 0);
        return;
    }
    if (job->how.port != 0 && has_planned_fault(job, SIM_FAULT_PORT_TAKEN)) {
        sim_job_fail(sim, job, SIM_ERROR_PORT_TAKEN, 0);
        return;
    }
    job->phase = JOB_CONNECT;
    job->started = true;
    sim_copy_state(sim, job->target, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    sim_emit_lifecycle(sim, job->target, HV_LIFECYCLE_STARTED, EVENT_MIGRATED);
    int64_t end_ms = sim->now_ms + (sim->now_ms - job->began_ms) / 3;
    if (has_planned_fault(job, SIM_FAULT_PORT_REFUSED))
        end_ms = job->began_ms + PORT_REFUSED_MS;
    else if (has_planned_fault(job, SIM_FAULT_PORT_DROPPED))
        end_ms = job->began_ms + PORT_DROPPED_MS;
    timer_set(&sim->timers, &job->timer, end_ms > sim->now_ms ? end_ms : sim->now_ms + 1);
}

static void begin_iteration(struct sim *sim, struct job *job, uint64_t bytes)
{
    job->stream.iteration++;
    sim_emit_iteration(sim, job->source, job->stream.iteration);
    sim_stream_begin(sim, job, bytes);
}

static void begin_copy(struct sim *sim, struct job *job)
{
    job->phase = JOB_COPY;
    begin_iteration(sim, job, job->guest->what.memory_bytes);
    sim_fault_arm(sim, job->guest);
}

static void step_connect(struct sim *sim, struct job *job)
{
    if (job->planned_fault != SIM_FAULT_COUNT) {
        bool refused = job->planned_fault == SIM_FAULT_PORT_REFUSED;
        sim_job_fail(sim, job, refused ? SIM_ERROR_PORT_REFUSED : SIM_ERROR_PORT_TIMEOUT, 5);
        return;
    }
    if (job->disk_bytes == 0)
        begin_copy(sim, job);
    else if (sim_volume_fits(job->guest, job->to, job->how.volumes)) {
        job->phase = JOB_DISKS;
        sim_stream_begin(sim, job, job->disk_bytes);
    } else {
        sim_job_fail(sim, job, SIM_ERROR_DISK_SIZE, 5);
    }
}

static void step_disks(struct sim *sim, struct job *job)
{
    sim_stream_settle(sim, job);
    job->stream.processed = 0; /* of memory */
    begin_copy(sim, job);
}

/* QEMU's rule: in two iterations in a row more than half of what was sent was dirtied again. */
static void throttle(struct job *job)
{
    if ((job->how.flags & HV_MIGRATE_AUTO_CONVERGE) == 0)
        return;
    job->stream.hot_iterations =
        job->stream.dirtied > job->stream.iteration_bytes / 2 ? job->stream.hot_iterations + 1 : 0;
    if (job->stream.hot_iterations < 2)
        return;
    job->stream.hot_iterations = 0;
    int first = job->how.auto_converge_initial, step = job->how.auto_converge_increment;
    if (job->stream.throttle == 0)
        job->stream.throttle = first > 0 ? (uint64_t)first : THROTTLE_FIRST;
    else
        job->stream.throttle += step > 0 ? (uint64_t)step : THROTTLE_STEP;
    if (job->stream.throttle > THROTTLE_MAX)
        job->stream.throttle = THROTTLE_MAX;
}

static void begin_switchover(struct sim *sim, struct job *job, uint64_t rest)
{
    job->phase = JOB_SWITCHOVER;
    job->paused_ms = sim->now_ms;
    if (job->source->state == HV_STATE_RUNNING) {
        sim_copy_state(sim, job->source, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
        sim_emit_lifecycle(sim, job->source, HV_LIFECYCLE_SUSPENDED, EVENT_MIGRATED);
    }
    begin_iteration(sim, job, rest);
}

static void step_copy(struct sim *sim, struct job *job)
{
    sim_stream_settle(sim, job);
    job->stream.processed += job->stream.left; /* rounding error */
    job->stream.left = 0;
    uint64_t rest = job->stream.dirtied,
             iteration_ms = (uint64_t)(sim->now_ms - job->iteration_began_ms);
    job->stream.dirty_pages = rest * 1000 / (iteration_ms > 0 ? iteration_ms : 1) / SIM_PAGE_BYTES;
    if (rest <= job->stream.rate_bps * job->stream.downtime_limit_ms / 1000) {
        begin_switchover(sim, job, rest);
        return;
    }
    throttle(job);
    begin_iteration(sim, job, rest);
}

static void arrive(struct sim *sim, struct job *job)
{
    struct copy *target = job->target;
    job->phase = JOB_FINISH;
    sim_stream_close(sim, job);
    if ((job->how.flags & HV_MIGRATE_PERSIST) != 0 && !target->persistent) {
        target->persistent = true;
        sim_emit_lifecycle(sim, target, HV_LIFECYCLE_DEFINED, 0);
    }
    if (job->starts_paused || (job->how.flags & HV_MIGRATE_PAUSED) != 0) {
        sim_copy_state(sim, target, HV_STATE_PAUSED, HV_PAUSED_USER);
        sim_emit_lifecycle(sim, target, HV_LIFECYCLE_SUSPENDED, 0);
    } else {
        sim_copy_state(sim, target, HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
        sim_emit_lifecycle(sim, target, HV_LIFECYCLE_RESUMED, EVENT_MIGRATED);
    }
    bool switches = job->source != NULL && job->source->reason == HV_PAUSED_MIGRATION;
    if (switches && job->guest->planned_faults[SIM_FAULT_FINISH_LOST]) {
        job->guest->planned_faults[SIM_FAULT_FINISH_LOST] = false;
        sim_job_lose_finish(sim, job);
        return;
    }
    timer_set(&sim->timers, &job->timer, sim->now_ms + (int64_t)sim_random(&job->chance, 20, 60));
}

static void step_stream_done(struct sim *sim, struct job *job)
{
    sim_stream_settle(sim, job);
    job->stream.processed += job->stream.left;
    job->stream.left = 0;
    if (job->phase == JOB_SWITCHOVER)
        job->stream.downtime_ms = (uint64_t)(sim->now_ms - job->paused_ms);
    arrive(sim, job);
}

static void step_stuck(struct sim *sim, struct job *job)
{
    sim_job_fail(sim, job, job->cancelled ? SIM_ERROR_CANCELLED : SIM_ERROR_PEER_LOST, 0);
}

static void (*const steps[])(struct sim *sim, struct job *job) = {
    [JOB_PREPARE] = step_prepare,
    [JOB_CONNECT] = step_connect,
    [JOB_DISKS] = step_disks,
    [JOB_COPY] = step_copy,
    [JOB_SWITCHOVER] = step_stream_done,
    [JOB_STUCK] = step_stuck,
    [JOB_POSTCOPY] = step_stream_done,
    [JOB_BROKEN] = sim_postcopy_step_broken,
    [JOB_FINISH] = sim_job_succeed,
    [JOB_RECOVER] = sim_postcopy_step_recover,
};

/* Between iterations QEMU needs no libvirtd; these phases end only when both libvirtds answer. */
static bool requires_libvirtd(enum job_phase phase)
{
    return phase < JOB_COPY || phase == JOB_SWITCHOVER;
}

bool sim_job_peers_connected(const struct job *job)
{
    return sim_host_is_linked(job->from) && sim_host_is_linked(job->to) &&
           !sim_host_is_stopped(job->from) && !sim_host_is_stopped(job->to);
}

static void job_fires(struct sim *sim, void *owner)
{
    struct job *job = owner;
    if (requires_libvirtd(job->phase) && !sim_job_peers_connected(job)) {
        job->held = true;
        return;
    }
    assert(steps[job->phase] != NULL);
    steps[job->phase](sim, job);
}

bool sim_job_monitor_is_blocked(const struct job *job)
{
    return job->phase == JOB_SWITCHOVER || (job->phase == JOB_STUCK && !job->bulk);
}

void sim_job_cancel(struct sim *sim, struct job *job)
{
    job->cancelled = true;
    if (job->phase == JOB_STUCK)
        return; /* it hangs already */
    assert(job->phase <= JOB_COPY);
    if (job->phase >= JOB_DISKS && job->disk_bytes > 0 && !job->stream.flows)
        sim_job_hang(sim, job, false);
    else if (job->phase == JOB_COPY && job->how.parallel_connections > 0 && !job->stream.flows)
        sim_job_hang_cancelling(sim, job);
    else
        sim_job_fail(sim, job, SIM_ERROR_CANCELLED, 5);
}

void sim_job_start_postcopy(struct sim *sim, struct job *job)
{
    if (job->phase != JOB_COPY)
        return; /* already in post-copy */
    job->wants_postcopy = true;
    if (!job->stream.flows)
        return; /* QEMU switches when its write returns */
    sim_stream_settle(sim, job);
    uint64_t memory = job->guest->what.memory_bytes, rest = job->stream.left + job->stream.dirtied;
    sim_copy_state(sim, job->source, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY);
    sim_emit_lifecycle(sim, job->source, HV_LIFECYCLE_SUSPENDED, EVENT_SUSPENDED_POSTCOPY);
    job->phase = JOB_POSTCOPY;
    job->stream.downtime_ms = sim_random(&job->chance, 4, 15);
    if (!job->starts_paused) {
        sim_copy_state(sim, job->target, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY);
        sim_emit_lifecycle(sim, job->target, HV_LIFECYCLE_RESUMED, EVENT_RESUMED_POSTCOPY);
    }
    sim_stream_begin(sim, job, rest < memory ? rest : memory);
}

void sim_job_path_changed(struct sim *sim, struct job *job)
{
    sim_stream_update(sim, job);
    if (!job->peer_lost && (sim_host_is_dead(job->from) || sim_host_is_dead(job->to))) {
        sim_job_lose_peer(sim, job); /* job may be gone now */
        return;
    }
    if (sim_job_peers_connected(job))
        timer_clear(&sim->timers, &job->peer);
    else if (!job->peer_lost && !timer_is_set(&job->peer))
        timer_set(&sim->timers, &job->peer, sim->now_ms + sim_host_keepalive_ms(job->to));

    if (job->held && sim_job_peers_connected(job)) {
        job->held = false;
        timer_set(&sim->timers, &job->timer, sim->now_ms + RELEASE_MS);
    }
    if (job->phase == JOB_STUCK && sim_stream_has_path(job) && !timer_is_set(&job->timer))
        timer_set(&sim->timers, &job->timer, sim->now_ms + UNSTUCK_MS);
    if (job->phase == JOB_COPY && job->wants_postcopy && job->stream.flows)
        sim_job_start_postcopy(sim, job);
    sim_postcopy_path_changed(sim, job);
}
