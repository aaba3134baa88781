/* helper.c - what a host's `ferry hostd` is asked to do: close the sockets of a guest's migration.
 *
 * It must work when the libvirtd hangs, so it needs neither a connection nor a worker: a thread of
 * its own does it, a few of them at most, since the helper answers in moments or not at all.
 */
#include "hypervisor/hostd/client.h"
#include "hypervisor/libvirt/internal.h"

/* As a reply says it: what the helper did not want or could not do is a no of the host; whatever
 * leaves open whether it was done is UNREACHABLE. */
static enum err_code kind_of(enum err_code code)
{
    switch (code) {
    case ERR_UNREACHABLE:
    case ERR_TIMEOUT: return ERR_UNREACHABLE;
    case ERR_NOT_FOUND:
    case ERR_NOMEM: return code;
    default: return ERR_HYPERVISOR;
    }
}

static void kill_stream(const struct job *job, struct err *err)
{
    const struct hv_host *config = &job->host->config;
    unsigned killed = 0;
    if (config->helper[0] == '\0') {
        (void)err_set(err, ERR_HYPERVISOR, "this host has no helper (`ferry hostd`)");
    } else if (!hostd_kill(config->helper, config->helper_secret, job->request.guest, &killed,
                           err)) {
        err->code = kind_of(err->code);
    } else if (killed == 0) {
        err->hv_code = VIR_ERR_OPERATION_INVALID;
        (void)err_set(err, ERR_HYPERVISOR, "no stream to break");
    }
}

static void *helper_main(void *arg)
{
    struct job *job = arg;
    struct host *host = job->host;
    struct libvirt *libvirt = host->libvirt;
    struct hv_reply reply = {.began_ms = libvirt_now(libvirt)};
    kill_stream(job, &reply.err);
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
