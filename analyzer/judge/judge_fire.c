/* judge_fire.c - which rules fire, and which of those follow from another one. */
#include <assert.h>
#include <string.h>

#include "analyzer/judge/judge_inside.h"
#include "base/text.h"

/* ---- one rule ---- */

/* A rule of one side matches messages of that side, of an unknown side, and facts. NULL: all.
 */
static const struct judge_hit *hit_in(const struct judge *judge, const struct rule *rule,
                                      unsigned use, unsigned slot)
{
    unsigned pattern = judge->rules->uses[use];
    uint32_t position = judge->hit_of[(size_t)pattern * JUDGE_SLOTS + slot];
    bool is_seen = rule == NULL || rule->side == SIDE_UNKNOWN || slot == SIDE_UNKNOWN ||
                   slot == rule->side || slot == JUDGE_SLOT_FACT;
    return position != 0 && is_seen ? &judge->hits[position - 1] : NULL;
}

static const struct judge_hit *hit_for(const struct judge *judge, const struct rule *rule,
                                       unsigned use)
{
    const struct judge_hit *first = NULL;
    for (unsigned slot = 0; slot < JUDGE_SLOTS; slot++) {
        const struct judge_hit *hit = hit_in(judge, rule, use, slot);
        if (hit != NULL && (first == NULL || (slot != JUDGE_SLOT_FACT && hit->seq < first->seq)))
            first = hit;
    }
    return first;
}

/* Where in the evidence: the number of a message, or anywhere. */
static const unsigned ANYWHERE = UINT32_MAX;

static unsigned place_count(const struct judge_hit *hit)
{
    return hit->n_positions < JUDGE_POSITIONS ? hit->n_positions : JUDGE_POSITIONS;
}

/* A fact is near everything; a message is near those around it. In a log of months, messages of
 * other days would suppress or complete a rule. */
static bool is_near(const struct judge *judge, const struct rule *rule, unsigned use, unsigned seq)
{
    for (unsigned slot = 0; slot < JUDGE_SLOTS; slot++) {
        const struct judge_hit *hit = hit_in(judge, rule, use, slot);
        if (hit == NULL)
            continue;
        if (slot == JUDGE_SLOT_FACT || seq == ANYWHERE)
            return true;
        for (unsigned i = 0; i < place_count(hit); i++)
            if (hit->positions[i] + JUDGE_NEAR >= seq && seq + JUDGE_NEAR >= hit->positions[i])
                return true;
    }
    return false;
}

static bool fits_around(const struct judge *judge, const struct rule *rule, unsigned seq)
{
    for (unsigned i = 0; i < rule->all.n; i++)
        if (!is_near(judge, rule, rule->all.first + i, seq))
            return false;
    for (unsigned i = 0; i < rule->none.n; i++)
        if (is_near(judge, NULL, rule->none.first + i, seq))
            return false;
    return true;
}

/* One of `any` (or the first of `all`) matches somewhere, with the others near it. */
static bool fits_somewhere(const struct judge *judge, const struct rule *rule)
{
    struct span anchors = rule->any.n > 0 ? rule->any : rule->all;
    if (anchors.n == 0)
        return fits_around(judge, rule, ANYWHERE);
    for (unsigned a = 0; a < (rule->any.n > 0 ? anchors.n : 1); a++)
        for (unsigned slot = 0; slot < JUDGE_SLOTS; slot++) {
            const struct judge_hit *hit = hit_in(judge, rule, anchors.first + a, slot);
            if (hit != NULL && slot == JUDGE_SLOT_FACT && fits_around(judge, rule, ANYWHERE))
                return true;
            for (unsigned i = 0; hit != NULL && slot != JUDGE_SLOT_FACT && i < place_count(hit);
                 i++)
                if (fits_around(judge, rule, hit->positions[i]))
                    return true;
        }
    return false;
}

static unsigned count_holding(const struct judge *judge, struct span span)
{
    unsigned n = 0;
    const struct judge_fact *fact;
    for (unsigned i = 0; i < span.n; i++)
        n += judge_condition_holds(judge, &judge->rules->conditions[span.first + i], &fact);
    return n;
}

static bool fits_system(const struct judge *judge, const struct rule *rule)
{
    bool is_known = false;
    for (unsigned f = 0; rule->systems.n > 0 && f < judge->n_facts; f++) {
        if (strcmp(judge->facts[f].key, "system") != 0)
            continue;
        is_known = true;
        for (unsigned i = 0; i < rule->systems.n; i++)
            if (rule_same_word(judge->rules->texts[rule->systems.first + i], judge->facts[f].value))
                return true;
    }
    return !is_known;
}

static bool fires(const struct judge *judge, const struct rule *rule)
{
    return fits_somewhere(judge, rule) && count_holding(judge, rule->facts) == rule->facts.n &&
           (rule->facts_any.n == 0 || count_holding(judge, rule->facts_any) > 0) &&
           fits_system(judge, rule);
}

const struct judge_hit *judge_first_hit(const struct judge *judge, const struct rule *rule)
{
    const struct span spans[] = {rule->any, rule->all};
    const struct judge_hit *first = NULL;
    for (size_t s = 0; s < COUNT(spans); s++)
        for (unsigned i = 0; i < spans[s].n; i++) {
            const struct judge_hit *hit = hit_for(judge, rule, spans[s].first + i);
            if (hit != NULL && (first == NULL || hit->seq < first->seq ||
                                (hit->seq == first->seq && hit->end < first->end)))
                first = hit;
        }
    return first;
}

