/* committer.h - a thread that commits, so that a commit that hangs (a disk, a network file system)
 * does not take the engine's thread with it.
 *
 * One commit at a time: the engine's thread fills the transaction, committer_begin() hands it over,
 * committer_wait() takes it back. In between nobody else may touch the store's objects lane.
 * Only for a store in files: one in memory stays locked from begin to commit, by the thread that
 * began.
 */
#ifndef ENGINE_COMMITTER_H
#define ENGINE_COMMITTER_H

#include "store/store.h"

struct committer;
struct committer *committer_new(struct store *store, struct err *err); /* store: borrowed */
void committer_free(struct committer *c); /* NULL is fine; waits for a commit that is out */
void committer_begin(struct committer *c);
/* False: not within ms of the machine's clock. True: over, *out_good and err as of commit(). */
MUST_CHECK bool committer_wait(struct committer *c, int64_t ms, bool *out_good, struct err *err);

#endif
