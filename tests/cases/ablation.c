/* ablation.c - what each mechanism of the analyser is worth: it is switched off and all cases are
 * judged again. See cases.h. */
#include <string.h>

#include "analyzer/judge/rule.h"
#include "base/own.h"
#include "tests/cases/cases.h"

/* Never holds: no evidence has this key. */
static bool add_never(struct ruleset *rules, struct span *out_never, struct err *err)
{
    struct rule_condition *condition =
        rule_grow(&rules->conditions, &rules->n_conditions, sizeof *condition, err);
    if (condition == NULL)
        return false;
    *condition = (struct rule_condition){.key = "switched off", .text = "", .op = CONDITION_TRUE};
    *out_never = (struct span){rules->n_conditions - 1, 1};
    return true;
}

bool cases_switch_off(struct ruleset *rules, const char *rule, struct err *err)
{
    struct span never;
    bool found = false;
    if (!add_never(rules, &never, err))
        return false;
    for (unsigned i = 0; i < rules->n_rules; i++)
        if (strcmp(rules->rules[i].id, rule) == 0) {
            rules->rules[i].facts = never;
            found = true;
        }
    return found || err_set(err, ERR_INVALID, "there is no rule '%s'", rule);
}

bool cases_drop_beats(struct ruleset *rules, const char *rule, struct err *err)
{
    for (unsigned i = 0; i < rules->n_rules; i++)
        if (strcmp(rules->rules[i].id, rule) == 0) {
            rules->rules[i].beats.n = 0;
            return true;
        }
    return err_set(err, ERR_INVALID, "there is no rule '%s'", rule);
}

typedef bool rule_is_fn(const struct ruleset *rules, const struct rule *rule);

static bool is_emitter(const struct ruleset *rules, const struct rule *rule)
{
    (void)rules;
    return rule->family < FAMILY_COUNT;
}

static bool is_hint(const struct ruleset *rules, const struct rule *rule)
{
    (void)rules;
    return rule->rank == RANK_HINT;
}

static bool is_wrapper(const struct ruleset *rules, const struct rule *rule)
{
    (void)rules;
    return rule->rank == RANK_WRAPPER;
}

static bool is_general(const struct ruleset *rules, const struct rule *rule)
{
    (void)rules;
    return rule->rank == RANK_GENERAL;
}

static bool has_facts(const struct ruleset *rules, const struct rule *rule)
{
    (void)rules;
    return rule->cause < CAUSE_COUNT && rule->facts.n + rule->facts_any.n > 0;
}

static bool is_of_file(const struct ruleset *rules, const struct rule *rule, const char *name)
{
    const char *file = rules->files[rule->file];
    size_t n = strlen(file), m = strlen(name);
    return n >= m && strcmp(file + n - m, name) == 0;
}

static bool is_of_texts(const struct ruleset *rules, const struct rule *rule)
{
    return is_of_file(rules, rule, "texts.yaml");
}

static bool is_of_origins(const struct ruleset *rules, const struct rule *rule)
{
    return is_of_file(rules, rule, "origins.yaml");
}

static bool is_by_part(const struct ruleset *rules, const struct rule *rule)
{
    return is_emitter(rules, rule) || is_of_texts(rules, rule);
}

/* NULL: nothing; `beats` and words are no rules. */
static const struct {
    const char *what;
    rule_is_fn *is_off;
    bool no_beats, no_words;
} mechanisms[] = {
    {"nothing", NULL, false, false},
    {"emitters", is_emitter, false, false},
    {"rules by the programs' parts (texts.yaml)", is_of_texts, false, false},
    {"both of them", is_by_part, false, false},
    {"usual causes of the parts (origins.yaml)", is_of_origins, false, false},
    {"rules over facts", has_facts, false, false},
    {"precedence (`beats`)", NULL, true, false},
    {"symptoms (rank general)", is_general, false, false},
    {"wrappers", is_wrapper, false, false},
    {"hints", is_hint, false, false},
    {"words of known failures", NULL, false, true},
};

static bool switch_off(struct ruleset *rules, size_t mechanism, struct err *err)
{
    struct span never;
    if (!add_never(rules, &never, err))
        return false;
    for (unsigned i = 0; i < rules->n_rules; i++) {
        if (mechanisms[mechanism].is_off != NULL &&
            mechanisms[mechanism].is_off(rules, &rules->rules[i]))
            rules->rules[i].facts = never;
        if (mechanisms[mechanism].no_beats)
            rules->rules[i].beats.n = 0;
    }
    rules->is_built_in = !mechanisms[mechanism].no_words;
    return true;
}

static void print_row(const struct cases *cases, const char *what, FILE *out)
{
    (void)fprintf(out, "| %s |", what);
    for (enum case_kind kind = CASES_REAL; kind <= CASES_MESSAGES; kind++) {
        unsigned n = 0, planes = 0, families = 0, causes = 0, sure = 0, right = 0;
        for (unsigned file = 0; file < cases->n_files; file++) {
            struct score score = cases_score(cases, file);
            if (cases->kinds[file] != kind)
                continue;
            n += score.n;
            planes += score.fair_planes;
            families += score.fair_families;
            causes += score.fair_causes;
            sure += score.bin_n[CASE_BINS - 1];
            right += score.bin_right[CASE_BINS - 1];
        }
        if (kind != CASES_INVENTED && n > 0)
            (void)fprintf(out, " %.1f | %.1f | %.1f | %u of %u |", 100.0 * planes / n,
                          100.0 * families / n, 100.0 * causes / n, right, sure);
    }
    (void)fprintf(out, "\n");
}

bool cases_ablation(cases_judge_fn *judge_all, FILE *out, struct err *err)
{
    (void)fprintf(out, "| switched off | real cases: plane | family | cause | 0.9 and more | drawn "
                       "messages: plane | family | cause | 0.9 and more |\n"
                       "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT(mechanisms); i++) {
        OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, err);
        struct cases cases = {.rules = rules};
        bool done = rules != NULL && switch_off(rules, i, err) && judge_all(&cases, err);
        if (done)
            print_row(&cases, mechanisms[i].what, out);
        cases_fini(&cases);
        if (!done)
            return false;
    }
    return true;
}
