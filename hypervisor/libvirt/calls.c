/* calls.c - runs one request on one connection: read-only calls here, orders through act.c.
 *
 * The OBSERVE lane has one worker for all short calls, so nothing there may enter a guest's
 * monitor: a QEMU that hangs would block the lane. virDomainGetState, GetInfo, GetMetadata,
 * GetXMLDesc, SnapshotNum, IsPersistent, GetAutostart and the STATE group of statistics answer from
 * libvirtd's memory (seen with a stopped QEMU). Job statistics do enter the monitor and can hang
 * through a whole switch-over, so DOMAIN_STATE never reads the job (job_type -1): JOB_STATS does,
 * on a lane where hanging is harmless.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

DEFINE_OWNED(hv_guest_list)

static bool domain_state(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    struct hv_observation *observation = &reply->with.observation;
    observation->job_type = -1;
    virDomainPtr domain = virDomainLookupByUUIDString(conn, job->request.guest);
    int persistent = 0, autostart = 0;
    bool seen = domain != NULL &&
                virDomainGetState(domain, &observation->state, &observation->reason, 0) == 0 &&
                (persistent = virDomainIsPersistent(domain)) >= 0 &&
                virDomainGetAutostart(domain, &autostart) == 0;
    if (!seen)
        (void)libvirt_connection_fail(conn, &reply->err);
    if (domain != NULL)
        (void)virDomainFree(domain);

    if (seen) {
        observation->presence = HV_PRESENT;
        observation->persistent = persistent == 1;
        observation->autostart = persistent == 1 && autostart != 0;
    } else if (reply->err.code == ERR_NOT_FOUND) {
        observation->presence = HV_ABSENT;
        reply->err = (struct err){0}; /* absent is an answer */
    } else {
        observation->presence = reply->err.code == ERR_UNREACHABLE ? HV_UNREACHABLE : HV_UNKNOWN;
    }
    return seen;
}

static bool host_facts(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    (void)job;
    struct hv_facts *facts = &reply->with.facts;
    virNodeInfo node;
    OWNED_TEXT hostname = virConnectGetHostname(conn);
    OWNED_TEXT capabilities = hostname != NULL ? virConnectGetCapabilities(conn) : NULL;
    if (capabilities == NULL || virNodeGetInfo(conn, &node) < 0 ||
        virConnectGetLibVersion(conn, &facts->libvirt_version) < 0 ||
        virConnectGetVersion(conn, &facts->hypervisor_version) < 0)
        return libvirt_connection_fail(conn, &reply->err);
    TEXT_SET(facts->hostname, hostname);
    TEXT_SET(facts->arch, node.model);
    facts->cpus = node.cpus;
    facts->memory_kib = node.memory;
    facts->free_memory_kib = virNodeGetFreeMemory(conn) / 1024; /* 0: not available */
    libvirt_metadata_host(capabilities, facts);
    return true;
}

static bool read_guest(virDomainStatsRecordPtr record, struct hv_guest *guest, struct err *err)
{
    virDomainPtr domain = record->dom;
    virConnectPtr conn =
        virDomainGetConnect(domain); /* read it now: the next call resets the last error */
    virDomainInfo info;
    int persistent = virDomainIsPersistent(domain);
    if (persistent < 0 || virDomainGetInfo(domain, &info) < 0 ||
        virDomainGetUUIDString(domain, guest->uuid) < 0 ||
        virTypedParamsGetInt(record->params, record->nparams, "state.state", &guest->state) != 1 ||
        virTypedParamsGetInt(record->params, record->nparams, "state.reason", &guest->reason) != 1)
        return libvirt_connection_fail(conn, err);
    TEXT_SET(guest->name, virDomainGetName(domain));
    guest->persistent = persistent == 1;
    guest->memory_kib = info.maxMem;
    guest->vcpus = info.nrVirtCpu;
    OWNED_TEXT xml = virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, "urn:ferry:domain:1",
                                          VIR_DOMAIN_AFFECT_CURRENT);
    libvirt_metadata_decode(xml, guest->ns, &guest->labels, &guest->settings);
    return true;
}

