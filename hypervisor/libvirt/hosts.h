/* hosts.h - the list of hosts inside the adapter. */
#ifndef HYPERVISOR_LIBVIRT_HOSTS_H
#define HYPERVISOR_LIBVIRT_HOSTS_H

#include "hypervisor/hv.h"

struct host;
struct libvirt;

bool libvirt_host_is_closing(const struct host *host); /* it was removed, or everything ends */
/* Without its keeper. */
MUST_CHECK bool libvirt_hosts_add(struct libvirt *libvirt, const struct hv_host *config,
                                  struct err *err);
struct host *libvirt_hosts_find(struct libvirt *libvirt, const char *name); /* hosts_lock held */
void libvirt_hosts_reap(struct libvirt *libvirt); /* frees removed hosts whose threads ended */
void libvirt_hosts_fini(struct libvirt *libvirt); /* no thread is left */

#endif
