/* read_out.h - output of the readers: the open document, counters, cutting of long texts. Shared by
 * the files read*.c; for others there is read.h. */
#ifndef ANALYZER_READ_READ_OUT_H
#define ANALYZER_READ_READ_OUT_H

#include "analyzer/read/read.h"

struct read_out {
    const struct read_visitor *visitor;
    struct read_report report;
    const struct evidence_sink *sink; /* of the open document; NULL: the document is skipped */
    bool in_document;
    struct err first_problem;
    char *scratch; /* for texts that are cut; EVIDENCE_TEXT_MAX */
};
/* Allocates the scratch; false without memory. read_out_fini also ends an open document. */
bool read_out_init(struct read_out *out, const struct read_visitor *visitor, struct err *err);
void read_out_fini(struct read_out *out);

/* The system, where it is known, is the first fact. */
void read_out_begin(struct read_out *out, const char *id, const char *system);
void read_out_end(struct read_out *out);

/* No effect outside of a document. Empty texts are skipped; texts longer than EVIDENCE_TEXT_MAX
 * lose their middle. */
void read_out_message(struct read_out *out, const struct evidence_message *message);
/* Empty keys and values are skipped. A mode is written as in fact.def: "PostCopy" becomes
 * postcopy. */
void read_out_fact(struct read_out *out, const struct evidence_fact *fact);

/* Reports and counts it; the caller continues. */
void read_out_problem(struct read_out *out, const struct err *problem);

/* head + a note + tail of the text, at most `limit` bytes (which is at least 64); returns how
 * many. Both ends are cut between UTF-8 characters where it is UTF-8. out_text may be the text. */
size_t read_cut(const char *text, size_t length, char *out_text, size_t limit);

#endif
