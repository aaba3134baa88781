/* check.c - `ferry check VM`: can a guest migrate, to which nodes, under which policy, and if not,
 * why not. Read-only. */
#include <stdio.h>
#include <time.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
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
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &c->common; return 0;
    case KEY_TO:
        if (*arg == '\0')
            argp_error(state, "--to is empty; name a NODE or leave it out");
        c->to = arg;
        return 0;
    case KEY_MEASURE:
        c->measure_s = MEASURE_S;
        if (arg != NULL && !text_to_i64(arg, 1, CHECK_MEASURE_MAX_S, &c->measure_s))
            argp_error(state, "--measure takes 1 to %d seconds, not '%s'", (int)CHECK_MEASURE_MAX_S,
                       arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one VM at a time, not also '%s'", arg);
        c->vm = arg;
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

int verb_check(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", KEY_TO, "NODE", 0, "only this node; default: all", 0},
        {"measure", KEY_MEASURE, "SECONDS", OPTION_ARG_OPTIONAL,
         "measure the dirty rate first, over 1 s and SECONDS (5)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "VM",
        .doc = "Can a guest migrate, to which nodes, under which policy, and if not, why not. Exit "
               "status 0: it can migrate now; 1: it cannot, or would be Pending.",
        .children = cli_options_children,
    };
    struct check c = {0};
    cli_options_init(&c.common);
    if (argp_parse(&argp, argc, argv, 0, NULL, &c) != 0)
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(c.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = ask_until_measured(client, &c, &err);
    if (answer == NULL)
        return cli_fail(&err, err.code == ERR_NOT_FOUND ? "`ferry get guests -A` lists the guests"
                                                        : NULL);
    const struct page_style style = {cli_table_width(c.common.output),
                                     cli_wants_colour(STDOUT_FILENO)};
    struct buf page;
    buf_init(&page, PAGE_MAX);
    bool can = page_check(json_at(answer, "status"), &style, &page);
    int printed;
    if (c.common.output == OUTPUT_JSON) {
        buf_fini(&page);
        printed = cli_print_json(json_at(answer, "status"));
    } else {
        printed = cli_print(&page);
    }
    return printed != EXIT_DONE ? printed : can ? EXIT_DONE : EXIT_FAILED;
}
