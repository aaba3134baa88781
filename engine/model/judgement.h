/* judgement.h - why a finished job ended as it did, as the analyser found it: the rows that are
 * stored, in one block of memory.
 *
 * Immutable and counted: the job holds one, and so does every snapshot that shows it. It says for
 * itself whose it is: by the time it comes the job may be out of view, deleted or crowded out, and
 * an incident is opened all the same.
 */
#ifndef ENGINE_MODEL_JUDGEMENT_H
#define ENGINE_MODEL_JUDGEMENT_H

#include <stddef.h>

#include "base/own.h"
#include "store/store.h"

enum {
    JUDGEMENT_POINTS_MAX = 64,
    JUDGEMENT_NUMBERS_MAX = 64,
    JUDGEMENT_EVIDENCE_MAX = 2048,
};

/* Whose it is, as the job's own rows say; not stored again, so not there when loaded. */
struct judgement_about {
    const char *ns, *migration, *guest, *source, *target;
    const char *ended_by; /* phase.def: the trigger of the last step */
    bool handed_off;
};

struct judgement {
    struct store_verdict verdict;
    struct judgement_about about;
    const struct store_point *points;
    const struct store_number *numbers;
    const struct store_evidence *evidence; /* raw facts that no other row holds */
    size_t n_points, n_numbers, n_evidence;
};

/* A copy that owns all its texts, with one reference; rows beyond the limits are left out, and
 * every row is the verdict's job's. without_evidence: that is on disk already. NULL: no memory. */
struct judgement *judgement_new(const struct judgement *rows, bool without_evidence);
struct judgement *judgement_ref(struct judgement *judgement);
void judgement_unref(const struct judgement *judgement); /* NULL is fine; any thread */

/* Puts it into the open transaction, in place of an earlier one. */
void judgement_put(struct store *store, const struct judgement *judgement);
/* As it is stored, without evidence; *out NULL when the job was not judged. */
MUST_CHECK bool judgement_load(struct store *store, const char *job_uid,
                               struct judgement **out_judgement, struct err *err);

#endif
