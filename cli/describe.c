/* describe.c - `ferry describe`: details of one object and its newest events. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"

/* Optional: without events the page is shown all the same. */
static void add_events(struct buf *out, struct client *client, enum kind kind,
                       struct json_object *object)
{
    char path[KINDS_PATH_MAX];
    struct err ignored = {0};
    const char *uid = kind == KIND_NODE ? "" : view_text(object, "metadata.uid");
    bool is_known = kind == KIND_NODE
                        ? kind_node_events_path(view_text(object, "metadata.name"), path)
                        : kind_events_path(uid, path);
    if (!is_known)
        return;
    OWNED(json_object) answer = client_call(client, "GET", path, NULL, &ignored);
    page_events(answer, uid, out);
}

static int print_page(struct client *client, enum kind kind, struct json_object *object,
                      enum output output)
{
    const struct page_style style = {cli_table_width(output), cli_wants_colour(STDOUT_FILENO)};
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(kind, object, &style, &out);
    add_events(&out, client, kind, object);
    return cli_print(&out);
}

struct describe {
    struct cli_options common;
    const char *kind_word, *name;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct describe *d = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &d->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            d->kind_word = arg;
        else if (state->arg_num == 1)
            d->name = arg;
        else
            argp_error(state, "one KIND and one NAME, not also '%s'", arg);
        return 0;
    case ARGP_KEY_END:
        if (d->kind_word == NULL)
            argp_error(state, "KIND and NAME are missing: ferry describe KIND NAME");
        if (d->name == NULL && strchr(d->kind_word, '/') == NULL)
            argp_error(state, "NAME is missing; `ferry get %s` lists the names", d->kind_word);
        if (d->common.all_namespaces)
            argp_error(state, "an object is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_describe(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "KIND NAME | KIND/NAME",
        .doc = "Details and events of one object: " KIND_WORDS ".",
        .children = cli_options_children,
    };
    struct describe d = {0};
    cli_options_init(&d.common);
    if (!cli_parse(&argp, argc, argv, &d))
        return EXIT_USAGE;
    struct err err = {0};
    enum kind kind;
    if (!kind_and_name(d.kind_word, d.name, &kind, &d.name, &err))
        return cli_fail(&err, "the kinds are " KIND_WORDS);
    char path[KINDS_PATH_MAX];
    OWNED(client) client = client_new(d.common.server, &err);
    if (client == NULL || !kind_path(kind, d.common.ns, d.name, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) object = client_call(client, "GET", path, NULL, &err);
    const struct named what = {kind, d.common.ns, d.name};
    if (object == NULL)
        return name_fail(client, &what, &err, NULL);
    if (d.common.output == OUTPUT_JSON)
        return cli_print_json(object);
    return print_page(client, kind, object, d.common.output);
}
