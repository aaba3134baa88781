/* read_pieces.c - see read_pieces.h. */
#include "analyzer/read/read_pieces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    PIECE_OVERHEAD = 128,     /* overhead of a piece besides its texts, roughly */
    WINDOW_BEFORE_MS = 10000, /* clocks of nodes differ */
    WINDOW_AFTER_MS = 120000, /* messages of the clean-up count */
    GUESTS = 1024,
    GIVEN_MAX = 1000 * 1000, /* a piece may belong to every migration of its guest */
};

/* A message when key is empty. All texts are stored one after the other in `data`. */
struct piece {
    struct piece *next, *next_same; /* all; those of guests with the same hash */
    size_t length;                  /* of the text */
    int64_t at_ms;
    enum side side;
    const char *text, *key, *origin, *guest, *uid, *pod, *node;
    char data[];
};

struct chain {
    struct piece *first, *last;
};

struct pieces {
    struct read_out *out;
    struct piece *first, **last;
    struct chain guests[GUESTS]; /* by hash; 0: pieces that name no guest */
    size_t bytes;
    struct migration_seen *seen;
    size_t n_seen, capacity, n_objects; /* objects: those with an id */
    size_t given;
    bool was_full;
};

struct pieces *pieces_new(struct read_out *out, struct err *err)
{
    struct pieces *pieces = calloc(1, sizeof *pieces);
    if (pieces == NULL) {
        err_set(err, ERR_NOMEM, "no memory to read objects");
        return NULL;
    }
    pieces->out = out;
    pieces->last = &pieces->first;
    return pieces;
}

void pieces_free(struct pieces *pieces)
{
    if (pieces == NULL)
        return;
    while (pieces->first != NULL) {
        struct piece *piece = pieces->first;
        pieces->first = piece->next;
        free(piece);
    }
    free(pieces->seen);
    free(pieces);
}

static void full(struct pieces *pieces, const char *what)
{
    struct err err = {0};
    if (pieces->was_full)
        return;
    pieces->was_full = true;
    err_set(&err, ERR_LIMIT, "%s; the rest is skipped: pass the files of one migration", what);
    read_out_problem(pieces->out, &err);
}

static const char *put(char **at, const char *text, size_t n)
{
    char *start = *at;
    if (n > 0)
        memcpy(start, text, n);
    start[n] = '\0';
    *at = start + n + 1;
    return start;
}

static size_t hash_of(const char *guest)
{
    size_t hash = 5381;
    if (guest[0] == '\0')
        return 0;
    for (; *guest != '\0'; guest++)
        hash = hash * 33 + (unsigned char)*guest;
    return 1 + hash % (GUESTS - 1);
}

static void add(struct pieces *pieces, const struct tags *tags, const char *key, const char *text,
                size_t length, const struct evidence_message *like)
{
    size_t bytes = sizeof(struct piece) + length + strlen(key) + strlen(like->origin) +
                   strlen(tags->guest) + strlen(tags->uid) + strlen(tags->pod) +
                   strlen(tags->node) + 7;
    if (pieces->bytes + bytes + PIECE_OVERHEAD > READ_PIECES_MAX) {
        full(pieces, "more than 32 MiB about migrations");
        return;
    }
    struct piece *piece = malloc(bytes);
    if (piece == NULL) {
        full(pieces, "no memory for more");
        return;
    }
    char *at = piece->data;
    *piece = (struct piece){.length = length, .at_ms = like->at_ms, .side = like->side};
    piece->text = put(&at, text, length);
    piece->key = put(&at, key, strlen(key));
    piece->origin = put(&at, like->origin, strlen(like->origin));
    piece->guest = put(&at, tags->guest, strlen(tags->guest));
    piece->uid = put(&at, tags->uid, strlen(tags->uid));
    piece->pod = put(&at, tags->pod, strlen(tags->pod));
    piece->node = put(&at, tags->node, strlen(tags->node));
    pieces->bytes += bytes + PIECE_OVERHEAD;
    *pieces->last = piece;
    pieces->last = &piece->next;
    struct chain *chain = &pieces->guests[hash_of(piece->guest)];
    if (chain->last != NULL)
        chain->last->next_same = piece;
    else
        chain->first = piece;
    chain->last = piece;
}

