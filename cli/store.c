/* store.c - `ferry store copy`: all records into another, empty store. Both must not be in use. */
#include <inttypes.h>
#include <stdio.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "store/any/any.h"
#include "store/any/copy.h"

enum { KEY_FROM = 0x200, KEY_TO };

struct options {
    const char *from, *to, *verb;
};

/* sqlite:DIR and DIR are the same. */
static const char *place_of(const char *text)
{
    return text_has_prefix(text, "sqlite:") ? text + strlen("sqlite:") : text;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_FROM: o->from = place_of(arg); return 0;
    case KEY_TO: o->to = place_of(arg); return 0;
    case ARGP_KEY_ARG:
        if (o->verb != NULL || !text_equal(arg, "copy"))
            argp_error(state, "'%s': the only one is `ferry store copy`", arg);
        o->verb = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->verb == NULL)
            argp_error(state, "expected `ferry store copy --from PLACE --to PLACE`");
        if (o->from == NULL || o->to == NULL || *o->from == '\0' || *o->to == '\0')
            argp_error(state, "--from PLACE and --to PLACE are needed: a state directory or "
                              "postgresql://...");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_store(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"from", KEY_FROM, "PLACE", 0, "state directory, or postgresql://host/database", 0},
        {"to", KEY_TO, "PLACE", 0, "the same; must have no records", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows,
        .parser = on_option,
        .args_doc = "copy",
        .doc =
            "Copy all records from SQLite to PostgreSQL or back. No appliance may run on either. "
            "See docs/high-availability.md.",
    };
    struct options o = {0};
    struct copy_report report;
    struct err err = {0};
    char place[STORE_PLACE_MAX];
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    if (!store_copy(o.from, o.to, &report, &err))
        return cli_fail(&err, err.code == ERR_EXISTS || err.code == ERR_NOT_FOUND ||
                                      err.code == ERR_LOCKED || err.code == ERR_REFUSED
                                  ? "nothing was copied"
                                  : "the target is not complete; empty it before another try");
    store_place_text(o.to, place);
    (void)printf("%s: %" PRId64 " rows, of them %" PRId64 " migrations and %" PRId64
                 " samples; every table has as many as the source\n",
                 place, report.rows, report.migrations, report.samples);
    return EXIT_DONE;
}
