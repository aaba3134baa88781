/* contract_libvirt.c - the hypervisor contract, kept by real hosts. A program of its own, run by
 * the lab tests, because it needs two libvirt hosts and a guest:
 *
 *   contract_libvirt --host h1=URI[,PEER_URI[,ADDRESS]] --host h2=... [--dead-host NAME=URI]
 *                    --guest UUID [--twin UUID] [--persistent UUID] [--edit PROGRAM]
 *                    [--break PROGRAM] [--case TEXT] [--list]
 *
 * --guest: a transient guest that runs on either host, with enough memory that is not zero that
 * a copy at 8 MiB/s lasts some seconds. --twin: runs on one host while the other has another
 * guest of its name. --persistent: defined and started on h1, with a label and a strategy
 * (contract.h); PROGRAM HOST UUID changes its metadata. --break: PROGRAM HOST UUID ends the open
 * streams of a migration. --dead-host: an address where nobody answers. Prints one line a case;
 * exit status 0 when all hold, 1 when one does not, 2 when it was called wrongly.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "hypervisor/libvirt/libvirt.h"
#include "tests/contract/contract.h"

enum { POLL_MS = 10, HOSTS_MAX = 3 };

struct options {
    struct hv_host hosts[HOSTS_MAX];
    size_t n_hosts;
    const char *only;          /* a part of a case's name */
    const char *edit, *breaks; /* programs */
    bool list;
};

static bool sleep_until(void *ctx, bool (*is_done)(void *arg), void *arg, int64_t timeout_ms)
{
    (void)ctx;
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    while (!is_done(arg)) {
        if (clock_mono_ms(clock_system()) >= until)
            return false;
        clock_sleep_ms(POLL_MS);
    }
    return true;
}

static bool run(const char *program, const char *host, const char *guest)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl(program, program, host, guest, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool edit(void *ctx, const char *host, const char *guest)
{
    const struct options *options = ctx;
    return run(options->edit, host, guest);
}

static bool break_stream(void *ctx, const char *host, const char *guest)
{
    const struct options *options = ctx;
    return run(options->breaks, host, guest);
}

/* What stands before the next comma; returns what comes after it. */
static const char *take_part(const char *text, char *out_part, size_t bytes)
{
    const char *comma = strchr(text, ',');
    size_t n = comma != NULL ? (size_t)(comma - text) : strlen(text);
    (void)snprintf(out_part, bytes, "%.*s", (int)n, text);
    return text + n + (comma != NULL);
}

/* "name=uri,peer,address" */
static bool take_host(struct options *options, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || options->n_hosts == HOSTS_MAX)
        return false;
    struct hv_host *host = &options->hosts[options->n_hosts++];
    (void)snprintf(host->name, sizeof host->name, "%.*s", (int)(equals - text), text);
    text = take_part(equals + 1, host->uri, sizeof host->uri);
    text = take_part(text, host->peer_uri, sizeof host->peer_uri);
    (void)take_part(text, host->migration_host, sizeof host->migration_host);
    return host->uri[0] != '\0';
}

static bool take(struct options *options, struct contract_world *w, const char *name,
                 const char *value)
{
    if (strcmp(name, "--host") == 0) {
        size_t index = options->n_hosts;
        if (index >= 2 || !take_host(options, value))
            return false;
        TEXT_SET(w->hosts[index], options->hosts[index].name);
        return true;
    }
    if (strcmp(name, "--dead-host") == 0) {
        if (options->n_hosts != 2 || !take_host(options, value))
            return false;
        TEXT_SET(w->dead_host, options->hosts[2].name);
        return true;
    }
    if (strcmp(name, "--guest") == 0)
        TEXT_SET(w->guest, value);
    else if (strcmp(name, "--twin") == 0)
        TEXT_SET(w->twin, value);
    else if (strcmp(name, "--persistent") == 0)
        TEXT_SET(w->persistent, value);
    else if (strcmp(name, "--volume") == 0)
        TEXT_SET(w->volume, value);
    else if (strcmp(name, "--edit") == 0)
        options->edit = value;
    else if (strcmp(name, "--break") == 0)
        options->breaks = value;
    else if (strcmp(name, "--case") == 0)
        options->only = value;
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, struct options *options, struct contract_world *w)
{
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--list") == 0) {
            options->list = true;
            i--;
        } else if (i + 1 >= argc || !take(options, w, argv[i], argv[i + 1])) {
            return false;
        }
    }
    return options->list || (options->n_hosts >= 2 && w->guest[0] != '\0');
}

static int run_cases(const struct options *options, struct contract_world *w)
{
    int failures = 0;
    for (size_t i = 0; i < contract_case_count; i++) {
        const struct contract_case *one = &contract_cases[i];
        if (options->only != NULL && strstr(one->name, options->only) == NULL)
            continue;
        int64_t began_ms = clock_mono_ms(clock_system());
        bool holds = options->list || one->holds(w);
        failures += !holds;
        printf("%s %s", holds ? "ok  " : "FAIL", one->name);
        if (!options->list)
            printf(" (%lld ms)", (long long)(clock_mono_ms(clock_system()) - began_ms));
        printf("%s%s\n", holds ? "" : ": ", holds ? "" : w->failure);
        (void)fflush(stdout);
    }
    return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct contract_world w = {.wait = sleep_until};
    if (!parse(argc, argv, &options, &w)) {
        (void)fprintf(
            stderr,
            "usage: contract_libvirt --host NAME=URI[,PEER[,ADDRESS]] --host ..."
            " [--dead-host NAME=URI] --guest UUID [--twin UUID] [--persistent UUID] [--volume PATH]"
            " [--edit PROGRAM] [--break PROGRAM] [--case TEXT] [--list]\n");
        return 2;
    }
    w.ctx = &options;
    w.edit = options.edit != NULL ? edit : NULL;
    w.break_stream = options.breaks != NULL ? break_stream : NULL;
    if (options.list)
        return run_cases(&options, &w);
    struct err err = {0};
    w.seen = contract_seen_new();
    struct hv_event_sink events = contract_event_sink(w.seen);
    struct hv *hv =
        w.seen == NULL ? NULL
                       : libvirt_new(options.hosts, options.n_hosts, clock_system(), &events, &err);
    if (hv == NULL) {
        (void)fprintf(stderr, "cannot begin: %s\n", err.text);
        contract_seen_free(w.seen);
        return 1;
    }
    w.hv = hv;
    int status = run_cases(&options, &w);
    hv_free(hv);
    contract_seen_free(w.seen);
    return status;
}
