/* postmortem.c - `ferry postmortem`: the report on one migration, from the appliance or from a
 * state directory. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/postmortem.h"
#include "appliance/config.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "store/any/any.h"

enum { KEY_SERVER = 0x200, KEY_STATE };

struct options {
    const char *name, *ns, *server, *state;
    enum pm_format format;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_SERVER: o->server = arg; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case 'n': o->ns = arg; return 0;
    case 'o':
        if (!pm_format_from_name(arg, &o->format))
            argp_error(state, "-o '%s' is none of text, md, json, html", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one MIGRATION at a time, not also '%s'", arg);
        o->name = name_arg(arg, KIND_MIGRATION, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "MIGRATION is missing; `ferry get migrations -A` lists them");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool make(const struct options *o, struct buf *out, struct err *err)
{
    OWNED(store) store = store_read(o->state, err);
    OWNED(archive) archive = store != NULL ? archive_load(store, o->ns, o->name, err) : NULL;
    OWNED(postmortem) pm = archive != NULL ? postmortem_new(archive, err) : NULL;
    if (pm == NULL)
        return false;
    postmortem_render(pm, o->format, cli_width(STDOUT_FILENO, 100), out);
    return true;
}

/* Is the text safe in a path? Names are DNS labels or uids, so nothing is escaped. */
static bool is_plain(const char *text)
{
    return text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789-._") == strlen(text);
}

static bool fetch(const struct options *o, struct client *client, struct buf *out, struct err *err)
{
    static const char *const formats[PM_FORMAT_COUNT] = {"text", "md", "json", "html"};
    char path[KINDS_PATH_MAX];
    if (!is_plain(o->ns) || !is_plain(o->name))
        return err_set(err, ERR_INVALID, "'%.60s' is not the name of a migration", o->name);
    int n = snprintf(path, sizeof path, "/postmortem/%s/%s?wrap=1&format=%s", o->ns, o->name,
                     formats[o->format]);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, ERR_INVALID, "the name is too long");
    OWNED(json_object) answer = client != NULL ? client_call(client, "GET", path, NULL, err) : NULL;
    if (answer == NULL)
        return false;
    const char *page = json_object_get_string(json_at(answer, "page"));
    if (page == NULL)
        return err_set(err, ERR_INTERNAL, "the appliance's answer is not a report");
    buf_add(out, page);
    return true;
}

int verb_postmortem(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FORMAT", 0, "text, md, json or html", 0},
        {"namespace", 'n', "NS", 0, "namespace of the migration; default 'default'", 0},
        {"state", KEY_STATE, "DIR", 0, "read this state directory, not the appliance", 0},
        {"server", KEY_SERVER, "URL", 0,
         "the appliance; default FERRY_SERVER, the socket, or http://127.0.0.1:9178", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "MIGRATION",
        .doc = "Report on one migration: verdict, timeline of both hosts, phases, decisions, "
               "statistics, what would have helped. MIGRATION is a name or a uid. See "
               "docs/postmortem.md.",
    };
    struct options o = {.ns = "default", .format = PM_TEXT};
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    struct err err = {0};
    struct buf page;
    buf_init(&page, CLI_PAGE_MAX);
    OWNED(client) client = o.state == NULL ? client_new(o.server, &err) : NULL;
    if (o.state != NULL ? make(&o, &page, &err) : fetch(&o, client, &page, &err))
        return cli_print(&page);
    buf_fini(&page);
    const struct named what = {KIND_MIGRATION, o.ns, o.name};
    return name_fail(client, &what, &err,
                     err.code == ERR_NOT_FOUND ? "name another state directory with --state DIR, "
                                                 "or none to ask the appliance"
                                               : NULL);
}
