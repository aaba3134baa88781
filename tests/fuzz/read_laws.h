/* read_laws.h - a visitor that holds readers to their contract: documents do not overlap, texts are
 * bounded, what is counted is what came. */
#ifndef TESTS_FUZZ_READ_LAWS_H
#define TESTS_FUZZ_READ_LAWS_H

#include "analyzer/read/read.h"

struct read_laws {
    struct evidence_sink sink;
    bool is_open;
    unsigned documents, problems;
    uint64_t messages, facts;
};
/* The visitor borrows the laws. */
struct read_visitor read_laws_visitor(struct read_laws *laws);
/* What the call said and what was seen fit together. */
void read_laws_check(const struct read_laws *laws, const struct read_report *report, bool is_fine,
                     const struct err *err);

/* A descriptor that gives these bytes; the caller closes it. */
int read_laws_fd(const uint8_t *data, size_t n);

#endif
