/* netlink.h - lists the kernel's TCP sockets and closes one. Inside hostd/. */
#ifndef HYPERVISOR_HOSTD_NETLINK_H
#define HYPERVISOR_HOSTD_NETLINK_H

#include "hypervisor/hostd/sockets.h"

bool netlink_open(int *out_fd, struct err *err); /* the caller closes it */
/* Adds the guest's TCP sockets of a family, listening ones too, to the list. */
bool netlink_list(int fd, int family, const struct process_sockets *guest, struct socket_list *list,
                  struct err *err);
/* The host's TCP sockets in one state, whoever holds them. */
bool netlink_list_state(int fd, int family, int state, struct socket_list *list, struct err *err);
/* out_closed is false when that socket is gone by now. */
bool netlink_destroy(int fd, const struct socket_seen *socket, bool *out_closed, struct err *err);

#endif
