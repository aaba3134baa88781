/* abort.c - `ferry abort`: aborts a migration; the guest stays on its node. Unlike delete it keeps
 * the migration, so that its outcome can be read. */
#include <stdio.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"
#include "engine/model/job/phase.h"

enum { KEY_WAIT = 0x200, KEY_TIMEOUT, ANSWER_MAX = 1 << 20 };

struct abort {
    struct cli_options common;
    const char *name;
    bool wait;
    int64_t timeout_ms;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct abort *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case KEY_WAIT: a->wait = true; return 0;
    case KEY_TIMEOUT:
        if (!human_read_duration(arg, &a->timeout_ms))
            argp_error(state, "--timeout '%s' is not a duration like 30s or 5m", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        a->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MIGRATION is missing; `ferry get migrations` lists them");
        return 0;
    case ARGP_KEY_END:
        if (a->timeout_ms >= 0 && !a->wait)
            argp_error(state, "--timeout needs --wait");
        if (a->common.all_namespaces)
            argp_error(state, "a MIGRATION is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool ask(struct client *client, const struct abort *a, struct err *err)
{
    char path[KINDS_PATH_MAX];
    if (!kind_path(KIND_MIGRATION, a->common.ns, a->name, path, err))
        return false;
    OWNED(json_object) object = client_call(client, "GET", path, NULL, err);
    if (object == NULL)
        return false;
    const char *word = view_text(object, "status.phase");
    enum phase phase = phase_from_name(word);
    if (phase < PHASE_COUNT && phase_is_final(phase))
        return err_set(err, ERR_REFUSED, "migration '%s' has already ended: %s", a->name, word);
    char subresource[KINDS_PATH_MAX + 8];
    (void)snprintf(subresource, sizeof subresource, "%s/abort", path);
    OWNED(json_object) body = json_object_new_object();
    OWNED(json_object) answer = client_call(client, "PUT", subresource, body, err);
    return answer != NULL;
}

/* Done: the migration was aborted. Failed: it ended before the abort took effect. */
static int print_end(struct json_object *object, const struct abort *a)
{
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    bool aborted =
        text_equal(view_text(object, "status.migrationState.abortStatus"), "Succeeded") ||
        text_equal(view_text(object, "status.ferry.outcome"), "aborted");
    if (a->common.output == OUTPUT_JSON) {
        int status = cli_print_json(object);
        return status != EXIT_DONE ? status : aborted ? EXIT_DONE : EXIT_FAILED;
    }
    if (aborted) {
        char vm[TABLE_CELL_MAX], node[TABLE_CELL_MAX];
        table_clean(vm, sizeof vm, view_text(object, "spec.vmiName"));
        table_clean(node, sizeof node, view_text(object, "status.migrationState.sourceNode"));
        buf_addf(&text, "%s aborted; '%s' stays on %s\n", a->name, vm,
                 node[0] != '\0' ? node : "its node");
        return cli_print(&text);
    }
    (void)fprintf(stderr, "ferry: the abort came too late or failed; the migration ended:\n");
    (void)wait_summary(object, 0, &text);
    (void)fputs(text.data != NULL ? text.data : "", stderr);
    buf_fini(&text);
    return EXIT_FAILED;
}

int verb_abort(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"wait", KEY_WAIT, NULL, 0, "wait until the migration has ended", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "with --wait: give up after, like 1m", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Abort a migration; the guest stays on its node.",
        .children = cli_options_children,
    };
    struct abort a = {.timeout_ms = -1};
    cli_options_init(&a.common);
    if (!cli_parse(&argp, argc, argv, &a))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(a.common.server, &err);
    const struct named what = {KIND_MIGRATION, a.common.ns, a.name};
    char hint[NAME_HINT_MAX];
    (void)snprintf(hint, sizeof hint,
                   "nothing to abort; `ferry describe vmim %.253s -n %.63s` shows the outcome",
                   a.name, a.common.ns);
    if (client == NULL || !ask(client, &a, &err))
        return name_fail(client, &what, &err, err.code == ERR_REFUSED ? hint : NULL);
    if (!a.wait) {
        (void)printf("%s: abort requested; `ferry describe vmim %s` shows the outcome\n", a.name,
                     a.name);
        return EXIT_DONE;
    }
    struct wait wait = {.client = client,
                        .ns = a.common.ns,
                        .name = a.name,
                        .timeout_ms = a.timeout_ms,
                        .quiet = a.common.output == OUTPUT_JSON};
    struct json_object *last = NULL;
    int status = wait_until_over(&wait, &last);
    OWNED(json_object) object = last;
    return status != EXIT_DONE ? status : print_end(object, &a);
}
