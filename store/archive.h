/* archive.h - all records of one migration in memory, in chronological order. For the post-mortem
 * report and replay. Owns all texts. Bounded: of each kind of row the first ARCHIVE_ROWS_MAX are
 * kept, and `is_cut` says when there were more.
 */
#ifndef STORE_ARCHIVE_H
#define STORE_ARCHIVE_H

#include "store/store.h"

enum { ARCHIVE_ROWS_MAX = 200 * 1000, ARCHIVE_EVENTS_MAX = STORE_OBJECT_EVENTS_MAX };

#define ARCHIVE_LIST(type, name) \
    struct {                     \
        struct type *rows;       \
        size_t n, max;           \
    } name

struct archive {
    struct store_job job;
    bool has_verdict, is_cut;
    struct store_verdict verdict;
    ARCHIVE_LIST(store_transition, transitions);
    ARCHIVE_LIST(store_intent, intents);
    ARCHIVE_LIST(store_observation, observations);
    ARCHIVE_LIST(store_error, errors);
    ARCHIVE_LIST(store_mode, modes);
    ARCHIVE_LIST(store_decision, decisions);
    ARCHIVE_LIST(store_event, events);
    ARCHIVE_LIST(store_rejection, rejections);
    ARCHIVE_LIST(store_point, points);
    ARCHIVE_LIST(store_number, numbers);
    ARCHIVE_LIST(store_evidence, evidence);
    ARCHIVE_LIST(store_sample, samples);
    ARCHIVE_LIST(store_monitor_input, monitor_inputs);
    char **texts; /* texts of the rows */
    size_t n_texts, max_texts;
};

/* name: of a migration in ns (the newest of that name), or its uid. ERR_NOT_FOUND when there is
 * none. */
struct archive *archive_load(struct store *store, const char *ns, const char *name,
                             struct err *err);
void archive_free(struct archive *archive);
DEFINE_OWNED(archive)

#endif
