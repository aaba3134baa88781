/* events.c - libvirt's callbacks. They run on the event loop's thread, which serves every host, so
 * they only copy and pass on. Each registration of an event holds a reference, because a callback
 * may still run when its connection is closed.
 */
#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

static struct hv_event event_about(const struct host *host, virDomainPtr domain,
                                   enum hv_event_kind kind)
{
    struct hv_event event = {.kind = kind, .at_ms = libvirt_now(host->libvirt)};
    TEXT_SET(event.host, host->config.name);
    TEXT_SET(event.guest_name, virDomainGetName(domain));
    if (virDomainGetUUIDString(domain, event.guest) < 0)
        event.guest[0] = '\0';
    return event;
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int what, int detail, void *ctx)
{
    (void)conn;
    const struct host *host = ctx;
    struct hv_event event = event_about(host, domain, HV_EVENT_LIFECYCLE);
    event.a = what;
    event.b = detail;
    libvirt_emit(host->libvirt, &event);
    return 0;
}

static void on_iteration(virConnectPtr conn, virDomainPtr domain, int iteration, void *ctx)
{
    (void)conn;
    const struct host *host = ctx;
    struct hv_event event = event_about(host, domain, HV_EVENT_ITERATION);
    event.a = iteration;
    libvirt_emit(host->libvirt, &event);
}

/* Saving, dumping and backups complete too; only outgoing migrations are passed on. */
static void on_job_completed(virConnectPtr conn, virDomainPtr domain, virTypedParameterPtr params,
                             int n, void *ctx)
{
    (void)conn;
    const struct host *host = ctx;
    struct hv_event event = event_about(host, domain, HV_EVENT_JOB_COMPLETED);
    libvirt_stats_decode(params, n, &event.stats);
    event.stats.type = HV_JOB_COMPLETED;
    if (event.stats.operation == HV_OPERATION_MIGRATION_OUT)
        libvirt_emit(host->libvirt, &event);
}

static void emit_changed(virDomainPtr domain, const struct host *host)
{
    struct hv_event event = event_about(host, domain, HV_EVENT_CHANGED);
    libvirt_emit(host->libvirt, &event);
}

static void on_device(virConnectPtr conn, virDomainPtr domain, const char *alias, void *ctx)
{
    (void)conn;
    (void)alias;
    emit_changed(domain, ctx);
}

static void on_metadata(virConnectPtr conn, virDomainPtr domain, int type, const char *uri,
                        void *ctx)
{
    (void)conn;
    (void)type;
    (void)uri;
    emit_changed(domain, ctx);
}

static void on_block_job(virConnectPtr conn, virDomainPtr domain, const char *disk, int type,
                         int status, void *ctx)
{
    (void)conn;
    (void)disk;
    (void)type;
    (void)status;
    emit_changed(domain, ctx);
}

static void on_close(virConnectPtr conn, int reason, void *ctx)
{
    (void)conn;
    struct host *host = ctx;
    libvirt_keeper_lost(&host->keeper, reason);
}

static void drop_reference(void *ctx)
{
    libvirt_unref(((struct host *)ctx)->libvirt);
}

/* libvirt takes callbacks of every event as one type. The cast goes through void (*)(void), which
 * compilers accept as "any function": clang 19 warns of a direct cast. */
#define CALLBACK(function) VIR_DOMAIN_EVENT_CALLBACK((void (*)(void))(function))

/* -1 when this driver has no such event. */
static int add(struct host *host, virConnectPtr conn, int id,
               virConnectDomainEventGenericCallback callback)
{
    libvirt_ref(host->libvirt);
    int number = virConnectDomainEventRegisterAny(conn, NULL, id, callback, host, drop_reference);
    if (number < 0)
        libvirt_unref(host->libvirt);
    return number;
}

bool libvirt_events_register(struct host *host, virConnectPtr conn, struct events *out_events,
                             struct err *err)
{
    out_events->ids[0] = add(host, conn, VIR_DOMAIN_EVENT_ID_LIFECYCLE, CALLBACK(on_lifecycle));
    if (out_events->ids[0] < 0)
        return libvirt_connection_fail(conn, err);
    out_events->ids[1] =
        add(host, conn, VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION, CALLBACK(on_iteration));
    out_events->ids[2] =
        add(host, conn, VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, CALLBACK(on_job_completed));
    out_events->ids[3] = add(host, conn, VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, CALLBACK(on_device));
    out_events->ids[4] = add(host, conn, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, CALLBACK(on_device));
    out_events->ids[5] =
        add(host, conn, VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, CALLBACK(on_metadata));
    out_events->ids[6] = add(host, conn, VIR_DOMAIN_EVENT_ID_BLOCK_JOB_2, CALLBACK(on_block_job));
    /* Without a reference of its own: drivers that never close drop the callback without
     * freeing it, and unregistering waits for one that runs. */
    out_events->watches_close = virConnectRegisterCloseCallback(conn, on_close, host, NULL) == 0;
    return true;
}

/* On a broken connection the call fails but still drops the callbacks on this side, which frees the
 * connection. */
void libvirt_events_deregister(struct events *events, virConnectPtr conn)
{
    if (events->watches_close)
        (void)virConnectUnregisterCloseCallback(conn, on_close);
    for (size_t i = 0; i < COUNT(events->ids); i++)
        if (events->ids[i] >= 0)
            (void)virConnectDomainEventDeregisterAny(conn, events->ids[i]);
}
