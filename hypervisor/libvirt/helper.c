/* helper.c - calls to a host's `ferry hostd` instead of libvirt: close the sockets of a guest's
 * migration, try to reach another host.
 *
 * They must work when libvirtd hangs, so they use neither a connection nor a worker: each call has
 * a thread, with a small limit, since the helper answers quickly or not at all.
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

static bool kill_stream(const struct job *job, struct err *err)
{
    const struct hv_host *config = &job->host->config;
    unsigned killed = 0;
    if (!hostd_kill(config->helper, config->helper_secret, job->request.guest, &killed, err))
        return false;
    err->hv_code = killed == 0 ? VIR_ERR_OPERATION_INVALID : 0;
    return killed > 0 || err_set(err, ERR_HYPERVISOR, "no stream to break");
}

/* The last port of the range is used: libvirt takes the lowest free one, and a QEMU that listens
 * would take the connection for its stream. */
static bool probe_path(const struct job *job, enum hv_path *out_path, struct err *err)
{
    static const enum hv_path paths[] = {[HOSTD_PATH_OPEN] = HV_PATH_OPEN,
                                         [HOSTD_PATH_REFUSED] = HV_PATH_REFUSED,
                                         [HOSTD_PATH_DEAD] = HV_PATH_DEAD};
    const struct hv_host *config = &job->host->config, *target = job->target;
    unsigned port = target->port_max != 0 ? target->port_max : HV_PORT_MAX;
    char address[HV_TEXT_MAX];
    enum hostd_path path;
    if (!hv_literal_address(target->migration_host, address, sizeof address))
        return err_set(err, ERR_REFUSED, "'migrationAddress' of host '%s' is not an address",
                       target->name);
    if (!hostd_probe(config->helper, config->helper_secret, address, port, &path, err))
        return false;
    *out_path = paths[path];
    return true;
}

static void call_helper(const struct job *job, struct hv_reply *reply)
{
    enum hv_call call = job->request.call;
    if (job->host->config.helper[0] == '\0') {
        (void)err_set(&reply->err, ERR_HYPERVISOR, "this host has no helper (`ferry hostd`)");
        return;
    }
    bool done = call == HV_CALL_PROBE_PATH ? probe_path(job, &reply->with.path, &reply->err)
                                           : kill_stream(job, &reply->err);
    if (!done)
        reply->err.code = kind_of(reply->err.code);
}

static void *helper_main(void *arg)
{
    struct job *job = arg;
    struct host *host = job->host;
    struct libvirt *libvirt = host->libvirt;
    struct hv_reply reply = {.began_ms = libvirt_now(libvirt)};
    call_helper(job, &reply);
    reply.ended_ms = libvirt_now(libvirt);
    libvirt_lane_count(&host->lanes[hv_call_lane(job->request.call)], &reply);
    (void)atomic_fetch_sub(&host->helper_calls, 1);
    libvirt_reply(libvirt, job, &reply);
    libvirt_job_free(job);
    return libvirt_thread_end(libvirt, host);
}

bool libvirt_helper_submit(struct host *host, struct job *take_job, struct err *err)
{
    take_job->queued_ms = libvirt_now(host->libvirt);
    if (atomic_fetch_add(&host->helper_calls, 1) < HELPER_CALLS_MAX &&
        libvirt_thread(host->libvirt, host, helper_main, take_job))
        return true;
    (void)atomic_fetch_sub(&host->helper_calls, 1);
    libvirt_job_free(take_job);
    return err_set(err, ERR_LIMIT, "host '%s': its helper is busy", host->config.name);
}
