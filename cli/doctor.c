/* doctor.c - `ferry doctor`: checks every host, and every pair of hosts for migration.
 *
 * Connects to the hosts itself through observe and probe: works without an appliance and changes
 * nothing. A host that does not answer in time is reported and does not delay the others.
 * diagnose.c evaluates the answers.
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
#include "cli/common/table.h"
#include "cli/diagnose.h"
#include "cli/ports.h"
#include "hypervisor/hostd/client.h"
#include "hypervisor/libvirt/libvirt.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

enum {
    KEY_CONFIG = 0x200,
    KEY_TIMEOUT,
    TIMEOUT_MS = 10000,    /* for all hosts together, each round */
    PAIRED_HOSTS_MAX = 64, /* with more hosts pairs are not compared: n*(n-1) calls */
};

struct doctor {
    struct cli_options common;
    const char *config_file;
    int64_t timeout_ms;
    struct config *config;
    size_t n;
    struct diagnosis *diagnoses;
    char **cpus;                    /* host-model CPU of each host, NULL: not known */
    int *comparisons;               /* n*n, CPU_NOT_ASKED when there is no answer */
    char (*why)[DIAGNOSE_TEXT_MAX]; /* n*n, error of a comparison */
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

/* In turn: each takes milliseconds, or 5 s when no helper listens. */
static void ask_helpers(struct doctor *d)
{
    const struct clock *clock = clock_system();
    int64_t until = clock_mono_ms(clock) + d->timeout_ms;
    for (size_t i = 0; i < d->n && clock_mono_ms(clock) < until; i++) {
        const struct hv_host *host = &d->config->hosts[i];
        char version[HV_TEXT_MAX];
        d->diagnoses[i].hook =
            strcmp(host->uri, "qemu:///system") == 0 ? hook_state("") : HOOK_NOT_CHECKED;
        if (host->helper[0] == '\0')
            continue;
        d->diagnoses[i].helper_asked = true;
        (void)hostd_ping(host->helper, host->helper_secret, version, &d->diagnoses[i].helper_err);
    }
}

/* --- output --- */

static void count_failure(const struct check *check, size_t *failures)
{
    *failures += check->result == RESULT_FAILED;
}

static void add_check_json(struct json_object *object, const struct check *check)
{
    json_add_text(object, "check", check->name);
    json_add_text(object, "result", result_name(check->result));
    json_add_text(object, "text", check->text);
}

static void add_row(struct table *table, const char *first, const char *second,
                    const struct check *check)
{
    table_add_row(table);
    table_set(table, 0, first);
    table_set(table, 1, second);
    table_set(table, 2, result_name(check->result));
    table_colour(table, 2,
                 check->result == RESULT_OK     ? COLOUR_GOOD
                 : check->result == RESULT_NOTE ? COLOUR_DIM
                                                : COLOUR_BAD);
    table_set(table, 3, check->text);
}

static size_t report_hosts(const struct doctor *d, struct table *table, struct json_object *list)
{
    size_t failures = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct check checks[CHECK_COUNT];
        diagnose_host(d->diagnoses, d->n, i, checks);
        for (size_t c = 0; c < CHECK_COUNT; c++) {
            add_row(table, d->config->hosts[i].name, checks[c].name, &checks[c]);
            count_failure(&checks[c], &failures);
            struct json_object *row = json_object_new_object();
            json_add_text(row, "host", d->config->hosts[i].name);
            add_check_json(row, &checks[c]);
            (void)json_object_array_add(list, row);
        }
    }
    return failures;
}

static size_t report_pairs(const struct doctor *d, struct table *table, struct json_object *list)
{
    size_t failures = 0;
    for (size_t from = 0; from < d->n; from++)
        for (size_t to = 0; to < d->n; to++) {
            size_t pair = from * d->n + to;
            struct check check;
            if (from == to)
                continue;
            diagnose_pair(&d->diagnoses[from], &d->diagnoses[to], d->comparisons[pair],
                          d->why[pair], &check);
            add_row(table, d->config->hosts[from].name, d->config->hosts[to].name, &check);
            count_failure(&check, &failures);
            struct json_object *row = json_object_new_object();
            json_add_text(row, "from", d->config->hosts[from].name);
            json_add_text(row, "to", d->config->hosts[to].name);
            add_check_json(row, &check);
            (void)json_object_array_add(list, row);
        }
    return failures;
}

static int print_tables(const struct doctor *d, const struct table *hosts,
                        const struct table *pairs)
{
    size_t width = cli_table_width(d->common.output);
    bool coloured = cli_wants_colour(STDOUT_FILENO);
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    if (!table_render(hosts, width, coloured, &text))
        text.failed = true;
    buf_add(&text, "\n");
    if (d->comparisons == NULL)
        buf_addf(&text, "pairs are not compared: %zu hosts, at most %d\n", d->n, PAIRED_HOSTS_MAX);
    else if (pairs->n_rows == 0)
        buf_add(&text, "no pairs to compare: only one host is configured\n");
    else if (!table_render(pairs, width, coloured, &text))
        text.failed = true;
    return cli_print(&text);
}

static int report(const struct doctor *d)
{
    static const char *const host_titles[] = {"HOST", "CHECK", "RESULT", "DETAIL"};
    static const char *const pair_titles[] = {"FROM", "TO", "RESULT", "DETAIL"};
    struct table hosts, pairs;
    table_init(&hosts, host_titles, COUNT(host_titles));
    table_init(&pairs, pair_titles, COUNT(pair_titles));
    OWNED(json_object) page = json_object_new_object();
    size_t failures = report_hosts(d, &hosts, json_add_array(page, "hosts"));
    struct json_object *list = json_add_array(page, "pairs");
    if (d->comparisons != NULL)
        failures += report_pairs(d, &pairs, list);
    json_add_i64(page, "failures", (int64_t)failures);
    int status =
        d->common.output == OUTPUT_JSON ? cli_print_json(page) : print_tables(d, &hosts, &pairs);
    table_fini(&hosts);
    table_fini(&pairs);
    return status != EXIT_DONE ? status : failures > 0 ? EXIT_FAILED : EXIT_DONE;
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
    if (d->n <= PAIRED_HOSTS_MAX) {
        d->comparisons = calloc(d->n * d->n, sizeof *d->comparisons);
        d->why = calloc(d->n * d->n, sizeof *d->why);
    }
    if (d->diagnoses == NULL || d->cpus == NULL ||
        (d->n <= PAIRED_HOSTS_MAX && (d->comparisons == NULL || d->why == NULL)))
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
        ask_helpers(&d);
        ports_ask(d.diagnoses, d.n, PORTS_TLS, d.timeout_ms);
        status = report(&d);
    } else {
        bool bad_file = d.config == NULL;
        status = cli_fail(&err, bad_file ? "name a valid file with --config FILE" : NULL);
        if (bad_file)
            status = EXIT_USAGE;
    }
    finish(&d);
    return status;
}
