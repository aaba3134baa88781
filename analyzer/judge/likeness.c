/* likeness.c - see likeness.h.
 *
 * A cause's score is how much more often the words of the case occur in failures of that cause than
 * in all (naive Bayes over the words present, smoothed towards "as often as in all"). Own code: it
 * is a sum of logarithms over a table; the classifiers in Debian (liblinear, libsvm) need vectors
 * and a model file, and do not show which word counted for which cause.
 */
#include "analyzer/judge/likeness.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const double SMOOTH = 10; /* weight of the smoothing, in cases */

enum { WORDS_LEAST = 4, WORDS_SHOWN = 6 };

/* ---- the table ---- */

struct row {
    const char *word, *counts; /* "cause:n cause:n" */
};
static const struct row rows[] = {
#define WORD(word, counts) {word, counts},
#define KNOWN(cause, n)
#include "analyzer/judge/likeness.def"
#undef WORD
#undef KNOWN
};
static const struct {
    const char *cause;
    unsigned n;
} known[] = {
#define WORD(word, counts)
#define KNOWN(cause, n) {cause, n},
#include "analyzer/judge/likeness.def"
#undef WORD
#undef KNOWN
};
_Static_assert(COUNT(rows) <= LIKENESS_WORDS_MAX, "more words than there are bits");

static void read_counts(struct likeness *likeness, unsigned word, const char *text)
{
    char name[64];
    unsigned n;
    int length;
    while (sscanf(text, " %63[^:]:%u%n", name, &n, &length) == 2) {
        enum cause cause = cause_from_name(name);
        if (cause < CAUSE_COUNT) {
            likeness->counts[word][cause] = (unsigned short)n;
            likeness->seen[word] += n;
        }
        text += length;
    }
}

struct likeness *likeness_new(struct err *err)
{
    OWNED(likeness) likeness = calloc(1, sizeof *likeness);
    if (likeness == NULL)
        goto no_memory;
    likeness->n_words = COUNT(rows);
    likeness->words = calloc(COUNT(rows) + 1, sizeof *likeness->words);
    likeness->seen = calloc(COUNT(rows) + 1, sizeof *likeness->seen);
    likeness->counts = calloc(COUNT(rows) + 1, sizeof *likeness->counts);
    if (likeness->words == NULL || likeness->seen == NULL || likeness->counts == NULL)
        goto no_memory;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        TEXT_SET(likeness->words[i], rows[i].word);
        read_counts(likeness, i, rows[i].counts);
    }
    for (size_t i = 0; i < COUNT(known); i++) {
        enum cause cause = cause_from_name(known[i].cause);
        if (cause < CAUSE_COUNT)
            likeness->n_cases += likeness->cases[cause] = known[i].n;
    }
    return TAKE(likeness);
no_memory:
    (void)err_set(err, ERR_NOMEM, "no memory for the words of known failures");
    return NULL;
}

void likeness_free(struct likeness *likeness)
{
    if (likeness == NULL)
        return;
    free(likeness->words);
    free(likeness->seen);
    free(likeness->counts);
    free(likeness);
}

/* ---- words ---- */

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void likeness_words(const char *text, size_t n, likeness_word_fn *fn, void *ctx)
{
    char word[LIKENESS_WORD_MAX];
    for (size_t i = 0; i < n;) {
        size_t length = 0;
        for (; i < n && is_of_word(text[i]); i++, length++)
            if (length < sizeof word)
                word[length] = (char)tolower((unsigned char)text[i]);
        if (length > 1 && length < sizeof word) {
            word[length] = '\0';
            fn(ctx, word);
        }
        i += i < n && !is_of_word(text[i]);
    }
}

static int compare(const void *key, const void *word)
{
    return strcmp(key, word);
}

unsigned likeness_find(const struct likeness *likeness, const char *word)
{
    const char(*found)[LIKENESS_WORD_MAX] =
        bsearch(word, likeness->words, likeness->n_words, sizeof *likeness->words, compare);
    return found != NULL ? (unsigned)(found - (const char(*)[LIKENESS_WORD_MAX])likeness->words)
                         : LIKENESS_WORDS_MAX;
}

