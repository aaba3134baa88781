/* analysis_logs.h - QEMU's logs for the desk, within a time: a file system that hangs delays no
 * verdict.
 *
 * Each reading has a thread of its own that is left behind when it does not come back in time; a
 * few of those at most, then logs are done without. Private to the desk.
 */
#ifndef ANALYZER_RECORD_ANALYSIS_LOGS_H
#define ANALYZER_RECORD_ANALYSIS_LOGS_H

#include "analyzer/record/notes.h"
#include "base/err.h"
#include "base/own.h"

enum { ANALYSIS_LOGS_STUCK_MAX = 4, ANALYSIS_LOGS_WAIT_MS = 500 };

struct analysis_logs;
struct analysis_logs *analysis_logs_new(struct err *err);
void analysis_logs_free(struct analysis_logs *logs); /* readings left behind end by themselves */
DEFINE_OWNED(analysis_logs)

struct analysis_log {
    const char *dir, *guest, *node;
    enum side side;
    int64_t since_ms; /* wall */
};
/* Adds the lines to notes, and a fact NODE's log could not be read when that is so. */
void analysis_logs_read(struct analysis_logs *logs, const struct analysis_log *log,
                        struct notes *notes);

#endif
