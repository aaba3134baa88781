/* ownerless.h - the socket of a migration that no process holds any more. Inside hostd/.
 *
 * QEMU up to 7.2 closes the descriptor of a stream that its peer has ended while another of its
 * threads still sends on it. The kernel keeps the socket for that one system call: CLOSE-WAIT, with
 * an inode that is in no /proc/PID/fd. An abort or a yank of the migration has no effect then, and
 * the call ends when TCP gives up, in about 15 minutes.
 *
 * Such a socket is closed only if all of this holds: the guest has a thread that sends on a
 * descriptor which its process has closed; the socket goes from an ephemeral port to a migration
 * port; it is in CLOSE-WAIT, so the target's end is gone; no process of the host holds it; all of
 * that twice, a second apart, of the same socket; and it is the only one.
 */
#ifndef HYPERVISOR_HOSTD_OWNERLESS_H
#define HYPERVISOR_HOSTD_OWNERLESS_H

#include "hypervisor/hostd/sockets.h"

enum { OWNERLESS_AGAIN_MS = 1000, OWNERLESS_MAX = 64 };

/* Reduces the list to those that match the rule and are held by no process below `proc`. */
bool ownerless_choose(const char *proc, const struct socket_rule *rule, struct socket_list *list,
                      int64_t until_ms, struct err *err);
struct ownerless_search {
    const char *proc; /* "/proc" */
    const struct socket_rule *rule;
    int netlink;
    struct socket_list *list; /* working memory */
    int64_t until_ms;
};
/* Looks twice and closes; nothing to close is a success. */
bool ownerless_kill(const struct ownerless_search *search, struct sockets_report *report,
                    struct err *err);

#endif
