/* read.h - evidence that other systems left: logs, dumps of objects, JSON; handed on piece by
 * piece to evidence sinks, one per document.
 *
 * What it is is told from the first bytes (docs/explain.md lists the formats); what nobody knows
 * is text, one message per line. A raw log is one document; so are all Kubernetes objects of an
 * input or a folder, unless they tell of several migrations: then each gets what is about it. Of
 * JSON documents and JSON lines each is one.
 *
 * Hostile input is expected: any byte, lines of any length (cut, and it is said), any nesting.
 * Time is linear in the input and memory does not depend on it. No state is kept: one thread per
 * call, any number of calls.
 */
#ifndef ANALYZER_READ_READ_H
#define ANALYZER_READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/read/evidence.h"
#include "base/err.h"

enum {
    READ_LINE_MAX = 256 * 1024,         /* of a line of a log; the middle of longer ones is cut */
    READ_VALUE_MAX = 16 * 1024 * 1024,  /* of one JSON document or one object of a list */
    READ_PIECES_MAX = 32 * 1024 * 1024, /* text kept to tell several migrations apart */
    READ_FILES_MAX = 20000,             /* of a folder */
    READ_DEPTH_MAX = 24,                /* folders within folders */
    READ_PROBLEMS_MAX = 100,            /* told one by one; all are counted */
    READ_ID_MAX = 320,
};

/* Borrowed: valid until begin returns. Never NULL. */
struct read_case {
    const char *id;     /* the document's own, "namespace/name", or the input's name */
    const char *system; /* "libvirt", "kubevirt", ...; "" when nothing tells */
};

struct read_visitor {
    void *ctx;
    /* A document begins; its messages and facts go to the sink until end. NULL: nobody wants it,
     * and end is not called for it. Documents never overlap. */
    const struct evidence_sink *(*begin)(void *ctx, const struct read_case *of);
    void (*end)(void *ctx);
    /* A line or a file that could not be read; the rest goes on. May be NULL. */
    void (*problem)(void *ctx, const struct err *problem);
    /* So many bytes were read so far, of all files; now and then. May be NULL. */
    void (*progress)(void *ctx, uint64_t bytes);
};

struct read_report {
    uint64_t bytes, messages, facts;
    unsigned documents, files;
    unsigned problems; /* also those that were not told */
    unsigned cut;      /* lines and texts of which the middle was left out */
};

/* Reads to the end of the descriptor, which stays the caller's. `name` appears in origins and
 * errors. False when the input as a whole cannot be read: nothing in it, packed ("gzip: ..."), a
 * JSON document that is broken (with line and column), an I/O error; what came before it was
 * handed on, and a document that had begun was ended. The report is filled in either way. */
bool read_evidence(int fd, const char *name, const struct read_visitor *visitor,
                   struct read_report *out_report, struct err *err);

/* The same for a file, "-" (standard input) or a folder such as a must-gather: its files by name,
 * links are not followed, and a file that cannot be read is a problem, not the end. */
bool read_evidence_path(const char *path, const struct read_visitor *visitor,
                        struct read_report *out_report, struct err *err);

#endif
