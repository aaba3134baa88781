/* backup.h - a copy of a whole state directory in one file, and a state directory made of it.
 *
 * backup_make() reads through SQLite's online backup, beside an appliance that runs on the
 * directory or without one; it takes no lock and changes nothing there. Both databases are copied
 * as of one moment: the samples' snapshot is taken first, the objects' right after it, so no sample
 * belongs to a migration that the copy does not know; what may be missing is the last batch, as
 * after a crash. The file appears under its name when it is complete.
 *
 * What a backup holds is old. backup_restore() marks it so: every unfinished migration is
 * `unconfirmed` (no order is given for it until a host has confirmed it: engine/data/confirm.h),
 * unfinished drains are cancelled and evacuations dropped (nobody knows what became of them;
 * cordons stay), and the appliance gets a new epoch. Which tokens were deleted since cannot be
 * known: they are counted, or all removed.
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct backup_report {
    int64_t made_ms; /* wall clock */
    int64_t bytes;
    int64_t migrations, unfinished;
    int64_t tokens; /* of a restored one: valid again, deleted since or not */
};

/* An existing file is replaced. */
MUST_CHECK bool backup_make(const char *dir, const char *file, int64_t wall_ms,
                            struct backup_report *out_report, struct err *err);
enum backup_tokens { BACKUP_TOKENS_KEEP, BACKUP_TOKENS_REMOVE };
/* dir may not exist yet, and must not hold a database: ERR_EXISTS. ERR_LOCKED: an appliance runs on
 * it. ERR_CORRUPT, ERR_NEWER: the file is not restored, the directory is as before. */
MUST_CHECK bool backup_restore(const char *file, const char *dir, enum backup_tokens tokens,
                               int64_t wall_ms, struct backup_report *out_report, struct err *err);

#endif
