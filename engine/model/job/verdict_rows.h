/* verdict_rows.h - why a finished job ended as it did, as the analyser found it: the rows that are
 * stored, in one block of memory.
 *
 * Immutable and counted: the job holds one, and so does every snapshot that shows it. It says for
 * itself whose it is: by the time it comes the job may be out of view, deleted or crowded out, and
 * an incident is opened all the same.
 */
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

/* Whose it is, as the job's own rows say; not stored again, so not there when loaded. */
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
    const struct store_evidence *evidence; /* raw facts that no other row holds */
    size_t n_points, n_numbers, n_evidence;
};

/* A copy that owns all its texts, with one reference; rows beyond the limits are left out, and
 * every row is the verdict's job's. without_evidence: that is on disk already. NULL: no memory. */
struct verdict_rows *verdict_rows_new(const struct verdict_rows *rows, bool without_evidence);
struct verdict_rows *verdict_rows_ref(struct verdict_rows *verdict_rows);
void verdict_rows_unref(const struct verdict_rows *verdict_rows); /* NULL is fine; any thread */

/* Puts it into the open transaction, in place of an earlier one. */
void verdict_rows_put(struct store *store, const struct verdict_rows *verdict_rows);
/* As it is stored, without evidence; *out NULL when the job was not judged. */
MUST_CHECK bool verdict_rows_load(struct store *store, const char *job_uid,
                                  struct verdict_rows **out_verdict_rows, struct err *err);

#endif
