/* recorder.h - the flight recorder: every sample of every migration, in a memory ring per job
 * and, batched, in the store.
 *
 * The ring holds the newest RECORDER_RING_MAX samples of a job; the store holds all. A sample
 * the store cannot take is counted, the ring still has it.
 * Threads: append, begin and end from the collector's thread; copy from any.
 */
#ifndef COLLECTOR_RECORDER_H
#define COLLECTOR_RECORDER_H

#include "base/own.h"
#include "collector/sample.h"
#include "store/store.h"

enum { RECORDER_RING_MAX = 2048, RECORDER_JOBS_MAX = 512 };

struct recorder;
struct recorder *recorder_new(struct store *store, struct err *err); /* store borrowed */
void recorder_free(struct recorder *r);
DEFINE_OWNED(recorder)

void recorder_append(struct recorder *r, const struct sample *sample); /* makes the ring if new */
void recorder_end(struct recorder *r, const char *job_uid);            /* the ring is given back */
/* Newest n samples of a job, oldest first; returns how many. */
size_t recorder_copy(struct recorder *r, const char *job_uid, struct sample *out_samples, size_t n);
uint64_t recorder_dropped(const struct recorder *r);

#endif
