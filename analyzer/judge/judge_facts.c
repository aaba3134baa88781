/* judge_facts.c - facts of a case: conditions, and the numbers of a verdict. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge_inside.h"
#include "base/text.h"

/* More seconds than any migration stalls: nanoseconds printed as seconds. */
static const double ABSURD_SECONDS = 1e6;

static double sane_seconds(double seconds)
{
    return seconds > ABSURD_SECONDS ? seconds / 1e9 : seconds;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

const struct judge_fact *judge_find_fact(const struct judge *judge, const char *key)
{
    for (unsigned i = 0; i < judge->n_facts; i++)
        if (rule_same_word(judge->facts[i].key, key))
            return &judge->facts[i];
    return NULL;
}

static bool is_true(const struct judge_fact *fact)
{
    static const char *const nos[] = {"", "false", "no", "0", "none", "null"};
    for (size_t i = 0; i < COUNT(nos); i++)
        if (strcasecmp(fact->value, nos[i]) == 0)
            return false;
    return true;
}

bool judge_fact_number(const struct judge_fact *fact, double *out_number)
{
    char *end = NULL;
    const char *first = fact->value;
    if (!isdigit((unsigned char)first[first[0] == '-']))
        return false;
    double number = strtod(first, &end);
    if (!(number > -1e300 && number < 1e300) || strlen(end) > 4) /* "49 %", "30s" */
        return false;
    *out_number = ends_with(fact->key, "_s") ? sane_seconds(number) : number;
    return true;
}

static bool value_matches(const struct judge *judge, unsigned fact, unsigned pattern)
{
    for (unsigned i = 0; i < judge->n_value_hits; i++)
        if (judge->value_hits[i].fact == fact && judge->value_hits[i].pattern == pattern)
            return true;
    return false;
}

static bool fact_fits(const struct judge *judge, unsigned index, const struct rule_condition *c)
{
    const struct judge_fact *fact = &judge->facts[index];
    double number = 0;
    switch (c->op) {
    case CONDITION_TRUE:
    case CONDITION_NOT: return is_true(fact);
    case CONDITION_EQUAL:
    case CONDITION_DIFFERS: return rule_same_word(fact->value, c->text);
    case CONDITION_MATCHES: return value_matches(judge, index, c->pattern);
    case CONDITION_ABOVE: return judge_fact_number(fact, &number) && number > c->number;
    case CONDITION_BELOW: return judge_fact_number(fact, &number) && number < c->number;
    }
    return false;
}

bool judge_condition_holds(const struct judge *judge, const struct rule_condition *condition,
                           const struct judge_fact **out_fact)
{
    bool is_there = false;
    *out_fact = NULL;
    for (unsigned i = 0; i < judge->n_facts; i++) {
        if (!rule_same_word(judge->facts[i].key, condition->key))
            continue;
        is_there = true;
        if (fact_fits(judge, i, condition)) {
            *out_fact = &judge->facts[i];
            break;
        }
    }
    bool fits = *out_fact != NULL;
    if (condition->op == CONDITION_NOT)
        return !fits;
    if (condition->op == CONDITION_DIFFERS)
        return is_there && !fits;
    return fits;
}

bool judge_fact_is_true(const struct judge *judge, const char *key)
{
    const struct judge_fact *fact;
    struct rule_condition condition = {.key = key, .text = "", .op = CONDITION_TRUE};
    return judge_condition_holds(judge, &condition, &fact);
}

/* ---- typed facts ---- */

static void add_fact(struct judge *judge, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0' || judge_find_fact(judge, key) != NULL ||
        judge->n_facts == JUDGE_FACTS_MAX + JUDGE_GIVES_MAX)
        return;
    struct judge_fact *fact = &judge->facts[judge->n_facts++];
    *fact = (struct judge_fact){0};
    TEXT_SET(fact->key, key);
    TEXT_SET(fact->value, value);
    TEXT_SET(fact->origin, "derived");
}

