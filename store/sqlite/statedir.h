/* statedir.h - the state directory and the lock that keeps a second appliance out of it.
 *
 * The lock is flock(2) on DIR/lock: the kernel drops it when the process dies, however it
 * dies, so there are no stale locks. The pid inside is only for the error text.
 * Private to store/.
 */
#ifndef STORE_STATEDIR_H
#define STORE_STATEDIR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"
#include "store/sqlite/db.h"

struct statedir {
    char dir[DB_PATH_MAX], lock_path[DB_PATH_MAX];
    int lock_fd;              /* -1: not held */
    bool made_dir, made_lock; /* by this process; removed when opening fails */
};

/* Creates a missing directory (not its parents) and takes the lock. */
MUST_CHECK bool statedir_init(struct statedir *state, const char *dir, struct err *err);
/* Releases the lock. undo: also removes what statedir_init() created. What root made is given to
 * the owner of the directory. */
void statedir_fini(struct statedir *state, bool undo);
/* A rename in the directory is durable only after this. */
MUST_CHECK bool statedir_sync(const struct statedir *state, struct err *err);

#endif
