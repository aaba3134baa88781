/* cordon.c - `ferry cordon` and `ferry uncordon`: set whether a node is schedulable. Uncordoning a
 * node cancels its drain. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"

struct cordon {
    struct cli_options common;
    const char *node;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct cordon *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &c->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one NODE at a time, not also '%s'", arg);
        c->node = name_arg(arg, KIND_NODE, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "NODE is missing; `ferry get nodes` lists the nodes");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int set_cordon(int argc, char **argv, const char *doc, bool cordoned)
{
    const struct argp argp = {
        .parser = on_option, .args_doc = "NODE", .doc = doc, .children = cli_options_children};
    struct cordon c = {0};
    cli_options_init(&c.common);
    if (!cli_parse(&argp, argc, argv, &c))
        return EXIT_USAGE;
    struct err err = {0};
    char path[KINDS_PATH_MAX], name[TABLE_CELL_MAX];
    OWNED(client) client = client_new(c.common.server, &err);
    if (client == NULL || !kind_path(KIND_NODE, NULL, c.node, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) patch = json_object_new_object();
    json_add_bool(json_add_object(patch, "spec"), "unschedulable", cordoned);
    OWNED(json_object) answer = client_call(client, "PATCH", path, patch, &err);
    const struct named what = {KIND_NODE, NULL, c.node};
    if (answer == NULL)
        return name_fail(client, &what, &err, NULL);
    if (c.common.output == OUTPUT_JSON)
        return cli_print_json(answer);
    table_clean(name, sizeof name, c.node);
    (void)printf("no/%s %s\n", name, cordoned ? "cordoned" : "uncordoned");
    return EXIT_DONE;
}

int verb_cordon(int argc, char **argv)
{
    return set_cordon(argc, argv, "Mark a node unschedulable. Its guests stay.", true);
}

int verb_uncordon(int argc, char **argv)
{
    return set_cordon(argc, argv,
                      "Mark a node schedulable. Its drain is cancelled, with the migrations of it "
                      "that have not ended.",
                      false);
}
