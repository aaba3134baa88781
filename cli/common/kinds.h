/* kinds.h - names of kinds, and their API paths. Pure. */
#ifndef CLI_COMMON_KINDS_H
#define CLI_COMMON_KINDS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

enum { KINDS_PATH_MAX = 2048 };

enum kind {
#define KIND(id, served, abbreviation, aliases, edit, noun, keep) KIND_##id,
#include "cli/common/kinds.def"
#undef KIND
    KIND_COUNT
};

/* What `ferry apply` may do: kinds.def. */
enum kind_edit { KIND_EDIT_REPLACE, KIND_EDIT_OVERLAY, KIND_EDIT_NEVER };
#define KIND_WORDS                                                                          \
    "migrations (vmim), guests (vmi), nodes (no), policies (mp), quotas, namespaces (ns), " \
    "drains, "                                                                              \
    "incidents (inc), pods (po) and events (ev)"

/* By plural, short name or alias; ERR_INVALID names the nearest. */
bool kind_from_word(const char *word, enum kind *out_kind, struct err *err);
/* A name where an object of `kind` is wanted: "web", or "vmi/web" as -o name prints it. ERR_INVALID
 * when the word names another kind. *out_name points into word. */
bool kind_name_in(const char *word, enum kind kind, const char **out_name, struct err *err);
/* KIND, KIND NAME or KIND/NAME; name NULL: not given, and so is *out_name then. */
bool kind_and_name(const char *word, const char *name, enum kind *out_kind, const char **out_name,
                   struct err *err);
const char *kind_noun(enum kind kind);  /* "a migration" */
const char *kind_keep(enum kind kind);  /* instead of a deletion: kinds.def */
const char *kind_short(enum kind kind); /* "vmim" */
const char *kind_name(enum kind kind);  /* "VirtualMachineInstanceMigration" */
bool kind_is_namespaced(enum kind kind);
enum kind_edit kind_edit(enum kind kind);
/* By apiVersion and kind of a document. ERR_INVALID names the nearest kind or the right version. */
bool kind_from_document(const char *api_version, const char *name, enum kind *out_kind,
                        struct err *err);
/* "kubevirt.io/v1"; borrowed from the table. */
const char *kind_api_version(enum kind kind);

/* The object's path, percent-encoded; ns NULL: all namespaces; name NULL: the list. out_path
 * holds KINDS_PATH_MAX. ERR_INVALID when it does not fit. */
bool kind_path(enum kind kind, const char *ns, const char *name, char *out_path, struct err *err);
/* Adds "KEY=VALUE" to the query of a path, encoded; an empty value adds nothing. */
void path_add_query(struct buf *path, const char *key, const char *value);
/* Path of the events of an object; false: that is no uid. out_path holds KINDS_PATH_MAX. */
bool kind_events_path(const char *uid, char *out_path);
/* The same of a node: its events have no uid, for it is known by its name. */
bool kind_node_events_path(const char *name, char *out_path);
/* Path of the checks of a guest: create only. */
bool kind_check_path(const char *ns, char *out_path, struct err *err);

#endif