struct adding {
    const struct likeness *likeness;
    struct likeness_case *seen_words;
};

static void add_word(void *ctx, const char *word)
{
    const struct adding *adding = ctx;
    unsigned at = likeness_find(adding->likeness, word);
    if (at < LIKENESS_WORDS_MAX)
        adding->seen_words->words[at / 64] |= UINT64_C(1) << at % 64;
}

void likeness_add(const struct likeness *likeness, struct likeness_case *seen_words,
                  const char *text, size_t n)
{
    struct adding adding = {likeness, seen_words};
    seen_words->bytes += n;
    if (seen_words->bytes <= LIKENESS_TEXT_MAX)
        likeness_words(text, n, add_word, &adding);
}

/* ---- the guess ---- */

/* Weight of the word for the cause: the logarithm of how much more often it occurs there. */
static double weight_of(const struct likeness *likeness, unsigned word, enum cause cause)
{
    double usual = (double)likeness->seen[word] / likeness->n_cases;
    double here =
        (likeness->counts[word][cause] + SMOOTH * usual) / (likeness->cases[cause] + SMOOTH);
    return log(here / usual);
}

/* The words of a case, each once, by number. */
struct word_list {
    unsigned n;
    uint16_t words[LIKENESS_WORDS_MAX];
};

static void list_words(const struct likeness *likeness, const struct likeness_case *seen_words,
                       struct word_list *out_list)
{
    out_list->n = 0;
    for (unsigned block = 0; block * 64 < likeness->n_words; block++)
        for (uint64_t bits = seen_words->words[block]; bits != 0; bits &= bits - 1) {
            unsigned word = block * 64 + (unsigned)__builtin_ctzll(bits);
            if (likeness->seen[word] > 0)
                out_list->words[out_list->n++] = (uint16_t)word;
        }
}

static double score(const struct likeness *likeness, const struct word_list *word_list,
                    enum cause cause)
{
    double sum = log((double)likeness->cases[cause] / likeness->n_cases);
    for (unsigned i = 0; i < word_list->n; i++)
        sum += weight_of(likeness, word_list->words[i], cause);
    return sum;
}

static void name_words(const struct likeness *likeness, struct word_list *left,
                       struct likeness_guess *guess)
{
    size_t length = 0;
    for (unsigned shown = 0; shown < WORDS_SHOWN && left->n > 0; shown++) {
        unsigned best = 0;
        for (unsigned i = 1; i < left->n; i++)
            if (weight_of(likeness, left->words[i], guess->cause) >
                weight_of(likeness, left->words[best], guess->cause))
                best = i;
        unsigned word = left->words[best];
        if (weight_of(likeness, word, guess->cause) <= 0)
            return;
        left->words[best] = left->words[--left->n];
        int wrote = snprintf(guess->words + length, sizeof guess->words - length, "%s%s",
                             shown == 0 ? "" : ", ", likeness->words[word]);
        if (wrote < 0 || (size_t)wrote >= sizeof guess->words - length)
            return;
        length += (size_t)wrote;
    }
}

bool likeness_guess(const struct likeness *likeness, const struct likeness_case *seen_words,
                    struct likeness_guess *out_guess)
{
    struct word_list word_list;
    double best = 0;
    bool found = false;
    *out_guess = (struct likeness_guess){.cause = CAUSE_UNKNOWN};
    if (seen_words->bytes > LIKENESS_TEXT_MAX)
        return false;
    list_words(likeness, seen_words, &word_list);
    if (word_list.n < WORDS_LEAST)
        return false;
    for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
        if (likeness->cases[cause] == 0)
            continue;
        double sum = score(likeness, &word_list, cause);
        if (!found || sum > best) {
            best = sum;
            out_guess->cause = cause;
        }
        found = true;
    }
    if (!found || out_guess->cause == CAUSE_UNKNOWN)
        return false;
    name_words(likeness, &word_list, out_guess);
    return true;
}
