/* replay.c - `ferry replay`: runs a monitor again on a recorded migration: with the same policy to
 * verify the records, with another one to see its decisions. Reads the state directory, also beside
 * a running appliance; changes nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/replay.h"
#include "appliance/config.h"
#include "base/human.h"
#include "base/own.h"
#include "base/yaml.h"
#include "cli/common/cli.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "store/any/any.h"

enum { KEY_STATE = 0x200, KEY_POLICY, KEY_MONITOR };

struct options {
    struct cli_options common;
    const char *name, *state, *policy;
    struct replay_question question;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case KEY_POLICY: o->policy = arg; return 0;
    case KEY_MONITOR:
        if (!text_equal(arg, "legacy") && !text_equal(arg, "stall"))
            argp_error(state, "--monitor '%s' is none of stall, legacy", arg);
        o->question.has_kind = true;
        o->question.kind = text_equal(arg, "legacy") ? MONITOR_LEGACY : MONITOR_STALL;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        o->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state,
                   "MIGRATION is missing; `ferry query 'SELECT * FROM migrations'` lists them");
        return 0;
    case ARGP_KEY_END:
        if (o->common.all_namespaces)
            argp_error(state, "a MIGRATION is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* A MigrationPolicy, or only its spec. */
static bool read_policy(struct options *o, const struct archive *archive, struct err *err)
{
    if (o->policy == NULL)
        return true;
    OWNED(yaml) yaml = yaml_read_file(o->policy, err);
    if (yaml == NULL)
        return false;
    if (yaml_document_count(yaml) != 1)
        return err_set(err, ERR_INVALID, "%s: expected one policy, found %zu documents", o->policy,
                       yaml_document_count(yaml));
    OWNED(json_object) document = yaml_to_json(yaml_document(yaml, 0));
    struct json_object *spec = json_at(document, "spec");
    return replay_policy(archive, spec != NULL ? spec : document, &o->question, err) ||
           err_wrap(err, "%s", o->policy);
}

/* ---- the answer ---- */

static const char *conclusion(const struct replay *r, char *out, size_t n)
{
    const struct replay_line *last = r->n_lines > 0 ? &r->lines[r->n_lines - 1] : NULL;
    char seen[HUMAN_TEXT_MAX];
    human_duration(r->seen_ms, seen);
    if (!r->is_other && r->is_same)
        (void)snprintf(out, n, "identical: all %zu stored decisions were reproduced", r->n_stored);
    else if (!r->is_other)
        (void)snprintf(out, n, "different: %s", r->difference);
    else if (r->end == REPLAY_ACTED && last != NULL)
        (void)snprintf(out, n, "first decision after %s: %s; what follows is not known", seen,
                       monitor_action_name(last->is.action));
    else if (r->end == REPLAY_STOPPED)
        (void)snprintf(out, n,
                       "no decision for %s; from then on the recorded decision changed the "
                       "migration, and what follows is not known",
                       seen);
    else
        (void)snprintf(out, n, "no decision until the end after %s", seen);
    return out;
}

static struct json_object *line_json(const struct replay_line *line)
{
    struct json_object *one = json_object_new_object();
    json_add_time(one, "at", line->at_ms);
    json_add_i64(one, "elapsedMs", line->is.elapsed_ms);
    json_add_text(one, "monitor", line->monitor == MONITOR_LEGACY ? "legacy" : "stall");
    json_add_bool(one, "shadow", line->shadow);
    json_add_text(one, "decision", decision_name(line->is.why));
    json_add_text(one, "action", monitor_action_name(line->is.action));
    json_add_i64(one, "downtimeMs", line->is.downtime_ms);
    json_add_i64(one, "budgetMs", line->is.budget_ms);
    json_add_i64(one, "estimateMs", line->is.estimate_ms);
    json_add_i64(one, "remaining", (int64_t)line->is.remaining);
    json_add_i64(one, "lowWater", (int64_t)line->is.low_water);
    json_add_i64(one, "bandwidthBps", (int64_t)line->is.bandwidth_bps);
    json_add_i64(one, "dirtyBps", (int64_t)line->is.dirty_bps);
    json_add_i64(one, "iteration", (int64_t)line->is.iteration);
    json_add_text(one, "text", line->is.text);
    return one;
}

