/* cases.c - reading and judging labelled cases. See cases.h. */
#include "tests/cases/cases.h"

#include <string.h>

#include "analyzer/judge/rule.h"
#include "base/json.h"
#include "base/text.h"

/* ---- evidence of a case ---- */

static void give_fact(const struct evidence_sink *sink, const char *key, struct json_object *value)
{
    const char *text = json_object_get_string(value);
    struct evidence_fact fact = {.key = key, .value = text != NULL ? text : "", .origin = "facts"};
    sink->fact(sink->ctx, &fact);
}

static void give_message(const struct evidence_sink *sink, struct json_object *message, size_t i)
{
    const char *text = json_object_get_string(message);
    char origin[32];
    (void)snprintf(origin, sizeof origin, "message %zu", i + 1);
    struct evidence_message made = {
        .text = text, .length = text != NULL ? strlen(text) : 0, .origin = origin};
    if (text != NULL)
        sink->message(sink->ctx, &made);
}

void cases_give(struct json_object *line, const struct evidence_sink *sink)
{
    struct json_object *messages = json_at(line, "messages"), *facts = json_at(line, "facts");
    struct json_object *system = json_at(line, "system");
    if (system != NULL)
        give_fact(sink, "system", system);
    if (json_object_is_type(messages, json_type_array))
        for (size_t i = 0; i < json_object_array_length(messages); i++)
            give_message(sink, json_object_array_get_idx(messages, i), i);
    if (json_object_is_type(facts, json_type_object)) {
        json_object_object_foreach(facts, key, value)
        {
            give_fact(sink, key, value);
        }
    }
}

/* ---- its judgement ---- */

bool cases_is_specific(const struct ruleset *rules, const char *rule)
{
    for (unsigned i = 0; i < rules->n_rules; i++)
        if (strcmp(rules->rules[i].id, rule) == 0)
            return rules->rules[i].rank >= RANK_SPECIFIC && rules->rules[i].cause < CAUSE_COUNT;
    return false;
}

/* The message that the verdict quotes first; 0: a fact. */
static unsigned line_of(const struct verdict *verdict)
{
    unsigned line = 0;
    if (verdict->n_points > 0 && verdict->points[0].role == POINT_FOR)
        (void)sscanf(verdict->points[0].origin, "message %u", &line);
    return line;
}

static void on_fired(void *ctx, const char *rule, enum cause cause, enum point_role role)
{
    struct case_result *result = ctx;
    if (result->n_fired == CASE_RULES_MAX)
        return;
    struct case_rule *fired = &result->fired[result->n_fired++];
    TEXT_SET(fired->id, rule);
    fired->cause = cause;
    fired->role = role;
}

static bool read_acceptable(struct json_object *line, struct case_result *result, struct err *err)
{
    struct json_object *list = json_at(line, "label.acceptable");
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n && i < CASE_ACCEPTABLE_MAX; i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        result->acceptable[i] = cause_from_name(name);
        if (result->acceptable[i] == CAUSE_COUNT)
            return err_set(err, ERR_INVALID, "no such cause: %s", name);
        result->n_acceptable++;
    }
    return true;
}

bool cases_label(struct json_object *line, struct case_result *result, struct err *err)
{
    const char *id = "", *plane = "", *cause = "", *family = "", *program = "";
    int64_t message = 0;
    if (!json_get_text(line, "id", "", &id, err) ||
        !json_get_text(line, "program", "", &program, err) ||
        !json_get_text(line, "label.plane", "", &plane, err) ||
        !json_get_text(line, "label.cause", "", &cause, err) ||
        !json_get_text(line, "label.family", "", &family, err) ||
        !json_get_i64(line, "label.line", 0, &message, err) || !read_acceptable(line, result, err))
        return false;
    TEXT_SET(result->id, id);
    TEXT_SET(result->program, program);
    result->line = (unsigned)message;
    result->cause = cause_from_name(cause);
    if (result->cause < CAUSE_COUNT)
        result->family = cause_row(result->cause)->family;
    if (family[0] != '\0' && family_from_name(family) != result->family)
        return err_set(err, ERR_INVALID, "%s: %s is not of the family %s", id, cause, family);
    while (result->plane < PLANE_COUNT && strcmp(plane_name(result->plane), plane) != 0)
        result->plane++;
    return (result->cause < CAUSE_COUNT && result->plane < PLANE_COUNT) ||
           err_set(err, ERR_INVALID, "no such label: %s, %s", plane, cause);
}

