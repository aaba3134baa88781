/* recorded.h - the verdict of a migration that is in the store. Pure but for reading rows.
 *
 * Outcome, location of the guest and whether it is irrecoverable come from the engine's truth table
 * (except for a guest that crashed after arrival); the judge names the cause. A migration that
 * arrived is not judged unless its call failed.
 */
#ifndef ANALYZER_RECORD_RECORDED_H
#define ANALYZER_RECORD_RECORDED_H

#include "analyzer/judge/judge.h"
#include "analyzer/record/gather.h"
#include "engine/model/job/verdict_rows.h"

/* notes NULL: those that were stored with its last verdict. Resets the judge. */
MUST_CHECK bool recorded_judge(struct store *store, const struct gathered *job,
                               const struct notes *notes, struct judge *judge,
                               struct verdict *out_verdict, struct err *err);
/* Needs no judge: it arrived without an error. */
bool recorded_is_plain(const struct gathered *job);
void recorded_plain(const struct gathered *job, const struct ruleset *rules,
                    struct verdict *out_verdict);

/* A verdict as rows for the engine; texts are borrowed from all three, rows from out_rows. */
struct recorded_rows {
    struct store_point points[VERDICT_POINTS_MAX];
    struct store_number numbers[VERDICT_NUMBERS_MAX];
};
void recorded_fill(const struct verdict *verdict, const struct gathered *job,
                   const struct notes *notes, int64_t judged_ms, struct recorded_rows *out_rows,
                   struct verdict_rows *out_verdict_rows);

/* A stored verdict as a document, with the keys of verdict_json(); NULL only without memory. */
struct json_object *recorded_json(const struct verdict_rows *verdict_rows, const char *id);

#endif
