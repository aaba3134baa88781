/* read_line.h - one line of a log, whoever wrote it: what is before the message and what it says.
 * Pure. */
#ifndef ANALYZER_READ_READ_LINE_H
#define ANALYZER_READ_READ_LINE_H

#include <stdbool.h>

#include "analyzer/read/evidence.h"
#include "base/json.h"

enum level { LEVEL_UNKNOWN, LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };

/* Points into the line. */
struct log_line {
    const char *text; /* the message: what is behind time, process, level and place */
    size_t length;
    const char *logger; /* who wrote it: a module, a component; may be empty */
    size_t logger_length;
    int64_t at_ms;
    enum level level;
    enum side side;
    bool is_json;  /* the message is a JSON object: log_json reads it */
    bool has_time; /* it carries a time, also one without a year: a record begins here */
};
void log_line_parse(const char *line, size_t n, struct log_line *out_line);

/* Whether the line goes on with what the line before it said. */
bool log_line_is_continued(const char *line, size_t n);

/* A structured record ({"level": ..., "msg": ..., "timestamp": ...}): message, time, level. The
 * texts are borrowed from the object. False when it is no record of a log. */
struct log_json {
    const char *message, *reason; /* "" when there is none */
    const char *component;
    const char *name, *ns, *uid; /* of the object it is about */
    int64_t at_ms;
    enum level level;
};
bool log_json_parse(struct json_object *object, struct log_json *out_record);

/* What a path or a name says about the side: words such as "source", "dst", "target-node". */
enum side side_of_path(const char *name);
/* What the words of a log's beginning say about who wrote it; "" when nothing does. */
const char *system_from_words(const char *text, size_t n);

#endif
