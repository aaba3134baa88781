/* act.c - the calls that change a guest. */
#include <assert.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

/* NULL with err: read now, the next call resets libvirt's last error. */
static char *definition_of(virDomainPtr domain, unsigned flags, struct err *err)
{
    char *xml = virDomainGetXMLDesc(domain, flags);
    if (xml == NULL)
        (void)libvirt_connection_fail(virDomainGetConnect(domain), err);
    return xml;
}

static void add_definition(struct migrate_params *params, virDomainPtr domain, const char *name,
                           unsigned flags, const struct hv_migrate *how, struct err *err)
{
    bool live = (flags & VIR_DOMAIN_XML_INACTIVE) == 0;
    bool plugs = live && (how->flags & HV_MIGRATE_AS_DEFINED) != 0;
    OWNED_TEXT xml = definition_of(domain, flags, err);
    OWNED_TEXT moved =
        xml != NULL ? libvirt_destination(xml, how->volumes, how->n_volumes, live, err) : NULL;
    OWNED_TEXT stored =
        moved != NULL && plugs ? definition_of(domain, flags | VIR_DOMAIN_XML_INACTIVE, err) : NULL;
    OWNED_TEXT plugged = stored != NULL ? libvirt_plugged(moved, stored, err) : NULL;
    const char *text = plugs ? plugged : moved;
    if (text != NULL)
        libvirt_migrate_params_text(params, name, text);
    else
        params->failed = true;
}

/* Disks to migrate, definitions with their new locations, and the new networks of interfaces. Not
 * for a post-copy resume: its target has them. */
static void add_changes(struct migrate_params *params, virDomainPtr domain,
                        const struct hv_migrate *how, struct err *err)
{
    unsigned flags = VIR_DOMAIN_XML_MIGRATABLE | VIR_DOMAIN_XML_SECURE;
    if ((how->flags & HV_MIGRATE_RESUME) != 0)
        return;
    for (size_t i = 0; i < how->n_volumes; i++)
        libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_MIGRATE_DISKS, how->volumes[i].disk);
    unsigned sent = libvirt_sent_definitions(how);
    if ((sent & LIBVIRT_SENDS_LIVE) != 0)
        add_definition(params, domain, VIR_MIGRATE_PARAM_DEST_XML, flags, how, err);
    if ((sent & LIBVIRT_SENDS_STORED) != 0 && !params->failed)
        add_definition(params, domain, VIR_MIGRATE_PARAM_PERSIST_XML,
                       flags | VIR_DOMAIN_XML_INACTIVE, how, err);
}

/* Bounded by libvirt: it waits at most 30 s for another change of the same guest. Not for a
 * post-copy resume: the guest is marked, and libvirt allows no change during a migration. */
static void mark_guest(virDomainPtr domain, const struct hv_migrate *how, char *out_unmarked)
{
    char text[HV_MARK_TEXT_MAX];
    if (how->mark.job[0] == '\0' || (how->flags & HV_MIGRATE_RESUME) != 0)
        return;
    hv_mark_print(&how->mark, text);
    if (virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, text, "ferrymigration",
                             HV_MARK_URI, VIR_DOMAIN_AFFECT_LIVE) == 0)
        return;
    const char *why = virGetLastErrorMessage();
    (void)text_copy(out_unmarked, HV_TEXT_MAX, why != NULL ? why : "not known");
    LOG(WARN, "guest_not_marked", FIELD_TEXT(GUEST, virDomainGetName(domain)),
        FIELD_TEXT(MIGRATION, how->mark.job), FIELD_TEXT(ERROR, out_unmarked));
}

bool libvirt_act_migrate(virDomainPtr domain, const struct job *job, char *out_unmarked,
                         struct err *err)
{
    const struct hv_migrate *how = &job->request.with.migrate;
    const struct hv_host *target = job->target;
    const char *peer = target->peer_uri[0] != '\0' ? target->peer_uri : target->uri;
    virConnectPtr conn = virDomainGetConnect(domain);
    mark_guest(domain, how, out_unmarked); /* first: definitions that travel have the mark */
    struct migrate_params params = libvirt_migrate_params(how, target);
    add_changes(&params, domain, how, err);

    bool done = false;
    if (!params.failed) {
        fault_point(FAULT_BEFORE_CALL);
        done = virDomainMigrateToURI3(domain, peer, params.items, (unsigned)params.n,
                                      params.flags) == 0;
        fault_point(FAULT_AFTER_CALL);
    }
    if (!done && err->code == ERR_NONE)
        (void)libvirt_connection_fail(conn, err);
    libvirt_migrate_params_fini(&params);
    return done;
}

/* False: libvirt's last error has the reason. */
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
    case HV_CALL_SET_AUTOSTART: return virDomainSetAutostart(domain, value != 0) == 0;
    case HV_CALL_CLEAR_MARK:
        return virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, NULL, NULL, HV_MARK_URI,
                                    VIR_DOMAIN_AFFECT_LIVE) == 0;
    default:
        assert(false); /* a call of another lane */
        return false;
    }
}
