/* evidence.h - what is known of one migration that is to be explained: messages and facts.
 *
 * A message is a text that some program wrote, as it wrote it, with where it came from. A fact is
 * a key with a value: Ferry's own keys are the rows of fact.def; those of other systems are kept
 * as they came. Whoever reads evidence (the store, a log file, a dump of objects) hands it on
 * piece by piece to an evidence_sink, so that a log of any length needs no memory of its length.
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
    bool is_own; /* Ferry's own sentence: a condition may ask for it; patterns of what others
                    write are not looked for in it */
};

struct evidence_sink {
    void *ctx;
    void (*message)(void *ctx, const struct evidence_message *message);
    void (*fact)(void *ctx, const struct evidence_fact *fact);
};

#endif
