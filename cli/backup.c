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

enum { KEY_CONFIG = 0x200, KEY_STATE, KEY_SKIP_POSTGRESQL, KEY_WITHOUT_TOKENS };

struct options {
    const char *file, *config, *state;
    bool skip_postgresql;
    enum backup_tokens tokens;
};

static const struct argp_option backup_rows[] = {
    {"state", KEY_STATE, "DIR", 0, "state directory; default from the configuration", 0},
    {"config", KEY_CONFIG, "FILE", 0, "default " CONFIG_FILE_DEFAULT, 0},
    {"skip-postgresql", KEY_SKIP_POSTGRESQL, NULL, 0,
     "records in PostgreSQL: say so, make no FILE and succeed (for the timer)", 0},
    {0},
};
static const struct argp_option restore_rows[] = {
    {"state", KEY_STATE, "DIR", 0, "state directory; default from the configuration", 0},
    {"config", KEY_CONFIG, "FILE", 0, "default " CONFIG_FILE_DEFAULT, 0},
    {"without-tokens", KEY_WITHOUT_TOKENS, NULL, 0,
     "remove all access tokens: one that was deleted since the backup would be valid again", 0},
    {0},
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_CONFIG: o->config = arg; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case KEY_SKIP_POSTGRESQL: o->skip_postgresql = true; return 0;
    case KEY_WITHOUT_TOKENS: o->tokens = BACKUP_TOKENS_REMOVE; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one FILE, not also '%s'", arg);
        o->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "FILE is missing"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The state directory: --state, or as the configuration file says. ERR_REFUSED: there is none, the
 * records are in PostgreSQL. */
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

static bool parse(int argc, char **argv, const struct argp_option *rows, const char *doc,
                  struct options *out_options)
{
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
            argc, argv, backup_rows,
            "Copy the state directory, both databases as of one moment, into FILE. The appliance "
            "may run. See docs/operations.md.",
            &o))
        return EXIT_USAGE;
    if (!find_state(&o, dir, sizeof dir, &err)) {
        if (err.code != ERR_REFUSED || !o.skip_postgresql)
            return cli_fail(&err, "name the directory with --state DIR");
        (void)printf("no backup made: %s\n", err.text);
        return EXIT_DONE;
    }
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
            argc, argv, restore_rows,
            "Make a state directory of a backup. The appliance must not run. Unfinished migrations "
            "get no order until a host has confirmed them. See docs/operations.md.",
            &o))
        return EXIT_USAGE;
    if (!find_state(&o, dir, sizeof dir, &err))
        return cli_fail(&err, "name the directory with --state DIR");
    if (!backup_restore(o.file, dir, o.tokens, now_ms, &report, &err))
        return cli_fail(&err, "nothing was changed");
    human_duration(now_ms - report.made_ms, age);
    (void)printf("%s: restored, %s old: %" PRId64 " migrations, %" PRId64
                 " unfinished and to be confirmed by the hosts; drains and evacuations are "
                 "cancelled\nstart `ferry serve`, then look at `ferry get migrations -A` and "
                 "at the condition Orphaned in `ferry describe guest NAME`\n",
                 dir, age, report.migrations, report.unfinished);
    if (report.tokens > 0)
        (void)printf("%" PRId64 " access tokens are valid as they were then, also those that were "
                     "deleted since: look at `ferry token list`, delete with `ferry token delete "
                     "NAME` (or restore with --without-tokens)\n",
                     report.tokens);
    return EXIT_DONE;
}
