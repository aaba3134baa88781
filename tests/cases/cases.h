/* cases.h - labelled failures of many systems: how often the analyser is right about them.
 *
 * tests/cases/NAME.jsonl holds one case a line: what a reader would see (system, messages, facts)
 * and what it really was (label). A scoreboard is filled file by file; rules that fire on exactly
 * one case of all are told apart, since they may only know that case.
 */
#ifndef TESTS_CASES_CASES_H
#define TESTS_CASES_CASES_H

#include <stdio.h>

#include "analyzer/judge/judge.h"
#include "base/json.h"

enum { CASES_MAX = 2048, CASE_RULES_MAX = 64, CASE_BINS = 6 };

struct case_rule {
    char id[VERDICT_RULE_MAX];
    enum cause cause;
    enum point_role role;
};
struct case_result {
    char id[32];
    unsigned file;
    size_t line;
    enum plane plane, said_plane;
    enum cause cause, said;
    double confidence;
    bool is_guess; /* by words that may have been learned from this very case */
    struct case_rule fired[CASE_RULES_MAX];
    unsigned n_fired;
};
struct score {
    unsigned n, planes, causes;                /* right ones */
    unsigned strict_planes, strict_causes;     /* rules of a single case and guesses left out */
    unsigned matrix[PLANE_COUNT][PLANE_COUNT]; /* what it was, what was said */
    unsigned bin_n[CASE_BINS], bin_right[CASE_BINS];
    double bin_sum[CASE_BINS];
};

struct cases {
    const struct ruleset *rules;
    struct case_result *results;
    unsigned n, n_files;
    const char *files[12]; /* borrowed */
    bool is_real[12];      /* failures that happened, not invented ones */
};

/* What a reader of the case would see; what it really was: id, plane and cause of a result. */
void cases_give(struct json_object *line, const struct evidence_sink *sink);
bool cases_label(struct json_object *line, struct case_result *result, struct err *err);
/* Judges every case of a file. False with an error that names file and line. */
bool cases_add(struct cases *cases, const char *file, bool is_real, struct err *err);
void cases_fini(struct cases *cases);
struct score cases_score(const struct cases *cases, unsigned file);
/* Whether a rule fired on one case only, of all that are real. */
bool cases_is_single(const struct cases *cases, const char *rule);

/* As Markdown: figures, confusion, calibration, rules of a single case. */
void cases_report(const struct cases *cases, FILE *out);
/* The cases that are wrong, or those with these ids, with what fired. */
void cases_show(const struct cases *cases, char *const *ids, int n_ids, FILE *out);

#endif
