/* resolve.c - `ferry resolve`: operator override: where the guest of a migration is, when no host
 * can prove it. Ferry acts on it, so the command shows the last observations, asks for
 * confirmation, and requires a reason, which is stored with the migration. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/override.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"

enum { KEY_GUEST_ON = 0x200, KEY_BECAUSE, KEY_YES };

/* The option's value, the API's value, and the consequence. */
static const struct location {
    const char *option, *word, *meaning;
} locations[] = {
    {"source", "source", "runs on the source; the migration failed"},
    {"target", "target", "runs on the target; the migration succeeded"},
    {"nowhere", "gone", "runs nowhere; it is lost"},
};

struct resolve {
    struct cli_options common;
    const char *name, *because;
    const struct location *location; /* NULL: not given */
    bool yes;
};

static const struct location *location_of(const char *option)
{
    for (size_t i = 0; i < COUNT(locations); i++)
        if (text_equal(locations[i].option, option))
            return &locations[i];
    return NULL;
}

static void check(const struct resolve *r, struct argp_state *state)
{
    if (r->location == NULL)
        argp_error(state, "--guest-on is missing: source, target or nowhere");
    if (r->because == NULL || r->because[strspn(r->because, " ")] == '\0')
        argp_error(
            state,
            "--because TEXT is missing: how the location is known; stored with the migration");
    if (r->common.all_namespaces)
        argp_error(state, "a MIGRATION is in one namespace; name it with -n");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct resolve *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->common; return 0;
    case KEY_GUEST_ON:
        r->location = location_of(arg);
        if (r->location == NULL)
            argp_error(state, "--guest-on '%s' is none of source, target, nowhere", arg);
        return 0;
    case KEY_BECAUSE: r->because = arg; return 0;
    case KEY_YES: r->yes = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        r->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MIGRATION is missing; `ferry get migrations` lists them");
        return 0;
    case ARGP_KEY_END: check(r, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The migration and the consequences, on stderr: stdout is for the result. */
static bool show(struct client *client, const struct resolve *r, struct err *err)
{
    char path[KINDS_PATH_MAX], vm[TABLE_CELL_MAX];
    if (!kind_path(KIND_MIGRATION, r->common.ns, r->name, path, err))
        return false;
    OWNED(json_object) object = client_call(client, "GET", path, NULL, err);
    if (object == NULL)
        return false;
    struct buf text;
    buf_init(&text, PAGE_MAX);
    table_clean(vm, sizeof vm, view_text(object, "spec.vmiName"));
    page_fact(&text, "Migration", r->name);
    page_fact(&text, "Phase", view_text(object, "status.phase"));
    page_fact(&text, "Pending", view_text(object, "status.ferry.pendingReason"));
    page_observations(object, &text);
    buf_addf(&text,
             "Override: '%s' %s.\n"
             "Ferry cannot verify this. If the guest runs elsewhere, two copies may run.\n",
             vm, r->location->meaning);
    OWNED_TEXT shown = buf_take(&text);
    (void)fputs(shown != NULL ? shown : "", stderr);
    return true;
}

static bool is_confirmed(void)
{
    char line[16] = "";
    (void)fputs("Continue? [y/N] ", stderr);
    (void)fflush(stderr);
    return fgets(line, sizeof line, stdin) != NULL && override_is_yes(line);
}

static int resolve(struct client *client, const struct resolve *r)
{
    struct err err = {0};
    if (!r->yes && cli_is_terminal(STDIN_FILENO)) {
        if (!show(client, r, &err))
            return override_fail(client, r->common.ns, r->name, &err);
        if (!is_confirmed()) {
            (void)fputs("ferry: nothing was changed\n", stderr);
            return EXIT_FAILED;
        }
    }
    OWNED(json_object) body = json_object_new_object();
    json_add_text(body, "guestAt", r->location->word);
    json_add_text(body, "because", r->because);
    if (!override_post(client, r->common.ns, r->name, "resolve", body, &err))
        return override_fail(client, r->common.ns, r->name, &err);
    (void)printf("%s resolved by operator override: its guest %s\n", r->name, r->location->meaning);
    return EXIT_DONE;
}

int verb_resolve(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"guest-on", KEY_GUEST_ON, "LOCATION", 0,
         "location of the guest: source, target or nowhere", 0},
        {"because", KEY_BECAUSE, "TEXT", 0, "how the location is known; stored with the migration",
         0},
        {"yes", KEY_YES, NULL, 0, "do not ask for confirmation", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Operator override: state where a guest is when no host can prove it. Inspect both "
               "hosts first.",
        .children = cli_options_children,
    };
    struct resolve r = {0};
    cli_options_init(&r.common);
    if (!cli_parse(&argp, argc, argv, &r))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(r.common.server, &err);
    return client != NULL ? resolve(client, &r) : cli_fail(&err, NULL);
}
