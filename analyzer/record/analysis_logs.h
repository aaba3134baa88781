/* analysis_logs.h - QEMU's logs for the analysis worker, with a timeout: a file system that hangs
 * delays no verdict.
 *
 * Each reading has its own thread, which is abandoned on timeout; after a few of those logs are
 * skipped. Private to the worker.
 */
#ifndef ANALYZER_RECORD_ANALYSIS_LOGS_H
#define ANALYZER_RECORD_ANALYSIS_LOGS_H

#include "analyzer/record/notes.h"
#include "base/err.h"
#include "base/own.h"

enum { ANALYSIS_LOGS_STUCK_MAX = 4, ANALYSIS_LOGS_WAIT_MS = 500 };

struct analysis_logs;
struct analysis_logs *analysis_logs_new(struct err *err);
void analysis_logs_free(struct analysis_logs *logs); /* abandoned readings end by themselves */
DEFINE_OWNED(analysis_logs)

struct analysis_log {
    const char *dir, *guest, *node;
    enum side side;
    int64_t since_ms; /* wall */
};
/* Adds the lines to notes, or a fact that the log of NODE could not be read. */
void analysis_logs_read(struct analysis_logs *logs, const struct analysis_log *log,
                        struct notes *notes);

#endif
