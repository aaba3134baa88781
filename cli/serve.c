/* serve.c - `ferry serve`: runs the appliance (appliance/appliance.h). */
#include <malloc.h>
#include <sys/stat.h>

#include "appliance/appliance.h"
#include "appliance/config.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"
#include "engine/requests.h"

_Static_assert((int)CLIENT_ANSWER_MS > (int)REQUEST_DEADLINE_MS,
               "the client waits longer than the engine takes");

enum { KEY_CONFIG = 0x200, KEY_STATE, KEY_LISTEN, KEY_SOCKET, KEY_WEB, KEY_SIMULATE, KEY_KUBEVIRT };

static void add_listen(struct appliance_options *options, const char *arg, struct argp_state *state)
{
    size_t n = 0;
    while (n < ACCESS_LISTEN_MAX && options->listen[n] != NULL)
        n++;
    if (n == ACCESS_LISTEN_MAX)
        argp_error(state, "at most %d times --listen", ACCESS_LISTEN_MAX);
    else
        options->listen[n] = arg;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct appliance_options *options = state->input;
    switch (key) {
    case KEY_CONFIG:
        options->config_file = arg;
        options->config_given = true;
        return 0;
    case KEY_STATE: options->state = arg; return 0;
    case KEY_LISTEN: add_listen(options, arg, state); return 0;
    case KEY_SOCKET: options->socket = arg; return 0;
    case KEY_WEB: options->web_file = arg; return 0;
    case KEY_SIMULATE: options->simulate = arg; return 0;
    case KEY_KUBEVIRT: options->kubevirt_metrics = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int fail_to_start(const struct appliance *a, const struct err *err)
{
    if (!appliance_is_file_bad(a))
        return cli_fail(err, NULL);
    bool is_missing = err->code == ERR_NOT_FOUND || err->code == ERR_IO;
    (void)cli_fail(err, is_missing ? "name a file with --config FILE, or try `ferry serve "
                                     "--simulate demo`"
                                   : "correct the file and start again");
    return EXIT_USAGE;
}

/* Snapshots and lists of a large fleet are megabytes, made and freed all day by several threads:
 * they go back to the kernel at once. glibc would raise the threshold after the first of them, and
 * keep what is free between longer-lived ones. */
static void tune_malloc(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    (void)mallopt(M_ARENA_MAX, 4);
}

static int serve(const struct appliance_options *options)
{
    struct err err = {0};
    OWNED(appliance) a = appliance_new(&err);
    if (a == NULL)
        return cli_fail(&err, NULL);
    if (!appliance_start(a, options, &err))
        return fail_to_start(a, &err);
    appliance_run(a);
    return EXIT_DONE;
}

int verb_serve(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"config", KEY_CONFIG, "FILE", 0, "default " CONFIG_FILE_DEFAULT, 0},
        {"state", KEY_STATE, "DIR", 0, "state directory; default from the file", 0},
        {"listen", KEY_LISTEN, "[https://]ADDR:PORT", 0,
         "may be repeated; default from the file, else 127.0.0.1:9178, read-only, and "
         "https://127.0.0.1:9179",
         0},
        {"socket", KEY_SOCKET, "PATH|none", 0, "default from the file, else " ACCESS_SOCKET_DEFAULT,
         0},
        {"web.config.file", KEY_WEB, "FILE", 0,
         "certificate and users, in exporter-toolkit's format", 0},
        {"simulate", KEY_SIMULATE, "FILE|demo", 0, "simulated hosts instead of libvirt", 0},
        {"kubevirt-metrics", KEY_KUBEVIRT, NULL, 0, "/metrics under KubeVirt's names too", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows, .parser = on_option, .doc = "Run the appliance."};
    struct appliance_options options = {.config_file = CONFIG_FILE_DEFAULT};
    if (!cli_parse(&argp, argc, argv, &options))
        return EXIT_USAGE;
    tune_malloc();
    (void)umask(027); /* what it writes is not for others */
    return serve(&options);
}
