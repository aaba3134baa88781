/* evidence.h - evidence about one migration: messages and facts.
 *
 * A message is the unchanged text of some program, with its origin. A fact is a key with a value:
 * Ferry's own keys are the rows of fact.def; those of other systems are kept. Readers (of the
 * store, a log file, a dump of objects) pass evidence piece by piece to an evidence_sink, so that
 * memory does not grow with the length of a log.
 */
#ifndef ANALYZER_READ_EVIDENCE_H
#define ANALYZER_READ_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum side { SIDE_UNKNOWN, SIDE_SOURCE, SIDE_TARGET, SIDE_MANAGER, SIDES };

enum {
    EVIDENCE_TEXT_MAX = 16 * 1024, /* of a message at once; longer ones are read in pieces */
    EVIDENCE_ORIGIN_MAX = 160,
    EVIDENCE_KEY_MAX = 64,
};

/* Borrowed: valid until the sink returns. Text may hold any byte. */
struct evidence_message {
    const char *text;
    size_t length;
    const char *origin; /* "libvirtd.log:1203", "migrate call on node a", "event FailedMigration" */
    enum side side;
    int64_t at_ms; /* wall, 0: not known */
};
struct evidence_fact {
    const char *key, *value; /* "mode" "postcopy"; numbers as decimal text */
    const char *origin;
    int64_t at_ms;
    bool is_own; /* Ferry's own sentence: conditions may use it; it is not searched for patterns of
                    other programs' messages */
};

struct evidence_sink {
    void *ctx;
    void (*message)(void *ctx, const struct evidence_message *message);
    void (*fact)(void *ctx, const struct evidence_fact *fact);
};

#endif
