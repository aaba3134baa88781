/* read_out.h - where readers put what they find: the open document, what was counted, the cuts.
 * Shared by the files read*.c; for others there is read.h. */
#ifndef ANALYZER_READ_READ_OUT_H
#define ANALYZER_READ_READ_OUT_H

#include "analyzer/read/read.h"

struct read_out {
    const struct read_visitor *visitor;
    struct read_report report;
    const struct evidence_sink *sink; /* of the open document; NULL: nobody listens */
    bool in_document;
    struct err first_problem;
    char *scratch; /* for texts that are cut; EVIDENCE_TEXT_MAX */
};
/* Memory for the scratch; false without. read_out_fini also ends a document left open. */
bool read_out_init(struct read_out *out, const struct read_visitor *visitor, struct err *err);
void read_out_fini(struct read_out *out);

/* The system, where it is known, is the first fact. */
void read_out_begin(struct read_out *out, const char *id, const char *system);
void read_out_end(struct read_out *out);

/* Nothing happens outside of a document. Empty texts are left out; of texts longer than
 * EVIDENCE_TEXT_MAX the middle is. */
void read_out_message(struct read_out *out, const struct evidence_message *message);
/* Empty keys and values are left out. A mode is written as in fact.def: "PostCopy" is postcopy. */
void read_out_fact(struct read_out *out, const struct evidence_fact *fact);

/* Tells and counts it; the caller goes on. */
void read_out_problem(struct read_out *out, const struct err *problem);

/* head + a note + tail of the text, at most `limit` bytes (which is at least 64); returns how
 * many. Both ends are cut between UTF-8 characters where it is UTF-8. out_text may be the text. */
size_t read_cut(const char *text, size_t length, char *out_text, size_t limit);

#endif
