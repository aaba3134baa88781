/* identity.h - is this process a guest's QEMU, or does it only say so?
 *
 * Arguments are what a process likes: any local user can run something with `-uuid UUID`, and many
 * sockets, to get in the way of a rescue. A guest's QEMU is a process that libvirt wrote a pid file
 * for, and that runs as QEMU's user or as root. The pid files lie in a directory that only root
 * writes. */
#ifndef HYPERVISOR_HOSTD_IDENTITY_H
#define HYPERVISOR_HOSTD_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define IDENTITY_PID_DIR "/run/libvirt/qemu"
enum { IDENTITY_FILES_MAX = 65536 };

struct identity {
    const char *pid_dir; /* NULL: nothing is checked (tests of the search itself) */
    uid_t user;          /* QEMU's */
};

/* The user of that name; an empty name: libvirt-qemu or qemu, else root. ERR_NOT_FOUND. */
bool identity_user(const char *name, uid_t *out_user, struct err *err);
/* `dir` is the process' directory in /proc. */
bool identity_is_qemu(const struct identity *identity, pid_t pid, int dir);

#endif
