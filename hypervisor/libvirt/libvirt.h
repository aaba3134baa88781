/* libvirt.h - the real hypervisor: libvirt connections, lanes of threads, events.
 *
 * For each host: one worker thread with a connection of its own per lane, more on demand in
 * the STATS and MIGRATE lanes (libvirtd serves at most 5 requests of one connection at a time,
 * and libvirt 9's client stalls calls on a connection that is busy migrating). Observing lanes
 * use read-only connections. Keepalive is on everywhere; a lost connection is reopened with
 * backoff, and HV_EVENT_(DIS)CONNECTED tells. A stopped libvirtd delays only its own lanes.
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
    LIBVIRT_BACKOFF_MIN_MS = 250,
    LIBVIRT_BACKOFF_MAX_MS = 10000,
};

/* Starts connecting to every host in the background and returns at once. Hosts are copied. */
struct hv *libvirt_new(const struct hv_host *hosts, size_t n, const struct clock *clock,
                       const struct hv_event_sink *events, struct err *err);

#endif
