/* main.c - `ferry VERB ...`: finds the verb in verbs.def and calls it. Each verb has a file of its
 * name; the appliance is the folder appliance/.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "store/any/query_process.h"

enum { KEY_SERVER = 0x100, KEY_TOKEN_FILE, KEY_CA_FILE, NAME_MAX_ = 64 };

static const struct verb {
    const char *name, *usage, *help;
    verb_fn *run;
} verbs[] = {
#define VERB(function, name, usage, help) {name, usage, help, verb_##function},
#include "cli/common/verbs.def"
#undef VERB
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (text_equal(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static void print_verbs(FILE *out)
{
    (void)fprintf(out, "ferry live-migrates virtual machines between libvirt hosts.\n\n");
    for (size_t i = 0; i < COUNT(verbs); i++)
        (void)fprintf(out, "  ferry %-10s %s\n", verbs[i].name, verbs[i].help);
    (void)fprintf(out, "\n`ferry VERB -h` shows a verb's options. --server URL or FERRY_SERVER "
                       "names the\nappliance. NAME is also KIND/NAME, as -o name prints it.\n\n"
                       "Exit status:\n");
#define EXIT_STATUS(id, number, help) (void)fprintf(out, "  %-3d  %s\n", number, help);
#include "cli/common/exit.def"
#undef EXIT_STATUS
}

static int unknown_verb(const char *name)
{
    const char *names[COUNT(verbs)];
    for (size_t i = 0; i < COUNT(verbs); i++)
        names[i] = verbs[i].name;
    const char *near = text_nearest(name, names, COUNT(verbs));
    struct err err = {0};
    (void)err_set(&err, ERR_INVALID, "unknown verb '%s'%s%s%s", name,
                  near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                  near != NULL ? "'?" : "");
    return cli_fail(&err, "`ferry help` lists the verbs");
}

/* argv[0] becomes "ferry VERB", so that a verb's usage text names it. */
static int run(const struct verb *verb, int argc, char **argv)
{
    char name[NAME_MAX_];
    (void)snprintf(name, sizeof name, "ferry %s", verb->name);
    argv[0] = name;
    return verb->run(argc, argv);
}

int verb_help(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        print_verbs(stdout);
        return EXIT_DONE;
    }
    const struct verb *verb = find_verb(argv[1]);
    if (verb == NULL)
        return unknown_verb(argv[1]);
    if (verb->run == verb_help) {
        print_verbs(stdout);
        return EXIT_DONE;
    }
    (void)printf("ferry %s %s\n\n", verb->name, verb->usage);
    char help[] = "--help";
    char *asked[] = {argv[1], help, NULL};
    return run(verb, 2, asked);
}

/* Options before the verb; stops at the verb and sets its index. */
struct before {
    int verb_at; /* 0: none */
};

static error_t on_before(int key, char *arg, struct argp_state *state)
{
    struct before *before = state->input;
    switch (key) {
    case KEY_SERVER: return setenv("FERRY_SERVER", arg, 1) == 0 ? 0 : ENOMEM;
    case KEY_TOKEN_FILE: return setenv("FERRY_TOKEN_FILE", arg, 1) == 0 ? 0 : ENOMEM;
    case KEY_CA_FILE: return setenv("FERRY_CA_FILE", arg, 1) == 0 ? 0 : ENOMEM;
    case 'h': print_verbs(stdout); exit(EXIT_DONE);
    case 'V': (void)printf("ferry " FERRY_VERSION "\n"); exit(EXIT_DONE);
    case ARGP_KEY_ARG:
        before->verb_at = state->next - 1;
        state->next = state->argc;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    if (!cli_hold_standard_files())
        return EXIT_FAILED;
    if (argc == 2 &&
        text_equal(argv[1], QUERY_WORKER)) /* started by the appliance, not by people */
        return query_process_main();
    static const struct argp_option options[] = {
        {"server", KEY_SERVER, "URL", 0, "the appliance", 0},
        {"token-file", KEY_TOKEN_FILE, "FILE", 0, "a token; default FERRY_TOKEN", 0},
        {"ca-file", KEY_CA_FILE, "FILE", 0, "trusted for https; default FERRY_CA_FILE", 0},
        {"help", 'h', NULL, 0, "list the verbs", 0},
        {"version", 'V', NULL, 0, "print the version", 0},
        {0},
    };
    static const struct argp before_argp = {
        .options = options, .parser = on_before, .args_doc = "VERB ..."};
    struct before before = {0};
    argp_err_exit_status = EXIT_USAGE;
    if (!cli_options_known(&before_argp, argc, argv, true))
        return EXIT_USAGE;
    if (argp_parse(&before_argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &before) != 0)
        return EXIT_USAGE;
    if (before.verb_at == 0) {
        print_verbs(stderr);
        return EXIT_USAGE;
    }
    const struct verb *verb = find_verb(argv[before.verb_at]);
    if (verb == NULL)
        return unknown_verb(argv[before.verb_at]);
    return cli_end(run(verb, argc - before.verb_at, argv + before.verb_at));
}