static int print_json(const struct archive *archive, const struct replay *r, const char *text)
{
    static const char *const ends[] = {"saw-all", "acted", "stopped"};
    OWNED(json_object) answer = json_object_new_object();
    json_add_text(answer, "migration", archive->job.name);
    json_add_text(answer, "uid", archive->job.uid);
    json_add_bool(answer, "otherPolicy", r->is_other);
    if (!r->is_other) {
        json_add_bool(answer, "identical", r->is_same);
        json_add_i64(answer, "stored", (int64_t)r->n_stored);
    } else
        json_add_text(answer, "end", ends[r->end]);
    json_add_i64(answer, "inputs", (int64_t)r->n_monitor_inputs);
    json_add_i64(answer, "seenMs", r->seen_ms);
    json_add_text(answer, "conclusion", text);
    struct json_object *lines = json_add_array(answer, "decisions");
    for (size_t i = 0; i < r->n_lines; i++)
        json_add(lines, "", line_json(&r->lines[i]));
    return cli_print_json(answer);
}

static int print_table(const struct replay *r, const char *text)
{
    static const char *const titles[] = {"AFTER", "MONITOR", "ACTION", "DECISION", "WHY"};
    struct table table;
    struct buf page;
    table_init(&table, titles, COUNT(titles));
    for (size_t i = 0; i < r->n_lines; i++) {
        const struct replay_line *line = &r->lines[i];
        char after[HUMAN_TEXT_MAX];
        human_duration(line->is.elapsed_ms, after);
        table_add_row(&table);
        table_set(&table, 0, after);
        table_set(&table, 1,
                  line->shadow                      ? "shadow"
                  : line->monitor == MONITOR_LEGACY ? "legacy"
                                                    : "stall");
        table_set(&table, 2, monitor_action_name(line->is.action));
        table_set(&table, 3, decision_name(line->is.why));
        table_set(&table, 4, line->is.text);
    }
    buf_init(&page, CLI_PAGE_MAX);
    bool fits = table_render(&table, cli_width(STDOUT_FILENO, 0), false, &page);
    table_fini(&table);
    page.failed = page.failed || !fits;
    buf_addf(&page, "%s\n", text);
    return cli_print(&page);
}

static int replay(struct options *o, struct err *err)
{
    OWNED(store) store = store_read(o->state, err);
    OWNED(archive) archive = store != NULL ? archive_load(store, o->common.ns, o->name, err) : NULL;
    struct replay r;
    if (archive == NULL || !read_policy(o, archive, err) ||
        !replay_run(archive, &o->question, &r, err))
        return cli_fail(err, err->code == ERR_NOT_FOUND && store != NULL
                                 ? "`ferry query 'SELECT ns, name FROM migrations'` lists them"
                             : err->code == ERR_NOT_FOUND ? "name the state directory of the "
                                                            "appliance with --state DIR"
                             : err->code == ERR_REFUSED   ? "nothing was replayed"
                                                          : NULL);
    char text[REPLAY_TEXT_MAX + 64];
    (void)conclusion(&r, text, sizeof text);
    int status =
        o->common.output == OUTPUT_JSON ? print_json(archive, &r, text) : print_table(&r, text);
    bool failed = !r.is_other && !r.is_same;
    replay_fini(&r);
    return status != EXIT_DONE ? status : failed ? EXIT_FAILED : EXIT_DONE;
}

int verb_replay(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"state", KEY_STATE, "DIR", 0, "state directory; default " CONFIG_STATE_DEFAULT, 0},
        {"policy", KEY_POLICY, "FILE", 0,
         "a MigrationPolicy to apply over the settings stored with the migration", 0},
        {"monitor", KEY_MONITOR, "NAME", 0, "monitor to run: stall or legacy", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Run a monitor again on the samples of a recorded migration. Without --policy and "
               "--monitor the stored decisions must be reproduced exactly; exit status 1 when they "
               "are not.",
        .children = cli_options_children,
    };
    struct options o = {.state = CONFIG_STATE_DEFAULT};
    cli_options_init(&o.common);
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    struct err err = {0};
    return replay(&o, &err);
}
