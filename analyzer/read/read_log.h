/* read_log.h - a log as records: lines taken apart, and those that belong together put together.
 *
 * A traceback, an indented line and a line after a backslash go on with the record before them,
 * up to a bound. Where a line tells the side (QEMU's log of an incoming guest, a thread of vdsm,
 * what Proxmox heard from the other node) the record has it; else it has the file's.
 */
#ifndef ANALYZER_READ_READ_LOG_H
#define ANALYZER_READ_READ_LOG_H

#include "analyzer/read/read_input.h"
#include "analyzer/read/read_line.h"

enum { LOG_RECORD_MAX = 2 * EVIDENCE_TEXT_MAX + 8, LOG_JOINED_MAX = 500, LOG_NAME_MAX = 128 };

/* The object a record is about, where it says so; "" else. */
struct log_about {
    const char *ns, *name, *uid;
    enum level level;
};
struct log_taker {
    void *ctx;
    void (*take)(void *ctx, const struct evidence_message *message, const struct log_about *about);
};

/* Reads to the end of the input. `side` is what the file as a whole tells. */
bool log_read(struct input *in, enum side side, const struct log_taker *taker, struct err *err);
/* A taker that hands everything to the open document. */
struct log_taker log_to_document(struct read_out *out);

#endif
