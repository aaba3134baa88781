/* match.h - the wrapper of Hyperscan: many patterns, one scan of the text.
 *
 * A matcher is made once and read by all threads; a scratch belongs to one thread. Time is linear
 * in the text; a pattern for which it would not be is refused.
 */
#ifndef ANALYZER_JUDGE_MATCH_H
#define ANALYZER_JUDGE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

struct matcher;
/* On failure NULL, and out_bad the number of the pattern that is wrong, or n. Slow: seconds for a
 * thousand patterns, therefore the build compiles and packs the built-in ones. */
struct matcher *matcher_new(const char *const *patterns, size_t n, size_t *out_bad,
                            struct err *err);
/* For machines that have AVX2 if this one has. Caller frees. */
char *matcher_pack(const struct matcher *matcher, size_t *out_bytes, struct err *err);
struct matcher *matcher_unpack(const char *packed, size_t n, struct err *err);
void matcher_free(struct matcher *matcher);
DEFINE_OWNED(matcher)
/* Whether one pattern is well formed: "what at character N". */
bool matcher_check(const char *pattern, struct err *err);

struct match_scratch;
struct match_scratch *match_scratch_new(struct err *err);
/* Call once for every matcher that it is used with. */
bool match_scratch_fit(struct match_scratch *scratch, const struct matcher *matcher,
                       struct err *err);
void match_scratch_free(struct match_scratch *scratch);
DEFINE_OWNED(match_scratch)

/* Called for each match with the pattern and the end of the match, in order. */
typedef void match_fn(void *ctx, unsigned pattern, size_t end);
void match_scan(const struct matcher *matcher, struct match_scratch *scratch, const char *text,
                size_t n, match_fn *fn, void *ctx);

/* Text as patterns see it: runs of white space and control bytes are one space, quotation marks
 * are straight, escapes of quotation marks and line breaks are undone, colours are dropped. Never
 * longer than the text. Returns the length; terminates. */
size_t match_normalise(const char *text, size_t n, char *out, size_t out_bytes);

#endif
