/* read_session.h - one call of read.h while it runs: a file, or all files of a folder. */
#ifndef ANALYZER_READ_READ_SESSION_H
#define ANALYZER_READ_READ_SESSION_H

#include "analyzer/read/read_json.h"
#include "analyzer/read/read_log.h"

enum format { FORMAT_EMPTY, FORMAT_JSON, FORMAT_JSON_LINES, FORMAT_YAML, FORMAT_LOG };

struct session {
    struct read_out out;
    struct pieces *pieces;
};
/* Call session_close also after a failed session_open. */
bool session_open(struct session *s, const struct read_visitor *visitor, struct err *err);
void session_close(struct session *s, struct read_report *out_report);

/* Detects the format and reads everything but logs, of which nothing is consumed. Objects go to the
 * pieces. */
bool session_input(struct session *s, struct input *in, enum format *out_format, struct err *err);
/* After all inputs: passes on the documents of objects. */
void session_deliver(struct session *s, const char *name);
/* False when there was no document: err is the first problem, or says that there is none. */
bool session_check(const struct session *s, const char *name, struct err *err);

#endif
