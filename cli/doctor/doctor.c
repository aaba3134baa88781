/* doctor.c - `ferry doctor`: checks every host, and every pair of hosts for migration.
 *
 * Connects to the hosts itself through observe and probe: works without an appliance and changes
 * nothing. A host that does not answer in time is reported and does not delay the others. visit.c
 * asks what libvirt does not tell, diagnose.c evaluates the answers, report.c shows them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "appliance/config.h"
#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "base/queue.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "cli/doctor/diagnose.h"
#include "cli/doctor/ports.h"
#include "cli/doctor/report.h"
#include "cli/doctor/visit.h"
#include "hypervisor/libvirt/libvirt.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

enum {
    KEY_CONFIG = 0x200,
    KEY_TIMEOUT,
    KEY_STRICT,
    TIMEOUT_MS = 10000, /* for all hosts together, each round */
};

struct doctor {
    struct cli_options common;
    const char *config_file;
    int64_t timeout_ms;
    bool strict;
    struct config *config;
    size_t n;
    struct diagnosis *diagnoses;
    char **cpus;                    /* host-model CPU of each host, NULL: not known */
    int *comparisons;               /* n*n, CPU_NOT_ASKED when there is no answer */
    char (*why)[DIAGNOSE_TEXT_MAX]; /* n*n, error of a comparison */
    struct way *ways;               /* n*n; NULL, as the two above: too many hosts for pairs */
    struct queue *replies;
    struct hv *hv;
};

/* --- calls --- */

static void on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct queue *replies = ctx;
    if (!queue_push(replies, take_reply))
        hv_reply_fini(take_reply); /* the queue has room for every reply: only when closed */
}

static void on_event(void *ctx, const struct hv_event *event)
{
    (void)ctx;
    (void)event;
}

static struct hv_request question(const struct doctor *d, enum hv_call call, size_t host,
                                  uint64_t id)
{
    struct hv_request request = {.id = id, .call = call, .reply_to = {on_reply, d->replies}};
    TEXT_SET(request.host, d->config->hosts[host].name);
    return request;
}

typedef void answer_fn(struct doctor *d, struct hv_reply *reply);

/* Passes `open` answers to fn until none is open or the timeout has passed. */
static void gather(struct doctor *d, size_t open, answer_fn *fn)
{
    const struct clock *clock = clock_system();
    int64_t until = clock_mono_ms(clock) + d->timeout_ms;
    while (open > 0) {
        int64_t left = until - clock_mono_ms(clock);
        struct hv_reply reply;
        if (left <= 0 || queue_pop(d->replies, &reply, left) != QUEUE_ITEM)
            return;
        fn(d, &reply);
        hv_reply_fini(&reply);
        open--;
    }
}

static void on_host_answer(struct doctor *d, struct hv_reply *reply)
{
    if (reply->id >= d->n)
        return;
    struct diagnosis *p = &d->diagnoses[reply->id];
    if (reply->err.code != ERR_NONE) {
        p->err = reply->err;
    } else if (reply->call == HV_CALL_HOST_FACTS) {
        p->reached = true;
        p->facts = reply->with.facts;
    } else if (reply->call == HV_CALL_DOMAIN_CAPABILITIES && reply->with.text != NULL) {
        free(d->cpus[reply->id]);
        d->cpus[reply->id] = diagnose_guest_cpu(reply->with.text);
    }
}

static bool submit(const struct doctor *d, const struct hv_request *request, struct err *err)
{
    const struct hv_observe observe = {d->hv};
    const struct hv_probe probe = {d->hv};
    return hv_call_access(request->call) == HV_ACCESS_PROBE
               ? hv_probe_submit(&probe, request, err)
               : hv_observe_submit(&observe, request, err);
}

