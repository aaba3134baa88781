/* events.c - `ferry events`: what happened to a guest, to a migration, or to everything. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/get.h"

enum { KEY_NO_HEADERS = 0x200, FIELDS_MAX = 512, KINDS_ASKED = 2 };

struct events_options {
    struct get get;
    const char *word; /* whose; NULL: everybody's */
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct events_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->get.common; return 0;
    case 'w': o->get.is_watched = true; return 0;
    case KEY_NO_HEADERS: o->get.is_untitled = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one GUEST or MIGRATION at a time, not also '%s'", arg);
        o->word = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->word != NULL && o->get.common.all_namespaces)
            argp_error(state, "an object is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* *out_kind: as KIND/NAME says, else of the first of both kinds that has the name. */
static bool find(const struct events_options *o, struct client *client, struct named *out_what,
                 struct err *err)
{
    static const enum kind asked[KINDS_ASKED] = {KIND_MIGRATION, KIND_GUEST};
    char path[KINDS_PATH_MAX];
    *out_what = (struct named){KIND_GUEST, o->get.common.ns, o->word};
    if (strchr(o->word, '/') != NULL)
        return kind_and_name(o->word, NULL, &out_what->kind, &out_what->name, err);
    for (size_t i = 0; i < KINDS_ASKED; i++) {
        *err = (struct err){0};
        out_what->kind = asked[i];
        if (!kind_path(asked[i], out_what->ns, out_what->name, path, err))
            return false;
        OWNED(json_object) object = client_call(client, "GET", path, NULL, err);
        if (object != NULL || err->code != ERR_NOT_FOUND)
            return object != NULL;
    }
    return false;
}

static int run(struct events_options *o)
{
    struct err err = {0};
    struct named what = {0};
    char fields[FIELDS_MAX] = "";
    OWNED(client) client = client_new(o->get.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    if (o->word != NULL && !find(o, client, &what, &err))
        return what.name != NULL ? name_fail(client, &what, &err, NULL) : cli_fail(&err, NULL);
    if (o->word != NULL &&
        snprintf(fields, sizeof fields, "involvedObject.kind=%s,involvedObject.name=%s",
                 kind_name(what.kind), what.name) >= (int)sizeof fields) {
        (void)err_set(&err, ERR_INVALID, "the name is too long");
        return cli_fail(&err, NULL);
    }
    o->get.kind = KIND_EVENT;
    o->get.fields = fields;
    return get_print(&o->get);
}

int verb_events(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"watch", 'w', NULL, 0, "go on with what happens, until Ctrl-C", 0},
        {"no-headers", KEY_NO_HEADERS, NULL, 0, "rows without titles", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "[GUEST|MIGRATION|KIND/NAME]",
        .doc = "What happened to a guest, a migration or another object; without one, in the "
               "namespace.",
        .children = cli_options_children,
    };
    struct events_options o = {0};
    cli_options_init(&o.get.common);
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    return run(&o);
}
