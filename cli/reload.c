/* reload.c - `ferry reload`: the appliance reads its configuration again, as on SIGHUP, and answers
 * what changed or why nothing did. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct cli_options *common = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = common; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Returns how many lines there were. */
static size_t print_lines(struct json_object *answer, const char *key, const char *before)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(answer, key, &list) ||
        !json_object_is_type(list, json_type_array))
        return 0;
    size_t n = json_object_array_length(list);
    for (size_t i = 0; i < n; i++) {
        char line[TABLE_CELL_MAX];
        table_clean(line, sizeof line, json_object_get_string(json_object_array_get_idx(list, i)));
        (void)printf("%s%s\n", before, line);
    }
    return n;
}

static int print_answer(struct json_object *answer)
{
    if (print_lines(answer, "changed", "") == 0)
        (void)printf("nothing changed that takes effect now\n");
    (void)print_lines(answer, "requiresRestart", "takes effect after a restart: ");
    return print_lines(answer, "failed", "failed: ") == 0 ? EXIT_DONE : EXIT_FAILED;
}

int verb_reload(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .doc =
            "Have the appliance read its configuration again. New hosts, limits, defaults and the "
            "log level take effect at once; a file that is wrong changes nothing.",
        .children = cli_options_children,
    };
    struct cli_options common = {0};
    cli_options_init(&common);
    if (!cli_parse(&argp, argc, argv, &common))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(common.server, &err);
    OWNED(json_object) body = json_object_new_object();
    OWNED(json_object) answer =
        client != NULL ? client_call(client, "POST", "/apis/ferry.internal/v1/reload", body, &err)
                       : NULL;
    if (answer == NULL)
        return cli_fail(&err, err.code == ERR_TIMEOUT
                                  ? "the log of the appliance says what became of it"
                              : err.code == ERR_REFUSED ? "nothing was changed"
                                                        : NULL);
    return common.output == OUTPUT_JSON ? cli_print_json(answer) : print_answer(answer);
}
