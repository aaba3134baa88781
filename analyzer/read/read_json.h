/* read_json.h - JSON values as evidence: documents of their own, objects of Kubernetes, records of
 * a log, and anything else. */
#ifndef ANALYZER_READ_READ_JSON_H
#define ANALYZER_READ_READ_JSON_H

#include "analyzer/read/read_pieces.h"
#include "analyzer/read/read_values.h"

/* Documents are passed on at once; objects, records and bare texts are added to the pieces. */
struct json_reading {
    struct read_out *out;
    struct pieces *pieces;
    const char *name;
};
struct values_taker json_taker(struct json_reading *reading);

/* Objects of Kubernetes as YAML: documents with --- between them, and lists as kubectl writes them,
 * whose items are read one by one. A broken object is a problem; reading continues. */
bool yaml_objects_read(struct input *in, struct json_reading *reading, struct err *err);

#endif
