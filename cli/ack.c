/* ack.c - `ferry ack`: acknowledges the incident of a migration, so that its alert stops. Changes
 * neither the guest nor the records. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/override.h"
#include "cli/common/parse.h"

struct ack {
    struct cli_options common;
    const char *name;
};

/* An incident has the name of its migration, or of its guest. */
static const char *incident_name(const char *arg, const struct argp_state *state)
{
    static const enum kind kinds[] = {KIND_INCIDENT, KIND_MIGRATION, KIND_GUEST};
    const char *name;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct err ignored = {0};
        if (kind_name_in(arg, kinds[i], &name, &ignored))
            return name;
    }
    return name_arg(arg, KIND_INCIDENT, state);
}

/* The appliance looks for a migration of that name, and so does its error. */
static int fail(struct client *client, const struct ack *a, const struct err *err)
{
    const struct named what = {KIND_INCIDENT, a->common.ns, a->name};
    struct err missing = {0};
    char hint[NAME_HINT_MAX];
    if (client == NULL || err->code != ERR_NOT_FOUND)
        return cli_fail(err, NULL);
    (void)err_set(&missing, ERR_NOT_FOUND, "no open incident '%s' in namespace %s", a->name,
                  a->common.ns);
    return cli_fail(&missing, name_hint(client, &what, hint)
                                  ? hint
                                  : "`ferry get incidents -A` shows which are acknowledged");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct ack *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one INCIDENT at a time, not also '%s'", arg);
        a->name = incident_name(arg, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "INCIDENT is missing; it has the name of its migration, or of its guest, "
                          "as in the alert");
        return 0;
    case ARGP_KEY_END:
        if (a->common.all_namespaces)
            argp_error(state, "an INCIDENT is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_ack(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "INCIDENT",
        .doc = "Acknowledge an incident, named by its migration, or by its guest where no "
               "migration is about it; its alert stops.",
        .children = cli_options_children,
    };
    struct ack a = {0};
    cli_options_init(&a.common);
    if (!cli_parse(&argp, argc, argv, &a))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(a.common.server, &err);
    OWNED(json_object) body = json_object_new_object();
    if (client == NULL || !override_post(client, a.common.ns, a.name, "ack", body, &err))
        return fail(client, &a, &err);
    (void)printf("%s: incident acknowledged\n", a.name);
    return EXIT_DONE;
}