void pieces_message(struct pieces *pieces, const struct tags *tags,
                    const struct evidence_message *message)
{
    struct evidence_message cut = *message;
    if (message->length > EVIDENCE_TEXT_MAX) {
        char *scratch = pieces->out->scratch;
        cut.length = read_cut(message->text, message->length, scratch, EVIDENCE_TEXT_MAX);
        cut.text = scratch;
        pieces->out->report.cut++;
    }
    add(pieces, tags, "", cut.text, cut.length, &cut);
}

void pieces_fact(struct pieces *pieces, const struct tags *tags, const struct evidence_fact *fact)
{
    struct evidence_message like = {.origin = fact->origin, .at_ms = fact->at_ms};
    if (fact->value == NULL || fact->value[0] == '\0' || fact->key[0] == '\0')
        return;
    add(pieces, tags, fact->key, fact->value, strlen(fact->value), &like);
}

static struct migration_seen *find(struct pieces *pieces, const struct migration_seen *seen)
{
    for (size_t i = 0; i < pieces->n_seen; i++) {
        struct migration_seen *known = &pieces->seen[i];
        bool is_same = seen->uid[0] != '\0' ? text_equal(known->uid, seen->uid)
                                            : text_equal(known->id, seen->id) &&
                                                  text_equal(known->guest, seen->guest);
        if (is_same)
            return known;
    }
    return NULL;
}

static struct migration_seen *grow(struct pieces *pieces)
{
    if (pieces->n_seen >= PIECES_MIGRATIONS_MAX) {
        full(pieces, "more than 1000 migrations");
        return NULL;
    }
    if (pieces->n_seen == pieces->capacity) {
        size_t capacity = pieces->capacity == 0 ? 4 : pieces->capacity * 2;
        struct migration_seen *larger = reallocarray(pieces->seen, capacity, sizeof *larger);
        if (larger == NULL) {
            full(pieces, "no memory for migrations");
            return NULL;
        }
        pieces->seen = larger;
        pieces->capacity = capacity;
    }
    pieces->seen[pieces->n_seen] = (struct migration_seen){0};
    return &pieces->seen[pieces->n_seen++];
}

#define FILL(known, seen, field)                     \
    do {                                             \
        if ((seen)->field[0] != '\0')                \
            TEXT_SET((known)->field, (seen)->field); \
    } while (0)

void pieces_migration(struct pieces *pieces, const struct migration_seen *seen)
{
    struct migration_seen *known = find(pieces, seen);
    if (known == NULL && (known = grow(pieces)) == NULL)
        return;
    pieces->n_objects += known->id[0] == '\0' && seen->id[0] != '\0';
    FILL(known, seen, id);
    FILL(known, seen, guest);
    FILL(known, seen, uid);
    FILL(known, seen, source_pod);
    FILL(known, seen, target_pod);
    FILL(known, seen, source_node);
    FILL(known, seen, target_node);
    if (seen->created_ms != 0)
        known->created_ms = seen->created_ms;
    if (seen->end_ms != 0)
        known->end_ms = seen->end_ms;
}

/* Migrations that are objects; without any, those found in guests; else one document. */
size_t pieces_documents(const struct pieces *pieces)
{
    if (pieces->n_seen == 0)
        return pieces->first != NULL ? 1 : 0;
    return pieces->n_objects > 0 ? pieces->n_objects : pieces->n_seen;
}

static const struct migration_seen *migration_at(const struct pieces *pieces, size_t document)
{
    for (size_t i = 0; i < pieces->n_seen; i++) {
        if (pieces->n_objects > 0 && pieces->seen[i].id[0] == '\0')
            continue;
        if (document-- == 0)
            return &pieces->seen[i];
    }
    return NULL;
}

/* "" is compatible with everything. */
static bool agree(const char *a, const char *b)
{
    return a[0] == '\0' || b[0] == '\0' || strcmp(a, b) == 0;
}

