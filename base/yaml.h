/* yaml.h - the wrapper of libyaml: a document as a tree in which every node has its line.
 *
 * Only what configuration needs: maps, lists, scalars. Anchors, aliases, tags and duplicate keys
 * are refused with file and line. Depth, nodes and bytes are bounded.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

enum { YAML_DEPTH_MAX = 16, YAML_NODES_MAX = 200000, YAML_BYTES_MAX = 4 * 1024 * 1024 };

enum yaml_kind { YAML_NULL, YAML_SCALAR, YAML_MAP, YAML_LIST };

struct yaml_node {
    enum yaml_kind kind;
    const char *key;                /* its name in the parent map, else NULL */
    const char *text;               /* scalars */
    bool quoted;                    /* a quoted scalar is text even if it looks like a number */
    int line, column;               /* 1-based */
    struct yaml_node *child, *next; /* first child; next sibling */
};

struct yaml; /* owns every node and text */

/* The documents of one text (separated by ---). `file` appears in errors: "file:line: what". */
struct yaml *yaml_parse(const char *text, size_t n, const char *file, struct err *err);
struct yaml *yaml_read_file(const char *file, struct err *err);
void yaml_discard(struct yaml *yaml);
/* Inline because libyaml exports a yaml_free of its own and would call ours instead. */
static inline void yaml_free(struct yaml *yaml)
{
    yaml_discard(yaml);
}
DEFINE_OWNED(yaml)

size_t yaml_document_count(const struct yaml *yaml);
const struct yaml_node *yaml_document(const struct yaml *yaml, size_t index);
const char *yaml_file(const struct yaml *yaml);

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key); /* or NULL */

/* "file:line: " + text, as ERR_INVALID. */
bool yaml_fail(const struct yaml *yaml, const struct yaml_node *node, struct err *err,
               const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Refuses keys that are not in the list, with the nearest valid one. */
bool yaml_only_keys(const struct yaml *yaml, const struct yaml_node *map, const char *const *keys,
                    size_t n, struct err *err);
/* A map as a table of keys, each with a reader; unknown keys are refused as above. */
struct reading; /* of the file that defines the readers: what they fill */
typedef bool yaml_reader(struct reading *r, const struct yaml_node *node, struct err *err);
struct yaml_key {
    const char *name;
    yaml_reader *read;
};
enum { YAML_KEYS_MAX = 24 }; /* of one table */
bool yaml_read_map(const struct yaml *yaml, const struct yaml_node *map,
                   const struct yaml_key *keys, size_t n, struct reading *r, struct err *err);
bool yaml_text(const struct yaml *yaml, const struct yaml_node *node, const char **out_text,
               struct err *err);
bool yaml_i64(const struct yaml *yaml, const struct yaml_node *node, int64_t min, int64_t max,
              int64_t *out_value, struct err *err);
bool yaml_bool(const struct yaml *yaml, const struct yaml_node *node, bool *out_value,
               struct err *err);
/* The same tree as JSON (plain scalars become numbers, booleans or null as YAML 1.2 core says).
 * New reference. */
struct json_object *yaml_to_json(const struct yaml_node *node);
/* JSON as a YAML document: text that YAML would read as something else is quoted. */
struct buf;
void yaml_write(struct json_object *value, struct buf *out);

#endif
