/* judge.h - from messages and facts to a verdict, by rules that are data (docs/rules.md).
 *
 * A ruleset is read once and shared by all threads; a judge is one case at a time, one thread.
 * Every piece of evidence is matched as it comes, against all patterns in one pass; only what hit
 * a pattern is kept, and of that a bounded number, so time is linear in the evidence and memory
 * does not depend on it. No clock, no I/O.
 */
#ifndef ANALYZER_JUDGE_JUDGE_H
#define ANALYZER_JUDGE_JUDGE_H

#include <stdbool.h>

#include "analyzer/judge/verdict.h"
#include "analyzer/read/evidence.h"
#include "base/err.h"
#include "base/own.h"

struct ruleset;
/* The built-in rules, then those of `site_dir` (*.yaml by name; NULL: none). A bad site file is
 * skipped as a whole and reported to `problem` as "file:line: what, what would be right"; the rest
 * loads. NULL only when the built-in rules cannot be loaded. */
typedef void ruleset_problem_fn(void *ctx, const struct err *err);
struct ruleset *ruleset_new(const char *site_dir, ruleset_problem_fn *problem, void *ctx,
                            struct err *err);
void ruleset_free(struct ruleset *rules);
DEFINE_OWNED(ruleset)
size_t ruleset_count(const struct ruleset *rules);
const char *ruleset_version(const struct ruleset *rules); /* hash over all rules, hex */

struct judge;
struct judge *judge_new(const struct ruleset *rules, struct err *err); /* borrows the rules */
void judge_free(struct judge *judge);
DEFINE_OWNED(judge)

struct evidence_sink judge_sink(struct judge *judge);
/* The verdict on the evidence so far; more may follow. */
void judge_give(struct judge *judge, struct verdict *out_verdict);
void judge_reset(struct judge *judge); /* ready for the next case */

/* Every rule that fired in the last judge_give(), also those that lost. */
typedef void judge_fired_fn(void *ctx, const char *rule, enum cause cause, enum point_role role);
void judge_fired(const struct judge *judge, judge_fired_fn *fn, void *ctx);

#endif