/* A guest that vanished meanwhile is skipped; any other failure fails the list, because a guest
 * missing from a list counts as absent. */
static bool read_guests(virDomainStatsRecordPtr *records, size_t n, struct hv_guest_list *list,
                        struct err *err)
{
    list->guests = calloc(n > 0 ? n : 1, sizeof *list->guests);
    if (list->guests == NULL)
        return err_set(err, ERR_NOMEM, "list of %zu guests", n);
    for (size_t i = 0; i < n; i++) {
        struct hv_guest *guest = &list->guests[list->n];
        struct err failure = {0};
        if (read_guest(records[i], guest, &failure)) {
            list->n++;
        } else if (failure.code == ERR_NOT_FOUND) {
            *guest = (struct hv_guest){0};
        } else {
            *err = failure;
            return false;
        }
    }
    return true;
}

/* One call for all states, then three short ones for each guest. */
static bool list_guests(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    (void)job;
    virDomainStatsRecordPtr *records = NULL;
    int n = virConnectGetAllDomainStats(conn, VIR_DOMAIN_STATS_STATE, &records, 0);
    if (n < 0)
        return libvirt_connection_fail(conn, &reply->err);
    bool done = false;
    OWNED(hv_guest_list) list = calloc(1, sizeof *list);
    if (n > HV_GUESTS_MAX)
        (void)err_set(&reply->err, ERR_LIMIT, "%d guests, at most %d", n, HV_GUESTS_MAX);
    else if (list == NULL)
        (void)err_set(&reply->err, ERR_NOMEM, "list of %d guests", n);
    else
        done = read_guests(records, (size_t)n, list, &reply->err);
    virDomainStatsRecordListFree(records);
    if (done)
        reply->with.guests = TAKE(list);
    return done;
}

static bool answer_text(virConnectPtr conn, char *take_text, struct hv_reply *reply)
{
    reply->with.text = take_text;
    return take_text != NULL || libvirt_connection_fail(conn, &reply->err);
}

static bool capabilities(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    (void)job;
    return answer_text(conn, virConnectGetCapabilities(conn), reply);
}

static bool domain_capabilities(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    (void)job;
    return answer_text(conn, virConnectGetDomainCapabilities(conn, NULL, NULL, NULL, NULL, 0),
                       reply);
}

/* Compares with what the hypervisor can provide; with drivers that cannot do that, with the host's
 * CPU. */
static int compare_definition(virConnectPtr conn, const struct definition *guest)
{
    int result = virConnectCompareHypervisorCPU(conn, guest->emulator, guest->arch, guest->machine,
                                                guest->virt_type, guest->cpu, 0);
    const virError *error = result < 0 ? virGetLastError() : NULL;
    if (error != NULL && error->code == VIR_ERR_NO_SUPPORT)
        result = virConnectCompareCPU(conn, guest->cpu, 0);
    return result;
}

static bool compare_cpu(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    struct definition guest = {0};
    if (!libvirt_definition_decode(job->text, &guest))
        guest.cpu = strdup(job->text);
    /* A guest without <cpu> gets the hypervisor's default on every host. */
    reply->with.comparison =
        guest.cpu != NULL ? compare_definition(conn, &guest) : VIR_CPU_COMPARE_SUPERSET;
    libvirt_definition_fini(&guest);
    return reply->with.comparison >= 0 || libvirt_connection_fail(conn, &reply->err);
}

static bool job_stats(virDomainPtr domain, unsigned flags, struct hv_job_stats *out_stats)
{
    virTypedParameterPtr params = NULL;
    int type = 0, n = 0;
    if (virDomainGetJobStats(domain, &type, &params, &n, flags) < 0)
        return false;
    libvirt_stats_decode(params, n, out_stats);
    out_stats->type = type;
    virTypedParamsFree(params, n);
    return true;
}

