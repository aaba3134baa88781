/* host.c - a host as Ferry and the other hosts reach it.
 *
 * Faults are counted, not flagged: two that overlap end one after the other. The counts give four
 * states (linked, dead, hung, stopped); sim_host_changed() applies them to Ferry's connection and
 * to every migration of the host.
 */
#include <assert.h>
#include <utlist.h>

#include "hypervisor/sim/inside.h"

enum { FIRST_CONNECT_MS = 1, RECONNECT_MIN_MS = 250, RECONNECT_MAX_MS = 1000 };

bool sim_host_is_linked(const struct host *host)
{
    return host->faults[SIM_FAULT_LINK_DOWN] == 0 && host->faults[SIM_FAULT_HOST_LOST] == 0;
}

unsigned long sim_host_libvirt(const struct host *host)
{
    return host->what.libvirt_version != 0 ? host->what.libvirt_version : 9000000;
}

unsigned long sim_host_qemu(const struct host *host)
{
    return host->what.qemu_version != 0 ? host->what.qemu_version : 7002022;
}

bool sim_host_is_dead(const struct host *host)
{
    return host->faults[SIM_FAULT_KILL_LIBVIRTD] > 0;
}

bool sim_host_is_stopped(const struct host *host)
{
    return host->faults[SIM_FAULT_STOP_LIBVIRTD] > 0;
}

bool sim_host_is_hung(const struct host *host)
{
    return sim_host_is_stopped(host) || host->faults[SIM_FAULT_HOST_LOST] > 0;
}

int64_t sim_host_keepalive_ms(const struct host *host)
{
    return host->what.keepalive_ms > 0 ? host->what.keepalive_ms : SIM_KEEPALIVE_MS;
}

static void disconnect(struct sim *sim, struct host *host, enum sim_error why)
{
    timer_clear(&sim->timers, &host->keepalive);
    if (!host->connected)
        return;
    host->connected = false;
    sim_flush_events(sim, host, false);
    sim_calls_lose(sim, host, why);
    sim_emit_host(sim, host, HV_EVENT_DISCONNECTED, why);
}

static void keepalive_fires(struct sim *sim, void *owner)
{
    disconnect(sim, owner, SIM_ERROR_KEEPALIVE);
}

static void reconnect_fires(struct sim *sim, void *owner)
{
    struct host *host = owner;
    assert(!host->connected);
    host->connected = true;
    sim_emit_host(sim, host, HV_EVENT_CONNECTED, SIM_ERROR_NONE);
}

void sim_host_init(struct host *host)
{
    host->keepalive = (struct timer){.fire = keepalive_fires, .owner = host};
    host->reconnect = (struct timer){.fire = reconnect_fires, .owner = host};
}

/* A restarted libvirtd resumes guests that its death left paused in the switch-over. */
static void resume_left_paused(struct sim *sim, struct host *host)
{
    struct copy *copy;
    DL_FOREACH2(host->copies, copy, host_next)
    {
        if (!copy->resumes_with_daemon)
            continue;
        copy->resumes_with_daemon = false;
        sim_copy_state(sim, copy, HV_STATE_RUNNING, HV_RUNNING_UNPAUSED);
    }
}

/* A libvirtd that goes on after a stop finds the requests to start guests that have arrived. */
static void start_arrived(struct sim *sim, struct host *host)
{
    enum { RESUMED_MIGRATED = 1 }; /* libvirt's detail of RESUMED */
    struct copy *copy;
    DL_FOREACH2(host->copies, copy, host_next)
    {
        if (!copy->starts_with_daemon)
            continue;
        copy->starts_with_daemon = false;
        copy->completed =
            (struct hv_job_stats){.type = HV_JOB_COMPLETED, .operation = HV_OPERATION_MIGRATION_IN};
        copy->completed.downtime_ms = (uint64_t)(sim->now_ms - copy->stopped_ms);
        sim_copy_state(sim, copy, HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
        sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_RESUMED, RESUMED_MIGRATED);
    }
}

static void update_connection(struct sim *sim, struct host *host)
{
    if (sim_host_is_dead(host)) {
        disconnect(sim, host, SIM_ERROR_END_OF_FILE);
        timer_clear(&sim->timers, &host->reconnect);
    } else if (sim_host_is_hung(host)) {
        timer_clear(&sim->timers, &host->reconnect);
        if (host->connected && !timer_is_set(&host->keepalive))
            timer_set(&sim->timers, &host->keepalive, sim->now_ms + sim_host_keepalive_ms(host));
    } else if (host->connected) {
        timer_clear(&sim->timers, &host->keepalive);
        sim_flush_events(sim, host, true);
        sim_calls_wake(sim, host);
    } else if (!timer_is_set(&host->reconnect)) {
        uint64_t chance = sim->seed ^ ((uint64_t)host->number << 32) ^ (uint64_t)sim->now_ms;
        int64_t wait_ms = sim->now_ms == 0
                              ? FIRST_CONNECT_MS
                              : (int64_t)sim_random(&chance, RECONNECT_MIN_MS, RECONNECT_MAX_MS);
        timer_set(&sim->timers, &host->reconnect, sim->now_ms + wait_ms);
    }
}

void sim_host_changed(struct sim *sim, struct host *host)
{
    if (!sim_host_is_dead(host))
        resume_left_paused(sim, host);
    if (!sim_host_is_dead(host) && !sim_host_is_stopped(host))
        start_arrived(sim, host);
    update_connection(sim, host);

    struct job *job, *next;
    DL_FOREACH_SAFE2(host->out, job, next, out_next)
    {
        sim_job_path_changed(sim, job);
    }
    DL_FOREACH_SAFE2(host->in, job, next, in_next)
    {
        sim_job_path_changed(sim, job);
    }
}
