/* helper.c - what a host's `ferry hostd` is asked to do: close the sockets of a guest's migration.
 *
 * It must work when the libvirtd hangs, so it needs neither a connection nor a worker: a thread of
 * its own does it, a few of them at most, since the helper answers in moments or not at all.
 */
#include "hypervisor/libvirt/internal.h"

static void kill_stream(const struct host *host, struct err *err)
{
    if (host->config.helper[0] == '\0')
        (void)err_set(err, ERR_HYPERVISOR, "this host has no helper (`ferry hostd`)");
    else
        (void)err_set(err, ERR_HYPERVISOR, "this host's helper is not known");
}

static void *helper_main(void *arg)
{
    struct job *job = arg;
    struct host *host = job->host;
    struct libvirt *libvirt = host->libvirt;
    struct hv_reply reply = {.began_ms = libvirt_now(libvirt)};
    kill_stream(host, &reply.err);
    reply.ended_ms = libvirt_now(libvirt);
    libvirt_lane_count(&host->lanes[HV_LANE_CONTROL], &reply);
    (void)atomic_fetch_sub(&host->helper_calls, 1);
    libvirt_reply(libvirt, job, &reply);
    libvirt_job_free(job);
    return libvirt_thread_end(libvirt);
}

bool libvirt_helper_submit(struct host *host, struct job *take_job, struct err *err)
{
    take_job->queued_ms = libvirt_now(host->libvirt);
    if (atomic_fetch_add(&host->helper_calls, 1) < HELPER_CALLS_MAX &&
        libvirt_thread(host->libvirt, helper_main, take_job))
        return true;
    (void)atomic_fetch_sub(&host->helper_calls, 1);
    libvirt_job_free(take_job);
    return err_set(err, ERR_LIMIT, "host '%s': its helper is busy", host->config.name);
}
