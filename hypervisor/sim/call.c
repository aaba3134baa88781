/* call.c - requests of Ferry to a host and the replies.
 *
 * A call takes a few milliseconds, then acts on the state at that moment. It may then have to wait:
 * for its migration (CALL_JOB), for a monitor that does not answer (CALL_MONITOR, until libvirt's
 * lock timeout), or for a libvirtd that hangs (`hung`, until the host answers again or its
 * connection is closed). In every case it gets exactly one reply.
 */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum { WAKE_MS = 2 };

/* How long a call of each lane takes when nothing is wrong, in ms. */
static const struct {
    uint64_t min, max;
} latencies[HV_LANE_COUNT] = {
    [HV_LANE_OBSERVE] = {2, 6}, [HV_LANE_STATS] = {2, 8},  [HV_LANE_CONTROL] = {4, 40},
    [HV_LANE_MIGRATE] = {2, 8}, [HV_LANE_PROBE] = {5, 30},
};

static enum hv_lane lane_of(const struct call *call)
{
    return hv_call_lane(call->request.call);
}

static void call_fires(struct sim *sim, void *owner);

static void call_free(struct sim *sim, struct call *call)
{
    timer_clear(&sim->timers, &call->timer);
    timers_release(&sim->timers, 1);
    free(call->text);
    free(call->volumes);
    free(call);
}

static struct host *find_host(const struct sim *sim, const char *name)
{
    struct host *host;
    HASH_FIND_STR(sim->hosts, name, host);
    return host;
}

