/* describe.c - `ferry describe`: everything known about one object, for a person.
 *
 * The plain facts of each kind are a table of label and path; a fact that is missing is not
 * shown. What has a shape of its own (history, two-sided state, numbers, events) follows.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/human.h"
#include "cli/kinds.h"
#include "cli/table.h"
#include "cli/view.h"

enum { PAGE_MAX = 1 << 20, TEXT_BYTES = 1024, LABEL_WIDTH = 14, EVENTS_SHOWN = 20 };

struct fact {
    const char *label, *path;
};

static const struct fact migration_facts[] = {
    {"Name", "metadata.name"},
    {"Namespace", "metadata.namespace"},
    {"UID", "metadata.uid"},
    {"Guest", "spec.vmiName"},
    {"Created", "metadata.creationTimestamp"},
    {"Requester", "status.ferry.requester"},
    {"From", "status.migrationState.sourceNode"},
    {"To", "status.migrationState.targetNode"},
    {"Phase", "status.phase"},
    {"Mode", "status.migrationState.mode"},
    {"Waits for", "status.ferry.pendingReason"},
    {"Abort", "status.migrationState.abortStatus"},
    {"Aborted by", "status.ferry.abortRequester"},
    {"Outcome", "status.ferry.outcome"},
    {"Guest at", "status.ferry.guestAt"},
    {"Failure", "status.migrationState.failureReason"},
    {"Started", "status.migrationState.startTimestamp"},
    {"Ended", "status.migrationState.endTimestamp"},
    {"Epoch", "status.ferry.epoch"},
    {"Adopted", "status.ferry.adopted"},
};
static const struct fact guest_facts[] = {
    {"Name", "metadata.name"},
    {"Namespace", "metadata.namespace"},
    {"UUID", "metadata.uid"},
    {"Phase", "status.phase"},
    {"Node", "status.nodeName"},
    {"State", "status.ferry.state"},
    {"Reason", "status.ferry.reason"},
    {"Memory", "spec.domain.memory.guest"},
    {"CPUs", "spec.domain.cpu.cores"},
    {"Last seen", "status.ferry.seenAt"},
    {"Migration", "status.ferry.migration"},
};
static const struct fact node_facts[] = {
    {"Name", "metadata.name"},
    {"URI", "status.ferry.uri"},
    {"Known since", "metadata.creationTimestamp"},
    {"Error", "status.ferry.error"},
    {"CPUs", "status.capacity.cpu"},
    {"Memory", "status.capacity.memory"},
    {"Free memory", "status.allocatable.memory"},
    {"Guests", "status.ferry.guests"},
    {"Arch", "status.nodeInfo.architecture"},
    {"CPU model", "status.ferry.cpuModel"},
    {"Libvirt", "status.ferry.libvirtVersion"},
    {"QEMU", "status.ferry.qemuVersion"},
};

static void add_fact(struct buf *out, const char *label, const char *value)
{
    char clean[TEXT_BYTES], named[LABEL_WIDTH * 2];
    if (*value == '\0')
        return;
    table_clean(clean, sizeof clean, value);
    (void)snprintf(named, sizeof named, "%s:", label);
    buf_addf(out, "%-*s%s\n", LABEL_WIDTH, named, clean);
}

static void add_facts(struct buf *out, struct json_object *object, const struct fact *facts,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_fact(out, facts[i].label, view_text(object, facts[i].path));
}

static void add_error(struct buf *out, struct json_object *object)
{
    struct json_object *error = json_at(object, "status.ferry.error");
    char text[TEXT_BYTES * 2], message[TEXT_BYTES];
    table_clean(message, sizeof message, view_text(error, "text"));
    if (message[0] == '\0')
        return;
    (void)snprintf(text, sizeof text, "code %lld, domain %lld: %s",
                   (long long)view_i64(error, "code", 0), (long long)view_i64(error, "domain", 0),
                   message);
    add_fact(out, "Libvirt error", text);
}

static void add_verdict(struct buf *out, struct json_object *object)
{
    struct json_object *verdict = json_at(object, "status.ferry.verdict");
    if (verdict == NULL || text_equal(view_text(verdict, "outcome"), "succeeded"))
        return;
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%s (plane: %s, %s)%s", view_text(verdict, "cause"),
                   view_text(verdict, "plane"), view_text(verdict, "failedAt"),
                   view_bool(verdict, "irrecoverable") ? ", the guest is IRRECOVERABLE" : "");
    add_fact(out, "Verdict", text);
    add_fact(out, "What to do", view_text(verdict, "action"));
}

static void add_history(struct buf *out, struct json_object *object)
{
    const char *path = "status.phaseTransitionTimestamps";
    size_t n = view_count(object, path);
    if (n == 0)
        return;
    buf_add(out, "Phases:\n");
    int64_t first = view_time(view_element(object, path, 0), "phaseTransitionTimestamp");
    for (size_t i = 0; i < n; i++) {
        struct json_object *step = view_element(object, path, i);
        char phase[TABLE_CELL_MAX], at[TABLE_CELL_MAX], since[HUMAN_TEXT_MAX];
        table_clean(phase, sizeof phase, view_text(step, "phase"));
        table_clean(at, sizeof at, view_text(step, "phaseTransitionTimestamp"));
        human_duration(view_time(step, "phaseTransitionTimestamp") - first, since);
        buf_addf(out, "  %-16s %s  +%s\n", phase, at, since);
    }
}

static void add_sight(struct buf *out, struct json_object *object, const char *role,
                      const char *node_path)
{
    char path[TABLE_CELL_MAX], node[TABLE_CELL_MAX], presence[TABLE_CELL_MAX];
    char state[TABLE_CELL_MAX], reason[TABLE_CELL_MAX], at[TABLE_CELL_MAX];
    (void)snprintf(path, sizeof path, "status.ferry.%s", role);
    struct json_object *sight = json_at(object, path);
    if (sight == NULL)
        return;
    table_clean(node, sizeof node, view_text(object, node_path));
    table_clean(presence, sizeof presence, view_text(sight, "presence"));
    table_clean(state, sizeof state, view_text(sight, "state"));
    table_clean(reason, sizeof reason, view_text(sight, "reason"));
    table_clean(at, sizeof at, view_text(sight, "at"));
    buf_addf(out, "  %-7s %-16s %s", role, node[0] != '\0' ? node : "-", presence);
    if (state[0] != '\0')
        buf_addf(out, " %s%s%s%s", state, reason[0] != '\0' ? "(" : "", reason,
                 reason[0] != '\0' ? ")" : "");
    if (at[0] != '\0')
        buf_addf(out, ", %s", at);
    buf_add(out, "\n");
}

static void add_sights(struct buf *out, struct json_object *object)
{
    if (json_at(object, "status.ferry.source") == NULL &&
        json_at(object, "status.ferry.target") == NULL)
        return;
    buf_add(out, "Last seen:\n");
    add_sight(out, object, "source", "status.migrationState.sourceNode");
    add_sight(out, object, "target", "status.migrationState.targetNode");
}

static void add_numbers(struct buf *out, struct json_object *object)
{
    struct json_object *sample = json_at(object, "status.ferry.sample");
    if (sample == NULL)
        return;
    static const struct {
        const char *label, *key;
        void (*format)(uint64_t value, char *out_text);
    } sizes[] = {
        {"remaining", "remainingBytes", human_bytes},
        {"sent", "processedBytes", human_bytes},
        {"total", "totalBytes", human_bytes},
        {"rate", "transferRateBytesPerSecond", human_rate},
        {"dirty rate", "dirtyRateBytesPerSecond", human_rate},
    };
    buf_add(out, "Last numbers:\n");
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char text[HUMAN_TEXT_MAX];
        sizes[i].format((uint64_t)view_i64(sample, sizes[i].key, 0), text);
        buf_addf(out, "  %-18s %s\n", sizes[i].label, text);
    }
    char elapsed[HUMAN_TEXT_MAX];
    human_duration(view_i64(sample, "elapsedMs", 0), elapsed);
    buf_addf(out, "  %-18s %s\n", "elapsed", elapsed);
    buf_addf(out, "  %-18s %lld\n", "pass", (long long)view_i64(sample, "iteration", 0));
    buf_addf(out, "  %-18s %lld%%\n", "throttle",
             (long long)view_i64(sample, "throttlePercent", 0));
    buf_addf(out, "  %-18s %lld ms\n", "expected downtime",
             (long long)view_i64(sample, "expectedDowntimeMs", 0));
    int64_t downtime = view_i64(object, "status.ferry.downtimeMs", -1);
    if (downtime >= 0)
        buf_addf(out, "  %-18s %lld ms\n", "downtime", (long long)downtime);
}

static void add_conditions(struct buf *out, struct json_object *object)
{
    size_t n = view_count(object, "status.conditions");
    if (n > 0)
        buf_add(out, "Conditions:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *condition = view_element(object, "status.conditions", i);
        char type[TABLE_CELL_MAX], status[TABLE_CELL_MAX], reason[TABLE_CELL_MAX];
        char message[TEXT_BYTES];
        table_clean(type, sizeof type, view_text(condition, "type"));
        table_clean(status, sizeof status, view_text(condition, "status"));
        table_clean(reason, sizeof reason, view_text(condition, "reason"));
        table_clean(message, sizeof message, view_text(condition, "message"));
        bool both = reason[0] != '\0' && message[0] != '\0';
        buf_addf(out, "  %-24s %-8s %s%s%s\n", type, status, reason, both ? ": " : "", message);
    }
}

/* What the guest's definition says against moving it, and what to do. */
static void add_reasons(struct buf *out, struct json_object *object)
{
    size_t n = view_count(object, "status.ferry.reasons");
    if (n > 0)
        buf_add(out, "Moving it:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *reason = view_element(object, "status.ferry.reasons", i);
        char name[TABLE_CELL_MAX], message[TEXT_BYTES], todo[TEXT_BYTES];
        table_clean(name, sizeof name, view_text(reason, "reason"));
        table_clean(message, sizeof message, view_text(reason, "message"));
        table_clean(todo, sizeof todo, view_text(reason, "whatToDo"));
        buf_addf(out, "  %s: %s\n    %s\n", name, message, todo);
    }
}