void judge_derive(struct judge *judge)
{
    static const struct {
        const char *source, *target;
    } pairs[] = {{"source_qemu", "target_qemu"},
                 {"source_version", "target_version"},
                 {"source_qemu_version", "target_qemu_version"}};
    typed_conclude(&judge->typed);
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const struct judge_fact *source = judge_find_fact(judge, pairs[i].source);
        const struct judge_fact *target = judge_find_fact(judge, pairs[i].target);
        if (source != NULL && target != NULL)
            add_fact(judge, typed_key_name(TYPED_VERSIONS),
                     typed_version_order(source->value, target->value));
    }
    for (enum typed_key key = 0; key < TYPED_COUNT; key++)
        add_fact(judge, typed_key_name(key), judge->typed.value[key]);
}

/* ---- numbers ---- */

void judge_see_stuck(struct judge *judge)
{
    static const char words[] = "stuck for ";
    const char *at = judge->stuck.name[0] == '\0' ? strcasestr(judge->text, words) : NULL;
    char *end = NULL;
    if (at == NULL || !isdigit((unsigned char)at[sizeof words - 1]))
        return;
    double seconds = strtod(at + sizeof words - 1, &end);
    if (strncmp(end + (*end == ' '), "s", 1) != 0)
        return;
    judge->stuck = (struct verdict_number){.name = "stuck_s", .unit = "s"};
    judge->stuck.value = sane_seconds(seconds);
}

static const char *unit_of(const char *key)
{
    static const struct {
        const char *end, *unit;
    } rows[] = {{"_ms", "ms"},         {"_s", "s"},       {"_bps", "bytes/s"},
                {"_pct", "%"},         {"_mb", "MB"},     {"_bytes", "bytes"},
                {"_kib", "KiB"},       {"_percent", "%"}, {"remaining", "bytes"},
                {"low_water", "bytes"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (ends_with(key, rows[i].end))
            return rows[i].unit;
    return "";
}

static bool has_number(const struct verdict *verdict, const char *key)
{
    for (unsigned i = 0; i < verdict->n_numbers; i++)
        if (strcmp(verdict->numbers[i].name, key) == 0)
            return true;
    return false;
}

static void add_number(struct verdict *verdict, const struct judge_fact *fact)
{
    double value = 0;
    if (verdict->n_numbers == VERDICT_NUMBERS_MAX || has_number(verdict, fact->key) ||
        !judge_fact_number(fact, &value))
        return;
    struct verdict_number *number = &verdict->numbers[verdict->n_numbers++];
    *number = (struct verdict_number){.value = value};
    TEXT_SET(number->name, fact->key);
    TEXT_SET(number->unit, unit_of(fact->key));
}

static void add_of_span(const struct judge *judge, struct span span, struct verdict *verdict)
{
    for (unsigned i = 0; i < span.n; i++) {
        const struct rule_condition *condition = &judge->rules->conditions[span.first + i];
        const struct judge_fact *fact;
        if (judge_condition_holds(judge, condition, &fact) && fact != NULL)
            add_number(verdict, fact);
    }
}

/* First the numbers of the rule's conditions, then Ferry's own in their order, then the others. */
void judge_numbers(const struct judge *judge, const struct rule *winner, struct verdict *verdict)
{
    static const char *const own[] = {
#define FACT(id, key, help) key,
#include "analyzer/judge/fact.def"
#undef FACT
    };
    verdict->n_numbers = 0;
    if (winner != NULL) {
        add_of_span(judge, winner->facts, verdict);
        add_of_span(judge, winner->facts_any, verdict);
    }
    if (judge->stuck.name[0] != '\0' && verdict->n_numbers < VERDICT_NUMBERS_MAX)
        verdict->numbers[verdict->n_numbers++] = judge->stuck;
    for (size_t i = 0; i < COUNT(own); i++) {
        const struct judge_fact *fact = judge_find_fact(judge, own[i]);
        if (fact != NULL)
            add_number(verdict, fact);
    }
    for (unsigned i = 0; i < judge->n_facts; i++)
        add_number(verdict, &judge->facts[i]);
}
