/* get.c - `ferry get`: objects as a table, names or JSON. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/columns.h"

struct get {
    struct cli_options common;
    const char *kind_word, *name;
    enum kind kind;
};

static int print_table(const struct get *get, struct json_object *answer)
{
    const struct page_style style = {cli_table_width(get->common.output),
                                     cli_wants_colour(STDOUT_FILENO)};
    const struct columns choice = {.kind = get->kind,
                                   .wide = get->common.output == OUTPUT_WIDE,
                                   .all_namespaces = get->common.all_namespaces,
                                   .now_ms = clock_wall_ms(clock_system())};
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    if (columns_render(&choice, answer, &style, &text) > 0)
        return cli_print(&text);
    buf_fini(&text);
    if (kind_is_namespaced(get->kind) && !get->common.all_namespaces)
        (void)fprintf(stderr, "No resources found in %s namespace.\n", get->common.ns);
    else
        (void)fprintf(stderr, "No resources found\n");
    return EXIT_DONE;
}

static void add_name(struct buf *text, const struct get *get, struct json_object *object)
{
    char name[TABLE_CELL_MAX];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    buf_addf(text, "%s/%s\n", kind_short(get->kind), name);
}

static int print_names(const struct get *get, struct json_object *answer)
{
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    buf_add(&text, ""); /* without rows the output is empty, not a failure */
    if (get->name != NULL)
        add_name(&text, get, answer);
    for (size_t i = 0; i < view_count(answer, "items"); i++)
        add_name(&text, get, view_element(answer, "items", i));
    return cli_print(&text);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct get *get = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &get->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            get->kind_word = arg;
        else if (state->arg_num == 1)
            get->name = arg;
        else
            argp_error(state, "one KIND and at most one NAME, not also '%s'", arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "KIND is missing: " KIND_WORDS); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_get(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "KIND [NAME] | KIND/NAME",
        .doc = "List objects: " KIND_WORDS ".",
        .children = cli_options_children,
    };
    struct get get = {0};
    cli_options_init(&get.common);
    if (!cli_parse(&argp, argc, argv, &get))
        return EXIT_USAGE;
    struct err err = {0};
    if (!kind_and_name(get.kind_word, get.name, &get.kind, &get.name, &err))
        return cli_fail(&err, "the kinds are " KIND_WORDS);
    if (get.name != NULL && get.common.all_namespaces) {
        (void)err_set(&err, ERR_INVALID, "-A excludes a NAME");
        return cli_fail(&err, "name its namespace with -n");
    }
    char path[KINDS_PATH_MAX];
    OWNED(client) client = client_new(get.common.server, &err);
    if (client == NULL || !kind_path(get.kind, get.common.all_namespaces ? NULL : get.common.ns,
                                     get.name, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = client_call(client, "GET", path, NULL, &err);
    const struct named what = {get.kind, get.common.ns, get.name};
    if (answer == NULL)
        return get.name != NULL ? name_fail(client, &what, &err, NULL) : cli_fail(&err, NULL);
    if (get.common.output == OUTPUT_JSON)
        return cli_print_json(answer);
    if (get.common.output == OUTPUT_NAME)
        return print_names(&get, answer);
    return print_table(&get, answer);
}
