/* hostd.c - `ferry hostd`: the optional helper on a host, and its command line client.
 *
 * A stream that stalls during the switch-over blocks QEMU's monitor; libvirt then cannot abort, but
 * closing the socket on the host does. The helper closes one guest's migration sockets and does
 * nothing else.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "hypervisor/hostd/client.h"
#include "hypervisor/hostd/rights.h"
#include "hypervisor/hostd/server.h"

#define SECRET_FILE_DEFAULT "/etc/ferry/hostd.secret"
enum {
    KEY_LISTEN = 0x200,
    KEY_PID_DIR,
    KEY_USER,
    KEY_SECRET,
    KEY_PORTS,
    KEY_AT,
    KEY_KILL,
    KEY_PING,
    KEY_PROBE
};

struct options {
    const char *listen, *secret_file, *at; /* at: run as a client */
    const char *kill, *probe;
    const char *pid_dir, *user; /* of the guests' QEMUs */
    bool ping;
    unsigned port_min, port_max;
};

static void check_usage(const struct options *options, struct argp_state *state)
{
    int asked = (options->kill != NULL) + (options->probe != NULL) + options->ping;
    if (asked > 1)
        argp_error(state, "--kill, --probe and --ping exclude each other");
    if (asked == 1 && options->at == NULL)
        argp_error(state, "--at ADDR:PORT is missing");
    if (asked == 0 && options->at != NULL)
        argp_error(state, "--at goes with --kill, --probe or --ping");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_LISTEN: options->listen = arg; return 0;
    case KEY_PID_DIR: options->pid_dir = arg; return 0;
    case KEY_USER: options->user = arg; return 0;
    case KEY_SECRET: options->secret_file = arg; return 0;
    case KEY_AT: options->at = arg; return 0;
    case KEY_KILL: options->kill = arg; return 0;
    case KEY_PING: options->ping = true; return 0;
    case KEY_PROBE: options->probe = arg; return 0;
    case KEY_PORTS:
        if (!hostd_ports_parse(arg, &options->port_min, &options->port_max))
            argp_error(state, "--ports '%s' is not MIN-MAX, like 49152-49215", arg);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    case ARGP_KEY_END: check_usage(options, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* --- the helper --- */

static bool serve(const struct options *options, const char *secret, struct err *err)
{
    struct hostd_config config = {
        .listen = options->listen,
        .secret = secret,
        .sockets = {"/proc", options->port_min, options->port_max, {options->pid_dir, 0}},
    };
    char address[HV_URI_MAX];
    sigset_t signals;
    int number;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (!identity_user(options->user, &config.sockets.identity.user, err) || !rights_drop(err))
        return false;
    if (!sockets_self_test(err)) /* fail now, not during a stalled switch-over */
        return err_wrap(err, "hostd cannot close sockets here");
    OWNED(hostd_server) server = hostd_server_new(&config, err);
    if (server == NULL)
        return false;
    hostd_server_address(server, address);
    LOG(INFO, "hostd_listens", FIELD_TEXT(ADDRESS, address), FIELD_TEXT(VERSION, FERRY_VERSION));
    (void)sigwait(&signals, &number);
    LOG(INFO, "hostd_ends", FIELD_TEXT(ADDRESS, address));
    return true;
}

/* --- its client --- */

static bool ask_kill(const struct options *options, const char *secret, struct err *err)
{
    char report[HOSTD_REPORT_MAX];
    unsigned killed;
    if (!hostd_kill_report(options->at, secret, options->kill, &killed, report, err))
        return false;
    (void)printf("closed %u\n%s%s", killed, report, killed > 0 ? "\n" : "");
    return true;
}

static bool ask_probe(const struct options *options, const char *secret, struct err *err)
{
    char ip[HV_TEXT_MAX];
    const char *colon = strrchr(options->probe, ':');
    int64_t port;
    enum hostd_path path;
    if (colon == NULL || !text_to_i64(colon + 1, 1, UINT16_MAX, &port))
        return err_set(err, ERR_INVALID, "--probe '%s' is not ADDRESS:PORT", options->probe);
    bool bracketed = options->probe[0] == '[' && colon[-1] == ']';
    (void)snprintf(ip, sizeof ip, "%.*s", (int)(colon - options->probe) - (bracketed ? 2 : 0),
                   options->probe + bracketed);
    if (!hostd_probe(options->at, secret, ip, (unsigned)port, &path, err))
        return false;
    (void)printf("%s\n", hostd_path_name(path));
    return true;
}

static bool ask_ping(const struct options *options, const char *secret, struct err *err)
{
    char version[HV_TEXT_MAX];
    if (!hostd_ping(options->at, secret, version, err))
        return false;
    (void)printf("ferry hostd %s, can close sockets\n", version);
    return true;
}

static bool run(const struct options *options, const char *secret, struct err *err)
{
    if (options->kill != NULL)
        return ask_kill(options, secret, err);
    if (options->probe != NULL)
        return ask_probe(options, secret, err);
    return options->ping ? ask_ping(options, secret, err) : serve(options, secret, err);
}

int verb_hostd(int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"listen", KEY_LISTEN, "ADDR:PORT", 0,
         "address to listen on, or path of a local socket; default " HOSTD_LISTEN_DEFAULT, 0},
        {"secret-file", KEY_SECRET, "FILE", 0,
         "holds the secret shared with Ferry; default " SECRET_FILE_DEFAULT, 0},
        {"ports", KEY_PORTS, "MIN-MAX", 0,
         "migration_port_min and _max of qemu.conf; default 49152-49215", 0},
        {"pid-dir", KEY_PID_DIR, "DIR", 0,
         "libvirt's pid files of the guests; default " IDENTITY_PID_DIR, 0},
        {"qemu-user", KEY_USER, "USER", 0, "user of qemu.conf; default libvirt-qemu or qemu", 0},
        {"at", KEY_AT, "ADDR:PORT", 0, "run as a client of this helper", 1},
        {"kill", KEY_KILL, "UUID", 0, "close the sockets of that guest's migration", 1},
        {"probe", KEY_PROBE, "ADDR:PORT", 0,
         "test a connection from that host: open, refused, dead", 1},
        {"ping", KEY_PING, NULL, 0, "test the helper and its permission to close sockets", 1},
        {0},
    };
    static const struct argp argp = {
        .options = table,
        .parser = on_option,
        .doc = "Run on a host: close the sockets of a guest's migration on request of Ferry.",
    };
    struct options options = {.listen = HOSTD_LISTEN_DEFAULT,
                              .secret_file = SECRET_FILE_DEFAULT,
                              .pid_dir = IDENTITY_PID_DIR,
                              .user = "",
                              .port_min = SOCKETS_PORT_MIN,
                              .port_max = SOCKETS_PORT_MAX};
    char secret[HV_SECRET_MAX];
    struct err err = {0};
    if (!cli_parse(&argp, argc, argv, &options))
        return EXIT_USAGE;
    if (!hostd_secret_read(options.secret_file, secret, &err))
        return cli_fail(&err, "make one: (umask 077; openssl rand -hex 32 > FILE)");
    bool done = run(&options, secret, &err);
    explicit_bzero(secret, sizeof secret);
    return done ? EXIT_DONE : cli_fail(&err, "see docs/operations.md, \"A helper on the hosts\"");
}