/* ---- all of them ---- */

/* What a rule concludes is a fact for the others. */
static void give_facts(struct judge *judge, const struct rule *rule)
{
    for (unsigned i = 0; i < rule->gives.n; i++) {
        const struct rule_condition *given = &judge->rules->conditions[rule->gives.first + i];
        if (judge->n_facts == JUDGE_FACTS_MAX + JUDGE_GIVES_MAX)
            return;
        struct judge_fact *fact = &judge->facts[judge->n_facts++];
        *fact = (struct judge_fact){0};
        TEXT_SET(fact->key, given->key);
        TEXT_SET(fact->value, given->op == CONDITION_TRUE ? "true" : given->text);
        TEXT_SET(fact->origin, rule->id);
    }
}

static void fire_all(struct judge *judge)
{
    const struct ruleset *rules = judge->rules;
    for (unsigned i = 0; i < rules->n_rules; i++) {
        judge->fired[i] = FIRED_NOT;
        if (rules->rules[i].gives.n == 0 || !fires(judge, &rules->rules[i]))
            continue;
        judge->fired[i] = FIRED;
        give_facts(judge, &rules->rules[i]);
    }
    for (unsigned i = 0; i < rules->n_rules; i++)
        if (rules->rules[i].gives.n == 0 && fires(judge, &rules->rules[i]))
            judge->fired[i] = FIRED;
}

static bool is_before(const struct rule *a, const struct rule *b)
{
    return a->rank != b->rank ? a->rank > b->rank : a->weight > b->weight;
}

static void beat(struct judge *judge, const struct rule *winner)
{
    const struct ruleset *rules = judge->rules;
    for (unsigned b = 0; b < winner->beats.n; b++) {
        const struct rule_beat *beaten = &rules->beats[winner->beats.first + b];
        for (unsigned i = 0; i < rules->n_rules; i++) {
            const struct rule *rule = &rules->rules[i];
            bool is_meant =
                beaten->cause != CAUSE_COUNT ? rule->cause == beaten->cause : beaten->rule == i;
            if (judge->fired[i] == FIRED && is_meant && rule != winner &&
                rule->cause != winner->cause)
                judge->fired[i] = FIRED_BEATEN;
        }
    }
}

/* The strongest first: a beaten rule beats no other. */
static void beat_all(struct judge *judge)
{
    const struct ruleset *rules = judge->rules;
    const struct rule *last = NULL;
    for (;;) {
        const struct rule *next = NULL;
        for (unsigned i = 0; i < rules->n_rules; i++) {
            const struct rule *rule = &rules->rules[i];
            bool is_done =
                last != NULL && (is_before(rule, last) || (!is_before(last, rule) && rule <= last));
            if (judge->fired[i] == FIRED && rule->beats.n > 0 && !is_done &&
                (next == NULL || is_before(rule, next)))
                next = rule;
        }
        if (next == NULL)
            return;
        beat(judge, next);
        last = next;
    }
}

/* An abort needs a recorded request, or proof that somebody else made one: without either the
 * message comes from a timeout. */
static void drop_unrequested_aborts(struct judge *judge)
{
    if (judge_fact_is_true(judge, "abort_requested"))
        return;
    for (unsigned i = 0; i < judge->rules->n_rules; i++)
        if (judge->rules->rules[i].cause == CAUSE_USER_CANCELLED &&
            judge->rules->rules[i].rank != RANK_PROOF && judge->fired[i] == FIRED)
            judge->fired[i] = FIRED_BEATEN;
}

static bool is_fallout(enum cause cause)
{
    static const enum cause fallouts[] = {
#define FALLOUT(cause, help) CAUSE_##cause,
#include "analyzer/judge/cause.def"
#undef FALLOUT
    };
    for (size_t i = 0; i < COUNT(fallouts); i++)
        if (fallouts[i] == cause)
            return true;
    return false;
}

/* What a closed stream or an ended process looks like gives way to what broke: its symptoms to any
 * specific cause, what names it to a cause that is named at least as clearly. */
static void drop_fallout(struct judge *judge)
{
    const struct ruleset *rules = judge->rules;
    bool is_explained = false;
    unsigned clearest = 0;
    for (unsigned i = 0; i < rules->n_rules; i++) {
        const struct rule *rule = &rules->rules[i];
        if (judge->fired[i] != FIRED || rule->rank < RANK_SPECIFIC || rule->cause >= CAUSE_COUNT ||
            is_fallout(rule->cause))
            continue;
        is_explained = true;
        if (rule->weight > clearest)
            clearest = rule->weight;
    }
    for (unsigned i = 0; is_explained && i < rules->n_rules; i++) {
        const struct rule *rule = &rules->rules[i];
        if (judge->fired[i] == FIRED && is_fallout(rule->cause) &&
            (rule->rank == RANK_GENERAL ||
             (rule->rank == RANK_SPECIFIC && rule->weight <= clearest)))
            judge->fired[i] = FIRED_BEATEN;
    }
}

void judge_fire(struct judge *judge)
{
    fire_all(judge);
    drop_unrequested_aborts(judge);
    beat_all(judge);
    drop_fallout(judge);
}
