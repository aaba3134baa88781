/* act.c - the calls that change a guest. */
#include <assert.h>
#include <string.h>

#include "base/fault.h"
#include "hypervisor/libvirt/internal.h"

static const struct {
    unsigned wish;
    unsigned flags;
} flag_map[] = {
    {HV_MIGRATE_POSTCOPY, VIR_MIGRATE_POSTCOPY},
    {HV_MIGRATE_AUTO_CONVERGE, VIR_MIGRATE_AUTO_CONVERGE},
    {HV_MIGRATE_UNSAFE, VIR_MIGRATE_UNSAFE},
    {HV_MIGRATE_PAUSED, VIR_MIGRATE_PAUSED},
    {HV_MIGRATE_TLS, VIR_MIGRATE_TLS},
    {HV_MIGRATE_NON_SHARED_DISK, VIR_MIGRATE_NON_SHARED_DISK},
    {HV_MIGRATE_NON_SHARED_INC, VIR_MIGRATE_NON_SHARED_INC},
    {HV_MIGRATE_PERSIST, VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNDEFINE_SOURCE},
};

/* Peer to peer always: the move belongs to the source's libvirtd and outlives Ferry. */
static unsigned migrate_flags(const struct hv_migrate *wish)
{
    unsigned flags = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER;
    for (size_t i = 0; i < COUNT(flag_map); i++)
        if ((wish->flags & flag_map[i].wish) != 0)
            flags |= flag_map[i].flags;
    if (wish->parallel_connections > 0)
        flags |= VIR_MIGRATE_PARALLEL;
    return flags;
}

struct params {
    virTypedParameterPtr items;
    int n, capacity;
    bool failed;
};

static void add_number(struct params *params, const char *name, uint64_t value)
{
    if (value > 0 &&
        virTypedParamsAddULLong(&params->items, &params->n, &params->capacity, name, value) < 0)
        params->failed = true;
}

static void add_int(struct params *params, const char *name, int value)
{
    if (value > 0 &&
        virTypedParamsAddInt(&params->items, &params->n, &params->capacity, name, value) < 0)
        params->failed = true;
}

static void add_text(struct params *params, const char *name, const char *text)
{
    if (virTypedParamsAddString(&params->items, &params->n, &params->capacity, name, text) < 0)
        params->failed = true;
}

/* Without a port: libvirt takes a free one of its range on the target. */
static void add_migrate_uri(struct params *params, const char *address)
{
    if (*address == '\0')
        return;
    bool is_bare_ipv6 = strchr(address, ':') != NULL && *address != '[';
    char uri[HV_TEXT_MAX + 16];
    (void)snprintf(uri, sizeof uri, is_bare_ipv6 ? "tcp://[%s]" : "tcp://%s", address);
    add_text(params, VIR_MIGRATE_PARAM_URI, uri);
}

static void add_definition(struct params *params, virDomainPtr domain, const char *name,
                           unsigned flags, const struct hv_migrate *wish, struct err *err)
{
    bool live = (flags & VIR_DOMAIN_XML_INACTIVE) == 0;
    OWNED_TEXT xml = virDomainGetXMLDesc(domain, flags);
    OWNED_TEXT moved =
        xml != NULL ? libvirt_destination(xml, wish->volumes, wish->n_volumes, live, err) : NULL;
    bool plugs = live && (wish->flags & HV_MIGRATE_AS_DEFINED) != 0;
    OWNED_TEXT stored = plugs ? virDomainGetXMLDesc(domain, flags | VIR_DOMAIN_XML_INACTIVE) : NULL;
    OWNED_TEXT plugged =
        moved != NULL && stored != NULL ? libvirt_plugged(moved, stored, err) : NULL;
    const char *text = plugs ? plugged : moved;
    if (text != NULL)
        add_text(params, name, text);
    else
        params->failed = true;
}

/* Disks that move along: which, and the definitions that name their new places; and where
 * interfaces are plugged from now on. */