bool cases_judge(struct judge *judge, const char *text, size_t n, struct case_result *result,
                 struct err *err)
{
    struct verdict verdict;
    OWNED(json_object) line = json_parse(text, n, "case", err);
    *result = (struct case_result){0};
    if (line == NULL || !cases_label(line, result, err))
        return false;
    struct evidence_sink sink = judge_sink(judge);
    judge_reset(judge);
    cases_give(line, &sink);
    judge_give(judge, &verdict);
    judge_fired(judge, on_fired, result);
    result->said = verdict.cause;
    result->said_plane = verdict.plane;
    result->said_family = verdict.family;
    result->resembles = verdict.resembles;
    result->said_line = line_of(&verdict);
    TEXT_SET(result->rule, verdict.rule);
    result->confidence = verdict.confidence;
    return true;
}

static bool judge_line(struct cases *cases, struct judge *judge, const char *text, size_t n,
                       struct err *err)
{
    struct case_result *result = &cases->results[cases->n];
    if (!cases_judge(judge, text, n, result, err))
        return false;
    result->file = cases->n_files;
    result->is_recognised = cases_is_specific(cases->rules, result->rule);
    cases->n++;
    return true;
}

static bool judge_lines(struct cases *cases, FILE *in, struct err *err)
{
    OWNED(judge) judge = judge_new(cases->rules, err);
    OWNED_TEXT line = NULL;
    size_t room = 0, number = 0;
    ssize_t n;
    if (judge == NULL)
        return false;
    while ((n = getline(&line, &room, in)) > 0) {
        number++;
        if (cases->n == CASES_MAX)
            return err_set(err, ERR_LIMIT, "more than %d cases", CASES_MAX);
        if (n > 1 && !judge_line(cases, judge, line, (size_t)n, err))
            return err_wrap(err, "line %zu", number);
    }
    return true;
}

bool cases_add(struct cases *cases, const char *file, enum case_kind kind, struct err *err)
{
    FILE *in = fopen(file, "re");
    if (in == NULL)
        return err_set(err, ERR_INVALID, "%s: %m", file);
    if (cases->results == NULL)
        cases->results = calloc(CASES_MAX, sizeof *cases->results);
    bool done = cases->results != NULL ? judge_lines(cases, in, err)
                                       : err_set(err, ERR_NOMEM, "no memory for cases");
    (void)fclose(in);
    if (!done)
        return err_wrap(err, "%s", file);
    cases->kinds[cases->n_files] = kind;
    cases->files[cases->n_files++] = file;
    return true;
}

void cases_fini(struct cases *cases)
{
    free(cases->results);
    *cases = (struct cases){0};
}

/* ---- scoring ---- */

static bool fired_in(const struct case_result *result, const char *rule)
{
    for (unsigned i = 0; i < result->n_fired; i++)
        if (strcmp(result->fired[i].id, rule) == 0)
            return true;
    return false;
}

bool cases_is_single(const struct cases *cases, const char *rule)
{
    unsigned n = 0;
    for (unsigned i = 0; i < cases->n && n < 2; i++)
        n += cases->kinds[cases->results[i].file] != CASES_INVENTED &&
             fired_in(&cases->results[i], rule);
    return n == 1;
}

/* Its cause rests on rules that know this case only. */
static bool rests_on_singles(const struct cases *cases, const struct case_result *result)
{
    unsigned singles = 0;
    for (unsigned i = 0; i < result->n_fired; i++) {
        if (result->fired[i].role != POINT_FOR)
            continue;
        if (!cases_is_single(cases, result->fired[i].id))
            return false;
        singles++;
    }
    return singles > 0;
}

static unsigned bin_of(double confidence)
{
    static const double from[CASE_BINS] = {0, 0.3, 0.5, 0.7, 0.8, 0.9};
    unsigned bin = CASE_BINS - 1;
    while (bin > 0 && confidence < from[bin])
        bin--;
    return bin;
}

static bool has_family(const struct case_result *r)
{
    bool fits = r->said_family == r->family;
    for (unsigned i = 0; i < r->n_acceptable; i++)
        fits |= cause_row(r->acceptable[i])->family == r->said_family;
    return fits;
}

static bool has_plane(const struct case_result *r)
{
    bool fits = r->said_plane == r->plane;
    for (unsigned i = 0; i < r->n_acceptable; i++)
        fits |= cause_has_plane(r->acceptable[i], r->said_plane);
    return fits;
}