static bool is(const char *a, const char *b)
{
    return a[0] != '\0' && strcmp(a, b) == 0;
}

static bool in_window(const struct migration_seen *m, int64_t at_ms)
{
    if (at_ms == 0)
        return true;
    bool is_early = m->created_ms != 0 && at_ms < m->created_ms - WINDOW_BEFORE_MS;
    bool is_late = m->end_ms != 0 && at_ms > m->end_ms + WINDOW_AFTER_MS;
    return !is_early && !is_late;
}

/* Whether the tags of a piece or of a log match the migration. */
static bool belongs(const struct pieces *pieces, const struct migration_seen *m,
                    const struct piece *tags, int64_t at_ms, enum side *side)
{
    if (m == NULL)
        return true;
    if (!agree(tags->guest, m->guest)) /* first: it is the most selective */
        return false;
    bool is_source = is(tags->pod, m->source_pod), is_target = is(tags->pod, m->target_pod);
    is_source = is_source || (tags->node[0] != '\0' && is(tags->node, m->source_node));
    is_target = is_target || (tags->node[0] != '\0' && is(tags->node, m->target_node));
    if (tags->node[0] != '\0' && !is_source && !is_target)
        return false;
    if (!is_source && !agree(tags->uid, m->uid))
        return false;
    bool is_ours = is_source || is_target || is(tags->uid, m->uid) || is(tags->guest, m->guest);
    if (!is_ours && pieces_documents(pieces) > 1)
        return false;
    if (is_source != is_target)
        *side = is_source ? SIDE_SOURCE : SIDE_TARGET;
    return is(tags->uid, m->uid) || in_window(m, at_ms);
}

bool pieces_belongs(const struct pieces *pieces, size_t document, const struct tags *tags,
                    int64_t at_ms, enum side *side)
{
    struct piece like = {
        .guest = tags->guest, .uid = tags->uid, .pod = tags->pod, .node = tags->node};
    return belongs(pieces, migration_at(pieces, document), &like, at_ms, side);
}

static void give(struct pieces *pieces, const struct piece *piece, enum side side)
{
    if (piece->key[0] != '\0') {
        struct evidence_fact fact = {.key = piece->key,
                                     .value = piece->text,
                                     .origin = piece->origin,
                                     .at_ms = piece->at_ms};
        read_out_fact(pieces->out, &fact);
        return;
    }
    struct evidence_message message = {.text = piece->text,
                                       .length = piece->length,
                                       .origin = piece->origin,
                                       .side = side,
                                       .at_ms = piece->at_ms};
    read_out_message(pieces->out, &message);
}

/* False when there is no room for more. */
static bool give_if_ours(struct pieces *pieces, const struct migration_seen *m,
                         const struct piece *piece)
{
    enum side side = piece->side;
    if (!belongs(pieces, m, piece, piece->at_ms, &side))
        return true;
    if (pieces->given++ >= GIVEN_MAX) {
        full(pieces, "more than a million pieces about migrations");
        return false;
    }
    give(pieces, piece, side);
    return true;
}

static void give_chain(struct pieces *pieces, const struct migration_seen *m, size_t hash)
{
    const struct piece *piece = pieces->guests[hash].first;
    while (piece != NULL && give_if_ours(pieces, m, piece))
        piece = piece->next_same;
}

void pieces_begin(struct pieces *pieces, size_t document, const char *name)
{
    const struct migration_seen *m = migration_at(pieces, document);
    const char *id = m == NULL ? name : m->id[0] != '\0' ? m->id : m->guest;
    assert(document == 0 || m != NULL);
    read_out_begin(pieces->out, id[0] != '\0' ? id : name, "kubevirt");
    if (m != NULL && m->guest[0] != '\0' && pieces_documents(pieces) > 1) {
        give_chain(pieces, m, hash_of(m->guest));
        give_chain(pieces, m, 0);
        return;
    }
    const struct piece *piece = pieces->first;
    while (piece != NULL && give_if_ours(pieces, m, piece))
        piece = piece->next;
}
