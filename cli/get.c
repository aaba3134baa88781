/* get.c - `ferry get`: objects as a table, names, JSON or YAML, once or as they change. */
#include "cli/get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/list_watch.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/columns.h"

enum { KEY_NO_HEADERS = 0x200 };

/* What is printed after the first objects goes on where they ended. */
struct printing {
    const struct get *get;
    struct table_widths widths;
    bool has_titles;
};

static int print_table(struct printing *p, struct json_object *answer)
{
    const struct get *get = p->get;
    const struct page_style style = {cli_table_width(get->common.output),
                                     cli_wants_colour(STDOUT_FILENO)};
    const struct columns choice = {.kind = get->kind,
                                   .wide = get->common.output == OUTPUT_WIDE,
                                   .all_namespaces = get->common.all_namespaces,
                                   .now_ms = clock_wall_ms(clock_system()),
                                   .is_untitled = get->is_untitled || p->has_titles,
                                   .widths = get->is_watched ? &p->widths : NULL};
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    if (columns_render(&choice, answer, &style, &text) > 0) {
        p->has_titles = true;
        return cli_print(&text);
    }
    buf_fini(&text);
    if (get->is_watched)
        return EXIT_DONE;
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
    if (json_at(answer, "items") == NULL)
        add_name(&text, get, answer);
    for (size_t i = 0; i < view_count(answer, "items"); i++)
        add_name(&text, get, view_element(answer, "items", i));
    return cli_print(&text);
}

static int print(void *ctx, struct json_object *answer)
{
    struct printing *p = ctx;
    switch (p->get->common.output) {
    case OUTPUT_JSON: return cli_print_json(answer);
    case OUTPUT_NAME: return print_names(p->get, answer);
    case OUTPUT_TABLE:
    case OUTPUT_WIDE: break;
    }
    return print_table(p, answer);
}

/* As JSON the objects that are watched come one by one, like those that follow. */
static int print_first(struct printing *p, struct json_object *list)
{
    bool is_one = p->get->name != NULL && p->get->is_watched;
    bool is_split = is_one || (p->get->is_watched && p->get->common.output == OUTPUT_JSON);
    int status = EXIT_DONE;
    if (!is_split)
        return print(p, list);
    for (size_t i = 0; status == EXIT_DONE && i < view_count(list, "items"); i++)
        status = print(p, view_element(list, "items", i));
    return status;
}

static int watch(const struct get *get, struct client *client, const char *path, const char *fields,
                 struct json_object *list, struct printing *printing)
{
    const struct list_watch watch = {.client = client,
                                     .spec = {.path = path,
                                              .labels = get->labels,
                                              .fields = fields,
                                              .version =
                                                  view_text(list, "metadata.resourceVersion")},
                                     .shown = list,
                                     .ctx = printing,
                                     .print = print};
    return list_watch_run(&watch);
}

/* An object that is watched is a list of one. */
static struct json_object *ask(const struct get *get, struct client *client, const char *path,
                               const char *fields, struct err *err)
{
    struct buf query;
    struct json_object *answer = NULL;
    if (get->name != NULL && !get->is_watched)
        return client_call(client, "GET", path, NULL, err);
    buf_init(&query, CLIENT_PATH_MAX);
    buf_add(&query, path);
    path_add_query(&query, "labelSelector", get->labels != NULL ? get->labels : "");
    path_add_query(&query, "fieldSelector", fields);
    if (query.failed)
        (void)err_set(err, ERR_INVALID, "the selector is too long");
    else
        answer = client_list(client, query.data, err);
    buf_fini(&query);
    if (answer != NULL && get->name != NULL && view_count(answer, "items") == 0) {
        json_object_free(answer);
        (void)err_set(err, ERR_NOT_FOUND, "%s '%s' not found", kind_short(get->kind), get->name);
        return NULL;
    }
    return answer;
}

int get_print(const struct get *get)
{
    struct err err = {0};
    char path[KINDS_PATH_MAX], fields[KINDS_PATH_MAX];
    const struct cli_options *common = &get->common;
    bool is_one = get->name != NULL && get->is_watched;
    int n = snprintf(fields, sizeof fields, "%s%s%s", is_one ? "metadata.name=" : "",
                     is_one ? get->name : "", get->fields != NULL ? get->fields : "");
    OWNED(client) client = client_new(common->server, &err);
    if (client == NULL || n >= (int)sizeof fields ||
        !kind_path(get->kind, common->all_namespaces ? NULL : common->ns, is_one ? NULL : get->name,
                   path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = ask(get, client, path, fields, &err);
    const struct named what = {get->kind, common->ns, get->name};
    if (answer == NULL)
        return get->name != NULL ? name_fail(client, &what, &err, NULL) : cli_fail(&err, NULL);
    struct printing printing = {.get = get};
    int status = print_first(&printing, answer);
    return status == EXIT_DONE && get->is_watched
               ? watch(get, client, path, fields, answer, &printing)
               : status;
}

/* ---- the verb ---- */

struct get_options {
    struct get get;
    const char *kind_word;
};

static void check(const struct get *get, const struct argp_state *state)
{
    if (get->name != NULL && get->common.all_namespaces)
        argp_error(state, "-A excludes a NAME; name its namespace with -n");
    if (get->name != NULL && get->labels != NULL)
        argp_error(state, "-l excludes a NAME");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct get_options *o = state->input;
    struct err err = {0};
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->get.common; return 0;
    case 'l': o->get.labels = arg; return 0;
    case 'w': o->get.is_watched = true; return 0;
    case KEY_NO_HEADERS: o->get.is_untitled = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            o->kind_word = arg;
        else if (state->arg_num == 1)
            o->get.name = arg;
        else
            argp_error(state, "one KIND and at most one NAME, not also '%s'", arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "KIND is missing: " KIND_WORDS); return 0;
    case ARGP_KEY_END:
        if (o->kind_word == NULL)
            return 0;
        if (!kind_and_name(o->kind_word, o->get.name, &o->get.kind, &o->get.name, &err))
            exit(cli_fail(&err, "the kinds are " KIND_WORDS));
        check(&o->get, state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_get(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"selector", 'l', "SELECTOR", 0, "only objects with these labels: key=value,key!=value,key",
         0},
        {"watch", 'w', NULL, 0, "go on with what changes, until Ctrl-C", 0},
        {"no-headers", KEY_NO_HEADERS, NULL, 0, "rows without titles", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "KIND [NAME] | KIND/NAME",
        .doc = "List objects: " KIND_WORDS ".",
        .children = cli_options_children,
    };
    struct get_options o = {0};
    cli_options_init(&o.get.common);
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    return get_print(&o.get);
}
