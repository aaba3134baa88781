/* cases.c - reading and judging labelled cases. See cases.h. */
#include "tests/cases/cases.h"

#include <string.h>

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

bool cases_label(struct json_object *line, struct case_result *result, struct err *err)
{
    const char *id = "", *plane = "", *cause = "";
    if (!json_get_text(line, "id", "", &id, err) ||
        !json_get_text(line, "label.plane", "", &plane, err) ||
        !json_get_text(line, "label.cause", "", &cause, err))
        return false;
    TEXT_SET(result->id, id);
    result->cause = cause_from_name(cause);
    while (result->plane < PLANE_COUNT && strcmp(plane_name(result->plane), plane) != 0)
        result->plane++;
    return (result->cause < CAUSE_COUNT && result->plane < PLANE_COUNT) ||
           err_set(err, ERR_INVALID, "no such label: %s, %s", plane, cause);
}

static bool judge_line(struct cases *cases, struct judge *judge, const char *text, size_t n,
                       struct err *err)
{
    struct case_result *result = &cases->results[cases->n];
    struct verdict verdict;
    OWNED(json_object) line = json_parse(text, n, "case", err);
    *result = (struct case_result){.file = cases->n_files};
    if (line == NULL || !cases_label(line, result, err))
        return false;
    struct evidence_sink sink = judge_sink(judge);
    judge_reset(judge);
    cases_give(line, &sink);
    judge_give(judge, &verdict);
    judge_fired(judge, on_fired, result);
    result->said = verdict.cause;
    result->said_plane = verdict.plane;
    result->confidence = verdict.confidence;
    result->is_guess = strcmp(verdict.rule, "likeness") == 0;
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

bool cases_add(struct cases *cases, const char *file, bool is_real, struct err *err)
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
    cases->is_real[cases->n_files] = is_real;
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
        n += cases->is_real[cases->results[i].file] && fired_in(&cases->results[i], rule);
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

struct score cases_score(const struct cases *cases, unsigned file)
{
    struct score score = {0};
    for (unsigned i = 0; i < cases->n; i++) {
        const struct case_result *r = &cases->results[i];
        if (r->file != file)
            continue;
        bool is_right = r->said == r->cause, strict = !r->is_guess && !rests_on_singles(cases, r);
        unsigned bin = bin_of(r->confidence);
        score.n++;
        score.causes += is_right;
        score.planes += r->said_plane == r->plane;
        score.strict_causes += strict ? is_right : r->cause == CAUSE_UNKNOWN;
        score.strict_planes += strict && r->said_plane == r->plane;
        score.matrix[r->plane][r->said_plane]++;
        score.bin_n[bin]++;
        score.bin_right[bin] += is_right;
        score.bin_sum[bin] += r->confidence;
    }
    return score;
}