static bool refuse(struct sim *sim, const struct hv_request *request, struct err *err)
{
    const struct host *host = find_host(sim, request->host);
    if (host == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s'", request->host);
    const char *other = request->call == HV_CALL_MIGRATE      ? request->with.migrate.target
                        : request->call == HV_CALL_PROBE_PATH ? request->with.peer
                                                              : NULL;
    if (other != NULL && find_host(sim, other) == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s'", other);
    enum hv_lane lane = hv_call_lane(request->call);
    if (host->in_flight[lane] >= SIM_LANE_MAX)
        return err_set(err, ERR_LIMIT, "host '%s': lane '%s' is full", request->host,
                       hv_lane_name(lane));
    return true;
}

/* Copies the request with what it borrows. */
static bool copy_parts(struct call *call, const struct hv_request *request)
{
    call->request = *request;
    if (request->call == HV_CALL_COMPARE_CPU && request->with.text != NULL)
        return (call->request.with.text = call->text = strdup(request->with.text)) != NULL;
    size_t n = request->call == HV_CALL_MIGRATE ? request->with.migrate.n_volumes : 0;
    if (n == 0)
        return true;
    call->volumes = calloc(n, sizeof *call->volumes);
    if (call->volumes != NULL)
        memcpy(call->volumes, request->with.migrate.volumes, n * sizeof *call->volumes);
    call->request.with.migrate.volumes = call->volumes;
    return call->volumes != NULL;
}

static struct call *call_new(struct sim *sim, const struct hv_request *request)
{
    if (!timers_reserve(&sim->timers, 1))
        return NULL;
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL || !copy_parts(call, request)) {
        free(call);
        timers_release(&sim->timers, 1);
        return NULL;
    }
    call->timer = (struct timer){.fire = call_fires, .owner = call};
    return call;
}

bool sim_call_submit(void *impl, const struct hv_request *request, struct err *err)
{
    struct sim *sim = impl;
    if (!refuse(sim, request, err))
        return false;
    struct call *call = call_new(sim, request);
    if (call == NULL)
        return err_set(err, ERR_NOMEM, "no memory for a call");
    enum hv_lane lane = lane_of(call);
    call->number = ++sim->calls;
    call->host = find_host(sim, request->host);
    call->queued_ms = sim->now_ms;
    call->host->in_flight[lane]++;
    DL_APPEND(call->host->calls[lane], call);

    uint64_t chance = sim->seed ^ (call->number << 20);
    int64_t latency_ms = (int64_t)sim_random(&chance, latencies[lane].min, latencies[lane].max);
    timer_set(&sim->timers, &call->timer, sim->now_ms + latency_ms);
    return true;
}

bool sim_call_lane_status(void *impl, const char *name, enum hv_lane lane,
                          struct hv_lane_status *out_status)
{
    const struct sim *sim = impl;
    const struct host *host = find_host(sim, name);
    if (host == NULL)
        return false;
    *out_status = host->lanes[lane];
    out_status->in_flight = host->in_flight[lane];
    bool one_worker = lane == HV_LANE_OBSERVE || lane == HV_LANE_PROBE;
    out_status->workers = one_worker || host->in_flight[lane] == 0 ? 1 : host->in_flight[lane];
    const struct call *oldest = host->calls[lane];
    out_status->oldest_ms = oldest == NULL ? 0 : sim->now_ms - oldest->queued_ms;
    return true;
}

static void note(struct sim *sim, const struct call *call, const struct hv_reply *reply)
{
    struct hv_lane_status *lane = &call->host->lanes[lane_of(call)];
    lane->calls++;
    lane->failures += reply->err.code != ERR_NONE;
    lane->total_ms += (uint64_t)(reply->ended_ms - reply->began_ms);

    uint64_t trace = hash_number(sim->trace, reply->id);
    trace = hash_number(trace, (uint64_t)reply->call);
    trace = hash_number(trace, (uint64_t)reply->ended_ms);
    trace = hash_word(trace, reply->host);
    trace = hash_word(trace, reply->guest);
    trace = hash_number(trace, (uint64_t)reply->err.code);
    sim->trace = hash_number(trace, (uint64_t)reply->err.hv_code);
}

void sim_call_reply(struct sim *sim, struct call *call, struct hv_reply *take_reply)
{
    struct hv_reply *reply = take_reply;
    sim_call_leave_job(call);
    reply->id = call->request.id;
    reply->call = call->request.call;
    TEXT_SET(reply->host, call->request.host);
    TEXT_SET(reply->guest, call->request.guest);
    reply->queued_ms = reply->began_ms = call->queued_ms;
    reply->ended_ms = sim->now_ms;
    if (reply->call == HV_CALL_DOMAIN_STATE) {
        reply->with.observation.at_ms = sim->now_ms;
        if (reply->err.code == ERR_UNREACHABLE) {
            reply->with.observation.presence = HV_UNREACHABLE;
            reply->with.observation.job_type = -1;
        }
    }
    note(sim, call, reply);
    call->host->in_flight[lane_of(call)]--;
    DL_DELETE(call->host->calls[lane_of(call)], call);
    struct hv_reply_sink sink = call->request.reply_to;
    call_free(sim, call); /* before the sink, which may submit again at once */
    sink.on_reply(sink.ctx, reply);
}

void sim_call_answer(struct sim *sim, struct call *call, enum sim_error which,
                     const struct copy *copy, const struct host *about, int64_t delay_ms)
{
    sim_call_leave_job(call);
    call->stage = CALL_ANSWER;
    if (which != SIM_ERROR_NONE)
        sim_error_set(&call->err, which, copy, about);
    /* There may be no copy with a name: the error has the uuid. */
    if (which == SIM_ERROR_NO_DOMAIN)
        (void)snprintf(call->err.text, sizeof call->err.text,
                       "Domain not found: no domain with matching uuid '%s'", call->request.guest);
    if (!call->hung)
        timer_set(&sim->timers, &call->timer, sim->now_ms + delay_ms);
}

void sim_call_wait_monitor(struct sim *sim, struct call *call, struct job *job)
{
    call->stage = CALL_MONITOR;
    call->job = job;
    DL_APPEND2(job->waiting, call, wait_prev, wait_next);
    int64_t patience_ms = call->queued_ms + SIM_MONITOR_LOCK_MS;
    timer_set(&sim->timers, &call->timer, patience_ms > sim->now_ms ? patience_ms : sim->now_ms);
}

void sim_call_wait_measure(struct sim *sim, struct call *call, int64_t ms)
{
    call->stage = CALL_MEASURE;
    timer_set(&sim->timers, &call->timer, sim->now_ms + ms);
}

void sim_call_leave_job(struct call *call)
{
    struct job *job = call->job;
    call->job = NULL;
    if (job == NULL)
        return;
    if (call->stage == CALL_MONITOR)
        DL_DELETE2(job->waiting, call, wait_prev, wait_next);
    else
        job->call = NULL;
}

void sim_calls_monitor_free(struct sim *sim, struct job *job)
{
    struct call *call, *next;
    DL_FOREACH_SAFE2(job->waiting, call, next, wait_next)
    {
        sim_call_leave_job(call);
        call->stage = CALL_EXECUTE;
        if (!call->hung)
            timer_set(&sim->timers, &call->timer, sim->now_ms + WAKE_MS);
    }
}

static void lock_timeout(struct sim *sim, struct call *call)
{
    struct hv_reply reply = {0};
    bool on_target = call->job->to == call->host;
    sim_error_set(&reply.err, on_target ? SIM_ERROR_LOCK_FINISH : SIM_ERROR_LOCK_PERFORM, NULL,
                  NULL);
    sim_call_reply(sim, call, &reply);
}

static void lose(struct sim *sim, struct call *call, enum sim_error why)
{
    struct hv_reply reply = {0};
    sim_error_set(&reply.err, why, NULL, call->host);
    sim_call_reply(sim, call, &reply);
}

static void call_fires(struct sim *sim, void *owner)
{
    struct call *call = owner;
    enum hv_call what = call->request.call;
    bool beside = what == HV_CALL_KILL_STREAM || what == HV_CALL_PROBE_PATH; /* need no libvirtd */
    if (beside && call->stage == CALL_EXECUTE) {
        sim_order_helper(sim, call);
        return;
    }
    if (!beside && !call->host->connected) {
        lose(sim, call, SIM_ERROR_NOT_CONNECTED);
        return;
    }
    if (!beside && sim_host_is_hung(call->host)) {
        call->hung = true;
        return;
    }
    switch (call->stage) {
    case CALL_EXECUTE:
        if (hv_call_access(call->request.call) == HV_ACCESS_ACT)
            sim_order(sim, call);
        else
            sim_answer(sim, call);
        break;
    case CALL_MONITOR: lock_timeout(sim, call); break;
    case CALL_MEASURE: sim_answer_measure(sim, call); break;
    case CALL_ANSWER: {
        struct hv_reply reply = {.err = call->err};
        if (call->request.call == HV_CALL_PROBE_PATH)
            reply.with.path = call->path;
        sim_call_reply(sim, call, &reply);
        break;
    }
    case CALL_JOB:
        assert(call->stage != CALL_JOB); /* its job ends it; it has no timer of its own */
    }
}

void sim_calls_wake(struct sim *sim, struct host *host)
{
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++) {
        struct call *call;
        DL_FOREACH(host->calls[lane], call)
        {
            if (call->hung && call->stage != CALL_JOB)
                timer_set(&sim->timers, &call->timer, sim->now_ms + WAKE_MS);
            call->hung = false;
        }
    }
}

/* Sinks may submit while the list is walked: only older calls are lost. */
void sim_calls_lose(struct sim *sim, struct host *host, enum sim_error why)
{
    uint64_t last = sim->calls;
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
        while (host->calls[lane] != NULL && host->calls[lane]->number <= last)
            lose(sim, host->calls[lane], why);
}

void sim_calls_free(struct sim *sim, struct host *host)
{
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++) {
        struct call *call, *next;
        DL_FOREACH_SAFE(host->calls[lane], call, next)
        {
            call_free(sim, call);
        }
        host->calls[lane] = NULL;
    }
}
