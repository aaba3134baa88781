/* gather.h - what the store holds of a finished migration, handed on as evidence.
 *
 * Reads rows and translates: no clock, no host, no rule. The same rows give the same evidence, so
 * an old failure can be judged again at any time. What cannot be had from the store later (trends
 * of samples that are thinned out, lost connections, QEMU's logs) is made into notes once.
 * Any thread.
 */
#ifndef ANALYZER_RECORD_GATHER_H
#define ANALYZER_RECORD_GATHER_H

#include "analyzer/read/evidence.h"
#include "analyzer/record/notes.h"
#include "engine/snapshot.h"
#include "store/store.h"

/* The job itself, as its row says. */
struct gathered {
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
    char guest[HV_NAME_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
    char ended_by[32];    /* trigger of its last step; empty: it has not ended */
    enum outcome outcome; /* NONE: there is no such job, or it has not ended */
    enum guest_at guest_at;
    bool handed_off;
    bool has_error;        /* the migrate call said that it failed */
    bool recovered;        /* ... and a broken post-copy was taken up again after it */
    bool crashed;          /* it arrived, but a second later the target did not have it any more */
    bool seen_later, back; /* the target was seen then; it was on its source again */
    int64_t created_ms, handed_off_ms, started_ms, ended_ms;
    int64_t called_ms, answered_ms; /* of the newest migrate call; 0: none, no answer */
};

MUST_CHECK bool gather_job(struct store *store, const char *job_uid, struct gathered *out_job,
                           struct err *err);
/* All that the rows say, stored evidence apart. */
MUST_CHECK bool gather_record(struct store *store, const struct gathered *job,
                              const struct evidence_sink *sink, struct err *err);
/* Notes that were stored with a verdict. */
MUST_CHECK bool gather_stored(struct store *store, const char *job_uid,
                              const struct evidence_sink *sink, struct err *err);
/* How the numbers stood when the stream ended, from the samples that are left of it. */
MUST_CHECK bool gather_trends(struct store *store, const struct gathered *job, struct notes *notes,
                              struct err *err);

#endif
