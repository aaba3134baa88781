/* messages.c - messages that programs can print: figures by program, bare coverage. See cases.h. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/cases/cases.h"

enum { PROGRAMS_MAX = 32 };

struct programs {
    char names[PROGRAMS_MAX][16];
    unsigned messages[PROGRAMS_MAX], recognised[PROGRAMS_MAX], n;
};

static unsigned program_at(struct programs *programs, const char *name)
{
    unsigned at = 0;
    while (at < programs->n && strcmp(programs->names[at], name) != 0)
        at++;
    if (at == programs->n && at < PROGRAMS_MAX - 1)
        TEXT_SET(programs->names[programs->n++], name);
    return at;
}

/* ---- labelled ones ---- */

static void cell(unsigned strict, unsigned fair, unsigned n, FILE *out)
{
    (void)fprintf(out, " %.0f %% (%.0f %%) |", 100.0 * strict / n, 100.0 * fair / n);
}

static void confused_families(const struct cases *cases, unsigned file, FILE *out)
{
    (void)fprintf(out, "\n| family: it was, said |");
    for (enum family said = 0; said < FAMILY_COUNT; said++)
        (void)fprintf(out, " %s |", family_name(said));
    (void)fprintf(out, "\n|---|");
    for (enum family said = 0; said < FAMILY_COUNT; said++)
        (void)fprintf(out, "---|");
    for (enum family was = 0; was < FAMILY_COUNT; was++) {
        (void)fprintf(out, "\n| %s |", family_name(was));
        for (enum family said = 0; said < FAMILY_COUNT; said++) {
            unsigned n = 0;
            for (unsigned i = 0; i < cases->n; i++)
                n += cases->results[i].file == file && cases->results[i].family == was &&
                     cases->results[i].said_family == said;
            (void)fprintf(out, " %.0u |", n);
        }
    }
    (void)fprintf(out, "\n");
}

void cases_report_programs(const struct cases *cases, unsigned file, FILE *out)
{
    struct programs programs = {0};
    for (unsigned i = 0; i < cases->n; i++)
        if (cases->results[i].file == file)
            (void)program_at(&programs, cases->results[i].program);
    (void)fprintf(out, "\nBy program; in brackets: acceptable.\n\n| program | n | plane | family | "
                       "cause | by a specific rule |\n|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < programs.n; i++) {
        struct score score = cases_score_program(cases, file, programs.names[i]);
        (void)fprintf(out, "| %s | %u |", programs.names[i], score.n);
        cell(score.planes, score.fair_planes, score.n, out);
        cell(score.families, score.fair_families, score.n, out);
        cell(score.causes, score.fair_causes, score.n, out);
        (void)fprintf(out, " %.0f %% |\n", 100.0 * score.recognised / score.n);
    }
    confused_families(cases, file, out);
}

/* ---- all of them ---- */

static bool cover_line(const struct ruleset *rules, struct judge *judge, const char *line, size_t n,
                       struct programs *programs, struct err *err)
{
    const char *program = "", *text = "";
    struct verdict verdict;
    OWNED(json_object) json = json_parse(line, n, "message", err);
    if (json == NULL || !json_get_text(json, "program", "", &program, err) ||
        !json_get_text(json, "text", "", &text, err))
        return false;
    struct evidence_sink sink = judge_sink(judge);
    struct evidence_message message = {.text = text, .length = strlen(text), .origin = "message 1"};
    judge_reset(judge);
    sink.message(sink.ctx, &message);
    judge_give(judge, &verdict);
    unsigned at = program_at(programs, program);
    programs->messages[at]++;
    programs->recognised[at] += cases_is_specific(rules, verdict.rule);
    return true;
}

static void print_coverage(const struct programs *programs, FILE *out)
{
    unsigned messages = 0, recognised = 0;
    (void)fprintf(out, "| program | messages | by a specific rule |\n|---|---|---|\n");
    for (unsigned i = 0; i < programs->n; i++) {
        messages += programs->messages[i];
        recognised += programs->recognised[i];
        (void)fprintf(out, "| %s | %u | %.0f %% |\n", programs->names[i], programs->messages[i],
                      100.0 * programs->recognised[i] / programs->messages[i]);
    }
    if (messages > 0)
        (void)fprintf(out, "| all | %u | %.0f %% |\n", messages, 100.0 * recognised / messages);
}

bool cases_coverage(const struct ruleset *rules, const char *file, FILE *out, struct err *err)
{
    struct programs programs = {0};
    OWNED(judge) judge = judge_new(rules, err);
    OWNED_TEXT line = NULL;
    size_t room = 0;
    bool done = true;
    FILE *in = judge != NULL ? fopen(file, "re") : NULL;
    if (in == NULL)
        return judge != NULL ? err_set(err, ERR_INVALID, "%s: %m", file) : false;
    for (ssize_t n; done && (n = getline(&line, &room, in)) > 1;)
        done = cover_line(rules, judge, line, (size_t)n, &programs, err);
    (void)fclose(in);
    if (done)
        print_coverage(&programs, out);
    return done;
}
