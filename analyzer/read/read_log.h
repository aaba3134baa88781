/* read_log.h - a log as records: lines are parsed, and those of one record are joined.
 *
 * A traceback, an indented line and a line after a backslash continue the record before them, up to
 * a bound. Where a line shows the side (QEMU's log of an incoming guest, a thread of vdsm, the
 * other node's output in a log of Proxmox) the record has it; else it has the file's.
 */
#ifndef ANALYZER_READ_READ_LOG_H
#define ANALYZER_READ_READ_LOG_H

#include "analyzer/read/read_input.h"
#include "analyzer/read/read_line.h"

enum { LOG_RECORD_MAX = 2 * EVIDENCE_TEXT_MAX + 8, LOG_JOINED_MAX = 500, LOG_NAME_MAX = 128 };

/* The object that a record names; "" else. */
struct log_about {
    const char *ns, *name, *uid;
    enum level level;
};
struct log_taker {
    void *ctx;
    void (*take)(void *ctx, const struct evidence_message *message, const struct log_about *about);
};

/* Reads to the end of the input. `side` is that of the whole file. */
bool log_read(struct input *in, enum side side, const struct log_taker *taker, struct err *err);
/* A taker that passes everything to the open document. */
struct log_taker log_to_document(struct read_out *out);

#endif
