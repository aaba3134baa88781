/* watch.h - inside the collector: a migration that is being sampled. */
#ifndef COLLECTOR_WATCH_H
#define COLLECTOR_WATCH_H

#include "collector/due.h"
#include "collector/foreign_pace.h"
#include "collector/rate.h"
#include "collector/sample.h"
#include "hypervisor/hv.h"

/* What a watch does. Statistics are polled in POLL only; the state in BEGIN, STALLED and SWITCHOVER
 * only.
 *
 *   BEGIN ------ any answer but paused(migration), or none in patience_ms -----> POLL
 *   BEGIN ------ paused(migration) --------------------------------------------> SWITCHOVER
 *   POLL ------- statistics older than patience_ms ----------------------------> STALLED
 *   any -------- SUSPENDED(migrated) on the source ----------------------------> SWITCHOVER
 *   SWITCHOVER - SUSPENDED(postcopy) ------------------------------------------> POLL
 *   STALLED, SWITCHOVER - present, not paused(migration), none in flight ------> POLL
 *   any -------- unwatched with statistics in flight --------------------------> ENDED
 *
 * BEGIN exists because an adopted guest may already be in its switch-over. ENDED holds the call
 * that still hangs, so that a new watch of the same guest does not add a second one. */
enum watch_mode {
    WATCH_FREE,
    WATCH_BEGIN,
    WATCH_POLL,
    WATCH_STALLED,
    WATCH_SWITCHOVER,
    WATCH_ENDED
};

struct watch {
    enum watch_mode mode;
    size_t slot;
    char job_uid[SAMPLE_JOB_MAX];
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX];
    int64_t next_seq;
    bool is_foreign; /* somebody else's migration */
    struct foreign_pace pace;

    uint64_t stats_id;  /* 0: none in flight */
    bool stats_foreign; /* queried for an earlier watch: no sample of this one */
    enum sample_source stats_source;
    int64_t stats_asked_ms, next_stats_ms;
    uint64_t state_id; /* 0: none in flight */
    int64_t state_asked_ms, next_state_ms;

    bool iteration_waits; /* an iteration began and was not sampled yet */
    bool has_iteration;
    int64_t iteration_ms, iteration_gap_ms;
    bool has_sample, is_measuring; /* measuring: the newest answer was a sample */
    bool is_completed;
    bool is_end_known; /* JOB_ENDED was reported */
    int64_t sample_ms;
    uint64_t remaining, bandwidth_bps;
    struct rate rate;
    struct due due;
};

struct collector;
struct post;
void watch_init(struct collector *c);
void watch_begin(struct collector *c, const struct post *post);
void watch_end(struct collector *c, const char *job_uid);
void watch_run(struct collector *c, struct watch *w);
void watch_event(struct collector *c, const struct hv_event *event);
void watch_stats(struct collector *c, size_t slot, const struct hv_reply *reply);
void watch_state(struct collector *c, size_t slot, const struct hv_reply *reply);

#endif
