/* order.c - orders that change a guest or its migration.
 *
 * libvirt carries out an order only when it gets the domain's monitor: in the switch-over, and on
 * the target at any time, it waits and fails with error 68.
 */
#include <assert.h>
#include <utlist.h>

#include "hypervisor/sim/inside.h"

enum { DOWNTIME_MAX_MS = 2000000, HELPER_MS = 5000, PROBE_MS = 2000 };

/* The migration whose lock blocks a change of this copy's run state; NULL: none. */
static struct job *lock_holder(const struct copy *copy)
{
    if (copy->in != NULL)
        return copy->in;
    if (copy->out == NULL)
        return NULL;
    bool copying = copy->out->phase == JOB_PREPARE || copy->out->phase == JOB_CONNECT ||
                   copy->out->phase == JOB_DISKS || copy->out->phase == JOB_COPY;
    return copying ? NULL : copy->out;
}

static enum sim_error order_abort(struct sim *sim, struct call *call, struct copy *copy)
{
    struct job *job = copy->out;
    if (copy->in != NULL)
        return SIM_ERROR_ABORT_INCOMING;
    if (job == NULL || job->phase == JOB_FINISH)
        return SIM_ERROR_NO_JOB;
    bool postcopy = sim_job_in_postcopy(job);
    if (call->request.with.tune.postcopy) {
        if (!postcopy)
            return SIM_ERROR_ABORT_NOT_POSTCOPY;
        if (!job->source_knows)
            sim_postcopy_break(sim, job, true);
        return SIM_ERROR_NONE;
    }
    if (postcopy)
        return SIM_ERROR_ABORT_POSTCOPY;
    sim_job_cancel(sim, job);
    return SIM_ERROR_NONE;
}

static enum sim_error order_postcopy(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    struct job *job = copy->out;
    if (job == NULL || job->phase == JOB_FINISH)
        return SIM_ERROR_POSTCOPY_NO_JOB;
    if ((job->how.flags & HV_MIGRATE_POSTCOPY) == 0)
        return SIM_ERROR_POSTCOPY_NO_FLAG;
    if (job->phase < JOB_COPY)
        return SIM_ERROR_POSTCOPY_EARLY;
    sim_job_start_postcopy(sim, job);
    return SIM_ERROR_NONE;
}

static enum sim_error order_speed(struct sim *sim, struct call *call, struct copy *copy)
{
    struct job *job = copy->out;
    if (job == NULL)
        return SIM_ERROR_NONE; /* libvirt stores it for a later migration, which sets its own */
    uint64_t limit_bps = call->request.with.tune.value << 20;
    if (call->request.with.tune.postcopy)
        job->stream.postcopy_limit_bps = limit_bps;
    else
        job->stream.limit_bps = limit_bps;
    sim_stream_update(sim, job);
    return SIM_ERROR_NONE;
}

static enum sim_error order_downtime(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)sim;
    if (call->request.with.tune.value > DOWNTIME_MAX_MS)
        return SIM_ERROR_DOWNTIME_RANGE;
    if (copy->out != NULL)
        copy->out->stream.downtime_limit_ms = call->request.with.tune.value;
    return SIM_ERROR_NONE;
}

static enum sim_error order_suspend(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    if (copy->state != HV_STATE_RUNNING)
        return SIM_ERROR_NONE;
    if (copy->out != NULL)
        sim_stream_settle(sim, copy->out); /* from now on the guest writes nothing */
    sim_copy_state(sim, copy, HV_STATE_PAUSED, HV_PAUSED_USER);
    sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_SUSPENDED, 0);
    return SIM_ERROR_NONE;
}

static enum sim_error order_resume(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    if (copy->state == HV_STATE_RUNNING)
        return SIM_ERROR_ALREADY_RUNNING;
    if (copy->out != NULL)
        sim_stream_settle(sim, copy->out);
    sim_copy_state(sim, copy, HV_STATE_RUNNING, HV_RUNNING_UNPAUSED);
    sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_RESUMED, 0);
    return SIM_ERROR_NONE;
}

static enum sim_error order_shutdown(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    sim_guest_shut_down(sim, copy->guest);
    return SIM_ERROR_NONE;
}

static enum sim_error order_autostart(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)sim;
    if (!copy->persistent)
        return SIM_ERROR_AUTOSTART_TRANSIENT;
    copy->autostart = call->request.with.tune.value != 0;
    return SIM_ERROR_NONE;
}

static enum sim_error order_clear_mark(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    copy->mark = (struct hv_mark){.port = 0};
    sim_emit_changed(sim, copy);
    return SIM_ERROR_NONE;
}

static enum sim_error order_yank(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    bool broken = copy->out != NULL && sim_job_yank(sim, copy->out);
    return broken ? SIM_ERROR_NONE : SIM_ERROR_NO_STREAM;
}

static enum sim_error order_drop_copy(struct sim *sim, struct call *call, struct copy *copy)
{
    (void)call;
    bool waits =
        copy->in != NULL && copy->state == HV_STATE_PAUSED && copy->reason == HV_PAUSED_MIGRATION;
    if (!waits)
        return SIM_ERROR_NOT_INCOMING;
    sim_job_drop_copy(sim, copy->in);
    return SIM_ERROR_NONE;
}

static enum sim_error order_resume_stream(struct sim *sim, struct call *call, struct copy *copy)
{
    return sim_postcopy_connect(sim, copy->out, call->request.with.migrate.port);
}

