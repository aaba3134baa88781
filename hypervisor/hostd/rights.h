/* rights.h - the helper keeps only what it needs of root: to close sockets (CAP_NET_ADMIN) and to
 * see whose they are (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH). */
#ifndef HYPERVISOR_HOSTD_RIGHTS_H
#define HYPERVISOR_HOSTD_RIGHTS_H

#include "base/err.h"
#include "base/own.h"

/* Of this thread and those it starts; cannot be undone. Call it before there are others, and after
 * listening on a port below 1024. */
MUST_CHECK bool rights_drop(struct err *err);

#endif
