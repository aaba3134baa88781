/* process.h - which sockets belong to a guest's QEMU, read from /proc.
 *
 * libvirt gives every QEMU `-uuid UUID`, so the guest is found without libvirt, which may hang; its
 * pid file proves that it is one (identity.h).
 * Only processes in the helper's own network namespace count: /proc may show others, whose sockets
 * must not be closed.
 */
#ifndef HYPERVISOR_HOSTD_PROCESS_H
#define HYPERVISOR_HOSTD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "hypervisor/hostd/identity.h"

enum {
    PROCESS_SCAN_MAX = 1 << 20, /* entries of /proc */
    PROCESS_FILES_MAX = 65536,  /* files of one process */
    PROCESS_SOCKETS_MAX = 4096, /* sockets of one guest */
    PROCESS_LINE_MAX = 65536,   /* of a command line; `-uuid` is near its beginning */
};

struct process_sockets {
    unsigned processes;   /* of that guest; 0: it does not run here */
    bool incoming;        /* it was started for an incoming migration, perhaps long ago */
    bool sends_on_closed; /* a thread of it sends on a descriptor that it has closed meanwhile */
    size_t n;
    uint64_t inodes[PROCESS_SOCKETS_MAX]; /* in order */
};

struct process_search {
    const char *proc; /* "/proc" */
    struct identity identity;
};

/* Processes that only claim to be the guest do not count (identity.h). Fails when a process of the
 * guest cannot be inspected. */
bool process_sockets_of(const struct process_search *search, const char *uuid, int64_t until_ms,
                        struct process_sockets *out_sockets, struct err *err);
/* Which of these inodes some process holds, whatever its network. Fails when one cannot be
 * inspected. */
struct process_inode {
    uint64_t inode;
    bool held;
};
bool process_find_holders(const char *proc, struct process_inode *inodes, size_t n,
                          int64_t until_ms, struct err *err);
bool process_has_socket(const struct process_sockets *sockets, uint64_t inode);

#endif
