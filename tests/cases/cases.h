/* cases.h - labelled failures of many systems: how often the analyser is right about them.
 *
 * tests/cases/NAME.jsonl holds one case a line: what a reader would see (system, messages, facts)
 * and what it really was (label; `acceptable`: other causes that are not wrong; `line`: the message
 * that carries the cause). A scoreboard is filled file by file; rules that fire on exactly
 * one case of all are told apart, since they may only know that case.
 */
#ifndef TESTS_CASES_CASES_H
#define TESTS_CASES_CASES_H

#include <stdio.h>

#include "analyzer/judge/judge.h"
#include "base/json.h"

enum {
    CASES_MAX = 4096,
    CASE_RULES_MAX = 64,
    CASE_BINS = 6,
    CASE_FILES_MAX = 16,
    CASE_ACCEPTABLE_MAX = 6,
};

/* What the cases of a file are. */
enum case_kind {
    CASES_REAL,     /* failures that happened */
    CASES_INVENTED, /* by whoever wrote the rules */
    CASES_MESSAGES, /* single messages that a program can print */
};

struct case_rule {
    char id[VERDICT_RULE_MAX];
    enum cause cause;
    enum point_role role;
};
struct case_result {
    char id[32], program[16];
    unsigned file;
    enum plane plane, said_plane;
    enum family family, said_family;
    enum cause cause, said, resembles;          /* resembles: of an unknown cause */
    enum cause acceptable[CASE_ACCEPTABLE_MAX]; /* a second engineer would defend these */
    unsigned n_acceptable;
    unsigned line, said_line; /* message that carries the cause, from 1; 0: not labelled, a fact */
    char rule[VERDICT_RULE_MAX]; /* that carries the verdict */
    bool is_recognised;          /* it is a specific one */
    double confidence;
    struct case_rule fired[CASE_RULES_MAX];
    unsigned n_fired;
};
struct score {
    unsigned n, planes, families, causes;             /* right ones */
    unsigned fair_planes, fair_families, fair_causes; /* right, or as an acceptable cause has it */
    unsigned lines, right_lines; /* right causes whose line is labelled, and quoted */
    unsigned recognised;
    unsigned given_up; /* wrongly said not to be recoverable */
    unsigned named;    /* acceptable, or what an unknown cause resembles is */
    double brier;
    unsigned strict_planes, strict_causes;     /* rules of a single case left out */
    unsigned matrix[PLANE_COUNT][PLANE_COUNT]; /* what it was, what was said */
    unsigned bin_n[CASE_BINS], bin_right[CASE_BINS];
    double bin_sum[CASE_BINS];
};

struct cases {
    const struct ruleset *rules;
    struct case_result *results;
    unsigned n, n_files;
    const char *files[CASE_FILES_MAX]; /* borrowed */
    enum case_kind kinds[CASE_FILES_MAX];
};

/* What a reader of the case would see; what it really was: id, plane and cause of a result. */
void cases_give(struct json_object *line, const struct evidence_sink *sink);
bool cases_label(struct json_object *line, struct case_result *result, struct err *err);
/* One line of a file; is_recognised is left out. */
bool cases_judge(struct judge *judge, const char *text, size_t n, struct case_result *result,
                 struct err *err);
/* Judges every case of a file. False with an error that names file and line. */
bool cases_add(struct cases *cases, const char *file, enum case_kind kind, struct err *err);
void cases_fini(struct cases *cases);
struct score cases_score(const struct cases *cases, unsigned file);
/* The same of the messages of one program. */
struct score cases_score_program(const struct cases *cases, unsigned file, const char *program);
bool cases_is_specific(const struct ruleset *rules, const char *rule); /* its rank, or a proof */
bool cases_is_fair(const struct case_result *result); /* the cause, or an acceptable one */
/* Mean over the causes of a file: harmonic mean of precision and recall. */
double cases_macro_f1(const struct cases *cases, unsigned file);
/* Share of right causes among the surest `share` of the cases. */
double cases_accuracy_at(const struct cases *cases, unsigned file, double share);
/* Whether a rule fired on one case only, of all that are real and the drawn messages. */
bool cases_is_single(const struct cases *cases, const char *rule);

/* Messages without labels: how many of each program a specific rule recognises. */
bool cases_coverage(const struct ruleset *rules, const char *file, FILE *out, struct err *err);

/* Judges all cases again with each mechanism switched off, as a table; `judge_all` fills a
 * scoreboard. */
typedef bool cases_judge_fn(struct cases *cases, struct err *err);
bool cases_ablation(cases_judge_fn *judge_all, FILE *out, struct err *err);
/* Entries of `beats` without which no case of these files gets a worse verdict, one after the other
 * taken away; what remains, by the cause that is beaten. */
bool cases_spare_beats(const char *const *files, size_t n_files, FILE *out, struct err *err);
/* One rule without its precedence; one rule away. */
bool cases_drop_beats(struct ruleset *rules, const char *rule, struct err *err);
bool cases_switch_off(struct ruleset *rules, const char *rule, struct err *err);

/* Of messages: figures by program, families that were confused. */
void cases_report_programs(const struct cases *cases, unsigned file, FILE *out);
/* As Markdown: figures, confusion, calibration, rules of a single case. */
void cases_report(const struct cases *cases, FILE *out);
/* The cases that are wrong, or those with these ids, with what fired. */
void cases_show(const struct cases *cases, char *const *ids, int n_ids, FILE *out);

#endif
