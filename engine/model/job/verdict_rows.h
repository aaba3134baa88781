/* verdict_rows.h - the analyser's verdict about a finished job: the stored rows, in one block of
 * memory.
 *
 * Immutable and reference counted: the job holds one, and so does every snapshot with it. It
 * names its own job: when the verdict comes the job may have been deleted or forgotten, and an
 * incident is opened nevertheless. */
#ifndef ENGINE_MODEL_VERDICT_ROWS_H
#define ENGINE_MODEL_VERDICT_ROWS_H

#include <stddef.h>

#include "base/own.h"
#include "store/store.h"

enum {
    VERDICT_ROWS_POINTS_MAX = 64,
    VERDICT_ROWS_NUMBERS_MAX = 64,
    VERDICT_ROWS_EVIDENCE_MAX = 2048,
};

/* The job's identity; not stored again, so missing when loaded. */
struct verdict_subject {
    const char *ns, *migration, *guest, *source, *target;
    const char *ended_by; /* phase.def: the trigger of the last step */
    bool handed_off;
};

struct verdict_rows {
    struct store_verdict verdict;
    struct verdict_subject about;
    const struct store_point *points;
    const struct store_number *numbers;
    const struct store_evidence *evidence; /* raw facts that no other row has */
    size_t n_points, n_numbers, n_evidence;
};

/* A copy that owns all its texts, with one reference; rows beyond the limits are left out, and
 * every row gets the verdict's job. without_evidence: already stored. NULL: no memory. */
struct verdict_rows *verdict_rows_new(const struct verdict_rows *rows, bool without_evidence);
struct verdict_rows *verdict_rows_ref(struct verdict_rows *verdict_rows);
void verdict_rows_unref(const struct verdict_rows *verdict_rows); /* NULL is fine; any thread */

/* Puts it into the open transaction, replacing an earlier one. */
void verdict_rows_put(struct store *store, const struct verdict_rows *verdict_rows);
/* As stored, without evidence; *out NULL when the job has no verdict. */
MUST_CHECK bool verdict_rows_load(struct store *store, const char *job_uid,
                                  struct verdict_rows **out_verdict_rows, struct err *err);

#endif
