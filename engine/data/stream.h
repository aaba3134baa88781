/* stream.h - is data transferred? Pure.
 *
 * Two measurements: the collector's samples (libvirt's statistics), and, while those are missing or
 * do not tell enough, the answer of the source's QEMU to query-migrate. Both feed one clock:
 * flow_ms is the last moment at which bytes were seen to have moved. Time without any measurement
 * is blind, not quiet: nothing is ordered because of it.
 */
#ifndef ENGINE_DATA_STREAM_H
#define ENGINE_DATA_STREAM_H

#include "collector/sample.h"
#include "engine/model/turn/step.h"

enum {
    STREAM_BLIND_MS = 2000,   /* no sample for so long: QEMU is asked */
    STREAM_AGAIN_MS = 1000,   /* between two queries */
    STREAM_ANSWER_MS = 40000, /* a query's answer is awaited for so long; libvirt waits 30 s for the
                                 monitor */
    STREAM_FRESH_MS = 5000,   /* maximum age of an answer that a decision uses */
    STREAM_PAGE_MS = 60000,   /* nothing could be measured for so long: an operator decides */
};

/* A sample of a running migration. */
void stream_sample(struct job *job, const struct sample *sample, struct moment now);
/* Queries the source's QEMU, unless that was done a moment ago. */
void stream_ask(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Its answer, or err. False: not the open query. */
bool stream_answered(struct job *job, uint64_t id, const struct hv_migration *migration,
                     const struct err *err, struct moment now);
/* Another stream begins, or this process was stopped: what was measured does not count. */
void stream_begin(struct job *job, struct moment now);

/* The longest time for which bytes were measured not to move, up to the newest measurement. */
int64_t stream_quiet_ms(const struct job *job);
/* Time since the newest measurement. */
int64_t stream_blind_ms(const struct job *job, struct moment now);
/* What the source's QEMU said a moment ago; UNKNOWN: nothing. */
enum hv_stream stream_state(const struct job *job, struct moment now);

#endif
