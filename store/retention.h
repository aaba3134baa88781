/* retention.h - how long what was recorded is kept, and how much of it.
 *
 * Samples first: those of a migration that ended long enough ago are thinned to one per second
 * (with those that a pass began or ended with), later dropped; verdicts and everything else about
 * a migration go much later, all at once. A file that is too large loses its oldest first, samples
 * and history each by their own bound. Never dropped: what an unfinished migration has, and what
 * an open incident is about. Pages that become free are used again; files do not shrink.
 *
 * In small steps, each bounded, on the lane's own writer: the sample writer's thread between two
 * batches, and the engine's thread in turns in which it has nothing else to store. So no intent
 * ever waits for more than one step.
 */
#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct store_retention {                  /* 0: no bound */
    int64_t full_samples_ms;              /* then one per second */
    int64_t samples_ms;                   /* then none */
    int64_t history_ms;                   /* then nothing is left of it */
    int64_t samples_bytes, history_bytes; /* of the files, free pages not counted */
};

enum {
    RETENTION_STEP_JOBS = 4,    /* dropped from the history in one step */
    RETENTION_STEP_ROWS = 2000, /* samples deleted in one step */
    RETENTION_STEP_TRACES = 64, /* traces looked at in one step */
    RETENTION_EVERY_MS = 1000,  /* one step, when there was nothing to do in the last */
    RETENTION_AGAIN_MS = 50,    /* when there was */
};

/* Two days, two weeks, a year; 4 GiB and 16 GiB. */
void store_retention_default(struct store_retention *out_retention);

#endif
