/* read_json.h - JSON values as evidence: documents of their own, objects of Kubernetes, records of
 * a log, and anything else. */
#ifndef ANALYZER_READ_JSON_H
#define ANALYZER_READ_JSON_H

#include "analyzer/read_pieces.h"
#include "analyzer/read_values.h"

/* Documents are handed on at once; objects, records and bare texts are put to the pieces. */
struct json_reading {
    struct read_out *out;
    struct pieces *pieces;
    const char *name;
};
struct values_taker json_taker(struct json_reading *reading);

/* Several YAML documents; only objects of Kubernetes are written so. */
bool yaml_objects_read(struct input *in, struct json_reading *reading, struct err *err);

#endif
