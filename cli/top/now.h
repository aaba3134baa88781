/* now.h - what `ferry top` knows: migrations that have not ended, open incidents, drains. Pure:
 * events of watches go in.
 *
 * Bounded: NOW_ROWS_MAX objects of a kind are kept, those that move before those that wait; the
 * others are counted. After a watch has begun again, what it did not tell is dropped.
 */
#ifndef CLI_TOP_NOW_H
#define CLI_TOP_NOW_H

#include "base/err.h"
#include "base/json.h"
#include "cli/common/follow.h"
#include "cli/common/progress.h"

enum { NOW_ROWS_MAX = 5000, NOW_NAME_MAX = 254, NOW_NODE_MAX = 64, NOW_TEXT_MAX = 384 };

enum now_kind { NOW_MIGRATIONS, NOW_INCIDENTS, NOW_DRAINS, NOW_KINDS };
enum now_section { SECTION_MOVING, SECTION_WAITING, SECTION_INCIDENTS, SECTION_DRAINS, SECTIONS };

struct now_row {
    enum now_section section;
    bool is_told; /* since the watch has begun */
    uint64_t key; /* of kind, namespace and name */
    char ns[NOW_NODE_MAX], name[NOW_NAME_MAX], guest[NOW_NAME_MAX];
    char from[NOW_NODE_MAX], to[NOW_NODE_MAX]; /* from: also an incident's or drain's node */
    char state[PROGRESS_WORD_MAX];             /* as `ferry get` shows it */
    char reason[PROGRESS_WORD_MAX];            /* of a wait, typed; cause of an incident */
    char text[NOW_TEXT_MAX];                   /* why it waits; what the monitor decided */
    char note[NOW_TEXT_MAX];                   /* on the ETA; what to do about an incident */
    char migration[NOW_NAME_MAX], policy[NOW_NAME_MAX], plane[PROGRESS_WORD_MAX];
    char guest_at[PROGRESS_WORD_MAX];          /* of an incident's verdict */
    bool has_verdict, is_asked;                /* asked: for the verdict */
    int64_t created_ms, since_ms, deadline_ms; /* wall; 0: unknown or none */
    int64_t eta_low_ms, eta_high_ms;           /* < 0: unknown */
    int64_t downtime_ms, max_downtime_ms;      /* expected; limit. < 0: unknown */
    int64_t moved, total, blocked;             /* of a drain */
    struct progress progress;                  /* of a migration */
};

struct now {
    struct now_row *rows; /* owned; in no order */
    uint64_t *keys;       /* owned; of the rows: what is searched */
    size_t n, capacity;
    size_t omitted[NOW_KINDS]; /* known to be there, not kept */
    bool is_synced[NOW_KINDS];
};
void now_init(struct now *now);
void now_fini(struct now *now);

/* One event of a watch. */
void now_take(struct now *now, enum now_kind kind, enum follow_event event,
              struct json_object *object);
/* There is room again for what is not kept: list that kind anew. */
bool now_wants_list(const struct now *now, enum now_kind kind);
/* Numbers of rows of a section. */
size_t now_count(const struct now *now, enum now_section section);
const struct now_row *now_find(const struct now *now, uint64_t key); /* NULL: gone */
bool now_is_synced(const struct now *now);

/* The migration of an incident, as the API shows it; NULL: it does not exist any more. */
void now_take_verdict(struct now *now, uint64_t key, struct json_object *migration);
/* An open incident whose verdict was not asked for yet; NULL: none. It is marked as asked. */
const struct now_row *now_next_unasked(struct now *now);

/* Where the objects of a kind are. */
enum kind now_api_kind(enum now_kind kind);
const char *now_field_selector(enum now_kind kind);

#endif
