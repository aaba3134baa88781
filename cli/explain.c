/* explain.c - `ferry explain`: verdicts from evidence of any system (--file): logs, dumps of
 * objects, JSON documents and lines; needs no appliance. For recorded migrations see
 * explain_recorded.c. */
#include <stdio.h>
#include <unistd.h>

#include "analyzer/judge/judge.h"
#include "analyzer/read/read.h"
#include "appliance/config.h"
#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/fold.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/explain_recorded.h"
#include "cli/pages/verdict_page.h"

enum { KEY_RULES = 0x300, KEY_ALL, KEY_SINCE, KEY_STATE };

struct options {
    struct cli_options common;
    const char *file, *rules;
    const char *name, *state; /* of a migration that Ferry recorded */
    bool all;
    int64_t since_ms;
};

static void check(struct argp_state *state, const struct options *o)
{
    if ((o->file != NULL) + (o->name != NULL) + o->all != 1)
        argp_error(state,
                   "expected a recorded MIGRATION, --all, or evidence: --file FILE, or --file -");
    if (o->since_ms >= 0 && !o->all)
        argp_error(state, "--since needs --all");
    if (o->state != NULL && o->file != NULL)
        argp_error(state, "--state is for recorded migrations, not for --file");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case 'f': o->file = arg; return 0;
    case KEY_RULES: o->rules = arg; return 0;
    case KEY_ALL: o->all = true; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case KEY_SINCE:
        if (!human_read_duration(arg, &o->since_ms))
            argp_error(state, "--since '%s' is not a duration like 12h or 7d", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        if (access(arg, F_OK) == 0)
            argp_error(state, "'%s' is a file: --file %s explains it", arg, arg);
        o->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_END: check(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- one document after the other ---- */

struct explanation {
    struct judge *judge;
    struct evidence_sink sink;
    bool as_json, failed;
    bool draws, is_drawn; /* progress of reading, on a terminal */
    unsigned n;
    char id[READ_ID_MAX];
};

static void draw(void *ctx, uint64_t bytes)
{
    struct explanation *h = ctx;
    char text[HUMAN_TEXT_MAX];
    if (!h->draws)
        return;
    human_bytes(bytes, text);
    (void)fprintf(stderr, "\r%s read\033[K", text);
    h->is_drawn = true;
}

static void clear_progress(struct explanation *h)
{
    if (h->is_drawn)
        (void)fputs("\r\033[K", stderr);
    h->is_drawn = false;
}

static const struct evidence_sink *begin(void *ctx, const struct read_case *of)
{
    struct explanation *h = ctx;
    judge_reset(h->judge);
    TEXT_SET(h->id, of->id);
    return &h->sink;
}

static void print_line(struct explanation *h, const struct verdict *verdict)
{
    OWNED(json_object) document = verdict_json(verdict, h->id);
    const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
                                                                    JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text == NULL || printf("%s\n", text) < 0)
        h->failed = true;
}

static void print_page(struct explanation *h, const struct verdict *verdict)
{
    struct buf page, folded;
    buf_init(&page, CLI_PAGE_MAX);
    buf_init(&folded, CLI_PAGE_MAX);
    if (h->n > 0)
        buf_add(&folded, "\n");
    verdict_page(verdict, h->id, &page);
    if (!page.failed)
        fold_page(page.data, cli_width(STDOUT_FILENO, 0), &folded);
    bool is_whole = !page.failed && !folded.failed;
    h->failed = h->failed || !is_whole || fputs(folded.data, stdout) < 0;
    buf_fini(&page);
    buf_fini(&folded);
}

static void end(void *ctx)
{
    struct explanation *h = ctx;
    struct verdict verdict;
    judge_give(h->judge, &verdict);
    clear_progress(h);
    if (h->as_json)
        print_line(h, &verdict);
    else
        print_page(h, &verdict);
    h->n++;
}

static void warn(void *ctx, const struct err *problem)
{
    char clean[ERR_TEXT_MAX];
    table_clean(clean, sizeof clean, problem->text);
    if (ctx != NULL)
        clear_progress(ctx);
    (void)fprintf(stderr, "ferry: %s\n", clean);
}

/* Prints what can be explained; a part that could not be read is a failure.
 */
static int explain(const struct options *o, struct err *err)
{
    OWNED(ruleset) rules = ruleset_new(o->rules, warn, NULL, err);
    OWNED(judge) judge = rules != NULL ? judge_new(rules, err) : NULL;
    struct explanation h = {.judge = judge,
                            .as_json = o->common.output == OUTPUT_JSON,
                            .draws = cli_is_terminal(STDERR_FILENO)};
    struct read_visitor visitor = {
        .ctx = &h, .begin = begin, .end = end, .problem = warn, .progress = draw};
    struct read_report report = {0};
    if (judge == NULL)
        return cli_fail(err, NULL);
    h.sink = judge_sink(judge);
    bool is_read = read_evidence_path(o->file, &visitor, &report, err);
    clear_progress(&h);
    if (!is_read)
        return cli_fail(err, "docs/explain.md lists the formats");
    if (h.failed) {
        err_set(err, ERR_IO, "cannot write the verdicts");
        return cli_fail(err, NULL);
    }
    return report.problems > 0 ? EXIT_USAGE : EXIT_DONE;
}

int verb_explain(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"file", 'f', "FILE", 0, "a log, a dump, a folder, JSON documents or lines; - is stdin", 0},
        {"all", KEY_ALL, NULL, 0, "analyze all recorded migrations again; shows differences", 0},
        {"since", KEY_SINCE, "DURATION", 0, "with --all: those that ended in the last 12h, 7d, ...",
         0},
        {"state", KEY_STATE, "DIR", 0,
         "state directory to read; default: the appliance, with --all " CONFIG_STATE_DEFAULT, 0},
        {"rules", KEY_RULES, "DIR", 0, "a site's own rules (docs/rules.md)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION\n--all\n--file FILE",
        .doc = "Explain why a migration failed: a recorded one, or any other from logs and dumps. "
               "With --file and -o json: one verdict per document, one per line. Exit status 2: "
               "part of the input could not be read; verdicts for the rest are printed.",
        .children = cli_options_children,
    };
    struct options o = {.since_ms = -1};
    struct err err = {0};
    cli_options_init(&o.common);
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    const struct explain_recorded recorded = {.common = &o.common,
                                              .name = o.name,
                                              .state = o.state,
                                              .rules = o.rules,
                                              .since_ms = o.since_ms};
    return o.file != NULL ? explain(&o, &err) : explain_recorded(&recorded);
}
