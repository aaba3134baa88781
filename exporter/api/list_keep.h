/* list_keep.h - the snapshots that lists are read from.
 *
 * A long list is sent piece by piece and a paged one over several requests, and each shows one
 * moment: the snapshot with which it began is kept, while a stream reads it and, for pages,
 * LIST_KEEP_MS from the last page. Readers of one snapshot share it. Kept snapshots are bounded by
 * number and by their size; one that waits for its next page is given up for a new one, those
 * that nobody went on with first, and its tokens are then expired (410).
 *
 * Threads: any. One lock, held for a walk over at most LIST_KEEP_MAX. */
#ifndef EXPORTER_API_LIST_KEEP_H
#define EXPORTER_API_LIST_KEEP_H

#include "base/err.h"
#include "base/own.h"
#include "exporter/api/versions.h"

enum {
    LIST_KEEP_MIN = 2,
    LIST_KEEP_MAX = 8,
    LIST_KEEP_BYTES = 32 * 1024 * 1024, /* of all, estimated; LIST_KEEP_MIN are always kept */
    LIST_KEEP_MS = 5 * 60 * 1000,       /* as long as etcd's, by default */
};

struct list_keep;
struct list_keep *list_keep_new(struct err *err);
void list_keep_free(struct list_keep *keep); /* after the last reader */
DEFINE_OWNED(list_keep)

/* A reader of the snapshot of *versions begins; it is kept until list_keep_end(). Its number, which
 * no other snapshot of this process has; 0: too many others are being read. *versions becomes the
 * one that is kept, which another reader of that snapshot may have begun with: only that one lives
 * as long, the objects' versions are the same. */
uint64_t list_keep_begin(struct list_keep *keep, const struct versions **versions, int64_t now_ms);
/* Likewise of one that was kept for pages, by its number; NULL: expired. */
const struct versions *list_keep_resume(struct list_keep *keep, uint64_t number, int64_t now_ms);
/* The reader has ended; is_paged: another page may be asked for. */
void list_keep_end(struct list_keep *keep, uint64_t number, bool is_paged, int64_t now_ms);
void list_keep_tick(struct list_keep *keep, int64_t now_ms); /* drops what is too old */

/* A number of this process, for tokens. */
uint64_t list_keep_id(const struct list_keep *keep);

#endif