static bool is_fair(const struct case_result *r, enum cause said)
{
    bool fits = said == r->cause;
    for (unsigned i = 0; i < r->n_acceptable; i++)
        fits |= r->acceptable[i] == said;
    return fits;
}

bool cases_is_fair(const struct case_result *r)
{
    return is_fair(r, r->said);
}

/* What the confidence is about. */
static bool is_named_right(const struct case_result *r)
{
    return is_fair(r, r->resembles != CAUSE_NONE ? r->resembles : r->said);
}

static bool is_given_up_wrongly(const struct case_result *r)
{
    bool fits = cause_row(r->cause)->recoverable == RECOVERABLE_NO;
    for (unsigned i = 0; i < r->n_acceptable; i++)
        fits |= cause_row(r->acceptable[i])->recoverable == RECOVERABLE_NO;
    return cause_row(r->said)->recoverable == RECOVERABLE_NO && !fits;
}

static void add_to(struct score *score, const struct cases *cases, const struct case_result *r)
{
    bool is_right = r->said == r->cause, fair = cases_is_fair(r);
    bool strict = !rests_on_singles(cases, r);
    unsigned bin = bin_of(r->confidence);
    double miss = r->confidence - is_named_right(r);
    score->n++;
    score->causes += is_right;
    score->families += r->said_family == r->family;
    score->planes += r->said_plane == r->plane;
    score->fair_causes += fair;
    score->fair_families += has_family(r);
    score->fair_planes += has_plane(r);
    score->named += fair || (r->resembles != CAUSE_NONE && is_named_right(r));
    score->given_up += is_given_up_wrongly(r);
    score->lines += fair && r->line > 0;
    score->right_lines += fair && r->line > 0 && r->said_line == r->line;
    score->recognised += r->is_recognised;
    score->brier += miss * miss;
    score->strict_causes += strict ? is_right : r->cause == CAUSE_UNKNOWN;
    score->strict_planes += strict && r->said_plane == r->plane;
    score->matrix[r->plane][r->said_plane]++;
    score->bin_n[bin]++;
    score->bin_right[bin] += is_named_right(r);
    score->bin_sum[bin] += r->confidence;
}

struct score cases_score_program(const struct cases *cases, unsigned file, const char *program)
{
    struct score score = {0};
    for (unsigned i = 0; i < cases->n; i++)
        if (cases->results[i].file == file &&
            (program == NULL || strcmp(cases->results[i].program, program) == 0))
            add_to(&score, cases, &cases->results[i]);
    if (score.n > 0)
        score.brier /= score.n;
    return score;
}

struct score cases_score(const struct cases *cases, unsigned file)
{
    return cases_score_program(cases, file, NULL);
}

double cases_macro_f1(const struct cases *cases, unsigned file)
{
    unsigned was[CAUSE_COUNT] = {0}, said[CAUSE_COUNT] = {0}, right[CAUSE_COUNT] = {0}, n = 0;
    double sum = 0;
    for (unsigned i = 0; i < cases->n; i++) {
        const struct case_result *r = &cases->results[i];
        if (r->file != file)
            continue;
        was[r->cause]++;
        said[r->said]++;
        right[r->cause] += r->said == r->cause;
    }
    for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
        if (was[cause] > 0) {
            n++;
            sum += 2.0 * right[cause] / (was[cause] + said[cause]);
        }
    return n == 0 ? 0 : sum / n;
}

static int surer_first(const void *a, const void *b)
{
    const struct case_result *const *x = a, *const *y = b;
    return ((*x)->confidence < (*y)->confidence) - ((*x)->confidence > (*y)->confidence);
}

double cases_accuracy_at(const struct cases *cases, unsigned file, double share)
{
    const struct case_result **list = calloc(cases->n + 1, sizeof *list);
    unsigned n = 0, right = 0;
    for (unsigned i = 0; list != NULL && i < cases->n; i++)
        if (cases->results[i].file == file)
            list[n++] = &cases->results[i];
    if (n > 0)
        qsort(list, n, sizeof *list, surer_first);
    unsigned wanted = (unsigned)(n * share + 0.5);
    for (unsigned i = 0; i < wanted; i++)
        right += cases_is_fair(list[i]);
    free(list);
    return wanted == 0 ? 0 : 1.0 * right / wanted;
}
