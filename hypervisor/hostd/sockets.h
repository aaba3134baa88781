/* sockets.h - finds the sockets that carry a guest's migration, and closes exactly these.
 *
 * What `ss -K` does: the kernel ends the connection at once (SOCK_DESTROY of NETLINK_SOCK_DIAG) and
 * QEMU sees an error where it was blocked. Each socket is identified by the kernel's cookie, so it
 * cannot be confused with a later one with the same ports.
 *
 * A stream goes from any port of the source to a migration port of the target. Of the guest's
 * sockets these are closed: those it opened to such a port and, if there are none and it was
 * started for an incoming migration, those that were opened to such a port of it. The other end
 * must have an ephemeral port: that excludes storage, consoles and other servers with fixed ports
 * whose peer port happens to be in the range. If there are none at all, the socket may be one that
 * no process holds any more: ownerless.h.
 */
#ifndef HYPERVISOR_HOSTD_SOCKETS_H
#define HYPERVISOR_HOSTD_SOCKETS_H

#include <linux/inet_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "hypervisor/hostd/process.h"

enum {
    SOCKETS_KILL_MAX = 128, /* 64 parallel streams, a control stream, disks; more is no migration */
    SOCKETS_TEXT_MAX = 112,
    SOCKETS_PORT_MIN = 49152, /* libvirt's defaults: migration_port_min and _max */
    SOCKETS_PORT_MAX = 49215,
};

struct socket_seen {
    int family, state; /* AF_INET or AF_INET6; the kernel's TCP_... */
    uint32_t inode;
    struct inet_diag_sockid id;
};
struct socket_list { /* large: not for the stack */
    size_t n;
    struct socket_seen at[PROCESS_SOCKETS_MAX];
};

/* Adds those sockets of one netlink datagram that belong to the guest (NULL: all). out_end: it was
 * the last. */
bool sockets_read(const void *datagram, size_t bytes, const struct process_sockets *guest,
                  struct socket_list *list, bool *out_end, struct err *err);

struct socket_rule {
    unsigned port_min, port_max; /* ports of incoming streams */
    unsigned given_from;         /* first ephemeral port */
    bool incoming;               /* the guest was started for an incoming migration */
};
/* Marks in out_chosen (as long as the list) the sockets that match the rule; returns how many. */
size_t sockets_choose(const struct socket_list *list, const struct socket_rule *rule,
                      bool *out_chosen);
/* "10.0.0.1:41234>10.0.0.2:49152", ours first; out_text holds SOCKETS_TEXT_MAX. */
void sockets_text(const struct socket_seen *socket, char *out_text);

struct sockets_config {
    const char *proc; /* "/proc" */
    unsigned port_min, port_max;
    struct identity identity; /* what proves that a process is a guest's QEMU */
};
struct sockets_report {
    unsigned n; /* closed */
    struct socket_seen closed[SOCKETS_KILL_MAX];
};
/* NOT_FOUND: no process of that guest here. FORBIDDEN: rights are missing. REFUSED: the kernel
 * cannot. The report also has what was closed before a failure. */
bool sockets_kill(const struct sockets_config *config, const char *uuid, int64_t until_ms,
                  struct sockets_report *out_report, struct err *err);

/* Makes a socket and closes it this way: the same failures as above. */
bool sockets_self_test(struct err *err);

#endif
