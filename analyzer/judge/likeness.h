/* likeness.h - a guess from word statistics, where no rule matches.
 *
 * likeness.def has, for every word, the number of known failures of each cause in which it occurs
 * (made by `make likeness` from tests/cases/). The cause whose failures have most similar words is
 * a guess, with low confidence and the words that led to it. Bounded: a case needs one bit per
 * known word. No clock, no I/O.
 */
#ifndef ANALYZER_JUDGE_LIKENESS_H
#define ANALYZER_JUDGE_LIKENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/judge/verdict.h"
#include "base/err.h"
#include "base/own.h"

enum {
    LIKENESS_WORDS_MAX = 8192,
    LIKENESS_WORD_MAX = 32,       /* bytes; what is longer is a name, not a word */
    LIKENESS_TEXT_MAX = 32 << 10, /* of a case: a longer log has words of all causes */
};

struct likeness {
    unsigned n_words, n_cases;
    unsigned cases[CAUSE_COUNT];           /* known failures of each */
    char (*words)[LIKENESS_WORD_MAX];      /* in order */
    unsigned *seen;                        /* failures that contain the word */
    unsigned short (*counts)[CAUSE_COUNT]; /* ... of each cause */
};
/* Words of one case. */
struct likeness_case {
    uint64_t words[LIKENESS_WORDS_MAX / 64];
    size_t bytes; /* of text so far */
};
struct likeness_guess {
    enum cause cause;
    char words[VERDICT_QUOTE_MAX]; /* those with the highest weight */
};

/* The built-in table. */
struct likeness *likeness_new(struct err *err);
void likeness_free(struct likeness *likeness);
DEFINE_OWNED(likeness)

/* Calls fn for every word of a text, in small letters. */
typedef void likeness_word_fn(void *ctx, const char *word);
void likeness_words(const char *text, size_t n, likeness_word_fn *fn, void *ctx);
/* Number of a word, LIKENESS_WORDS_MAX if it is not known. */
unsigned likeness_find(const struct likeness *likeness, const char *word);

void likeness_add(const struct likeness *likeness, struct likeness_case *seen_words,
                  const char *text, size_t n);
/* False when there is no guess: too few known words, too much text, or most similar to failures of
 * unknown cause. */
bool likeness_guess(const struct likeness *likeness, const struct likeness_case *seen_words,
                    struct likeness_guess *out_guess);

#endif
