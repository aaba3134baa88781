/* backup.c - `ferry backup FILE` and `ferry restore FILE`: the state directory in one file, and
 * back. Both work on the appliance's machine, on the files themselves; restore needs the appliance
 * stopped. */
#include <inttypes.h>
#include <stdio.h>

#include "appliance/config.h"
#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "store/sqlite/backup.h"

enum { KEY_CONFIG = 0x200, KEY_STATE };

struct options {
    const char *file, *config, *state;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_CONFIG: o->config = arg; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one FILE, not also '%s'", arg);
        o->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "FILE is missing"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The state directory: --state, or as the configuration file says. */
static bool find_state(const struct options *o, char *out_dir, size_t bytes, struct err *err)
{
    if (o->state != NULL)
        return text_copy(out_dir, bytes, o->state) ||
               err_set(err, ERR_INVALID, "%.200s...: the path is too long", o->state);
    OWNED(config) config = config_read(o->config, err);
    if (config == NULL)
        return false;
    if (config->store[0] != '\0')
        return err_set(err, ERR_REFUSED,
                       "the records are in PostgreSQL (store in %s): back it up with PostgreSQL's "
                       "own tools, see docs/high-availability.md",
                       o->config);
    (void)text_copy(out_dir, bytes, config->state_dir);
    return true;
}

static bool parse(int argc, char **argv, const char *doc, struct options *out_options)
{
    static const struct argp_option rows[] = {
        {"state", KEY_STATE, "DIR", 0, "state directory; default from the configuration", 0},
        {"config", KEY_CONFIG, "FILE", 0, "default " CONFIG_FILE_DEFAULT, 0},
        {0},
    };
    const struct argp argp = {.options = rows, .parser = on_option, .args_doc = "FILE", .doc = doc};
    *out_options = (struct options){.config = CONFIG_FILE_DEFAULT};
    return cli_parse(&argp, argc, argv, out_options);
}

int verb_backup(int argc, char **argv)
{
    struct options o;
    char dir[CONFIG_PATH_MAX], size[HUMAN_TEXT_MAX];
    struct backup_report report;
    struct err err = {0};
    if (!parse(
            argc, argv,
            "Copy the state directory, both databases as of one moment, into FILE. The appliance "
            "may run. See docs/operations.md.",
            &o))
        return EXIT_USAGE;
    if (!find_state(&o, dir, sizeof dir, &err))
        return cli_fail(&err, "name the directory with --state DIR");
    if (!backup_make(dir, o.file, clock_wall_ms(clock_system()), &report, &err))
        return cli_fail(&err, NULL);
    human_bytes((uint64_t)report.bytes, size);
    (void)printf("%s: %s, %" PRId64 " migrations, %" PRId64 " of them unfinished\n", o.file, size,
                 report.migrations, report.unfinished);
    return EXIT_DONE;
}

int verb_restore(int argc, char **argv)
{
    struct options o;
    char dir[CONFIG_PATH_MAX], age[HUMAN_TEXT_MAX];
    struct backup_report report;
    struct err err = {0};
    int64_t now_ms = clock_wall_ms(clock_system());
    if (!parse(
            argc, argv,
            "Make a state directory of a backup. The appliance must not run. Unfinished migrations "
            "get no order until a host has confirmed them. See docs/operations.md.",
            &o))
        return EXIT_USAGE;
    if (!find_state(&o, dir, sizeof dir, &err))
        return cli_fail(&err, "name the directory with --state DIR");
    if (!backup_restore(o.file, dir, now_ms, &report, &err))
        return cli_fail(&err, "nothing was changed");
    human_duration(now_ms - report.made_ms, age);
    (void)printf("%s: restored, %s old: %" PRId64 " migrations, %" PRId64
                 " unfinished and to be confirmed by the hosts; drains and evacuations are "
                 "cancelled\nstart `ferry serve`, then look at `ferry get migrations -A` and "
                 "at the condition Orphaned in `ferry describe guest NAME`\n",
                 dir, age, report.migrations, report.unfinished);
    return EXIT_DONE;
}
