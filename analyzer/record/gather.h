/* gather.h - the store's rows of a finished migration as evidence.
 *
 * Reads rows and translates: no clock, no host, no rule. The same rows give the same evidence, so
 * an old failure can be judged again at any time. What the store will not have later (trends of
 * samples that are thinned out, lost connections, QEMU's logs) becomes notes once. Any thread.
 */
#ifndef ANALYZER_RECORD_GATHER_H
#define ANALYZER_RECORD_GATHER_H

#include "analyzer/read/evidence.h"
#include "analyzer/record/notes.h"
#include "engine/snapshot.h"
#include "store/store.h"

/* Clocks of hosts may differ by so much: older lines of logs are not of this migration. */
enum { GATHERED_CLOCKS_DIFFER_MS = 2000 };

/* The job, from its row. */
struct gathered {
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX];
    char guest[HV_NAME_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
    char ended_by[32];    /* trigger of its last step; empty: it has not ended */
    enum outcome outcome; /* NONE: there is no such job, or it has not ended */
    enum guest_at guest_at;
    bool handed_off;
    bool observed;         /* somebody else's: seldom sampled (collector/foreign_pace.h) */
    bool has_error;        /* the migrate call failed */
    bool recovered;        /* ... and a broken post-copy was recovered after it */
    bool crashed;          /* it arrived, but a second later it had ended on the target */
    bool seen_later, back; /* the target was observed then; the guest was on its source again */
    bool target_logged; /* QEMU's log on the target has lines of this migration: its clock agrees */
    int64_t created_ms, handed_off_ms, started_ms, ended_ms;
    int64_t called_ms, answered_ms; /* of the newest migrate call; 0: none, no answer */
};

MUST_CHECK bool gather_job(struct store *store, const char *job_uid, struct gathered *out_job,
                           struct err *err);
/* All evidence of the rows, except stored evidence. */
MUST_CHECK bool gather_record(struct store *store, const struct gathered *job,
                              const struct evidence_sink *sink, struct err *err);
/* Notes that were stored with a verdict. */
MUST_CHECK bool gather_stored(struct store *store, const char *job_uid,
                              const struct evidence_sink *sink, struct err *err);
/* A line of QEMU's log on the target; one is among the stored evidence. */
bool gather_is_target_log(const struct store_evidence *row);
MUST_CHECK bool gather_has_target_log(struct store *store, const char *job_uid, bool *out_has,
                                      struct err *err);
/* Rates and remaining bytes when the stream ended, from the samples that are left. */
MUST_CHECK bool gather_trends(struct store *store, const struct gathered *job, struct notes *notes,
                              struct err *err);

#endif
