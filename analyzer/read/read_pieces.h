/* read_pieces.h - evidence whose migration is not known yet.
 *
 * Objects of a cluster come in any order: an event before the guest it is about, a pod before the
 * migration that made it. So evidence is kept with its tags until all objects are read; then each
 * migration gets its own. What is kept is bounded; what does not fit is a problem that is reported
 * once.
 */
#ifndef ANALYZER_READ_READ_PIECES_H
#define ANALYZER_READ_READ_PIECES_H

#include "analyzer/read/read_out.h"
#include "base/own.h"

enum { PIECES_MIGRATIONS_MAX = 1000, PIECES_NAME_MAX = 254 };

/* What a piece is about; "": not known. */
struct tags {
    char guest[READ_ID_MAX];    /* "namespace/name" */
    char uid[64];               /* of the migration */
    char pod[PIECES_NAME_MAX];  /* its side is that of the pod */
    char node[PIECES_NAME_MAX]; /* its side is that of the node */
};

/* One migration as found in objects. Times 0: not known. */
struct migration_seen {
    char id[READ_ID_MAX]; /* "namespace/name"; "" when it is found only in the guest */
    char guest[READ_ID_MAX];
    char uid[64];
    char source_pod[PIECES_NAME_MAX], target_pod[PIECES_NAME_MAX];
    char source_node[PIECES_NAME_MAX], target_node[PIECES_NAME_MAX];
    int64_t created_ms, end_ms;
};

struct pieces;
struct pieces *pieces_new(struct read_out *out, struct err *err); /* borrows out */
void pieces_free(struct pieces *pieces);
DEFINE_OWNED(pieces)

void pieces_message(struct pieces *pieces, const struct tags *tags,
                    const struct evidence_message *message);
void pieces_fact(struct pieces *pieces, const struct tags *tags, const struct evidence_fact *fact);
/* Merges with what is known of the same migration (by uid; by id where there is none). */
void pieces_migration(struct pieces *pieces, const struct migration_seen *seen);

/* After all objects: how many documents there will be. */
size_t pieces_documents(const struct pieces *pieces);
/* Whether evidence with these tags belongs to that document, and its side there. */
bool pieces_belongs(const struct pieces *pieces, size_t document, const struct tags *tags,
                    int64_t at_ms, enum side *side);
/* Begins the document, passes on what belongs to it and leaves it open. `name` is the id of a
 * document without a migration. */
void pieces_begin(struct pieces *pieces, size_t document, const char *name);

#endif
