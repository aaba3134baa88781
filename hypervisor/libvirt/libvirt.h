/* libvirt.h - the real hypervisor: libvirt connections, lanes of threads, events.
 *
 * For each host: lanes of worker threads, each worker with a connection of its own (libvirtd serves
 * at most 5 requests of one connection at a time, and libvirt 9's client stalls calls on a
 * connection that is busy migrating). STATS, CONTROL and MIGRATE get a worker for each request that
 * finds none free, OBSERVE and PROBE only when the running call hangs; idle workers end. So
 * requests of one lane may overtake each other: a caller that needs an order waits for the reply.
 * OBSERVE and STATS use read-only connections. Keepalive is on everywhere.
 *
 * A stopped libvirtd delays only its own lanes. A request that could not be started, because the
 * host is unreachable or no worker was free for ten seconds, is answered UNREACHABLE with began_ms
 * 0; one that was started is answered when libvirt returns. Connections are reopened with backoff,
 * in bounded time: an opening that hangs is abandoned and replaced;
 * HV_EVENT_(DIS)CONNECTED reports each change once, beginning with the first. DOMAIN_STATE never
 * reads the job (job_type -1), which can hang during a switch-over; JOB_STATS does. COMPARE_CPU
 * takes a whole domain definition as well as a <cpu>; only with the former is an emulated guest
 * compared with what emulation offers.
 *
 * hv_free() returns within about two seconds, whatever hangs; no sink is called after it, and
 * requests not answered by then get no reply. Remaining threads still read the clock, so it must
 * live as long as the process, as clock_system() does.
 *
 * One process-wide event loop thread serves all connections (libvirt allows only one).
 */
#ifndef HYPERVISOR_LIBVIRT_LIBVIRT_H
#define HYPERVISOR_LIBVIRT_LIBVIRT_H

#include "base/clock.h"
#include "hypervisor/hv.h"

enum {
    LIBVIRT_STATS_WORKERS_MAX = 32,   /* per host */
    LIBVIRT_MIGRATE_WORKERS_MAX = 64, /* per host */
    LIBVIRT_CONTROL_WORKERS_MAX = 8,
    LIBVIRT_LANE_QUEUE_MAX = 1024,
    LIBVIRT_MEASURES_MAX = 4, /* MEASURE_DIRTY per host: other workers of PROBE stay free */
    LIBVIRT_BACKOFF_MIN_MS = 250,
    LIBVIRT_BACKOFF_MAX_MS = 10000,
};

/* Starts connecting to every host in the background and returns at once. Hosts are copied. */
struct hv *libvirt_new(const struct hv_host *hosts, size_t n, const struct clock *clock,
                       const struct hv_event_sink *events, struct err *err);
/* Asked right before each call of ACT, since a request may have waited; one that may not be made is
 * answered like one that could not be started. Once, before the first request. */
void libvirt_permit(struct hv *hv, const struct hv_permit *permit);
/* Any thread, at any time. A host that is added connects in the background. One that is removed
 * gets no further request (ERR_NOT_FOUND); queued ones are answered UNREACHABLE, running ones when
 * they return; no connection event of it follows. False: no such host. */
MUST_CHECK bool libvirt_add_host(struct hv *hv, const struct hv_host *host, struct err *err);
bool libvirt_remove_host(struct hv *hv, const char *name);

#endif