static void ask_hosts(struct doctor *d)
{
    static const enum hv_call calls[] = {HV_CALL_HOST_FACTS, HV_CALL_DOMAIN_CAPABILITIES};
    size_t open = 0;
    for (size_t i = 0; i < d->n; i++)
        for (size_t c = 0; c < COUNT(calls); c++) {
            if (d->config->hosts[i].observe && hv_call_access(calls[c]) != HV_ACCESS_OBSERVE)
                continue; /* it needs a connection that may write */
            struct hv_request request = question(d, calls[c], i, i);
            struct err err = {0};
            if (submit(d, &request, &err))
                open++;
            else
                d->diagnoses[i].err = err;
        }
    gather(d, open, on_host_answer);
}

static void on_comparison(struct doctor *d, struct hv_reply *reply)
{
    if (reply->call != HV_CALL_COMPARE_CPU || reply->id >= d->n * d->n)
        return;
    if (reply->err.code == ERR_NONE)
        d->comparisons[reply->id] = reply->with.comparison;
    else
        TEXT_SET(d->why[reply->id], reply->err.text);
}

/* Asks `to` whether it can provide the CPU that guests have on `from`. */
static void ask_pairs(struct doctor *d)
{
    size_t open = 0;
    for (size_t from = 0; from < d->n; from++)
        for (size_t to = 0; to < d->n; to++) {
            if (from == to || !d->diagnoses[to].reached || d->cpus[from] == NULL) {
                TEXT_SET(d->why[from * d->n + to], d->diagnoses[from].err.text);
                continue;
            }
            struct hv_request request = question(d, HV_CALL_COMPARE_CPU, to, from * d->n + to);
            struct err err = {0};
            request.with.text = d->cpus[from];
            if (submit(d, &request, &err))
                open++;
            else
                TEXT_SET(d->why[from * d->n + to], err.text);
        }
    gather(d, open, on_comparison);
}

/* What libvirt does not tell: from the hosts themselves. */
static void ask_visits(struct doctor *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->diagnoses[i].hook = strcmp(d->config->hosts[i].uri, "qemu:///system") == 0
                                   ? hook_state("")
                                   : HOOK_NOT_CHECKED;
    struct visit visit = {
        .diagnoses = d->diagnoses,
        .ways = d->ways,
        .n = d->n,
        .paths = (const char *const *)d->config->shared_paths,
        .n_paths = d->config->n_shared_paths < DIAGNOSE_PATHS_MAX ? d->config->n_shared_paths
                                                                  : DIAGNOSE_PATHS_MAX,
        .timeout_ms = d->timeout_ms,
    };
    visit_hosts(&visit);
}

/* --- output --- */

static void diagnose_all(const struct doctor *d, struct report *report)
{
    for (size_t i = 0; i < d->n; i++)
        diagnose_host(d->diagnoses, d->n, i, &report->hosts_checks[i * CHECK_COUNT]);
    for (size_t pair = 0; report->pairs != NULL && pair < d->n * d->n; pair++) {
        struct pair_facts facts = {d->comparisons[pair], d->why[pair], d->ways[pair]};
        if (pair / d->n != pair % d->n)
            diagnose_pair(&d->diagnoses[pair / d->n], &d->diagnoses[pair % d->n], &facts,
                          &report->pairs[pair]);
    }
}

static int print(const struct doctor *d, const struct report *report)
{
    if (d->common.output == OUTPUT_JSON) {
        OWNED(json_object) page = json_object_new_object();
        report_json(report, page);
        return cli_print_json(page);
    }
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    if (!report_page(report, cli_table_width(d->common.output), cli_wants_colour(STDOUT_FILENO),
                     &text))
        text.failed = true;
    return cli_print(&text);
}

static int show(const struct doctor *d)
{
    struct report report = {
        .n = d->n,
        .hosts = d->config->hosts,
        .hosts_checks = calloc(d->n * CHECK_COUNT, sizeof(struct check)),
        .pairs = d->ways != NULL ? calloc(d->n * d->n, sizeof(struct check)) : NULL,
    };
    struct err err = {0};
    int status = EXIT_FAILED;
    if (report.hosts_checks == NULL || (d->ways != NULL && report.pairs == NULL)) {
        (void)err_set(&err, ERR_NOMEM, "no memory for the report");
        status = cli_fail(&err, NULL);
    } else {
        diagnose_all(d, &report);
        struct report_counts counts = report_count(&report);
        bool bad = counts.of[RESULT_FAILED] > 0 || (d->strict && counts.of[RESULT_UNCHECKED] > 0);
        status = print(d, &report);
        if (status == EXIT_DONE && bad)
            status = EXIT_FAILED;
    }
    free(report.hosts_checks);
    free(report.pairs);
    return status;
}