static void add_changes(struct params *params, virDomainPtr domain, const struct hv_migrate *wish,
                        struct err *err)
{
    unsigned flags = VIR_DOMAIN_XML_MIGRATABLE | VIR_DOMAIN_XML_SECURE;
    for (size_t i = 0; i < wish->n_volumes; i++)
        add_text(params, VIR_MIGRATE_PARAM_MIGRATE_DISKS, wish->volumes[i].disk);
    if (wish->n_volumes > 0 || (wish->flags & HV_MIGRATE_AS_DEFINED) != 0)
        add_definition(params, domain, VIR_MIGRATE_PARAM_DEST_XML, flags, wish, err);
    if (wish->n_volumes > 0 && (wish->flags & HV_MIGRATE_PERSIST) != 0)
        add_definition(params, domain, VIR_MIGRATE_PARAM_PERSIST_XML,
                       flags | VIR_DOMAIN_XML_INACTIVE, wish, err);
}

static struct params migrate_params(const struct hv_migrate *wish, const struct hv_host *target)
{
    struct params params = {0};
    add_number(&params, VIR_MIGRATE_PARAM_BANDWIDTH, wish->bandwidth_mibs);
    add_number(&params, VIR_MIGRATE_PARAM_BANDWIDTH_POSTCOPY, wish->postcopy_bandwidth_mibs);
    add_int(&params, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INITIAL, wish->auto_converge_initial);
    add_int(&params, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INCREMENT, wish->auto_converge_increment);
    add_int(&params, VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS, wish->parallel_connections);
    add_migrate_uri(&params, target->migration_host);
    return params;
}

bool libvirt_act_migrate(virDomainPtr domain, const struct job *job, struct err *err)
{
    const struct hv_migrate *wish = &job->request.with.migrate;
    const struct hv_host *target = &job->target->config;
    const char *peer = target->peer_uri[0] != '\0' ? target->peer_uri : target->uri;
    struct params params = migrate_params(wish, target);
    virConnectPtr conn = virDomainGetConnect(domain);
    add_changes(&params, domain, wish, err);

    bool done = false;
    if (!params.failed) {
        fault_point(FAULT_BEFORE_CALL);
        done = virDomainMigrateToURI3(domain, peer, params.items, (unsigned)params.n,
                                      migrate_flags(wish)) == 0;
        fault_point(FAULT_AFTER_CALL);
    }
    if (!done && err->code == ERR_NONE)
        (void)libvirt_connection_fail(conn, err);
    virTypedParamsFree(params.items, params.n);
    return done;
}

/* False: libvirt's last error says why. */
bool libvirt_act_control(virDomainPtr domain, const struct hv_request *request)
{
    uint64_t value = request->with.tune.value;
    bool postcopy = request->with.tune.postcopy;
    switch (request->call) {
    case HV_CALL_ABORT:
        /* The flag is unknown to older hosts, so it is sent only when it is needed. */
        if (postcopy)
            return virDomainAbortJobFlags(domain, VIR_DOMAIN_ABORT_JOB_POSTCOPY) == 0;
        return virDomainAbortJob(domain) == 0;
    case HV_CALL_START_POSTCOPY: return virDomainMigrateStartPostCopy(domain, 0) == 0;
    case HV_CALL_SET_SPEED:
        return virDomainMigrateSetMaxSpeed(
                   domain, value, postcopy ? VIR_DOMAIN_MIGRATE_MAX_SPEED_POSTCOPY : 0) == 0;
    case HV_CALL_SET_DOWNTIME: return virDomainMigrateSetMaxDowntime(domain, value, 0) == 0;
    case HV_CALL_SUSPEND: return virDomainSuspend(domain) == 0;
    case HV_CALL_SHUTDOWN: return virDomainShutdown(domain) == 0;
    case HV_CALL_RESUME: return virDomainResume(domain) == 0;
    default:
        assert(false); /* a call of another lane */
        return false;
    }
}
