/* typed.h - facts that are read once from texts and from other facts, for rules to compare.
 *
 * A rate has units, a version an order, a signal a meaning: rules that search texts for them cannot
 * compare. typed_see() reads a text, typed_derive() what follows from the facts of the case. A fact
 * that was given is never overwritten. Bounded, no clock, no I/O.
 */
#ifndef ANALYZER_JUDGE_TYPED_H
#define ANALYZER_JUDGE_TYPED_H

#include <stdbool.h>
#include <stddef.h>

enum typed_key {
#define TYPED(id, key, help) TYPED_##id,
#include "analyzer/judge/typed.def"
#undef TYPED
    TYPED_COUNT
};
enum { TYPED_VALUE_MAX = 32 };

/* What was read so far; an empty value: nothing. */
struct typed {
    double dirty_bps, bandwidth_bps, page_bytes;
    char value[TYPED_COUNT][TYPED_VALUE_MAX];
};

const char *typed_key_name(enum typed_key key);
/* Reads one message, normalised. The first value of a key stays. */
void typed_see(struct typed *typed, const char *text);
/* Reads one fact as the evidence has it: rates with their units. */
void typed_see_fact(struct typed *typed, const char *key, const char *value);
/* "target-older", "target-newer" or "equal" by two texts that begin with a version; NULL: no
 * versions. */
const char *typed_version_order(const char *source, const char *target);
/* Sets what follows from the rates. */
void typed_conclude(struct typed *typed);

#endif
