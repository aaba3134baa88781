/* keeper.c - one thread per host: holds the connection for events, reopens it with backoff, and
 * reports when the host becomes reachable or unreachable.
 *
 * Callbacks are registered before CONNECTED is sent, so that a query after CONNECTED misses no
 * later event.
 */
#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

enum { KEEPER_CHECK_MS = 2000 }; /* in case a connection dies without its callback */

void libvirt_keeper_init(struct keeper *keeper)
{
    (void)pthread_mutex_init(&keeper->lock, NULL);
    libvirt_wait_cond_init(&keeper->wake);
}

void libvirt_keeper_fini(struct keeper *keeper)
{
    (void)pthread_cond_destroy(&keeper->wake);
    (void)pthread_mutex_destroy(&keeper->lock);
}

/* Each change is reported once. Lock held. */
static void report(struct host *host, enum keeper_reported what, const struct err *why)
{
    if (host->keeper.reported == what || atomic_load(&host->removed))
        return;
    host->keeper.reported = what;
    struct hv_event event = {
        .kind = what == REPORTED_CONNECTED ? HV_EVENT_CONNECTED : HV_EVENT_DISCONNECTED,
        .at_ms = libvirt_now(host->libvirt),
    };
    TEXT_SET(event.host, host->config.name);
    if (why != NULL)
        event.err = *why;
    libvirt_emit(host->libvirt, &event);
}

void libvirt_keeper_lost(struct keeper *keeper, int reason)
{
    (void)pthread_mutex_lock(&keeper->lock);
    keeper->lost = true;
    keeper->lost_reason = reason;
    (void)pthread_cond_signal(&keeper->wake);
    (void)pthread_mutex_unlock(&keeper->lock);
}

void libvirt_keeper_nudge(struct keeper *keeper)
{
    (void)pthread_mutex_lock(&keeper->lock);
    keeper->nudged = true;
    (void)pthread_cond_signal(&keeper->wake);
    (void)pthread_mutex_unlock(&keeper->lock);
}

static virConnectPtr open_and_watch(struct host *host, struct events *out_events, struct err *err)
{
    virConnectPtr conn = libvirt_opening(host, HV_LANE_OBSERVE, true, true, err);
    if (conn == NULL)
        return NULL;
    if (!libvirt_events_register(host, conn, out_events, err)) {
        libvirt_connection_close(conn);
        return NULL;
    }
    return conn;
}

/* Opens the connection and reports the result. */
static virConnectPtr keeper_connect(struct host *host, struct events *out_events)
{
    struct keeper *keeper = &host->keeper;
    (void)pthread_mutex_lock(&keeper->lock);
    keeper->lost = keeper->nudged = false;
    keeper->lost_reason =
        VIR_CONNECT_CLOSE_REASON_ERROR; /* until its callback gives another reason */
    (void)pthread_mutex_unlock(&keeper->lock);

    struct err err = {0};
    virConnectPtr conn = open_and_watch(host, out_events, &err);

    (void)pthread_mutex_lock(&keeper->lock);
    report(host, conn != NULL ? REPORTED_CONNECTED : REPORTED_DISCONNECTED,
           conn != NULL ? NULL : &err);
    (void)pthread_mutex_unlock(&keeper->lock);
    return conn;
}

static const char *close_reason(int reason)
{
    switch (reason) {
    case VIR_CONNECT_CLOSE_REASON_ERROR: return "it broke";
    case VIR_CONNECT_CLOSE_REASON_EOF: return "the host closed it";
    case VIR_CONNECT_CLOSE_REASON_KEEPALIVE: return "the host no longer answers keepalives";
    default: return "closed";
    }
}

/* Sleeps until the connection is lost or Ferry ends. Returns true when it is lost. */
static bool keeper_watch(struct host *host, virConnectPtr conn)
{
    struct keeper *keeper = &host->keeper;
    while (!libvirt_host_is_closing(host) && libvirt_connection_is_alive(conn)) {
        (void)pthread_mutex_lock(&keeper->lock);
        if (!keeper->lost && !libvirt_host_is_closing(host))
            libvirt_wait_cond(&keeper->wake, &keeper->lock, KEEPER_CHECK_MS);
        keeper->lost = false; /* the connection itself is checked: this was only a wake-up */
        (void)pthread_mutex_unlock(&keeper->lock);
    }
    return !libvirt_host_is_closing(host);
}

static void keeper_report_lost(struct host *host)
{
    struct err err = {0};
    (void)pthread_mutex_lock(&host->keeper.lock);
    (void)err_set(&err, ERR_UNREACHABLE, "connection lost: %s",
                  close_reason(host->keeper.lost_reason));
    bool silent = host->keeper.lost_reason == VIR_CONNECT_CLOSE_REASON_KEEPALIVE;
    err.hv_code = silent ? HV_LOST_SILENT : HV_LOST_CLOSED;
    report(host, REPORTED_DISCONNECTED, &err);
    (void)pthread_mutex_unlock(&host->keeper.lock);
}

static void keeper_back_off(struct host *host, int64_t ms)
{
    struct keeper *keeper = &host->keeper;
    int64_t until = libvirt_now(host->libvirt) + ms;
    (void)pthread_mutex_lock(&keeper->lock);
    for (int64_t left = ms; left > 0 && !keeper->nudged && !libvirt_host_is_closing(host);
         left = until - libvirt_now(host->libvirt))
        libvirt_wait_cond(&keeper->wake, &keeper->lock,
                          left < CLOCK_CHECK_MS ? left : CLOCK_CHECK_MS);
    (void)pthread_mutex_unlock(&keeper->lock);
}

void *libvirt_keeper_main(void *arg)
{
    struct host *host = arg;
    int64_t backoff_ms = LIBVIRT_BACKOFF_MIN_MS;
    while (!libvirt_host_is_closing(host)) {
        struct events events;
        virConnectPtr conn = keeper_connect(host, &events);
        if (conn == NULL) {
            keeper_back_off(host, backoff_ms);
            backoff_ms =
                backoff_ms * 2 < LIBVIRT_BACKOFF_MAX_MS ? backoff_ms * 2 : LIBVIRT_BACKOFF_MAX_MS;
            continue;
        }
        backoff_ms = LIBVIRT_BACKOFF_MIN_MS;
        for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
            libvirt_lane_retry_now(&host->lanes[lane]);
        if (keeper_watch(host, conn))
            keeper_report_lost(host);
        libvirt_events_deregister(&events, conn);
        libvirt_connection_close(conn);
    }
    return libvirt_thread_end(host->libvirt, host);
}
