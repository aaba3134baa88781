/* read_transcript.h - what a reader hands on, written down as text that a test can look at. */
#ifndef TESTS_UNIT_READ_TRANSCRIPT_H
#define TESTS_UNIT_READ_TRANSCRIPT_H

#include "analyzer/read/read.h"
#include "base/text.h"

/* Lines: "begin ID (SYSTEM)", "SIDE TIME ORIGIN: TEXT" (line breaks as \n, other bytes that are no
 * plain text as \xNN), "fact KEY=VALUE", "end", "problem TEXT". */
struct transcript {
    struct buf text;
    struct read_report report;
    struct err err;
    bool is_fine;
    unsigned open;    /* documents that were begun and not ended */
    unsigned longest; /* bytes of the longest message */
};

void transcript_of_path(const char *path, struct transcript *out_transcript);
void transcript_of_bytes(const char *bytes, size_t n, const char *name,
                         struct transcript *out_transcript);
#define TRANSCRIPT_OF(text, name, out) transcript_of_bytes(text, sizeof(text) - 1, name, out)
void transcript_fini(struct transcript *transcript);

#endif
