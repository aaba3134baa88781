/* abort.c - `ferry abort`: asks for a migration to stop; the guest stays where it is.
 *
 * Not a delete: the record of how it ended is what the operator wants to read next. */
#include <stdio.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/kinds.h"
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
        a->name = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which MIGRATION? `ferry get migrations` lists them");
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
        return err_set(err, ERR_REFUSED, "migration '%s' is over already: %s", a->name, word);
    char subresource[KINDS_PATH_MAX + 8];
    (void)snprintf(subresource, sizeof subresource, "%s/abort", path);
    OWNED(json_object) body = json_object_new_object();
    OWNED(json_object) answer = client_call(client, "PUT", subresource, body, err);
    return answer != NULL;
}

/* Done when the guest stayed because we asked; failed when the migration won the race. */
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
    (void)fprintf(stderr, "ferry: the abort came too late or failed; this is how it ended:\n");
    (void)wait_summary(object, 0, &text);
    (void)fputs(text.data != NULL ? text.data : "", stderr);
    buf_fini(&text);
    return EXIT_FAILED;
}

int verb_abort(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"wait", KEY_WAIT, NULL, 0, "wait until it is over", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "with --wait: stop waiting after, like 1m", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Stop a migration; the guest stays where it is.",
        .children = cli_options_children,
    };
    struct abort a = {.timeout_ms = -1};
    cli_options_init(&a.common);
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(a.common.server, &err);
    if (client == NULL || !ask(client, &a, &err))
        return cli_fail(&err, err.code == ERR_REFUSED
                                  ? "nothing to stop; `ferry describe vmim NAME` tells how it ended"
                                  : NULL);
    if (!a.wait) {
        (void)printf("%s: asked to stop; `ferry describe vmim %s` tells how it ends\n", a.name,
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
