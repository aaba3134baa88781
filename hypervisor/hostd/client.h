/* client.h - client of a host's helper (`ferry hostd`), which does what neither libvirt nor QEMU
 * can do while a stream is stuck: close its socket.
 *
 * Each call is one connection, blocks for 5 s at most and may come from any thread. `address` is
 * "10.0.0.1:7011" or "[fd00::1]:7011": no names, whose lookup time is not bounded. An answer counts
 * only if it is signed with the secret, so an attacker in between can make a call fail but not
 * succeed.
 *
 * Failures: UNREACHABLE no connection; TIMEOUT the outcome is not known; FORBIDDEN wrong secret, or
 * the helper lacks rights; REFUSED its kernel cannot close sockets; CORRUPT malformed answer;
 * NOT_FOUND no process of that guest on that host.
 */
#ifndef HYPERVISOR_HOSTD_CLIENT_H
#define HYPERVISOR_HOSTD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { HOSTD_CLIENT_MS = 5000, HOSTD_REPORT_MAX = 16384 };

/* Closes the guest's migration sockets on that host, whichever side of the migration it is. None
 * to close is a success with 0. */
bool hostd_kill(const char *address, const char *secret, const char *guest_uuid,
                unsigned *out_killed, struct err *err);
/* The same with the four-tuple of each closed socket, one in a line, into out_report
 * (HOSTD_REPORT_MAX). */
bool hostd_kill_report(const char *address, const char *secret, const char *guest_uuid,
                       unsigned *out_killed, char *out_report, struct err *err);

/* Result of a TCP connection from that host to another one within 2 s. REFUSED: the path works, the
 * other end answered. */
enum hostd_path { HOSTD_PATH_OPEN, HOSTD_PATH_REFUSED, HOSTD_PATH_DEAD };
const char *hostd_path_name(enum hostd_path path); /* open refused dead */
bool hostd_probe(const char *address, const char *secret, const char *to_address, unsigned to_port,
                 enum hostd_path *out_path, struct err *err);

/* Does the helper answer, is the secret right, can it close sockets? It tries that on a socket of
 * its own. out_version holds HV_TEXT_MAX. */
bool hostd_ping(const char *address, const char *secret, char *out_version, struct err *err);

/* The address that a name has on that host; out_ip holds HV_TEXT_MAX. NOT_FOUND: it has none there.
 * LIMIT: another lookup is under way. INVALID, here and below: the helper is of an older version.
 */
bool hostd_resolve(const char *address, const char *secret, const char *name, char *out_ip,
                   struct err *err);

enum hostd_fact {
#define FACT(id, word, file) HOSTD_FACT_##id,
#include "hypervisor/hostd/facts.def"
#undef FACT
    HOSTD_FACTS
};
#define HOSTD_FACT_UNKNOWN INT64_MIN
struct hostd_facts {
    int64_t at[HOSTD_FACTS];
};
bool hostd_ask_facts(const char *address, const char *secret, struct hostd_facts *out_facts,
                     struct err *err);

/* Identity of a directory on that host (inspect.h); out_identity holds HV_TEXT_MAX. */
bool hostd_directory(const char *address, const char *secret, const char *path, char *out_identity,
                     struct err *err);

#endif
