/* precedence.c - which entries of `beats` the cases need: each is taken away in turn, and stays
 * away where no verdict gets worse. See cases.h. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/judge/rule.h"
#include "base/own.h"
#include "tests/cases/cases.h"

/* A right verdict that is less sure by this is worse. */
static const double SLACK = 0.05;

struct line {
    char *text;
    size_t n;
    struct case_result result; /* with the entries that are still there */
};
struct trial {
    struct ruleset *rules;
    struct judge *judge;
    struct line *lines;
    unsigned n_lines;
    struct case_result now[CASES_MAX]; /* without the entry that is tried */
};

static void trial_free(struct trial *trial)
{
    if (trial == NULL)
        return;
    for (unsigned i = 0; i < trial->n_lines; i++)
        free(trial->lines[i].text);
    free(trial->lines);
    judge_free(trial->judge);
    ruleset_free(trial->rules);
    free(trial);
}
static inline void trial_freep(struct trial **trial)
{
    trial_free(*trial);
}

static bool read_file(struct trial *trial, const char *file, struct err *err)
{
    FILE *in = fopen(file, "re");
    OWNED_TEXT text = NULL;
    size_t room = 0;
    bool done = true;
    if (in == NULL)
        return err_set(err, ERR_INVALID, "%s: %m", file);
    for (ssize_t n; done && (n = getline(&text, &room, in)) > 1;) {
        struct line *line = &trial->lines[trial->n_lines];
        done = trial->n_lines < CASES_MAX || err_set(err, ERR_LIMIT, "too many cases");
        if (!done || !cases_judge(trial->judge, text, (size_t)n, &line->result, err)) {
            done = false;
            break;
        }
        line->text = strndup(text, (size_t)n);
        line->n = (size_t)n;
        trial->n_lines += line->text != NULL;
    }
    (void)fclose(in);
    return done;
}

static bool has_fired(const struct case_result *result, const char *rule)
{
    for (unsigned i = 0; i < result->n_fired; i++)
        if (strcmp(result->fired[i].id, rule) == 0)
            return true;
    return false;
}

static bool is_worse(const struct case_result *now, const struct case_result *before)
{
    bool was_fair = cases_is_fair(before);
    if ((was_fair && !cases_is_fair(now)) ||
        (before->said == before->cause && now->said != now->cause) ||
        (before->said_plane == before->plane && now->said_plane != now->plane) ||
        (before->said_family == before->family && now->said_family != now->family))
        return true;
    return was_fair ? now->confidence < before->confidence - SLACK
                    : now->confidence > before->confidence + SLACK;
}

/* Judges the cases again in which the rule fired. */
static bool gets_worse(struct trial *trial, const struct rule *rule)
{
    struct err err = {0};
    for (unsigned i = 0; i < trial->n_lines; i++) {
        const struct line *line = &trial->lines[i];
        trial->now[i] = line->result;
        if (has_fired(&line->result, rule->id) &&
            (!cases_judge(trial->judge, line->text, line->n, &trial->now[i], &err) ||
             is_worse(&trial->now[i], &line->result)))
            return true;
    }
    return false;
}

static void try_without(struct trial *trial, unsigned rule, unsigned entry, FILE *out)
{
    const struct rule *winner = &trial->rules->rules[rule];
    struct rule_beat *beat = &trial->rules->beats[entry], kept = *beat;
    beat->cause = CAUSE_COUNT; /* a rule that names itself beats nothing */
    beat->rule = rule;
    if (gets_worse(trial, winner)) {
        *beat = kept;
        return;
    }
    for (unsigned i = 0; i < trial->n_lines; i++)
        trial->lines[i].result = trial->now[i];
    (void)fprintf(out, "spare %s %s\n", winner->id, kept.name);
}

bool cases_spare_beats(const char *const *files, size_t n_files, FILE *out, struct err *err)
{
    OWNED(trial) trial = calloc(1, sizeof *trial);
    if (trial == NULL || (trial->lines = calloc(CASES_MAX, sizeof *trial->lines)) == NULL)
        return err_set(err, ERR_NOMEM, "no memory for cases");
    if ((trial->rules = ruleset_new(NULL, NULL, NULL, err)) == NULL ||
        (trial->judge = judge_new(trial->rules, err)) == NULL)
        return false;
    for (size_t i = 0; i < n_files; i++)
        if (!read_file(trial, files[i], err))
            return false;
    for (unsigned i = 0; i < trial->rules->n_rules; i++)
        for (unsigned b = 0; b < trial->rules->rules[i].beats.n; b++)
            try_without(trial, i, trial->rules->rules[i].beats.first + b, out);
    return true;
}
