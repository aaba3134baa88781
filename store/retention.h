/* retention.h - how long and how much of the records is kept.
 *
 * Samples of an ended migration are first thinned to one per second (plus those at iterations),
 * later deleted; all other rows of a migration are deleted much later, at once. A file that is too
 * large loses its oldest rows first, samples and history each by their own limit. Never deleted:
 * rows of unfinished migrations and of open incidents. Free pages are reused; files do not shrink.
 *
 * Runs in small bounded steps on the lane's writer: the sample writer's thread between two batches,
 * and the engine's thread in turns without other writes. So an intent waits for at most one step.
 */
#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct store_retention {                  /* 0: no bound */
    int64_t full_samples_ms;              /* then one per second */
    int64_t samples_ms;                   /* then none */
    int64_t history_ms;                   /* then deleted */
    int64_t samples_bytes, history_bytes; /* of the files, free pages not counted */
};

enum {
    RETENTION_STEP_JOBS = 4,       /* dropped from the history in one step */
    RETENTION_STEP_ROWS = 2000,    /* samples deleted in one step */
    RETENTION_AUDIT_ROWS = 100000, /* changes asked for that are kept */
    RETENTION_STEP_TRACES = 64,    /* traces visited in one step */
    RETENTION_EVERY_MS = 1000,     /* interval after a step without work */
    RETENTION_AGAIN_MS = 50,       /* interval after a step with work */
};

/* Two days, two weeks, a year; 4 GiB and 16 GiB. */
void store_retention_default(struct store_retention *out_retention);

#endif
