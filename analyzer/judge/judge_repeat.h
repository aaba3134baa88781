/* judge_repeat.h - logs repeat themselves: what a text matched is remembered, and not searched
 * again.
 *
 * A table of a fixed size, by hash; an entry holds the whole text, so a wrong hit is impossible.
 * Only short texts with few matches are kept, and only once they come a second time: lines that
 * never repeat then touch 32 KiB and not the whole table. Valid as long as the rules are: over all
 * cases of a judge.
 */
#ifndef ANALYZER_JUDGE_JUDGE_REPEAT_H
#define ANALYZER_JUDGE_JUDGE_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REPEAT_ENTRIES = 8192, /* a power of two; 5 MiB */
    REPEAT_TEXT_MAX = 400,
    REPEAT_MATCHES_MAX = 32, /* patterns */
};
struct repeat_match {
    unsigned pattern;
    unsigned end; /* where in the text */
};
struct repeat_entry {
    uint32_t length; /* 0: free */
    uint32_t n_matches;
    unsigned of_case; /* the case that saw it last */
    struct repeat_match matches[REPEAT_MATCHES_MAX];
    char text[REPEAT_TEXT_MAX];
};
struct repeats {
    struct repeat_entry *entries; /* NULL: nothing is remembered */
    uint32_t *tags;               /* per entry: the hash of the text that asked for it last */
    struct repeat_entry *filling; /* gets what is found now; NULL: nothing is kept */
};

void repeats_init(struct repeats *repeats); /* without memory nothing is remembered */
void repeats_fini(struct repeats *repeats);
/* The entry of exactly that text, or NULL; then repeats_note() is called for each match, and
 * repeats_end(). */
struct repeat_entry *repeats_find(struct repeats *repeats, const char *text, size_t n);
void repeats_note(struct repeats *repeats, unsigned pattern, size_t end);
void repeats_end(struct repeats *repeats, const char *text, size_t n, unsigned of_case);

#endif
