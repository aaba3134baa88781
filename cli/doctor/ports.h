/* ports.h - checks whether libvirt's TLS port answers. Only the TCP handshake; nothing is sent.
 * Hosts are checked in parallel. Names are resolved one by one within timeout_ms; hosts after that
 * are not checked.
 */
#ifndef CLI_PORTS_H
#define CLI_PORTS_H

#include "cli/doctor/diagnose.h"

enum { PORTS_TLS = 16514, PORTS_CONNECT_MS = 500, PORTS_AT_ONCE = 256 };

void ports_ask(struct diagnosis *diagnoses, size_t n, int port, int64_t timeout_ms);
/* The host name in the uri or the peer uri of a host; empty for a local one. out_name holds
 * HV_TEXT_MAX. */
void ports_name(const struct hv_host *host, char *out_name);

#endif
