/* read_line.h - one line of any log: its prefix and its message. Pure. */
#ifndef ANALYZER_READ_READ_LINE_H
#define ANALYZER_READ_READ_LINE_H

#include <stdbool.h>

#include "analyzer/read/evidence.h"
#include "base/json.h"

enum level { LEVEL_UNKNOWN, LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };

/* Points into the line. */
struct log_line {
    const char *text; /* the message: what follows time, process, level and source location */
    size_t length;
    const char *logger; /* module or component that wrote it; may be empty */
    size_t logger_length;
    int64_t at_ms;
    enum level level;
    enum side side;
    bool is_json;  /* the message is a JSON object: log_json reads it */
    bool has_time; /* it has a time, also one without a year: a record begins here */
};
void log_line_parse(const char *line, size_t n, struct log_line *out_line);

/* Whether the line continues the line before it. */
bool log_line_is_continued(const char *line, size_t n);

/* A structured record ({"level": ..., "msg": ..., "timestamp": ...}): message, time, level. The
 * texts are borrowed from the object. False when it is not a log record. */
struct log_json {
    const char *message, *reason; /* "" when there is none */
    const char *component;
    const char *name, *ns, *uid; /* of the object it is about */
    int64_t at_ms;
    enum level level;
};
bool log_json_parse(struct json_object *object, struct log_json *out_record);

/* The side that a path or a name contains: words such as "source", "dst", "target-node". */
enum side side_of_path(const char *name);
/* The system that wrote a log, by words at its beginning; "" when not known. */
const char *system_from_words(const char *text, size_t n);

#endif
