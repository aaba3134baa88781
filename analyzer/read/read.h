/* read.h - reads other systems' evidence: logs, dumps of objects, JSON; passed piece by piece to
 * evidence sinks, one per document.
 *
 * The first bytes decide the format (docs/explain.md lists them); an unknown format is text, one
 * message per line. A raw log is one document; so are all Kubernetes objects of an input or a
 * folder, unless they are about several migrations: then each migration gets its own. Each JSON
 * document and each JSON line is one.
 *
 * Hostile input is expected: any byte, lines of any length (cut, and counted), any nesting. Time is
 * linear in the input and memory does not depend on it. No state is kept: one thread per call, any
 * number of calls.
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
    READ_PIECES_MAX = 32 * 1024 * 1024, /* text kept until it is assigned to a migration */
    READ_FILES_MAX = 20000,             /* of a folder */
    READ_DEPTH_MAX = 24,                /* folders within folders */
    READ_PROBLEMS_MAX = 100,            /* reported one by one; all are counted */
    READ_ID_MAX = 320,
};

/* Borrowed: valid until begin returns. Never NULL. */
struct read_case {
    const char *id;     /* the document's own, "namespace/name", or the input's name */
    const char *system; /* "libvirt", "kubevirt", ...; "" when not known */
};

struct read_visitor {
    void *ctx;
    /* A document begins; its messages and facts go to the sink until end. NULL: it is skipped, and
     * end is not called for it. Documents never overlap. */
    const struct evidence_sink *(*begin)(void *ctx, const struct read_case *of);
    void (*end)(void *ctx);
    /* A line or a file that could not be read; reading continues. May be NULL. */
    void (*problem)(void *ctx, const struct err *problem);
    /* Bytes read so far, of all files; called now and then. May be NULL. */
    void (*progress)(void *ctx, uint64_t bytes);
};

struct read_report {
    uint64_t bytes, messages, facts;
    unsigned documents, files;
    unsigned problems; /* also those that were not reported */
    unsigned cut;      /* lines and texts that lost their middle */
};

/* Reads to the end of the descriptor, which stays the caller's. `name` appears in origins and
 * errors. False when the input as a whole cannot be read: empty, compressed ("gzip: ..."), a broken
 * JSON document (with line and column), an I/O error; what came before the error was passed on, and
 * a document that had begun was ended. The report is filled in either way. */
bool read_evidence(int fd, const char *name, const struct read_visitor *visitor,
                   struct read_report *out_report, struct err *err);

/* The same for a file, "-" (standard input) or a folder such as a must-gather: its files by name,
 * links are not followed, and a file that cannot be read is a problem, not a failure. */
bool read_evidence_path(const char *path, const struct read_visitor *visitor,
                        struct read_report *out_report, struct err *err);

#endif