/* --- the verb --- */

static bool prepare(struct doctor *d, struct err *err)
{
    d->config = config_read(d->config_file, err);
    if (d->config == NULL)
        return false;
    d->n = d->config->n_hosts;
    d->diagnoses = calloc(d->n, sizeof *d->diagnoses);
    d->cpus = calloc(d->n, sizeof *d->cpus);
    if (d->n <= REPORT_PAIRED_MAX) {
        d->comparisons = calloc(d->n * d->n, sizeof *d->comparisons);
        d->why = calloc(d->n * d->n, sizeof *d->why);
        d->ways = calloc(d->n * d->n, sizeof *d->ways);
    }
    if (d->diagnoses == NULL || d->cpus == NULL ||
        (d->n <= REPORT_PAIRED_MAX &&
         (d->comparisons == NULL || d->why == NULL || d->ways == NULL)))
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", d->n);
    for (size_t i = 0; i < d->n; i++) {
        d->diagnoses[i].host = &d->config->hosts[i];
    }
    for (size_t i = 0; d->comparisons != NULL && i < d->n * d->n; i++)
        d->comparisons[i] = CPU_NOT_ASKED;
    size_t questions = 2 * d->n + (d->comparisons != NULL ? d->n * d->n : 0);
    d->replies = queue_new(sizeof(struct hv_reply), questions, err);
    if (d->replies == NULL)
        return false;
    const struct hv_event_sink events = {on_event, NULL};
    d->hv = libvirt_new(d->config->hosts, d->n, clock_system(), &events, err);
    return d->hv != NULL;
}

static void finish(struct doctor *d)
{
    struct hv_reply late;
    hv_free(d->hv);
    while (d->replies != NULL && queue_pop(d->replies, &late, 0) == QUEUE_ITEM)
        hv_reply_fini(&late);
    queue_free(d->replies);
    for (size_t i = 0; d->cpus != NULL && i < d->n; i++)
        free(d->cpus[i]);
    free(d->cpus);
    free(d->comparisons);
    free(d->why);
    free(d->ways);
    free(d->diagnoses);
    config_free(d->config);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct doctor *d = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &d->common; return 0;
    case KEY_CONFIG: d->config_file = arg; return 0;
    case KEY_TIMEOUT:
        if (!human_read_duration(arg, &d->timeout_ms))
            argp_error(state, "--timeout '%s' is not a duration like 10s", arg);
        return 0;
    case KEY_STRICT: d->strict = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_doctor(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"config", KEY_CONFIG, "FILE", 0, "default " CONFIG_FILE_DEFAULT, 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "time for the answers of all hosts; default 10s",
         0},
        {"strict", KEY_STRICT, NULL, 0, "fail also if something could not be checked", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .doc = "Check every configured host, and every pair of hosts for migration.",
        .children = cli_options_children,
    };
    struct doctor d = {.config_file = CONFIG_FILE_DEFAULT, .timeout_ms = TIMEOUT_MS};
    cli_options_init(&d.common);
    if (!cli_parse(&argp, argc, argv, &d))
        return EXIT_USAGE;
    struct err err = {0};
    int status;
    if (prepare(&d, &err)) {
        ask_hosts(&d);
        if (d.comparisons != NULL)
            ask_pairs(&d);
        ports_ask(d.diagnoses, d.n, PORTS_TLS, d.timeout_ms);
        ask_visits(&d);
        status = show(&d);
    } else {
        bool bad_file = d.config == NULL;
        status = cli_fail(&err, bad_file ? "name a valid file with --config FILE" : NULL);
        if (bad_file)
            status = EXIT_USAGE;
    }
    finish(&d);
    return status;
}
