/* kinds.h - words for objects, and where the API keeps them. Pure. */
#ifndef CLI_KINDS_H
#define CLI_KINDS_H

#include <stdbool.h>

#include "base/err.h"

enum { KINDS_PATH_MAX = 2048 };

enum kind {
#define KIND(id, plural, abbreviation, aliases, prefix, namespaced) KIND_##id,
#include "cli/kinds.def"
#undef KIND
    KIND_COUNT
};

/* By plural, short name or alias; ERR_INVALID with the nearest word. */
bool kind_from_word(const char *word, enum kind *out_kind, struct err *err);
const char *kind_short(enum kind kind); /* "vmim" */
bool kind_is_namespaced(enum kind kind);

/* The object's path, percent-encoded; ns NULL: all namespaces; name NULL: the list. out_path
 * holds KINDS_PATH_MAX. ERR_INVALID when it does not fit. */
bool kind_path(enum kind kind, const char *ns, const char *name, char *out_path, struct err *err);

#endif
