/* delete.c - `ferry delete KIND NAME`: deletes a policy, quota, namespace's labels, drain or
 * migration. A drain or migration that has not ended is cancelled. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/common/view.h"

enum { KEY_IGNORE = 0x200 };

struct delete
{
    struct cli_options common;
    const char *kind_word, *name;
    bool ignore_missing;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct delete *d = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &d->common; return 0;
    case KEY_IGNORE: d->ignore_missing = true; return 0;
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
            argp_error(state, "KIND and NAME are missing: ferry delete KIND NAME");
        if (d->name == NULL && strchr(d->kind_word, '/') == NULL)
            argp_error(state, "NAME is missing; `ferry get %s` lists the names", d->kind_word);
        if (d->common.all_namespaces)
            argp_error(state, "an object is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* It would be refused by the appliance as well, with less to go on. */
static int refuse(enum kind kind, const char *name)
{
    char hint[NAME_HINT_MAX];
    struct err err = {0};
    const char *keep = kind_keep(kind), *mark = strstr(keep, "%s");
    (void)err_set(&err, ERR_INVALID, "%s cannot be deleted", kind_noun(kind));
    if (mark == NULL)
        return cli_fail(&err, keep);
    (void)snprintf(hint, sizeof hint, "%.*s%.253s%s", (int)(mark - keep), keep, name, mark + 2);
    return cli_fail(&err, hint);
}

static int print_deleted(const struct delete *d, enum kind kind, struct json_object *answer)
{
    char name[TABLE_CELL_MAX];
    if (d->common.output == OUTPUT_JSON)
        return cli_print_json(answer);
    table_clean(name, sizeof name, d->name);
    /* A migration or drain that has not ended stays until it has: the answer is then the object,
     * not a Status. */
    bool is_terminating = *view_text(answer, "metadata.deletionTimestamp") != '\0';
    (void)printf("%s/%s %s\n", kind_short(kind), name,
                 is_terminating ? "is being cancelled; deleted when it has ended" : "deleted");
    return EXIT_DONE;
}

int verb_delete(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"ignore-not-found", KEY_IGNORE, NULL, 0, "succeed when the object does not exist", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "KIND NAME | KIND/NAME",
        .doc = "Delete an object. A migration or drain that has not ended is cancelled. Nodes, "
               "guests and pods cannot be deleted: the hosts define them.",
        .children = cli_options_children,
    };
    struct delete d = {0};
    cli_options_init(&d.common);
    if (!cli_parse(&argp, argc, argv, &d))
        return EXIT_USAGE;
    struct err err = {0};
    enum kind kind;
    if (!kind_and_name(d.kind_word, d.name, &kind, &d.name, &err))
        return cli_fail(&err, "the kinds are " KIND_WORDS);
    if (kind_keep(kind) != NULL)
        return refuse(kind, d.name);
    char path[KINDS_PATH_MAX];
    OWNED(client) client = client_new(d.common.server, &err);
    if (client == NULL || !kind_path(kind, d.common.ns, d.name, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = client_call(client, "DELETE", path, NULL, &err);
    if (answer == NULL && err.code == ERR_NOT_FOUND && d.ignore_missing)
        return EXIT_DONE;
    const struct named what = {kind, d.common.ns, d.name};
    return answer != NULL ? print_deleted(&d, kind, answer) : name_fail(client, &what, &err, NULL);
}
