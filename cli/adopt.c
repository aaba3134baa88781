/* adopt.c - `ferry adopt`: makes a running migration of the mark that an orphaned guest carries. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"

enum { KEY_FROM = 0x200, KEY_TO };

struct adopt {
    struct cli_options common;
    const char *guest, *from, *to;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct adopt *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case KEY_FROM: a->from = name_arg(arg, KIND_NODE, state); return 0;
    case KEY_TO: a->to = name_arg(arg, KIND_NODE, state); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one GUEST at a time, not also '%s'", arg);
        a->guest = name_arg(arg, KIND_GUEST, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "GUEST is missing; `ferry describe vmi GUEST` shows a guest's mark");
        return 0;
    case ARGP_KEY_END:
        if (a->from == NULL || a->to == NULL)
            argp_error(state, "--from and --to are needed: the nodes between which it migrates");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool post(struct client *client, const struct adopt *a, struct err *err)
{
    static const char group[] = "/apis/kubevirt.io/";
    char path[KINDS_PATH_MAX], full[KINDS_PATH_MAX + 64];
    if (!kind_path(KIND_GUEST, a->common.ns, a->guest, path, err))
        return false;
    (void)snprintf(full, sizeof full, "/apis/subresources.kubevirt.io/%s/adopt",
                   path + sizeof group - 1);
    OWNED(json_object) body = json_object_new_object();
    json_add_text(body, "from", a->from);
    json_add_text(body, "to", a->to);
    OWNED(json_object) answer = client_call(client, "POST", full, body, err);
    return answer != NULL;
}

/* A node that is not configured is refused by its field. */
static int fail(struct client *client, const struct adopt *a, const struct err *err)
{
    const struct named guest = {KIND_GUEST, a->common.ns, a->guest};
    const char *const nodes[] = {a->from, a->to};
    char hint[NAME_HINT_MAX];
    for (size_t i = 0; i < COUNT(nodes) && client != NULL && err->code == ERR_UNPROCESSABLE; i++) {
        const struct named node = {KIND_NODE, NULL, nodes[i]};
        if (name_hint(client, &node, hint))
            return cli_fail(err, hint);
    }
    (void)snprintf(hint, sizeof hint, "`ferry describe vmi %.253s -n %.63s` shows its mark",
                   a->guest, a->common.ns);
    return name_fail(client, &guest, err, err->code == ERR_REFUSED ? hint : NULL);
}

int verb_adopt(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"from", KEY_FROM, "NODE", 0, "the source of the migration", 0},
        {"to", KEY_TO, "NODE", 0, "its target", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "GUEST",
        .doc =
            "Adopt the migration that GUEST is marked with, when the appliance that began it is "
            "gone for good. Ferry goes on as after a restart: it reads both hosts, and recovers a "
            "broken post-copy. Never while the other appliance runs.",
        .children = cli_options_children,
    };
    struct adopt a = {0};
    struct err err = {0};
    cli_options_init(&a.common);
    if (!cli_parse(&argp, argc, argv, &a))
        return EXIT_USAGE;
    OWNED(client) client = client_new(a.common.server, &err);
    if (client == NULL || !post(client, &a, &err))
        return fail(client, &a, &err);
    (void)printf("%s: adopted; `ferry get migrations -n %s` shows its migration\n", a.guest,
                 a.common.ns);
    return EXIT_DONE;
}
