/* likeness.h - whom a case speaks like, where no rule knows it.
 *
 * Rules name what broke; a text that no rule knows still has words, and failures that are known
 * had words too. likeness.def counts them: of every word in how many known failures of each cause
 * it stood (made by `make likeness` from tests/cases/). The cause under which the words of a case
 * are most at home is a guess, said as one: low confidence, with the words that speak for it.
 * Bounded: what is kept of a case is one bit for each known word. No clock, no I/O.
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
    LIKENESS_TEXT_MAX = 32 << 10, /* of a case: a longer log speaks of everything */
};

struct likeness {
    unsigned n_words, n_cases;
    unsigned cases[CAUSE_COUNT];           /* known failures of each */
    char (*words)[LIKENESS_WORD_MAX];      /* in order */
    unsigned *seen;                        /* in how many failures each word stood */
    unsigned short (*counts)[CAUSE_COUNT]; /* ... of each cause */
};
/* What was heard of one case. */
struct likeness_heard {
    uint64_t words[LIKENESS_WORDS_MAX / 64];
    size_t bytes; /* of text so far */
};
struct likeness_guess {
    enum cause cause;
    char words[VERDICT_QUOTE_MAX]; /* those that speak for it most */
};

/* The words that the build knows. */
struct likeness *likeness_new(struct err *err);
void likeness_free(struct likeness *likeness);
DEFINE_OWNED(likeness)

/* Calls fn for every word of a text, in small letters. */
typedef void likeness_word_fn(void *ctx, const char *word);
void likeness_words(const char *text, size_t n, likeness_word_fn *fn, void *ctx);
/* Number of a word, LIKENESS_WORDS_MAX if it is not known. */
unsigned likeness_find(const struct likeness *likeness, const char *word);

void likeness_hear(const struct likeness *likeness, struct likeness_heard *heard, const char *text,
                   size_t n);
/* False where nothing can be said: hardly a known word, too much text, or it speaks like failures
 * whose cause was never found. */
bool likeness_guess(const struct likeness *likeness, const struct likeness_heard *heard,
                    struct likeness_guess *out_guess);

#endif
