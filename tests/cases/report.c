/* report.c - the scoreboard for people. See cases.h. */
#include <string.h>

#include "base/own.h"
#include "tests/cases/cases.h"

static double percent(unsigned part, unsigned whole)
{
    return whole == 0 ? 0 : 100.0 * part / whole;
}

static void figure(const char *what, unsigned right, const struct score *score, FILE *out)
{
    (void)fprintf(out, "| %s | %u | %u | %.1f %% |\n", what, right, score->n,
                  percent(right, score->n));
}

static void figures(const struct score *score, enum case_kind kind, FILE *out)
{
    (void)fprintf(out, "| | right | n | share |\n|---|---|---|---|\n");
    figure("plane", score->planes, score, out);
    figure("family", score->families, score, out);
    figure("cause", score->causes, score, out);
    if (kind != CASES_INVENTED) {
        figure("plane, acceptable", score->fair_planes, score, out);
        figure("family, acceptable", score->fair_families, score, out);
        figure("cause, acceptable", score->fair_causes, score, out);
        figure("... or resembled", score->named, score, out);
    }
    if (kind == CASES_REAL) {
        figure("plane, strict", score->strict_planes, score, out);
        figure("cause, strict", score->strict_causes, score, out);
    }
}

static void quality(const struct cases *cases, unsigned file, const struct score *score, FILE *out)
{
    static const double shares[] = {0.25, 0.5, 0.75, 1};
    (void)fprintf(out, "\nMacro-F1 of the causes %.2f, Brier score %.3f",
                  cases_macro_f1(cases, file), score->brier);
    if (score->lines > 0)
        (void)fprintf(out, ", right line quoted in %u of %u right verdicts", score->right_lines,
                      score->lines);
    (void)fprintf(out, ", wrongly called irrecoverable %u", score->given_up);
    (void)fprintf(out, ". Acceptable causes among the surest");
    for (size_t i = 0; i < COUNT(shares); i++)
        (void)fprintf(out, "%s %.0f %%: %.1f %%", i > 0 ? "," : "", 100 * shares[i],
                      100 * cases_accuracy_at(cases, file, shares[i]));
    (void)fprintf(out, ".\n");
}

static void confusion(const struct score *score, FILE *out)
{
    (void)fprintf(out, "\n| plane: it was, said |");
    for (enum plane said = 0; said < PLANE_COUNT; said++)
        (void)fprintf(out, " %s |", plane_name(said));
    (void)fprintf(out, "\n|---|---|---|---|\n");
    for (enum plane was = 0; was < PLANE_COUNT; was++) {
        (void)fprintf(out, "| %s |", plane_name(was));
        for (enum plane said = 0; said < PLANE_COUNT; said++)
            (void)fprintf(out, " %u |", score->matrix[was][said]);
        (void)fprintf(out, "\n");
    }
}

static void confused_causes(const struct cases *cases, unsigned file, FILE *out)
{
    unsigned lines = 0;
    for (enum cause was = 1; was < CAUSE_COUNT; was++)
        for (enum cause said = 0; said < CAUSE_COUNT; said++) {
            unsigned n = 0;
            for (unsigned i = 0; i < cases->n; i++) {
                const struct case_result *r = &cases->results[i];
                n += r->file == file && was != said && r->cause == was && r->said == said;
            }
            if (n > 0 && lines++ == 0)
                (void)fprintf(out, "\n| it was | said | cases |\n|---|---|---|\n");
            if (n > 0)
                (void)fprintf(out, "| `%s` | `%s` | %u |\n", cause_row(was)->name,
                              cause_row(said)->name, n);
        }
}

static void calibration(const struct score *score, FILE *out)
{
    static const char *const names[CASE_BINS] = {"below 0.3",  "0.3 to 0.5", "0.5 to 0.7",
                                                 "0.7 to 0.8", "0.8 to 0.9", "0.9 and more"};
    (void)fprintf(out, "\n| confidence | n | acceptable | share | mean confidence |\n"
                       "|---|---|---|---|---|\n");
    for (unsigned i = 0; i < CASE_BINS; i++)
        if (score->bin_n[i] > 0)
            (void)fprintf(out, "| %s | %u | %u | %.1f %% | %.2f |\n", names[i], score->bin_n[i],
                          score->bin_right[i], percent(score->bin_right[i], score->bin_n[i]),
                          score->bin_sum[i] / score->bin_n[i]);
}

static void singles(const struct cases *cases, FILE *out)
{
    unsigned n = 0;
    (void)fprintf(out, "\n## Rules that fire on exactly one case\n\n");
    for (unsigned i = 0; i < cases->n; i++)
        for (unsigned r = 0; r < cases->results[i].n_fired; r++)
            if (cases->kinds[cases->results[i].file] != CASES_INVENTED &&
                cases_is_single(cases, cases->results[i].fired[r].id))
                (void)fprintf(out, "%s`%s` (%s)", n++ > 0 ? ", " : "",
                              cases->results[i].fired[r].id, cases->results[i].id);
    (void)fprintf(out, "%s\n", n == 0 ? "None." : "");
}

void cases_report(const struct cases *cases, FILE *out)
{
    (void)fprintf(out,
                  "# How often the analyser is right\n\nWritten by `make scores`: %zu rules, "
                  "version %s. *Strict*: a verdict that rests only on rules\nwhich fire on exactly "
                  "one real case counts as unknown. *Acceptable*: the label or "
                  "another cause\nthat its reader would defend. What was laid aside "
                  "and how it was scored first: "
                  "[analyser-first-score.md](analyser-first-score.md).\n",
                  ruleset_count(cases->rules), ruleset_version(cases->rules));
    for (unsigned file = 0; file < cases->n_files; file++) {
        struct score score = cases_score(cases, file);
        (void)fprintf(out, "\n## %s\n\n", cases->files[file]);
        if (cases->kinds[file] == CASES_INVENTED)
            (void)fprintf(out, "Invented cases: they show what got lost, not how good it is.\n\n");
        figures(&score, cases->kinds[file], out);
        quality(cases, file, &score, out);
        confusion(&score, out);
        if (cases->kinds[file] == CASES_MESSAGES)
            cases_report_programs(cases, file, out);
        else
            confused_causes(cases, file, out);
        calibration(&score, out);
    }
    singles(cases, out);
}

/* ---- single cases ---- */

static bool is_asked_for(const struct case_result *result, char *const *ids, int n_ids)
{
    for (int i = 0; i < n_ids; i++)
        if (strcmp(ids[i], result->id) == 0)
            return true;
    return n_ids == 0 && (result->said != result->cause || result->said_plane != result->plane);
}

void cases_show(const struct cases *cases, char *const *ids, int n_ids, FILE *out)
{
    for (unsigned i = 0; i < cases->n; i++) {
        const struct case_result *r = &cases->results[i];
        if (!is_asked_for(r, ids, n_ids))
            continue;
        (void)fprintf(out, "%s %s: was %s/%s, said %s/%s, confidence %.2f\n", r->id,
                      r->said == r->cause ? "right" : "WRONG", plane_name(r->plane),
                      cause_row(r->cause)->name, plane_name(r->said_plane),
                      cause_row(r->said)->name, r->confidence);
        for (unsigned f = 0; f < r->n_fired; f++)
            (void)fprintf(
                out, "    %-8s %s (%s)%s\n", point_role_name(r->fired[f].role), r->fired[f].id,
                r->fired[f].cause < CAUSE_COUNT ? cause_row(r->fired[f].cause)->name
                                                : "gives facts",
                cases_is_single(cases, r->fired[f].id) ? ", fires on this case only" : "");
    }
}