static struct job *job_of(const struct sim *sim, const struct call *call)
{
    struct guest *guest;
    HASH_FIND_STR(sim->guests, call->request.guest, guest);
    return guest != NULL ? guest->job : NULL;
}

static void helper_kills(struct sim *sim, struct call *call)
{
    struct guest *guest;
    HASH_FIND_STR(sim->guests, call->request.guest, guest);
    struct job *job = job_of(sim, call);
    bool at_source = job != NULL && job->from == call->host;
    bool involved = at_source || (job != NULL && job->to == call->host);
    const struct copy *copy = guest != NULL ? sim_copy_find(guest, call->host) : NULL;
    if (copy == NULL || !sim_copy_is_live(copy))
        sim_call_answer(sim, call, SIM_ERROR_NO_PROCESS, NULL, call->host, 0);
    else if (!involved || !sim_job_close_sockets(sim, job, at_source))
        sim_call_answer(sim, call, SIM_ERROR_NO_STREAM, NULL, NULL, 0);
    else
        sim_call_answer(sim, call, SIM_ERROR_NONE, NULL, NULL, 0);
}

/* A new connection is subject to the stall of the guest's stream and to the link between the
 * hosts. */
static void helper_probes(struct sim *sim, struct call *call)
{
    const struct job *job = job_of(sim, call);
    struct host *to;
    HASH_FIND_STR(sim->hosts, call->request.with.peer, to);
    bool stalled = job != NULL && job->from == call->host && job->to == to &&
                   job->stalls + job->stalls_out > 0;
    bool dead = stalled || !sim_host_is_linked(call->host) || !sim_host_is_linked(to) ||
                to->faults[SIM_FAULT_PORT_DROPPED] > 0;
    call->path = dead ? HV_PATH_DEAD : HV_PATH_REFUSED;
    sim_call_answer(sim, call, SIM_ERROR_NONE, NULL, NULL, dead ? PROBE_MS : 0);
}

/* Not through libvirt: neither its lock nor a blocked monitor matters. */
void sim_order_helper(struct sim *sim, struct call *call)
{
    if (!call->host->what.helper)
        sim_call_answer(sim, call, SIM_ERROR_NO_HELPER, NULL, NULL, 0);
    else if (call->host->faults[SIM_FAULT_HOST_LOST] > 0)
        sim_call_answer(sim, call, SIM_ERROR_HELPER_SILENT, NULL, call->host, HELPER_MS);
    else if (call->request.call == HV_CALL_PROBE_PATH)
        helper_probes(sim, call);
    else
        helper_kills(sim, call);
}

static const struct {
    enum sim_error (*obey)(struct sim *sim, struct call *call, struct copy *copy);
    bool changes_run_state; /* needs libvirt's lock on both sides of a migration */
} orders[HV_CALL_COUNT] = {
    [HV_CALL_ABORT] = {order_abort, false},
    [HV_CALL_START_POSTCOPY] = {order_postcopy, false},
    [HV_CALL_SET_SPEED] = {order_speed, false},
    [HV_CALL_SET_DOWNTIME] = {order_downtime, false},
    [HV_CALL_SUSPEND] = {order_suspend, true},
    [HV_CALL_RESUME] = {order_resume, true},
    [HV_CALL_SHUTDOWN] = {order_shutdown, true},
    [HV_CALL_SET_AUTOSTART] = {order_autostart, true},
    [HV_CALL_CLEAR_MARK] = {order_clear_mark, true},
    [HV_CALL_YANK] = {order_yank, false},
    [HV_CALL_DROP_COPY] = {order_drop_copy, false},
    [HV_CALL_RESUME_STREAM] = {order_resume_stream, false},
};

static struct job *lock_blocks(const struct copy *copy, enum hv_call what)
{
    bool modifies =
        what == HV_CALL_SHUTDOWN || what == HV_CALL_SET_AUTOSTART || what == HV_CALL_CLEAR_MARK;
    if (modifies && copy->out != NULL)
        return copy->out; /* not even while pages are copied */
    if (orders[what].changes_run_state)
        return lock_holder(copy);
    if (what == HV_CALL_YANK && copy->in != NULL)
        return copy->in;
    return copy->out != NULL && sim_job_monitor_is_blocked(copy->out) ? copy->out : NULL;
}

void sim_order(struct sim *sim, struct call *call)
{
    enum hv_call what = call->request.call;
    if (what == HV_CALL_MIGRATE) {
        sim_job_start(sim, call);
        return;
    }
    assert(orders[what].obey != NULL);
    struct guest *guest;
    HASH_FIND_STR(sim->guests, call->request.guest, guest);
    struct copy *copy = guest == NULL ? NULL : sim_copy_find(guest, call->host);
    if (copy == NULL) {
        sim_call_answer(sim, call, SIM_ERROR_NO_DOMAIN, NULL, NULL, 0);
        return;
    }
    if (!sim_copy_is_live(copy) && what != HV_CALL_SET_AUTOSTART) {
        sim_call_answer(sim, call, SIM_ERROR_NOT_RUNNING, copy, NULL, 0);
        return;
    }
    struct job *job = lock_blocks(copy, what);
    if (job != NULL) {
        sim_call_wait_monitor(sim, call, job);
        return;
    }
    struct hv_reply reply = {0};
    enum sim_error why = orders[what].obey(sim, call, copy);
    if (why != SIM_ERROR_NONE)
        sim_error_set(&reply.err, why, copy, NULL);
    sim_call_reply(sim, call, &reply);
}
