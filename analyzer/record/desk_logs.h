/* desk_logs.h - QEMU's logs for the desk, within a time: a file system that hangs delays no
 * verdict.
 *
 * Each reading has a thread of its own that is left behind when it does not come back in time; a
 * few of those at most, then logs are done without. Private to the desk.
 */
#ifndef ANALYZER_RECORD_DESK_LOGS_H
#define ANALYZER_RECORD_DESK_LOGS_H

#include "analyzer/record/notes.h"
#include "base/err.h"
#include "base/own.h"

enum { DESK_LOGS_STUCK_MAX = 4, DESK_LOGS_WAIT_MS = 500 };

struct desk_logs;
struct desk_logs *desk_logs_new(struct err *err);
void desk_logs_free(struct desk_logs *logs); /* readings left behind end by themselves */
DEFINE_OWNED(desk_logs)

struct desk_log {
    const char *dir, *guest, *node;
    enum side side;
    int64_t since_ms; /* wall */
};
/* Adds the lines to notes, and a fact NODE's log could not be read when that is so. */
void desk_logs_read(struct desk_logs *logs, const struct desk_log *log, struct notes *notes);

#endif
