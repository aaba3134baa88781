/* documents.h - objects from files for `ferry apply`, and the patch for each. Pure except for
 * reading the file.
 *
 * A file holds YAML documents separated by ---, or JSON; a List is expanded to its items. Every
 * document, and every error about it, has its file, number and line.
 */
#ifndef CLI_COMMON_DOCUMENTS_H
#define CLI_COMMON_DOCUMENTS_H

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/common/kinds.h"

enum { DOCUMENTS_MAX = 10000, DOCUMENT_FILE_MAX = 128, DOCUMENT_NAME_MAX = 254 };

struct document {
    struct json_object *object; /* owned: apiVersion, kind, metadata, spec; status is dropped */
    enum kind kind;
    char ns[DOCUMENT_NAME_MAX];   /* empty: the caller's */
    char name[DOCUMENT_NAME_MAX]; /* empty: generateName */
    char file[DOCUMENT_FILE_MAX];
    size_t number; /* in its file, from 1 */
    int line;
};
struct documents {
    size_t n, capacity;
    struct document *items;
};
struct documents *documents_new(struct err *err);
void documents_free(struct documents *documents);
DEFINE_OWNED(documents)

/* Adds the documents of a file; "-" is standard input. ERR_INVALID "FILE: document 2, line 7:
 * what". */
bool documents_read(struct documents *documents, const char *file, struct err *err);
bool documents_parse(struct documents *documents, const char *text, size_t n, const char *file,
                     struct err *err);
/* Prefixes the text of err with "FILE: document N, line L: ". Returns false. */
bool document_wrap_err(const struct document *document, struct err *err);

/* The merge patch from `current` to the document; NULL: they are equal. A new reference. */
struct json_object *document_patch(const struct document *document, struct json_object *current);

#endif
