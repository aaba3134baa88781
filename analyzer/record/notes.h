/* notes.h - facts and messages about one migration that no row of the store has yet: collected
 * once, judged, stored as evidence, and judged again from there. Bounded; what does not fit is
 * dropped. One thread.
 */
#ifndef ANALYZER_RECORD_NOTES_H
#define ANALYZER_RECORD_NOTES_H

#include "analyzer/read/evidence.h"
#include "store/row_types.h"

enum { NOTES_MAX = 1024, NOTES_BYTES_MAX = 512 * 1024 };

struct notes {
    struct store_evidence *rows; /* side, origin, key and text are its own */
    size_t n, capacity, bytes;
};

void notes_fini(struct notes *notes);
void notes_message(struct notes *notes, enum side side, const char *origin, int64_t at_ms,
                   const char *text, size_t length);
void notes_fact(struct notes *notes, const char *key, const char *origin, int64_t at_ms,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Passes one on: a message when its key is empty, else a fact. */
void notes_emit_row(const struct store_evidence *row, const struct evidence_sink *sink);
void notes_emit(const struct notes *notes, const struct evidence_sink *sink);

#endif