/* Events are an extra: when the appliance cannot give them, the rest is still worth showing. */
static void add_events(struct buf *out, struct client *client, const char *uid)
{
    char path[KINDS_PATH_MAX];
    struct err ignored = {0};
    if (*uid == '\0' || strspn(uid, "0123456789abcdefABCDEF-") != strlen(uid))
        return;
    (void)snprintf(path, sizeof path, "/api/v1/events?fieldSelector=involvedObject.uid%%3D%s", uid);
    OWNED(json_object) answer = client_call(client, "GET", path, NULL, &ignored);
    size_t n = view_count(answer, "items"), shown = 0;
    for (size_t i = n > EVENTS_SHOWN ? n - EVENTS_SHOWN : 0; i < n; i++) {
        struct json_object *event = view_element(answer, "items", i);
        char at[TABLE_CELL_MAX], reason[TABLE_CELL_MAX], message[TEXT_BYTES];
        if (!text_equal(view_text(event, "involvedObject.uid"), uid))
            continue;
        table_clean(at, sizeof at, view_text(event, "lastTimestamp"));
        table_clean(reason, sizeof reason, view_text(event, "reason"));
        table_clean(message, sizeof message, view_text(event, "message"));
        buf_addf(out, "%s  %s  %s  %s: %s\n", shown++ == 0 ? "Events:\n" : "", at,
                 view_text(event, "type"), reason, message);
    }
}

