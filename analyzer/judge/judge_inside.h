/* judge_inside.h - state of one case. Shared by judge*.c only. */
#ifndef ANALYZER_JUDGE_JUDGE_INSIDE_H
#define ANALYZER_JUDGE_JUDGE_INSIDE_H

#include "analyzer/judge/judge.h"
#include "analyzer/judge/judge_repeat.h"
#include "analyzer/judge/likeness.h"
#include "analyzer/judge/rule.h"
#include "analyzer/judge/typed.h"

enum {
    JUDGE_FACTS_MAX = 512,
    JUDGE_SAME_KEY_MAX = 32, /* facts of one key */
    JUDGE_VALUE_MAX = 256,
    JUDGE_VALUE_HITS_MAX = 4096,
    JUDGE_GIVES_MAX = 64,
    JUDGE_NEAR = 50,         /* messages further apart than this are not related */
    JUDGE_POSITIONS = 12,    /* matches kept per pattern: the first half, and the newest */
    JUDGE_SLOTS = SIDES + 1, /* where a pattern was found: a message of that side, or a fact */
    JUDGE_SLOT_FACT = SIDES,
};

/* The first match of a pattern in a slot, and the positions of others. */
struct judge_hit {
    unsigned seq;                        /* number of the message */
    unsigned positions[JUDGE_POSITIONS]; /* numbers of messages, this one first */
    unsigned n_positions;
    size_t end; /* where in it */
    int64_t at_ms;
    enum side side;
    char quote[VERDICT_QUOTE_MAX], origin[EVIDENCE_ORIGIN_MAX];
};
struct judge_fact {
    char key[EVIDENCE_KEY_MAX], value[JUDGE_VALUE_MAX], origin[EVIDENCE_ORIGIN_MAX];
    int64_t at_ms;
};
struct judge_value_hit {
    unsigned fact, pattern;
};

enum fired { FIRED_NOT, FIRED, FIRED_BEATEN };

struct judge {
    const struct ruleset *rules;
    struct match_scratch *scratch;
    struct likeness *likeness; /* NULL: only the rules count */
    struct likeness_case words;
    unsigned n_messages;
    uint32_t *hit_of; /* [pattern * JUDGE_SLOTS + slot]: place in hits + 1, 0: not found */
    struct judge_hit *hits;
    unsigned n_hits;
    struct judge_fact facts[JUDGE_FACTS_MAX + JUDGE_GIVES_MAX];
    unsigned n_facts;
    struct judge_value_hit value_hits[JUDGE_VALUE_HITS_MAX];
    unsigned n_value_hits;
    struct typed typed;
    struct verdict_number stuck; /* "stuck for N sec" in a message; name empty: none */
    unsigned char *fired;        /* enum fired of each rule, by the last judge_give() */
    enum cause winner;           /* of the last judge_give() */
    /* The message or fact being searched. */
    unsigned first_pattern; /* of the matcher */
    const char *text;
    size_t length, before; /* bytes of the message before it */
    enum side side;
    unsigned slot;
    unsigned n_matches; /* in the text so far */
    int64_t at_ms;
    const char *origin;
    char seen[EVIDENCE_TEXT_MAX];
    struct repeats repeats;
    unsigned case_number;
};

/* ---- judge_facts.c ---- */

/* A fact by its key, the first; NULL when there is none. */
const struct judge_fact *judge_find_fact(const struct judge *judge, const char *key);
bool judge_fact_is_true(const struct judge *judge, const char *key);
bool judge_fact_number(const struct judge_fact *fact, double *out_number);
/* out_fact: the one that made it hold, NULL when its absence did. */
bool judge_condition_holds(const struct judge *judge, const struct rule_condition *condition,
                           const struct judge_fact **out_fact);
void judge_numbers(const struct judge *judge, const struct rule *winner, struct verdict *verdict);
/* Reads "stuck for N sec" in the current text. */
void judge_see_stuck(struct judge *judge);

/* Adds the typed facts, and what follows from pairs of versions; they go after the verdict. */
void judge_derive(struct judge *judge);

/* ---- judge_fire.c ---- */

/* Sets judge->fired: which rules fire, and which of them follow from others. */
void judge_fire(struct judge *judge);
/* The first message or fact that made the rule fire; NULL when only absent evidence did. */
const struct judge_hit *judge_first_hit(const struct judge *judge, const struct rule *rule);

#endif
