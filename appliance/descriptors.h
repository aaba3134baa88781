/* descriptors.h - how many file descriptors a configuration needs, and whether the process may open
 * so many.
 *
 * GLib, which every libvirt connection needs, ends the process when it gets none. So too low a
 * limit is refused at the start, with the number, instead of found under load. */
#ifndef APPLIANCE_DESCRIPTORS_H
#define APPLIANCE_DESCRIPTORS_H

#include "appliance/config.h"

/* At most, with as many migrations as the configuration allows; n_hosts: that libvirt connects to.
 */
uint64_t descriptors_needed(const struct config *config, size_t n_hosts);
/* Raises the soft limit to the hard one; false with ERR_LIMIT when that is below `needed`. */
MUST_CHECK bool descriptors_check(uint64_t needed, struct err *err);

#endif