static int print_page(struct client *client, enum kind kind, struct json_object *object)
{
    static const struct {
        const struct fact *facts;
        size_t n;
    } pages[KIND_COUNT] = {
        [KIND_MIGRATION] = {migration_facts, COUNT(migration_facts)},
        [KIND_GUEST] = {guest_facts, COUNT(guest_facts)},
        [KIND_NODE] = {node_facts, COUNT(node_facts)},
    };
    struct buf out;
    buf_init(&out, PAGE_MAX);
    add_facts(&out, object, pages[kind].facts, pages[kind].n);
    if (kind == KIND_MIGRATION) {
        add_error(&out, object);
        add_verdict(&out, object);
        add_history(&out, object);
        add_sights(&out, object);
        add_numbers(&out, object);
    }
    add_conditions(&out, object);
    if (kind == KIND_GUEST)
        add_reasons(&out, object);
    add_events(&out, client, view_text(object, "metadata.uid"));
    return cli_print(&out);
}

struct describe {
    struct cli_options common;
    const char *kind_word, *name;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct describe *d = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &d->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            d->kind_word = arg;
        else if (state->arg_num == 1)
            d->name = arg;
        else
            argp_error(state, "one KIND and one NAME, not also '%s'", arg);
        return 0;
    case ARGP_KEY_END:
        if (d->name == NULL)
            argp_error(state, "which one? ferry describe KIND NAME");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_describe(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "KIND NAME",
        .doc = "Everything known about one migration (vmim), guest (vmi) or node.",
        .children = cli_options_children,
    };
    struct describe d = {0};
    cli_options_init(&d.common);
    if (argp_parse(&argp, argc, argv, 0, NULL, &d) != 0)
        return EXIT_USAGE;
    struct err err = {0};
    enum kind kind;
    if (!kind_from_word(d.kind_word, &kind, &err))
        return cli_fail(&err, "the kinds are migrations (vmim), guests (vmi) and nodes");
    char path[KINDS_PATH_MAX];
    OWNED(client) client = client_new(d.common.server, &err);
    if (client == NULL || !kind_path(kind, d.common.ns, d.name, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) object = client_call(client, "GET", path, NULL, &err);
    if (object == NULL)
        return cli_fail(&err, NULL);
    if (d.common.output == OUTPUT_JSON)
        return cli_print_json(object);
    return print_page(client, kind, object);
}
