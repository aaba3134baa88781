/* ports.h - does libvirt's TLS port answer on these hosts? Only the TCP handshake; nothing is
 * sent.
 *
 * All hosts are asked side by side, so that a fleet of silent ones takes no longer than one.
 * Names are resolved one after the other and within patience_ms: what comes later is not asked.
 */
#ifndef CLI_PORTS_H
#define CLI_PORTS_H

#include "cli/diagnose.h"

enum { PORTS_TLS = 16514, PORTS_CONNECT_MS = 500, PORTS_AT_ONCE = 256 };

void ports_ask(struct patient *patients, size_t n, int port, int64_t patience_ms);

#endif
