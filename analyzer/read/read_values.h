/* read_values.h - a stream of JSON of any length, one value at a time.
 *
 * Values may follow each other, one per line or not, or be the elements of a list: an array, or the
 * "items" of a Kubernetes list, which are given one by one so that a dump of a whole cluster needs
 * the memory of its largest object.
 */
#ifndef ANALYZER_READ_READ_VALUES_H
#define ANALYZER_READ_READ_VALUES_H

#include "analyzer/read/read_input.h"
#include "base/json.h"

struct value {
    struct json_object *object; /* borrowed; never JSON's null */
    const char *list_kind;      /* "PodList" when it is an item of such a list, else "" */
    int line;                   /* where it begins */
};
struct values_taker {
    void *ctx;
    void (*take)(void *ctx, const struct value *value);
};

/* JSON lines: every line is a value, and a broken one is a problem, reported with line and column.
 * Otherwise a broken value is an error: ERR_INVALID "NAME: line L column C: what". */
bool values_read(struct input *in, bool is_by_line, const struct values_taker *taker,
                 struct err *err);

/* Whether what was peeked is one value per line. */
bool values_are_lines(const char *text, size_t n);

#endif