/* For a transient guest libvirt would return the live definition. */
static bool stored_definition(virDomainPtr domain, struct hv_reply *reply)
{
    int persistent = virDomainIsPersistent(domain);
    if (persistent == 0)
        return err_set(&reply->err, ERR_NOT_FOUND,
                       "guest '%s' is transient there, it has no persistent definition",
                       virDomainGetName(domain));
    if (persistent == 1)
        reply->with.text = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE);
    return reply->with.text != NULL;
}

/* Snapshots are counted from libvirtd's memory; -1 with drivers that have none. */
static bool live_definition(virDomainPtr domain, struct hv_reply *reply)
{
    reply->snapshots = virDomainSnapshotNum(domain, 0);
    reply->with.text = virDomainGetXMLDesc(domain, 0);
    return reply->with.text != NULL;
}

/* Calls about one guest. On failure libvirt's last error is set, except for calls that must read it
 * at once. */
static bool run_on_guest(virDomainPtr domain, const struct job *job, struct hv_reply *reply)
{
    switch (job->request.call) {
    case HV_CALL_JOB_STATS: return job_stats(domain, 0, &reply->with.stats);
    case HV_CALL_COMPLETED_STATS:
        return job_stats(domain,
                         VIR_DOMAIN_JOB_STATS_COMPLETED | VIR_DOMAIN_JOB_STATS_KEEP_COMPLETED,
                         &reply->with.stats);
    case HV_CALL_GUEST_XML_STORED: return stored_definition(domain, reply);
    case HV_CALL_GUEST_XML: return live_definition(domain, reply);
    case HV_CALL_MIGRATABLE_XML:
        return (reply->with.text = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_MIGRATABLE)) != NULL;
    case HV_CALL_BLOCK_INFO:
        return libvirt_block_info(domain, job->request.with.disk, &reply->with.block);
    case HV_CALL_MEASURE_DIRTY:
        return libvirt_dirty_measure(domain, job, &reply->with.dirty_bps, &reply->err);
    case HV_CALL_MIGRATE:
        return libvirt_act_migrate(domain, job, reply->with.unmarked, &reply->err);
    case HV_CALL_YANK: return libvirt_rescue_yank(domain, &reply->err);
    case HV_CALL_DROP_COPY: return libvirt_rescue_drop_copy(domain, &reply->err);
    case HV_CALL_RESUME_STREAM: return libvirt_rescue_resume_stream(domain, job, &reply->err);
    default: return libvirt_act_control(domain, &job->request);
    }
}

static bool on_guest(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    virDomainPtr domain = virDomainLookupByUUIDString(conn, job->request.guest);
    bool done = domain != NULL && run_on_guest(domain, job, reply);
    if (!done && reply->err.code == ERR_NONE)
        (void)libvirt_connection_fail(conn, &reply->err);
    if (domain != NULL)
        (void)virDomainFree(domain);
    return done;
}

void libvirt_call_run(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    static call_function *const functions[HV_CALL_COUNT] = {
        [HV_CALL_HOST_FACTS] = host_facts,
        [HV_CALL_LIST_GUESTS] = list_guests,
        [HV_CALL_DOMAIN_STATE] = domain_state,
        [HV_CALL_HOST_CAPABILITIES] = libvirt_capabilities,
        [HV_CALL_CAPABILITIES] = capabilities,
        [HV_CALL_COMPARE_CPU] = compare_cpu,
        [HV_CALL_VOLUME_INFO] = libvirt_volume_info,
        [HV_CALL_DOMAIN_CAPABILITIES] = domain_capabilities,
    };
    call_function *run = functions[job->request.call];
    bool done = (run != NULL ? run : on_guest)(conn, job, reply);
    assert(done == (reply->err.code == ERR_NONE) || job->request.call == HV_CALL_DOMAIN_STATE);
}
