/* explain.c - `ferry explain --file`: verdicts for evidence from anywhere: logs, dumps of objects,
 * JSON documents and lines. Needs no appliance and asks nobody. */
#include <stdio.h>
#include <unistd.h>

#include "analyzer/judge.h"
#include "analyzer/read.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/verdict_page.h"

enum { KEY_RULES = 0x300 };

struct options {
    struct cli_options common;
    const char *file, *rules;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'f': o->file = arg; return 0;
    case KEY_RULES: o->rules = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "'%s': evidence is named with --file", arg); return 0;
    case ARGP_KEY_END:
        if (o->file == NULL)
            argp_error(state, "what is to be explained? Name it with --file FILE, or --file -");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- one document after the other ---- */

struct hearing {
    struct judge *judge;
    struct evidence_sink sink;
    bool as_json, failed;
    unsigned n;
    char id[READ_ID_MAX];
};

static const struct evidence_sink *begin(void *ctx, const struct read_case *of)
{
    struct hearing *h = ctx;
    judge_forget(h->judge);
    TEXT_SET(h->id, of->id);
    return &h->sink;
}

static void print_line(struct hearing *h, const struct verdict *verdict)
{
    OWNED(json_object) document = verdict_json(verdict, h->id);
    const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
                                                                    JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text == NULL || printf("%s\n", text) < 0)
        h->failed = true;
}

static void print_page(struct hearing *h, const struct verdict *verdict)
{
    struct buf page;
    buf_init(&page, CLI_PAGE_MAX);
    if (h->n > 0)
        buf_add(&page, "\n");
    verdict_page(verdict, h->id, &page);
    h->failed = h->failed || page.failed || fputs(page.data, stdout) < 0;
    buf_fini(&page);
}

static void end(void *ctx)
{
    struct hearing *h = ctx;
    struct verdict verdict;
    judge_give(h->judge, &verdict);
    if (h->as_json)
        print_line(h, &verdict);
    else
        print_page(h, &verdict);
    h->n++;
}

static void warn(void *ctx, const struct err *problem)
{
    (void)ctx;
    (void)fprintf(stderr, "ferry: %s\n", problem->text);
}

/* What was asked is answered as far as it goes; a part that could not be read is a failure still.
 */
static int explain(const struct options *o, struct err *err)
{
    OWNED(ruleset) rules = ruleset_new(o->rules, warn, NULL, err);
    OWNED(judge) judge = rules != NULL ? judge_new(rules, err) : NULL;
    struct hearing h = {.judge = judge, .as_json = o->common.output == OUTPUT_JSON};
    struct read_visitor visitor = {.ctx = &h, .begin = begin, .end = end, .problem = warn};
    struct read_report report = {0};
    if (judge == NULL)
        return cli_fail(err, NULL);
    h.sink = judge_sink(judge);
    if (!read_evidence_path(o->file, &visitor, &report, err))
        return cli_fail(err, "docs/explain.md says what can be read");
    if (h.failed) {
        err_set(err, ERR_IO, "the answer could not be written");
        return cli_fail(err, NULL);
    }
    return report.problems > 0 ? EXIT_USAGE : EXIT_DONE;
}

int verb_explain(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"file", 'f', "FILE", 0, "a log, a dump, a folder, JSON documents or lines; - is stdin", 0},
        {"rules", KEY_RULES, "DIR", 0, "a site's own rules (docs/rules.md)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "--file FILE",
        .doc = "Say why a migration failed, from what any system wrote about it. With -o json one "
               "verdict per document, one per line. Exit status 2 when something could not be "
               "read; verdicts for the rest are printed.",
        .children = cli_options_children,
    };
    struct options o = {0};
    struct err err = {0};
    cli_options_init(&o.common);
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
        return EXIT_USAGE;
    return explain(&o, &err);
}
