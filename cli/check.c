/* check.c - `ferry check VM`: can a guest migrate, to which nodes, under which policy, and if not,
 * why not. Read-only. */
#include <stdio.h>
#include <time.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/requests.h"

enum { KEY_TO = 0x200, KEY_MEASURE, MEASURE_S = 5, ASK_AGAIN_MS = 500, ASK_MAX = 140 };

struct check {
    struct cli_options common;
    const char *vm, *to;
    int64_t measure_s; /* 0: not */
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct check *c = state->input;
    int64_t ms = MEASURE_S * INT64_C(1000);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &c->common; return 0;
    case KEY_TO:
        if (*arg == '\0')
            argp_error(state, "--to is empty; name a NODE or leave it out");
        c->to = name_arg(arg, KIND_NODE, state);
        return 0;
    case KEY_MEASURE:
        if (arg != NULL && (!human_read_duration(arg, &ms) || ms < 1000 ||
                            ms > CHECK_MEASURE_MAX_S * INT64_C(1000)))
            argp_error(state, "--measure takes a duration from 1s to %ds, not '%s'",
                       (int)CHECK_MEASURE_MAX_S, arg);
        c->measure_s = ms / 1000;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one VM at a time, not also '%s'", arg);
        c->vm = name_arg(arg, KIND_GUEST, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "VM is missing; `ferry get guests -A` lists the guests");
        return 0;
    case ARGP_KEY_END:
        if (c->common.all_namespaces)
            argp_error(state, "a VM is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static struct json_object *ask(struct client *client, const struct check *c, int64_t measure_s,
                               struct err *err)
{
    char path[KINDS_PATH_MAX];
    if (!kind_check_path(c->common.ns, path, err))
        return NULL;
    OWNED(json_object) question = json_object_new_object();
    json_add_text(question, "apiVersion", kind_api_version(KIND_DRAIN));
    json_add_text(question, "kind", "Check");
    struct json_object *spec = json_add_object(question, "spec");
    json_add_text(spec, "vmiName", c->vm);
    json_add_text(spec, "node", c->to);
    if (measure_s > 0)
        json_add_i64(spec, "measureSeconds", measure_s);
    return client_call(client, "POST", path, question, err);
}

/* A measurement continues after the answer that started it: polls until it has ended. */
static struct json_object *ask_until_measured(struct client *client, const struct check *c,
                                              struct err *err)
{
    const struct timespec pause = {.tv_nsec = ASK_AGAIN_MS * 1000000L};
    struct json_object *answer = ask(client, c, c->measure_s, err);
    for (unsigned i = 0; i < ASK_MAX && answer != NULL && c->measure_s > 0 &&
                         view_bool(answer, "status.dirtyRate.measuring");
         i++) {
        (void)nanosleep(&pause, NULL);
        json_object_free(answer);
        answer = ask(client, c, 0, err);
    }
    return answer;
}

/* A node that is not configured is a bad field, or not found as the guest may be. */
static int fail(struct client *client, const struct check *c, const struct err *err)
{
    const struct named guest = {KIND_GUEST, c->common.ns, c->vm}, node = {KIND_NODE, NULL, c->to};
    char hint[NAME_HINT_MAX];
    bool is_about_name = err->code == ERR_NOT_FOUND || err->code == ERR_UNPROCESSABLE;
    if (is_about_name && c->to != NULL && name_hint(client, &node, hint))
        return cli_fail(err, hint);
    return name_fail(client, &guest, err, NULL);
}

int verb_check(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", KEY_TO, "NODE", 0, "only this node; default: all", 0},
        {"measure", KEY_MEASURE, "DURATION", OPTION_ARG_OPTIONAL,
         "measure the dirty rate first, over 1s and DURATION (5s)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "VM",
        .doc = "Can a guest migrate, to which nodes, under which policy, and if not, why not.\v"
               "Exit status:\n"
               "  0  it can migrate now\n"
               "  1  it cannot, or would be Pending\n"
               "  5  it can start, but is expected to end in abort",
        .children = cli_options_children,
    };
    static const int exits[] = {
        [CHECK_NO] = EXIT_FAILED, [CHECK_DOUBTFUL] = EXIT_DOUBTFUL, [CHECK_YES] = EXIT_DONE};
    struct check c = {0};
    cli_options_init(&c.common);
    if (!cli_parse(&argp, argc, argv, &c))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(c.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = ask_until_measured(client, &c, &err);
    if (answer == NULL)
        return fail(client, &c, &err);
    const struct page_style style = {cli_table_width(c.common.output),
                                     cli_wants_colour(STDOUT_FILENO)};
    struct buf page;
    buf_init(&page, PAGE_MAX);
    enum check_answer can = page_check(json_at(answer, "status"), &style, &page);
    int printed;
    if (c.common.output == OUTPUT_JSON) {
        buf_fini(&page);
        printed = cli_print_json(json_at(answer, "status"));
    } else {
        printed = cli_print(&page);
    }
    return printed != EXIT_DONE ? printed : exits[can];
}
