/* recorder.h - the flight recorder: every sample of every migration becomes a row of the store.
 *
 * It never blocks: a sample that the store cannot take is dropped and counted there
 * (samples_dropped). Threads: the collector's.
 */
#ifndef COLLECTOR_RECORDER_H
#define COLLECTOR_RECORDER_H

#include "base/own.h"
#include "collector/sample.h"
#include "store/store.h"

struct recorder;
struct recorder *recorder_new(struct store *store, struct err *err); /* store borrowed */
void recorder_free(struct recorder *r);
DEFINE_OWNED(recorder)

void recorder_append(struct recorder *r, const struct sample *sample);

#endif
