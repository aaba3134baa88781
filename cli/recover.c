/* recover.c - `ferry recover`: requests a new recovery of a broken post-copy migration. Never
 * destroys either half of the guest. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/override.h"
#include "cli/common/parse.h"

struct recover {
    struct cli_options common;
    const char *name;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct recover *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        r->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MIGRATION is missing; `ferry get migrations` lists them");
        return 0;
    case ARGP_KEY_END:
        if (r->common.all_namespaces)
            argp_error(state, "a MIGRATION is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_recover(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Resume a broken post-copy migration again.",
        .children = cli_options_children,
    };
    struct recover r = {0};
    cli_options_init(&r.common);
    if (!cli_parse(&argp, argc, argv, &r))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(r.common.server, &err);
    OWNED(json_object) body = json_object_new_object();
    if (client == NULL || !override_post(client, r.common.ns, r.name, "recover", body, &err))
        return override_fail(client, r.common.ns, r.name, &err);
    (void)printf("%s: recovery requested; `ferry describe vmim %s -n %s` shows its state\n", r.name,
                 r.name, r.common.ns);
    return EXIT_DONE;
}
