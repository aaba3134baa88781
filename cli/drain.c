/* drain.c - `ferry drain NODE`: migrates every guest off a node, or with --dry-run shows the plan.
 * The drain is an object of the appliance and continues when this command ends. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/pages/drain_watch.h"
#include "cli/pages/pages.h"

enum { KEY_DEADLINE = 0x200, KEY_RETRIES, KEY_SHUTDOWN, KEY_DRY_RUN, KEY_WAIT, KEY_TIMEOUT };

struct drain_request {
    struct cli_options common;
    const char *node;
    int64_t deadline_ms, timeout_ms; /* < 0: none */
    int64_t retries;                 /* < 0: the appliance's */
    bool shutdown, dry_run, wait;
};

static void read_duration(const char *name, const char *arg, int64_t *out_ms,
                          struct argp_state *state)
{
    if (!human_read_duration(arg, out_ms))
        argp_error(state, "%s '%s' is not a duration like 30s, 5m or 2h", name, arg);
}

static void check(const struct drain_request *d, struct argp_state *state)
{
    if (d->timeout_ms >= 0 && !d->wait)
        argp_error(state, "--timeout needs --wait");
    if (d->wait && d->dry_run)
        argp_error(state, "--dry-run and --wait exclude each other");
    if (d->deadline_ms >= 0 && d->deadline_ms < 1000)
        argp_error(state, "--deadline is at least a second");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct drain_request *d = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &d->common; return 0;
    case KEY_DEADLINE: read_duration("--deadline", arg, &d->deadline_ms, state); return 0;
    case KEY_TIMEOUT: read_duration("--timeout", arg, &d->timeout_ms, state); return 0;
    case KEY_RETRIES:
        if (!text_to_i64(arg, 1, 100, &d->retries))
            argp_error(state, "--retries '%s' is not a number from 1 to 100", arg);
        return 0;
    case KEY_SHUTDOWN: d->shutdown = true; return 0;
    case KEY_DRY_RUN: d->dry_run = true; return 0;
    case KEY_WAIT: d->wait = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one NODE at a time, not also '%s'", arg);
        d->node = name_arg(arg, KIND_NODE, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "NODE is missing; `ferry get nodes` lists the nodes");
        return 0;
    case ARGP_KEY_END: check(d, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* "drain-NODE-xxxxx": a node may be drained again later. The node's part is cut to fit a name of
 * 63. */
static void make_name(const char *node, char *out_name, size_t n)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned char random[5] = {0};
    char suffix[sizeof random + 1] = "";
    if (getrandom(random, sizeof random, 0) < 0)
        memset(random, 0, sizeof random); /* the appliance rejects a name in use */
    for (size_t i = 0; i < sizeof random; i++)
        suffix[i] = letters[random[i] % (sizeof letters - 1)];
    (void)snprintf(out_name, n, "drain-%.51s-%s", node, suffix);
}

static struct json_object *build(const struct drain_request *d)
{
    char name[TABLE_CELL_MAX];
    struct json_object *object = json_object_new_object();
    json_add_text(object, "apiVersion", kind_api_version(KIND_DRAIN));
    json_add_text(object, "kind", kind_name(KIND_DRAIN));
    make_name(d->node, name, sizeof name);
    json_add_text(json_add_object(object, "metadata"), "name", name);
    struct json_object *spec = json_add_object(object, "spec");
    json_add_text(spec, "nodeName", d->node);
    if (d->deadline_ms >= 0)
        json_add_i64(spec, "deadlineSeconds", d->deadline_ms / 1000);
    if (d->retries >= 0)
        json_add_i64(spec, "retryBudget", d->retries);
    if (d->shutdown)
        json_add_bool(spec, "shutdown", true);
    return object;
}

static struct json_object *create_drain(struct client *client, const struct drain_request *d,
                                        struct err *err)
{
    char path[KINDS_PATH_MAX], full[KINDS_PATH_MAX + 16];
    if (!kind_path(KIND_DRAIN, NULL, NULL, path, err))
        return NULL;
    (void)snprintf(full, sizeof full, "%s%s", path, d->dry_run ? "?dryRun=All" : "");
    OWNED(json_object) body = build(d);
    return client_call(client, "POST", full, body, err);
}

static struct page_style page_style_of(enum output output)
{
    return (struct page_style){cli_table_width(output), cli_wants_colour(STDOUT_FILENO)};
}

static int print_plan(struct json_object *object, enum output output)
{
    const struct page_style style = page_style_of(output);
    struct buf page;
    buf_init(&page, PAGE_MAX);
    bool empties = page_plan(object, &style, &page);
    int printed;
    if (output == OUTPUT_JSON) {
        buf_fini(&page);
        printed = cli_print_json(object);
    } else {
        printed = cli_print(&page);
    }
    return printed != EXIT_DONE ? printed : empties ? EXIT_DONE : EXIT_FAILED;
}

static int print_created(struct json_object *object, enum output output)
{
    char name[TABLE_CELL_MAX];
    if (output == OUTPUT_JSON)
        return cli_print_json(object);
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    (void)printf(output == OUTPUT_NAME ? "drain/%s\n" : "drain/%s created\n", name);
    return EXIT_DONE;
}

static int print_end(struct json_object *object, enum output output)
{
    const struct page_style style = page_style_of(output);
    bool emptied = text_equal(view_text(object, "status.state"), "Succeeded");
    struct buf page;
    if (output == OUTPUT_JSON) {
        (void)cli_print_json(object);
        return emptied ? EXIT_DONE : EXIT_FAILED;
    }
    buf_init(&page, PAGE_MAX);
    page_drain(object, &style, &page);
    int printed = cli_print(&page);
    return printed != EXIT_DONE ? printed : emptied ? EXIT_DONE : EXIT_FAILED;
}

static int follow(struct client *client, const struct drain_request *d, struct json_object *created)
{
    const struct drain_watch watch = {.client = client,
                                      .name = view_text(created, "metadata.name"),
                                      .node = d->node,
                                      .timeout_ms = d->timeout_ms,
                                      .quiet = d->common.output == OUTPUT_JSON};
    struct json_object *last = NULL;
    int status = drain_watch(&watch, &last);
    OWNED(json_object) object = last;
    return status == EXIT_DONE ? print_end(object, d->common.output) : status;
}

int verb_drain(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"deadline", KEY_DEADLINE, "DURATION", 0, "fail if guests are left after DURATION", 0},
        {"retries", KEY_RETRIES, "N", 0,
         "failed migrations per guest before it is given up; default 3", 0},
        {"shutdown", KEY_SHUTDOWN, NULL, 0, "shut down guests whose eviction strategy allows it",
         0},
        {"dry-run", KEY_DRY_RUN, NULL, 0,
         "show the plan only; exit status 1: guests would block it", 0},
        {"wait", KEY_WAIT, NULL, 0, "show progress until the drain has ended or is blocked", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "with --wait: give up after, like 30m", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "NODE",
        .doc = "Cordon a node and migrate every guest off it. `ferry uncordon NODE` cancels the "
               "drain.",
        .children = cli_options_children,
    };
    struct drain_request d = {.deadline_ms = -1, .timeout_ms = -1, .retries = -1};
    cli_options_init(&d.common);
    if (!cli_parse(&argp, argc, argv, &d))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(client) client = client_new(d.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    OWNED(json_object) created = create_drain(client, &d, &err);
    const struct named what = {KIND_NODE, NULL, d.node};
    if (created == NULL)
        return name_fail(client, &what, &err,
                         err.code == ERR_REFUSED ? "`ferry get drains` shows the drains" : NULL);
    if (d.dry_run)
        return print_plan(created, d.common.output);
    return d.wait ? follow(client, &d, created) : print_created(created, d.common.output);
}
