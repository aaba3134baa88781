/* inspect.h - what a program on a host sees of that host: names, paths to others, clock,
 * userfaultfd, certificates, directories. The helper answers with it; `ferry doctor` uses it for
 * the machine it runs on. Changes nothing.
 */
#ifndef HYPERVISOR_HOSTD_INSPECT_H
#define HYPERVISOR_HOSTD_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "hypervisor/hostd/client.h"
#include "hypervisor/hostd/protocol.h"

/* First address of a name, as libvirt would look it up; an address stays as it is. out_ip holds
 * HV_TEXT_MAX. NOT_FOUND: it does not resolve. Blocks as long as the system's resolver does. */
bool inspect_name(const char *name, char *out_ip, struct err *err);

/* Result of a TCP connection. */
bool inspect_path(const struct hostd_address *to, int64_t until_ms, enum hostd_path *out_path,
                  struct err *err);

/* root: before every file, "" for this machine. */
void inspect_facts(const char *root, struct hostd_facts *out_facts);
const char *inspect_fact_file(enum hostd_fact fact); /* of a certificate, else NULL */
/* "clock-ms=1 ca-end=2": into out_text, and back. Words that are not known are skipped. */
void inspect_write_facts(const struct hostd_facts *facts, char *out_text, size_t bytes);
void inspect_read_facts(const char *text, struct hostd_facts *out_facts);

/* Identity of a directory: equal on two hosts exactly if it is the same one, as far as its file
 * system can tell. "network", "local" or "fuse", then numbers. out_identity holds HV_TEXT_MAX. */
bool inspect_directory(const char *path, char *out_identity, struct err *err);

#endif
