/* replay.h - a monitor's decisions about a recorded migration, computed again from the record.
 *
 * The trace has each monitor input: time, sample, other state, and whether its orders were
 * accepted. With the frozen configuration the replay must give the same decisions, byte for byte:
 * the monitor has no other input. With another policy or algorithm it shows what that one would
 * have done on the same samples, and when; it ends where either would have changed the samples:
 * what would have followed is not known. Pure.
 */
#ifndef ANALYZER_REPORT_REPLAY_H
#define ANALYZER_REPORT_REPLAY_H

#include "engine/data/monitor.h"
#include "store/archive.h"

struct json_object;

enum { REPLAY_LINES_MAX = 100 * 1000, REPLAY_TEXT_MAX = 512 };

/* Nothing set: the recorded policy and algorithm. */
struct replay_question {
    bool has_kind;
    enum monitor_kind kind;
    bool has_config;
    struct migration_config config;
};
/* The settings of a MigrationPolicy's spec, over those frozen with the job. */
bool replay_policy(const struct archive *archive, struct json_object *spec,
                   struct replay_question *question, struct err *err);

struct replay_line {
    int64_t at_ms;
    enum monitor_kind monitor;
    bool shadow;
    struct monitor_decision is;
};

enum replay_end {
    REPLAY_SAW_ALL, /* the trace to its end */
    REPLAY_ACTED,   /* the other policy would have changed the migration: see the last line */
    REPLAY_STOPPED, /* the recorded decision changed the migration */
};

struct replay {
    bool is_other; /* another policy or algorithm was asked for */
    size_t n_lines, max_lines;
    struct replay_line *lines; /* owned */
    size_t n_monitor_inputs;
    int64_t seen_ms; /* replayed time since hand-off */
    enum replay_end end;
    /* Not is_other: compared with what was stored. */
    size_t n_stored;
    bool is_same;
    char difference[REPLAY_TEXT_MAX];
};

/* ERR_REFUSED when there is no trace, or samples are missing from it. */
bool replay_run(const struct archive *archive, const struct replay_question *question,
                struct replay *out_replay, struct err *err);
void replay_fini(struct replay *replay);

#endif
